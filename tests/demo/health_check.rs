//! Plays the MachineHealthCheck controller of OpenShift: puts the trigger on a Machine whose Node
//! has not been Ready for the timeout of its health check.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use remediator_api::keys;
use tokio::sync::watch;
use tokio::time::interval;
use world::{World, objects};

use crate::follow::{NodeSight, Sights};
use crate::narrate::{Narrator, Who};
use crate::stage::HEALTH_CHECK_TIMEOUT;

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// When each Machine was last triggered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Triggers(Arc<Mutex<BTreeMap<String, Timestamp>>>);

impl Triggers {
    pub(crate) fn of(&self, machine: &str) -> Option<Timestamp> {
        let triggers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        triggers.get(machine).copied()
    }

    fn note(&self, machine: &str) {
        let mut triggers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        triggers.insert(machine.to_owned(), Timestamp::now());
    }
}

pub(crate) async fn play(
    world: Arc<World>,
    narrator: Arc<Narrator>,
    sights: watch::Receiver<Sights>,
    triggers: Triggers,
) {
    let timeout: SignedDuration = HEALTH_CHECK_TIMEOUT
        .parse()
        .unwrap_or(SignedDuration::from_secs(3));
    let mut ticks = interval(LOOK_EVERY);
    loop {
        ticks.tick().await;
        let now = Timestamp::now();
        let unhealthy: Vec<String> = {
            let sights = sights.borrow();
            let overdue = sights.iter().filter(|(_, sight)| is_overdue(sight, timeout, now));
            overdue.map(|(name, _)| name.clone()).collect()
        };
        for name in unhealthy {
            if let Err(error) = trigger(&world, &narrator, &name, &triggers).await {
                narrator.say(Who::Mhc, &format!("cannot look after {name}: {error:#}"));
            }
        }
    }
}

/// As machine-api-operator counts: strictly longer than the timeout, whose clock has whole seconds.
fn is_overdue(sight: &NodeSight, timeout: SignedDuration, now: Timestamp) -> bool {
    let held = sight.since.map(|since| now.duration_since(since));
    sight.ready != "True" && held.is_some_and(|held| held > timeout)
}

async fn trigger(world: &World, narrator: &Narrator, machine: &str, triggers: &Triggers) -> Result<()> {
    // The watch may lag behind; a Node that has just come back is left alone.
    let node = objects::node(world, machine).await?;
    let ready = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let is_ready = ready
        .into_iter()
        .any(|one| one.type_ == "Ready" && one.status == "True");
    if is_ready || objects::is_triggered(world, machine).await? {
        return Ok(());
    }
    narrator.say(
        Who::Mhc,
        &format!(
            "Machine {machine}: Node not Ready for {HEALTH_CHECK_TIMEOUT} (usual: 300s), so it is annotated {}",
            keys::TRIGGER_ANNOTATION
        ),
    );
    triggers.note(machine);
    objects::trigger(world, machine).await
}
