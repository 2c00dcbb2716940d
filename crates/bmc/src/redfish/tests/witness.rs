//! The chassis as a second witness of Off, where the system alone is not to be believed.

use super::*;
use remediator_core::power::PowerState;

const CHASSIS: &str = "/redfish/v1/Chassis/1";

/// OpenBMC's way to offer resets, and one chassis.
fn openbmc(power: &str) -> Value {
    json!({
        "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem", "PowerState": power, "UUID": UUID,
        "Actions": { "#ComputerSystem.Reset": {
            "target": RESET, "@Redfish.ActionInfo": "/redfish/v1/Systems/1/ResetActionInfo",
        } },
        "Links": { "Chassis": [{ "@odata.id": CHASSIS }] },
    })
}

async fn read(system: Value, chassis: Option<Value>) -> (Result<crate::PowerRead, BmcError>, Vec<String>) {
    let fake = Fake::start(move |seen: Seen| match (seen.line().as_str(), &chassis) {
        ("GET /redfish/v1/Systems/1", _) => answer(200, &system),
        ("GET /redfish/v1/Chassis/1", Some(chassis)) if chassis.is_u64() => {
            answer(u16::try_from(chassis.as_u64().unwrap()).unwrap(), &json!({}))
        }
        ("GET /redfish/v1/Chassis/1", Some(chassis)) => answer(200, chassis),
        _ => answer(404, &json!({})),
    })
    .await;
    let reading = connect(of(&fake)).await.read().await;
    (reading, fake.log())
}

#[tokio::test]
async fn a_system_that_says_off_in_a_chassis_that_says_on_is_not_off() {
    let own = json!([{ "@odata.id": format!("{PATH}/") }]);
    let several = json!([{ "@odata.id": PATH }, { "@odata.id": "/redfish/v1/Systems/2" }]);
    let by_name = format!("https://bmc.example{PATH}");
    let off = PowerState::Off;
    let unknown = PowerState::Unknown;
    for (chassis, expected, literal) in [
        (json!({ "PowerState": "Off" }), off, "Off"),
        (
            json!({ "PowerState": "Off", "Links": { "ComputerSystems": own } }),
            off,
            "Off",
        ),
        (
            json!({ "PowerState": "On" }),
            unknown,
            "Off, but its chassis says On",
        ),
        (
            json!({ "PowerState": "PoweringOff" }),
            unknown,
            "Off, but its chassis says PoweringOff",
        ),
        (
            json!({ "PowerState": null }),
            unknown,
            "Off, but its chassis says null",
        ),
        // It is on for another host.
        (
            json!({ "PowerState": "On", "Links": { "ComputerSystems": several } }),
            off,
            "Off",
        ),
        // Of a link that names nobody it is not known that it names another.
        (
            json!({ "PowerState": "On", "Links": { "ComputerSystems": [{}] } }),
            unknown,
            "Off, but its chassis says On",
        ),
        (
            json!({ "PowerState": "On", "Links": { "ComputerSystems": [{ "@odata.id": by_name }] } }),
            unknown,
            "Off, but its chassis says On",
        ),
        (json!(404), unknown, "Off, but its chassis cannot be read"),
        (json!(403), unknown, "Off, but its chassis cannot be read"),
    ] {
        let (reading, asked) = read(openbmc("Off"), Some(chassis.clone())).await;
        let reading = reading.unwrap();
        assert_eq!(reading.power, expected, "{chassis}");
        assert_eq!(reading.literal.as_deref(), Some(literal), "{chassis}");
        assert_eq!(asked.len(), 2);
    }
    let (reading, _) = read(openbmc("Off"), Some(json!(503))).await;
    assert!(matches!(reading, Err(BmcError::Http { status: 503, .. })));
}

#[tokio::test]
async fn the_chassis_is_asked_only_where_it_can_make_a_difference() {
    let mut elsewhere = openbmc("Off");
    elsewhere["Links"]["Chassis"] = json!([{ "@odata.id": "https://192.0.2.1/redfish/v1/Chassis/1" }]);
    let (reading, asked) = read(elsewhere, None).await;
    assert!(matches!(reading, Err(BmcError::ForeignReference(..))));
    assert_eq!(asked.len(), 1);

    let mut two = openbmc("Off");
    two["Links"]["Chassis"] = json!([{ "@odata.id": CHASSIS }, { "@odata.id": "/redfish/v1/Chassis/2" }]);
    let mut none = openbmc("Off");
    none["Links"] = json!({});
    for system in [system("Off"), openbmc("On"), two, none] {
        let power = system["PowerState"].as_str().unwrap().to_owned();
        let (reading, asked) = read(system, Some(json!({ "PowerState": "On" }))).await;
        assert_eq!(reading.unwrap().literal, Some(power));
        assert_eq!(asked, ["GET /redfish/v1/Systems/1"]);
    }
}
