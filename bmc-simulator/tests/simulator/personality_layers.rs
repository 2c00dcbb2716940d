//! A personality, and what is said besides: in whatever order, field by field, and for good.

use std::time::Duration;

use bmc_simulator::{
    DecoySpec, Delay, Delays, Event, Fault, Fleet, HostSpec, IpmiSpec, Personality, RedfishSpec, Simulator,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Client, one, status};
use crate::control::Control;

const FIVE_MINUTES: Duration = Duration::from_mins(5);

fn session_timeout() -> RedfishSpec {
    RedfishSpec {
        session_timeout: FIVE_MINUTES,
        ..RedfishSpec::default()
    }
}

/// What a client sees of the settings, and the BMC's own view of itself.
async fn traits(spec: HostSpec) -> (Value, Value, Delays, Vec<String>) {
    let (_sim, host) = one(spec).await;
    // Of the settings alone: some families reset connections or have no sessions.
    host.clear_personality_faults();
    let client = Client::of(&host);
    let service: Value = client
        .get("/redfish/v1/SessionService")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let systems: Value = client
        .get("/redfish/v1/Systems?$expand=.")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let described = |system: &Value| {
        let field = |name: &str| system[name].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", field("Id"), field("UUID"), field("Model"))
    };
    let systems = systems["Members"].as_array().unwrap().iter().map(described);
    let tagged = status(client.reset("ForceRestart").header("If-Match", "*")).await;
    (
        service["SessionTimeout"].clone(),
        json!(tagged),
        host.snapshot().delays,
        systems.collect(),
    )
}

#[tokio::test]
async fn the_order_of_saying_makes_no_difference() {
    let uuid = "00112233-4455-6677-8899-aabbccddeeff";
    let slow = |delays: Delays| Delays {
        boot: Delay::Fixed(FIVE_MINUTES),
        ..delays
    };
    let decoy = || DecoySpec::new("hypervisor").uuid(uuid);
    let base = || HostSpec::new("a").ipmi(IpmiSpec::new());
    for personality in Personality::ALL {
        let before = base()
            .personality(personality)
            .redfish(session_timeout())
            .change_delays(slow)
            .decoy(decoy());
        let after = base()
            .decoy(decoy())
            .change_delays(slow)
            .redfish(session_timeout())
            .personality(personality);
        let seen = traits(before).await;
        assert_eq!(seen, traits(after).await, "{personality:?}");
        assert_eq!(seen.0, 300, "what was said, with {personality:?}");
        assert!(
            seen.3
                .iter()
                .any(|system| system.starts_with("hypervisor 00112233")),
            "{personality:?}: {:?}",
            seen.3
        );
    }
}

#[tokio::test]
async fn what_is_said_besides_takes_nothing_else_away() {
    let spec = HostSpec::new("a").personality(Personality::Idrac10);
    let (timeout, tagged, ..) = traits(spec.redfish(session_timeout())).await;
    assert_eq!((timeout, tagged), (json!(300), json!(412)), "as iDRAC10 still");

    let said = |redfish: RedfishSpec| RedfishSpec {
        reset_refuses_if_match: false,
        ..redfish
    };
    let spec = HostSpec::new("a")
        .change_redfish(said)
        .personality(Personality::Idrac10);
    assert_eq!(traits(spec).await.1, 204, "said although it is usual elsewhere");

    let cray = HostSpec::new("a").personality(Personality::CrayEx);
    assert_eq!(
        traits(cray.clone().delays(Delays::default())).await.2,
        Delays::default()
    );
    let usual = cray.usual_delays(Delays {
        boot: Delay::Fixed(FIVE_MINUTES),
        ..Delays::default()
    });
    let delays = traits(usual).await.2;
    assert_eq!(
        (delays.off, delays.boot),
        (
            Delay::Fixed(Duration::from_millis(6_860)),
            Delay::Fixed(FIVE_MINUTES)
        )
    );
}

