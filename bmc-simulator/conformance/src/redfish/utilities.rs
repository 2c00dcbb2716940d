//! Tools of redfish_utilities that manage a BMC.

use anyhow::{Result, ensure};
use bmc_simulator::RedfishSpec;

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;
use crate::tool;

/// Makes an account, changes its password, uses it and deletes it.
pub(super) async fn accounts() -> Result<Tally> {
    let mut bench = Bench::start(RedfishSpec::default()).await?;
    for (what, arguments, listed) in [
        ("add", vec!["--add", "bob", "first-password", "Operator"], true),
        ("password", vec!["--setpassword", "bob", "second-password"], true),
        ("role", vec!["--setrole", "bob", "ReadOnly"], true),
    ] {
        let done = account(&bench, &arguments, listed).await;
        bench.tally.count(what, done);
    }
    let (old, new) = (
        login(&bench, "first-password").await,
        login(&bench, "second-password").await,
    );
    let refused = old.and_then(|worked| ensured(!worked, "the old password still works"));
    bench.tally.count("old password", refused);
    let works = new.and_then(|worked| ensured(worked, "the new password does not work"));
    bench.tally.count("new password", works);
    let deleted = account(&bench, &["--delete", "bob"], false).await;
    bench.tally.count("delete", deleted);
    let gone = login(&bench, "second-password").await;
    let gone = gone.and_then(|worked| ensured(!worked, "a deleted account still works"));
    bench.tally.count("login after delete", gone);
    let closed = bench.no_session_is_left();
    bench.tally.count("sessions", closed);
    Ok(std::mem::take(&mut bench.tally))
}

async fn account(bench: &Bench, arguments: &[&str], listed: bool) -> Result<()> {
    bench.utility("rf_accounts.py", arguments).await?;
    let list = bench.utility("rf_accounts.py", &[]).await?;
    ensured(
        list.contains("bob") == listed,
        "the list of accounts tells otherwise",
    )
}

/// Whether bob can log in with this password.
async fn login(bench: &Bench, password: &str) -> Result<bool> {
    let url = bench.url();
    let arguments = ["-u", "bob", "-p", password, "-r", &url, "-info"];
    let said = bench
        .run(&tool::in_venv("rf_power_reset.py")?, &arguments)
        .await?;
    Ok(said.success)
}

/// Reads what there is, and configures the manager.
pub(super) async fn inventory() -> Result<Tally> {
    let mut bench = Bench::start(RedfishSpec::default()).await?;
    for (what, name, arguments, expected) in [
        ("inventory", "rf_sys_inventory.py", vec![], "bmc-simulator"),
        (
            "manager",
            "rf_manager_config.py",
            vec!["info"],
            "ManagerType: BMC",
        ),
        ("network", "rf_manager_config.py", vec!["getnet"], "127.0.0.1"),
        ("protocols", "rf_manager_config.py", vec!["getprotocol"], "HTTPS"),
    ] {
        let said = bench.utility(name, &arguments).await;
        let done = said.and_then(|text| {
            ensure!(text.contains(expected), "no `{expected}` in: {}", text.trim());
            Ok(())
        });
        bench.tally.count(what, done);
    }
    let reset = bench
        .utility("rf_manager_config.py", &["reset", "--type", "ForceRestart"])
        .await;
    bench.tally.count("reset of the manager", reset.map(|_| ()));
    let untouched = ensured(bench.host.truth().resets == 0, "the machine was reset, too");
    bench.tally.count("the machine", untouched);
    Ok(std::mem::take(&mut bench.tally))
}

/// Subscribes and unsubscribes.
pub(super) async fn event_service() -> Result<Tally> {
    let mut bench = Bench::start(RedfishSpec::default()).await?;
    let destination = "https://127.0.0.1:9/events";
    let arguments = ["subscribe", "-dest", destination, "-c", "of the check"];
    let done = subscriptions(&bench, &arguments, true).await;
    bench.tally.count("subscribe", done);
    let done = subscriptions(&bench, &["unsubscribe", "--id", "1"], false).await;
    bench.tally.count("unsubscribe", done);
    let url = bench.url();
    let arguments = ["-u", USER, "-p", PASSWORD, "-r", &url];
    let said = bench
        .content(&tool::in_venv("rf_event_service.py")?, &arguments)
        .await;
    let told = said.and_then(|text| ensured(text.contains("/EventService/SSE"), "no event stream is told"));
    bench.tally.count("service", told);
    let closed = bench.no_session_is_left();
    bench.tally.count("sessions", closed);
    Ok(std::mem::take(&mut bench.tally))
}

async fn subscriptions(bench: &Bench, arguments: &[&str], listed: bool) -> Result<()> {
    bench.utility("rf_event_service.py", arguments).await?;
    let list = bench.utility("rf_event_service.py", &[]).await?;
    ensured(
        list.contains("of the check") == listed,
        "the list of subscriptions tells otherwise",
    )
}

fn ensured(condition: bool, otherwise: &str) -> Result<()> {
    ensure!(condition, "{otherwise}");
    Ok(())
}
