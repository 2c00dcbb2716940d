//! What a replica does that does not lead.

use std::collections::BTreeSet;

use harness::AuditEvent;
use jiff::Timestamp;
use remediator_core::phase::Phase;
use world::metered::Daemon;
use world::{DAEMON_USER, HostOptions, daemon};

use super::{DAEMON, LONG, credential, leads, own_world};

#[tokio::test]
async fn who_stands_by_writes_nothing_but_its_lease_and_reads_no_secret() -> world::Outcome {
    let (plane, world) = own_world("standby", vec![HostOptions::default()]).await?;
    let begun = (plane.audit_cursor()?, Timestamp::now());
    let first = daemon::start_replica(&plane, DAEMON, "first")?;
    leads(&first, LONG).await?;
    let of_first = credential(&plane, begun).await?;
    let second = daemon::start_replica(&plane, DAEMON, "second")?;
    second.wait_for_line("standing by", LONG).await?;
    let second = Daemon::of(second).await?;
    // Whoever knows that another one leads is ready: a rollout goes on, and the Pod is no reason for an alarm.
    for probe in ["livez", "readyz"] {
        assert_eq!(second.probe(probe).await?, (200, "ok\n".to_owned()), "{probe}");
    }
    let leads = second.metric("baremetal_remediator_leader ").await?;
    assert_eq!(leads.as_deref(), Some("0"));
    let remediation = world.falls_silent_and_is_reported(&world.hosts[0]).await?;
    let ended = world.remediation_ended(&remediation, LONG).await?;
    assert_eq!(world::phase(&ended), Phase::Succeeded);

    let events = plane.audit_of(DAEMON_USER, begun.0).await?;
    let (leader, standby): (Vec<_>, Vec<_>) = events
        .iter()
        .partition(|event| event.credential.as_ref() == Some(&of_first));
    let of_leader = asked(&leader);
    assert!(
        of_leader.contains(&("get", "secrets")),
        "the audit log shows it: {of_leader:?}"
    );
    let of_standby = asked(&standby);
    assert!(
        of_standby.contains(&("get", "leases")),
        "it waits: {of_standby:?}"
    );
    let wrong: Vec<_> = standby.iter().filter(|event| !is_for_the_lease(event)).collect();
    assert!(wrong.is_empty(), "{of_standby:?} {wrong:#?}");
    Ok(())
}

/// Which verbs were used on which resources.
fn asked<'a>(events: &[&'a AuditEvent]) -> BTreeSet<(&'a str, &'a str)> {
    let asked = events.iter();
    asked
        .map(|event| (event.verb.as_str(), event.resource.resource.as_str()))
        .collect()
}

/// What has no resource is a question about the server itself.
fn is_for_the_lease(event: &AuditEvent) -> bool {
    let resource = &event.resource;
    let is_lease = (resource.resource.as_str(), resource.name.as_str()) == ("leases", "baremetal-remediator");
    is_lease || (event.verb == "get" && resource.resource.is_empty())
}
