//! ipmitool, interface lanplus.

use anyhow::{Result, ensure};
use bmc_simulator::{Command, IpmiSpec, Power};

use super::bench::{Bench, PASSWORD, USER};
use crate::check::Tally;

const TOOL: &str = "ipmitool";

pub(super) async fn suite_3() -> Result<Tally> {
    power(&["-C", "3"], 3).await
}

pub(super) async fn suite_17() -> Result<Tally> {
    power(&["-C", "17"], 17).await
}

pub(super) async fn own_choice() -> Result<Tally> {
    power(&[], 17).await
}

/// Everything that a power client does, with these options, which lead to this suite.
async fn power(options: &[&str], suite: u8) -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    let steps = [
        ("status while on", "chassis power status", "Chassis Power is on"),
        ("mc info", "mc info", "IPMI Version              : 2.0"),
        (
            "chassis status",
            "chassis status",
            "Power Restore Policy : previous",
        ),
        (
            "session info",
            "session info active",
            "session type                  : IPMIv2/RMCP+",
        ),
    ];
    for (what, command, expected) in steps {
        let result = ask(&bench, options, command, expected).await;
        bench.count(what, result);
    }
    let uuid = bench.host.system_uuid().to_owned();
    let result = ask(
        &bench,
        options,
        "mc guid",
        &format!("System GUID   : {uuid}\nGUID Encoding : IPMI"),
    )
    .await;
    bench.count("mc guid", result);
    let result = commands(&bench, options).await;
    bench.count("off, cycle while off, on, cycle, reset, soft", result);
    let result = chose(&bench, options.is_empty(), suite);
    bench.count("the cipher suite", result);
    let result = bench.sessions_left(0).await;
    bench.count("sessions are closed", result);
    let result = bench.all_understood();
    bench.count("every datagram is understood", result);
    Ok(bench.tally)
}

async fn ask(bench: &Bench, options: &[&str], command: &str, expected: &str) -> Result<()> {
    let arguments = arguments(bench, options, USER, PASSWORD, command);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    bench.says(TOOL, &arguments, expected).await.map(|_| ())
}

async fn refused(
    bench: &Bench,
    options: &[&str],
    login: [&str; 2],
    command: &str,
    expected: &str,
) -> Result<()> {
    let [user, password] = login;
    let arguments = arguments(bench, options, user, password, command);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    bench.complains(TOOL, &arguments, expected).await
}

fn arguments(bench: &Bench, options: &[&str], user: &str, password: &str, command: &str) -> Vec<String> {
    let port = bench.port();
    let fixed = [
        "-I",
        "lanplus",
        "-H",
        "127.0.0.1",
        "-p",
        &port,
        "-U",
        user,
        "-P",
        password,
    ];
    let words = fixed.iter().chain(options).copied().chain(command.split(' '));
    words.map(str::to_owned).collect()
}

async fn commands(bench: &Bench, options: &[&str]) -> Result<()> {
    ask(bench, options, "chassis power off", "Down/Off").await?;
    bench.until_power(Power::Off).await?;
    ask(bench, options, "chassis power status", "Chassis Power is off").await?;
    let denied = "Command not supported in present state";
    refused(bench, options, [USER, PASSWORD], "chassis power cycle", denied).await?;
    ask(bench, options, "chassis power reset", "Reset").await?;
    ensure!(bench.changes() == (1, 0, 0), "off: {:?}", bench.changes());
    ask(bench, options, "chassis power on", "Up/On").await?;
    bench.until_power(Power::On).await?;
    ask(bench, options, "chassis status", "Last Power Event     : command").await?;
    ask(bench, options, "chassis power cycle", "Cycle").await?;
    bench.until("cycled", |now| now.truth.off_to_on == 2).await?;
    ask(bench, options, "chassis power reset", "Reset").await?;
    ask(bench, options, "chassis power soft", "Soft").await?;
    bench.until_power(Power::Off).await?;
    ensure!(bench.changes() == (3, 2, 1), "in the end: {:?}", bench.changes());
    let expected = [
        Command::ForceOff,
        Command::ForceRestart,
        Command::On,
        Command::PowerCycle,
        Command::ForceRestart,
        Command::GracefulShutdown,
    ];
    ensure!(bench.commands() == expected, "{:?}", bench.commands());
    Ok(())
}

/// Who chooses by itself has to have asked for the suites, and to have been answered at once.
fn chose(bench: &Bench, by_itself: bool, suite: u8) -> Result<()> {
    let asked = bench.host.counters().ipmi.cipher_suites;
    ensure!((asked > 0) == by_itself, "it asked for the suites {asked} times");
    let opened = super::under_faults::suites_opened(&bench.host);
    ensure!(
        !opened.is_empty() && opened.iter().all(|id| *id == suite),
        "{opened:?}"
    );
    Ok(())
}

/// Wrong and weak logins, and two keys.
pub(super) async fn logins() -> Result<Tally> {
    let mut bench = Bench::start(IpmiSpec::new()).await?;
    let none = "Unable to establish IPMI v2 / RMCP+ session";
    let result = refused(&bench, &[], [USER, "wrong"], "chassis power off", none).await;
    bench.count("a wrong password is refused", result);
    let result = refused(&bench, &[], ["nobody", PASSWORD], "chassis power off", none).await;
    bench.count("an unknown user is refused", result);
    let result = reader(&bench).await;
    bench.count("a user of privilege USER reads and does not command", result);
    let result = operator(&bench).await;
    bench.count("an operator commands", result);
    let result = with_kg().await;
    bench.count("two keys", result);
    Ok(bench.tally)
}

async fn reader(bench: &Bench) -> Result<()> {
    let as_user = arguments(bench, &["-L", "USER"], "reader", PASSWORD, "chassis power status");
    let as_user: Vec<&str> = as_user.iter().map(String::as_str).collect();
    bench.says(TOOL, &as_user, "Chassis Power is on").await?;
    let login = ["reader", PASSWORD];
    refused(
        bench,
        &["-L", "USER"],
        login,
        "chassis power off",
        "Insufficient privilege level",
    )
    .await?;
    let raise = "Set Session Privilege Level to OPERATOR failed";
    refused(bench, &["-L", "OPERATOR"], login, "chassis power off", raise).await?;
    ensure!(bench.changes() == (0, 0, 0), "{:?}", bench.changes());
    ensure!(bench.commands().is_empty(), "{:?}", bench.commands());
    Ok(())
}

async fn operator(bench: &Bench) -> Result<()> {
    let off = arguments(
        bench,
        &["-L", "OPERATOR"],
        "operator",
        PASSWORD,
        "chassis power off",
    );
    let off: Vec<&str> = off.iter().map(String::as_str).collect();
    bench.says(TOOL, &off, "Down/Off").await?;
    bench.until_power(Power::Off).await
}

async fn with_kg() -> Result<()> {
    let bench = Bench::start(IpmiSpec::new().kg(*b"a key of the BMC")).await?;
    ask(
        &bench,
        &["-k", "a key of the BMC"],
        "chassis power status",
        "Chassis Power is on",
    )
    .await?;
    let none = "Unable to establish IPMI v2 / RMCP+ session";
    refused(&bench, &[], [USER, PASSWORD], "chassis power status", none).await
}
