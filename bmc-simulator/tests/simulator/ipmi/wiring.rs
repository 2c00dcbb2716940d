//! IPMI among the rest: what is refused, shown and printed.

use bmc_simulator::{HostSpec, IpmiSpec, Privilege, SimError, Simulator};
use serde_json::{Value, json};

use super::console::Console;
use super::{PASSWORD, admin, bmc};
use crate::client::{http, one};

#[tokio::test]
async fn off_unless_asked_for() {
    let (sim, host) = one(HostSpec::new("a")).await;
    assert_eq!(host.ipmi_address(), None);
    assert!(host.snapshot().ipmi.is_none());
    assert_eq!(host.credentials().password.len(), 32);
    sim.shutdown().await;
    let (_sim, host) = one(HostSpec::new("a").ipmi(IpmiSpec::new())).await;
    assert_eq!(host.credentials().password.len(), 20, "IPMI carries no more");
}

#[tokio::test]
async fn the_control_api_shows_address_sessions_and_counters() {
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let spec = HostSpec::new("a")
        .credentials("admin", PASSWORD)
        .ipmi(IpmiSpec::new());
    let sim = Simulator::builder()
        .host(spec)
        .control(loopback)
        .start()
        .await
        .unwrap();
    let host = sim.host("a").unwrap();
    let console = Console::logged_in(&host, admin()).await;
    let url = format!("{}/hosts/a", sim.control_url().unwrap());
    let shown: Value = http(sim.ca_pem())
        .get(url)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(shown["ipmi"]["address"], host.ipmi_address().unwrap().to_string());
    let session = &shown["ipmi"]["sessions"][0];
    assert_eq!(
        (
            &session["id"],
            &session["username"],
            &session["privilege"],
            &session["limit"],
            &session["cipherSuite"]
        ),
        (
            &console.session_name().into(),
            &"admin".into(),
            &"user".into(),
            &"administrator".into(),
            &17.into()
        )
    );
    let counters = &shown["counters"]["ipmi"];
    assert_eq!(
        (&counters["sessionsOpened"], &counters["datagrams"]),
        (&1.into(), &3.into())
    );
    assert_eq!(shown["counters"]["requests"], 0, "these are HTTP's");
    assert!(!shown.to_string().contains("canary"));
}

#[tokio::test]
async fn the_control_api_takes_the_faults_and_names_their_mistakes() {
    let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let spec = HostSpec::new("a").ipmi(IpmiSpec::new());
    let sim = Simulator::builder()
        .host(spec)
        .control(loopback)
        .start()
        .await
        .unwrap();
    let url = format!("{}/hosts/a/faults", sim.control_url().unwrap());
    let put = async |body: &Value| {
        let answer = http(sim.ca_pem()).put(&url).json(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let good = json!([
        {"fault": {"ipmi": {"delay-reply": {"by": "800ms"}}}, "on": "ipmi-chassis-status", "times": 2},
        {"fault": {"ipmi": {"ignore-command": {"netFn": 0, "command": 2}}}},
        {"fault": {"ipmi": {"refuse-suite": {"suite": 17, "status": 18}}}, "on": "ipmi-open-session"},
        {"fault": {"ipmi": "stale-reply"}},
    ]);
    let (status, host) = put(&good).await;
    assert_eq!((status, &host["faults"]), (200, &good));
    for (bad, field) in [
        (
            json!([{"fault": {"ipmi": {"delay-reply": {"by": "0s"}}}}]),
            "[0].by",
        ),
        (
            json!([{"fault": {"ipmi": {"ignore-command": {"netFn": 1, "command": 2}}}}]),
            "[0].netFn",
        ),
        (
            json!([{"fault": {"ipmi": "busy"}}, {"fault": {"ipmi": "busy"}, "on": "reset"}]),
            "[1].on",
        ),
        (
            json!([{"fault": {"ipmi": "busy"}, "on": "ipmi-nothing"}]),
            "[0].on",
        ),
    ] {
        let (status, answer) = put(&bad).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{answer}"
        );
    }
    assert_eq!(
        serde_json::to_value(sim.hosts()[0].faults()).unwrap(),
        good,
        "nothing has changed"
    );
}

#[tokio::test]
async fn a_host_that_ipmi_cannot_serve_is_refused() {
    let of = |ipmi| HostSpec::new("a").ipmi(ipmi);
    let new = IpmiSpec::new;
    for (spec, reason) in [
        (of(new().cipher_suites([4])), "cipher suite"),
        (of(new().cipher_suites([])), "cipher suite"),
        (of(new().kg([0; 21])), "KG"),
        (of(new().kg([])), "KG"),
        (of(new().session_limit(0)), "1 to 63"),
        (of(new().session_limit(64)), "1 to 63"),
        (of(new().idle_timeout(std::time::Duration::ZERO)), "time-out"),
        (
            of(new().user("seventeen-bytes-x", "x", Privilege::User)),
            "user names",
        ),
        (
            of(new().user("x", "123456789012345678901", Privilege::User)),
            "passwords",
        ),
        (
            of(new()).credentials("admin", "123456789012345678901"),
            "passwords",
        ),
        (of(new()).username("seventeen-bytes-x"), "user names"),
        (of(new()).system_uuid("not-a-uuid"), "32 hexadecimal digits"),
    ] {
        let error = Simulator::builder().host(spec).start().await.unwrap_err();
        assert!(
            matches!(error, SimError::InvalidHost { .. }) && error.to_string().contains(reason),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let taken = host.ipmi_address().unwrap();
    let again = HostSpec::new("b").ipmi(IpmiSpec::new().port(taken.port()));
    let error = Simulator::builder().host(again).start().await.unwrap_err();
    assert!(
        matches!(error, SimError::Bind { address, .. } if address == taken),
        "{error}"
    );
}

#[tokio::test]
async fn shutdown_closes_the_socket() {
    let (sim, host) = bmc(IpmiSpec::new()).await;
    let address = host.ipmi_address().unwrap();
    sim.shutdown().await;
    tokio::net::UdpSocket::bind(address).await.unwrap();
}

#[test]
fn debug_output_has_no_secret() {
    let spec = HostSpec::new("a").ipmi(
        IpmiSpec::new()
            .kg(*b"canary")
            .user("u", "canary", Privilege::User),
    );
    assert!(!format!("{spec:?} {:?}", IpmiSpec::new().kg(*b"canary")).contains("canary"));
}
