//! The right system or none.

use super::*;
use crate::ResourcePath;
use remediator_core::identity::SystemUuid;

fn uuid(text: &str) -> SystemUuid {
    SystemUuid::parse(text).unwrap()
}

/// A BMC with these members: path, and UUID or none where reading it fails.
async fn with_members(members: &'static [(&'static str, Option<&'static str>)]) -> Fake {
    Fake::start(move |seen: Seen| {
        if seen.path == "/redfish/v1/Systems" {
            let list: Vec<Value> = members
                .iter()
                .map(|(path, _)| json!({"@odata.id": path}))
                .collect();
            return answer(200, &json!({"Members": list}));
        }
        match members.iter().find(|(path, _)| *path == seen.path) {
            Some((path, Some(uuid))) => answer(
                200,
                &json!({"UUID": uuid, "PowerState": "On", "Actions": {
                    "#ComputerSystem.Reset": {"target": format!("{path}/Actions/ComputerSystem.Reset")}}}),
            ),
            Some((_, None)) => reply(503, &[], "<html>HMC communication failed</html>"),
            None => answer(200, &json!({})),
        }
    })
    .await
}

const OTHER: &str = "99999999-4455-6677-8899-aabbccddeeff";

#[tokio::test]
async fn the_system_is_chosen_by_proof() {
    const A: &str = "/redfish/v1/Systems/HGX_Baseboard_0";
    const B: &str = "/redfish/v1/Systems/B";
    for (members, expected, result) in [
        (&[(B, Some(OTHER))][..], None, Ok(B)),
        (&[(A, Some(OTHER)), (B, Some(UUID))], Some(uuid(UUID)), Ok(B)),
        (&[(A, Some(SWAPPED)), (B, Some(OTHER))], Some(uuid(UUID)), Ok(A)),
        (&[(A, None), (B, Some(UUID))], Some(uuid(UUID)), Ok(B)),
        (&[(A, Some(OTHER)), (B, Some(UUID))], None, Err((2, 0))),
        (
            &[(A, Some(OTHER)), (B, Some(OTHER))],
            Some(uuid(UUID)),
            Err((2, 0)),
        ),
        (
            &[(A, Some(SWAPPED)), (B, Some(UUID))],
            Some(uuid(UUID)),
            Err((2, 2)),
        ),
        (&[(A, None), (B, None)], Some(uuid(UUID)), Err((2, 0))),
        (&[], Some(uuid(UUID)), Err((0, 0))),
    ] {
        let fake = with_members(members).await;
        let mut bmc = connect(BmcTarget {
            expected_uuid: expected,
            ..target(fake.address, &fake.authority, "/")
        })
        .await;
        match result {
            Ok(path) => {
                assert_eq!(bmc.read().await.unwrap().system, path);
                let before = fake.log().len();
                bmc.command(Verb::PowerOff, soon()).await.unwrap();
                assert_eq!(
                    fake.log()[before],
                    format!("POST {path}/Actions/ComputerSystem.Reset")
                );
                bmc.read().await.unwrap();
                assert_eq!(fake.log().len(), before + 2, "chosen once");
            }
            Err((members, matching)) => {
                let error = bmc.read().await.unwrap_err();
                assert_eq!(error, BmcError::AmbiguousSystem { members, matching });
                assert_eq!(error.reason(), "BmcSystemAmbiguous");
            }
        }
    }
}