#[tokio::test]
async fn a_file_describes_the_decoy_that_a_family_brings() {
    let text = "hosts:
  - name: a
    ipmi: {cipherSuites: [3]}
    personality: openbmc
    decoys: [{id: other}, {id: hypervisor, uuid: 00112233-4455-6677-8899-aabbccddeeff}]
";
    let fleet = Fleet::from_yaml(text).unwrap();
    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();
    let client = Client::of(&sim.hosts()[0]);
    let read = async |path: &str| -> Value { client.get(path).send().await.unwrap().json().await.unwrap() };
    let systems = read("/redfish/v1/Systems").await;
    let uris: Vec<&str> = systems["Members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["@odata.id"].as_str().unwrap())
        .collect();
    assert_eq!(
        uris,
        [
            "/redfish/v1/Systems/hypervisor",
            "/redfish/v1/Systems/other",
            "/redfish/v1/Systems/system"
        ]
    );
    let hypervisor = read("/redfish/v1/Systems/hypervisor").await;
    assert_eq!(hypervisor["UUID"], "00112233-4455-6677-8899-aabbccddeeff");
}

#[tokio::test]
async fn clearing_faults_leaves_those_of_the_personality() {
    let (_sim, host) = one(HostSpec::new("a").personality(Personality::SushyEmulator)).await;
    let client = Client::of(&host);
    let of_family = host.personality_faults();
    assert_eq!((of_family.len(), host.faults().len()), (3, 0));
    let is_sushy = async || client.login().await.status().as_u16() == 404;
    assert!(is_sushy().await);

    host.inject(Fault::LieOffWhileOn).unwrap();
    host.clear_faults();
    assert!(is_sushy().await);
    host.set_faults(vec![Fault::WrongUuid.into()]).unwrap();
    assert!(is_sushy().await);
    assert_eq!(host.faults(), [Fault::WrongUuid.into()]);
    assert_eq!(host.personality_faults(), of_family);

    host.clear_personality_faults();
    assert_eq!(client.login().await.status().as_u16(), 201);
    assert_eq!(host.faults(), [Fault::WrongUuid.into()], "not of the personality");
    let told = host.journal().into_iter().rev().find_map(|entry| {
        if let Event::FaultsSet {
            faults,
            personality_faults,
        } = &entry.event
        {
            Some((faults.len(), personality_faults.len()))
        } else {
            None
        }
    });
    assert_eq!(told, Some((1, 0)));
}

#[tokio::test]
async fn the_control_api_keeps_them_apart_too() {
    let control = Control::with(HostSpec::new("dell").personality(Personality::Idrac9)).await;
    let usual = json!([{"fault": "already-there-409", "on": "reset"}]);
    for (method, path, body) in [
        (
            Method::PUT,
            "/hosts/dell/faults",
            r#"[{"fault":"lie-off-while-on"}]"#,
        ),
        (Method::PUT, "/hosts/dell/faults", "[]"),
        (Method::DELETE, "/hosts/dell/faults", ""),
    ] {
        let shown = control.ok(method, path, body).await;
        assert_eq!(shown["personalityFaults"], usual, "{path} {body}");
    }
    let client = Client::of(&control.host);
    assert_eq!(client.send_reset("On").await, 409);
    let shown = control
        .ok(Method::DELETE, "/hosts/dell/personality-faults", "")
        .await;
    assert_eq!(
        (&shown["faults"], &shown["personalityFaults"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(client.send_reset("On").await, 204);
}

#[tokio::test]
async fn an_injected_fault_stands_in_for_the_familys_of_the_same_name() {
    let spec = HostSpec::new("a").personality(Personality::Idrac10);
    let (_sim, host) = one(spec).await;
    let client = Client::of(&host);
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 409, "within a minute");
    let within = Duration::from_nanos(1);
    host.inject(Fault::On409AfterOff { within }).unwrap();
    assert_eq!(client.send_reset("On").await, 204, "as was said");
    host.clear_faults();
    assert_eq!(client.send_reset("ForceOff").await, 204);
    assert_eq!(client.send_reset("On").await, 409, "as is usual");
}
