//! The power restore policy, which Redfish shows and changes, too.

use bmc_simulator::{IpmiSpec, Power};
use serde_json::json;

use super::console::Console;
use super::{APP, CHASSIS, STATUS, admin, bmc};
use crate::client::{Client, status};

const SET_POLICY: u8 = 0x06;

#[tokio::test]
async fn it_is_one_value_and_decides_what_happens() {
    for (number, word, after) in [
        (0, "AlwaysOff", Power::Off),
        (1, "LastState", Power::On),
        (2, "AlwaysOn", Power::On),
    ] {
        let (_sim, host) = bmc(IpmiSpec::new()).await;
        let mut console = Console::logged_in(&host, admin()).await;
        assert_eq!(console.code(APP, 0x3b, &[4]).await, 0);
        let bits = console.ask(CHASSIS, STATUS, &[]).await.data[0] >> 5 & 3;
        assert_eq!(bits, 0, "as the host was described");
        assert_eq!(console.ask(CHASSIS, SET_POLICY, &[number]).await.data, [0x07]);
        // 3 = as it is.
        assert_eq!(console.code(CHASSIS, SET_POLICY, &[3]).await, 0);
        assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data[0] >> 5 & 3, number);
        let client = Client::of(&host);
        assert_eq!(client.system().await["PowerRestorePolicy"], word);
        host.cut_mains();
        host.restore_mains();
        assert_eq!(host.truth().power, after, "{word}");
    }
}

#[tokio::test]
async fn what_redfish_says_is_told_over_ipmi() {
    let (_sim, host) = bmc(IpmiSpec::new()).await;
    let mut console = Console::logged_in(&host, admin()).await;
    let client = Client::of(&host);
    for (number, word) in [(2, "AlwaysOn"), (0, "AlwaysOff"), (1, "LastState")] {
        let patch = client.http.patch(client.url(&host.system_path()));
        let patch = client.basic(patch).json(&json!({"PowerRestorePolicy": word}));
        assert_eq!(status(patch).await, 200);
        assert_eq!(console.ask(CHASSIS, STATUS, &[]).await.data[0] >> 5 & 3, number);
    }
}