/// Of some BMCs a host that is off has no UUID, and it has to be powered on all the same.
#[tokio::test]
async fn a_system_that_was_known_by_its_uuid_stands_for_one_that_has_none_now() {
    const A: &str = "/redfish/v1/Systems/HGX_Baseboard_0";
    const B: &str = "/redfish/v1/Systems/B";
    const C: &str = "/redfish/v1/Systems/C";
    for (members, known, result) in [
        (&[(A, Some("")), (B, Some(""))][..], B, Ok(B)),
        (&[(A, None), (B, Some(""))], B, Ok(B)),
        // It has got another name meanwhile, and another has its name.
        (&[(A, Some(UUID)), (B, Some(""))], B, Ok(A)),
        (&[(A, Some("")), (B, Some(OTHER))], B, Err((2, 0))),
        (&[(A, Some("")), (B, None)], B, Err((2, 0))),
        (&[(A, Some("")), (B, Some(""))], C, Err((2, 0))),
    ] {
        let fake = with_members(members).await;
        let mut bmc = connect(BmcTarget {
            expected_uuid: Some(uuid(UUID)),
            known_system: ResourcePath::parse(known).ok(),
            ..target(fake.address, &fake.authority, "/")
        })
        .await;
        let read = bmc.read().await;
        let expected = result.map_err(|(members, matching)| BmcError::AmbiguousSystem { members, matching });
        assert_eq!(read.map(|read| read.system), expected.map(ToOwned::to_owned));
        if result.is_ok() {
            bmc.command(Verb::PowerOn, soon()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_contradicting_uuid_stops_commands_but_not_reading() {
    let fake = Fake::start(well_behaved()).await;
    let mut bmc = connect(BmcTarget {
        expected_uuid: Some(uuid(OTHER)),
        ..of(&fake)
    })
    .await;
    assert_eq!(bmc.read().await.unwrap().uuid.as_deref(), Some(UUID));
    assert_eq!(
        bmc.command(Verb::PowerOff, soon()).await.unwrap_err().reason(),
        "BmcIdentityMismatch"
    );
    assert_eq!(
        bmc.command(Verb::PowerOn, soon()).await.unwrap_err().reason(),
        "BmcIdentityMismatch"
    );
    assert_eq!(fake.log().len(), 1);
    let mut right = connect(BmcTarget {
        expected_uuid: Some(uuid(SWAPPED)),
        ..of(&fake)
    })
    .await;
    right.read().await.unwrap();
    right.command(Verb::PowerOff, soon()).await.unwrap();
}

#[tokio::test]
async fn an_incomplete_list_has_no_only_member() {
    let next = "/redfish/v1/Systems?skip=1";
    for (key, value) in [
        ("Members@odata.nextLink", json!(next)),
        ("Members@odata.nextLink", json!({ "@odata.id": next })),
        ("Members@odata.count", json!(2)),
    ] {
        let mut list = json!({ "Members": [{ "@odata.id": PATH }] });
        list[key] = value;
        let fake = Fake::start(move |_| answer(200, &list)).await;
        let mut bmc = connect(target(fake.address, &fake.authority, "")).await;
        let ambiguous = BmcError::AmbiguousSystem {
            members: 2,
            matching: 0,
        };
        assert_eq!(bmc.read().await, Err(ambiguous));
    }
}

#[tokio::test]
async fn the_root_names_the_collection_where_it_is_elsewhere() {
    let fake = Fake::start(|seen: Seen| match seen.path.as_str() {
        "/redfish/v1/" => answer(200, &json!({"Systems": {"@odata.id": "/redfish/v1/Nodes"}})),
        "/redfish/v1/Nodes" => answer(200, &json!({"Members": [{"@odata.id": PATH}]})),
        PATH => answer(200, &system("Off")),
        _ => answer(404, &json!({})),
    })
    .await;
    let mut bmc = connect(target(fake.address, &fake.authority, "/redfish/v1")).await;
    assert_eq!(bmc.read().await.unwrap().system, PATH);
    assert_eq!(fake.log().len(), 4);
}

#[tokio::test]
async fn what_is_no_system_is_refused() {
    for (status, body) in [
        (404, json!({})),
        (
            200,
            json!({"@odata.type": "#Chassis.v1_25_0.Chassis", "PowerState": "Off"}),
        ),
        (
            200,
            json!({"@odata.type": "#ComputerSystemCollection.ComputerSystemCollection"}),
        ),
    ] {
        let fake = Fake::start(move |_| answer(status, &body)).await;
        let error = connect(of(&fake)).await.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcSystemNotFound");
        assert_fit_to_show(&error);
    }
}
