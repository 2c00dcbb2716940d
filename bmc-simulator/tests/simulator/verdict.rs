//! What the program says at the end of those who used it.

use bmc_simulator::Oracle;
use serde_json::json;

use crate::binary::{Running, fail, scratch};
use crate::client::{http, status};

/// Somebody restarts a machine without looking; the exit code and standard error of the program.
async fn after_a_careless_restart(name: &str, rules: &[&str]) -> (Option<i32>, String) {
    let ca = scratch(name);
    let asserted = rules.iter().flat_map(|rule| ["--assert", rule]);
    let arguments: Vec<&str> = asserted.chain(["--ca-out", &ca]).collect();
    let running = Running::start(&arguments, 1);
    let client = http(&std::fs::read_to_string(&ca).unwrap());
    std::fs::remove_file(&ca).unwrap();
    let text = |field: &str| running.lines[0][field].as_str().unwrap().to_owned();
    let url = format!(
        "{}{}/Actions/ComputerSystem.Reset",
        text("redfishUrl"),
        text("systemPath")
    );
    let restart = client
        .post(url)
        .basic_auth(text("username"), Some(text("password")))
        .json(&json!({"ResetType": "ForceRestart"}));
    assert_eq!(status(restart).await, 204);
    running.stop("-TERM")
}

#[tokio::test]
async fn who_is_careless_is_told_of_and_ends_it_with_a_failure() {
    let (code, said) = after_a_careless_restart("all.pem", &["all"]).await;
    assert_eq!(code, Some(1), "{said}");
    for rule in Oracle::ALL {
        let told = said.contains(&format!("{rule} at worker-1, journal entry "));
        let broken = [Oracle::CommandBeforeRead, Oracle::RelativeCommand].contains(&rule);
        assert_eq!(told, broken, "{rule}: {said}");
    }
    assert!(said.contains("clients broke 2 rules of care"), "{said}");

    let others: Vec<&str> = Oracle::ALL
        .into_iter()
        .filter(|rule| *rule != Oracle::RelativeCommand)
        .map(Oracle::as_str)
        .filter(|rule| *rule != "command-before-read")
        .collect();
    let ended = after_a_careless_restart("others.pem", &others).await;
    assert_eq!(ended, (Some(0), String::new()), "the other rules were not broken");
    let (code, _) = after_a_careless_restart("one.pem", &["relative-command"]).await;
    assert_eq!(code, Some(1));
}

#[test]
fn a_rule_that_there_is_not_is_answered_with_those_that_there_are() {
    let said = fail(&["--assert", "never-sleep"]);
    for rule in Oracle::ALL {
        assert!(said.contains(rule.as_str()), "{rule}: {said}");
    }
}
