//! Off, on and cycle.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bmc_simulator::{Command, Event, Fault, Oracle, Power};

use super::{bmc, bmc_with, commands, simulate};

#[tokio::test]
async fn off_and_cycle_do_nothing_without_yes() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    for verb in ["off", "cycle"] {
        let (status, _, err) = bmc(&host, verb, &[]).await?;
        assert_eq!(status, Some(2), "{err}");
        assert!(err.contains("--yes"), "{err}");
    }
    assert!(commands(&host).is_empty());
    Ok(())
}

#[tokio::test]
async fn a_cycle_proves_off_before_it_powers_on() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let (status, _, err) = bmc(&host, "cycle", &["--yes"]).await?;
    assert_eq!(status, Some(0), "{err}");
    assert!(
        err.contains("Off is proven") && err.contains("the host is on"),
        "{err}"
    );
    assert_eq!(commands(&host), [Command::ForceOff, Command::On]);
    assert_eq!((host.truth().on_to_off, host.truth().off_to_on), (1, 1));
    assert_eq!(host.judge(&Oracle::ALL), []);

    let (status, out, _) = bmc(&host, "off", &["--yes"]).await?;
    assert_eq!((status, host.truth().power), (Some(0), Power::Off));
    assert_eq!(out, "", "a person was told");
    for (verb, more, power) in [
        ("on", None, "On"),
        ("off", Some("--yes"), "Off"),
        ("cycle", Some("--yes"), "On"),
    ] {
        let more: Vec<&str> = ["-o", "json"].into_iter().chain(more).collect();
        let (status, out, err) = bmc(&host, verb, &more).await?;
        assert_eq!(status, Some(0), "{err}");
        let said: serde_json::Value = serde_json::from_str(&out).with_context(|| format!("{verb}: {out}"))?;
        assert_eq!(said["power"], power, "{verb}: {out}");
        assert!(said["system"].is_string(), "{out}");
    }
    Ok(())
}

#[tokio::test]
async fn what_is_not_off_is_not_powered_on_again() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(Fault::StuckPoweringOff)?;
    let (status, _, err) = bmc(&host, "cycle", &["--yes", "--timeout", "5s"]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.contains("Off was not proven in time: the BMC says PoweringOff"),
        "{err}"
    );
    assert_eq!(commands(&host), [Command::ForceOff]);
    assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    Ok(())
}

#[tokio::test]
async fn a_person_who_stops_it_leaves_no_session_behind() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(Fault::StuckPoweringOff)?;
    for (signal, expected) in [("INT", 130), ("TERM", 143)] {
        let before = host.journal().last().map_or(0, |entry| entry.seq);
        let cycle = bmc_with(&host, "cycle", &["--yes"], async |child| {
            let off = |event: &Event| matches!(event, Event::Command { .. });
            host.wait_for_entry(before, off).await?;
            let pid = child.id().context("it has ended")?.to_string();
            let mut kill = tokio::process::Command::new("kill");
            ensure!(kill.args(["-s", signal, &pid]).status().await?.success());
            Ok(())
        });
        let (status, _, err) = cycle.await?;
        assert_eq!(status, Some(expected), "{err}");
        assert!(err.contains("interrupted"), "{err}");
        assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    }
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_is_settled_by_reading() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    host.inject(bmc_simulator::Injection::from(Fault::DropAfterExecute).times(1))?;
    let (status, _, err) = bmc(&host, "off", &["--yes"]).await?;
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("not answered"), "{err}");
    assert_eq!(host.truth().on_to_off, 1);
    Ok(())
}

#[tokio::test]
async fn a_command_that_the_bmc_took_and_failed_over_is_told_with_its_words() -> Result<()> {
    let (_simulator, host) = simulate(|spec| spec).await?;
    let after = Duration::ZERO;
    host.inject(Fault::FailedTask { after })?;
    for verb in ["off", "cycle"] {
        let (status, _, err) = bmc(&host, verb, &["--yes", "--timeout", "5s"]).await?;
        assert_eq!(status, Some(1), "{err}");
        let failed = "ForceOff failed: its task monitor answered HTTP 500: Base.1.19.InternalError";
        assert!(err.contains(&format!("the BMC says that {failed}")), "{err}");
        let end = format!("Off was not proven in time: the BMC says On, and of the command: {failed}");
        assert!(err.contains(&end), "{err}");
    }
    assert_eq!(commands(&host), [Command::ForceOff, Command::ForceOff]);
    host.clear_faults();
    host.press_power(Power::Off)?;
    host.inject(Fault::FailedTask { after })?;
    let (status, _, err) = bmc(&host, "on", &["--timeout", "5s"]).await?;
    assert_eq!(status, Some(1), "{err}");
    assert!(
        err.contains("the host did not come on in time") && err.contains("On failed: "),
        "{err}"
    );
    assert!(host.snapshot().sessions.is_empty(), "a session stayed");
    Ok(())
}
