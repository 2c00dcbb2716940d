//! Tells what the daemon writes into its PowerCycleRemediations.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;
use remediator_core::journal::{Journal, TimelineEntry};
use world::World;

use crate::follow::{Told, every};
use crate::narrate::{Narrator, Who};

pub(crate) async fn follow(world: Arc<World>, narrator: Arc<Narrator>) {
    let mut journals: BTreeMap<String, Journal> = BTreeMap::new();
    every(world.remediations(), |told| match told {
        Told::Gone(remediation) => {
            let text = format!("{} is deleted", remediation.name_any());
            narrator.say(Who::Remediator, &text);
        }
        Told::Is(remediation) => {
            let (name, uid) = (remediation.name_any(), remediation.uid().unwrap_or_default());
            let now = world::journal(&remediation);
            match journals.insert(uid, now.clone()) {
                None if now.timeline.is_empty() => {
                    let text = format!("{name} created: the trigger was taken up");
                    narrator.say(Who::Remediator, &text);
                }
                before => tell(&narrator, &name, &before.unwrap_or_default(), &now),
            }
        }
    })
    .await;
}

fn tell(narrator: &Narrator, name: &str, before: &Journal, now: &Journal) {
    let news = now.timeline.get(before.timeline.len()..).unwrap_or_default();
    if news.is_empty() {
        if before.reason != now.reason || before.message != now.message {
            let text = format!("{name} {} ({}): {}", now.phase.as_str(), now.reason, now.message);
            narrator.say(Who::Remediator, &text);
        }
        return;
    }
    let text = format!(
        "{name} {}{} ({}): {}",
        ended(before.timeline.last(), news),
        now.phase.as_str(),
        now.reason,
        now.message
    );
    // Written down to the millisecond, cut off: what the daemon read within that one came before.
    // The first entry is the object's creation, to the second only.
    let written = news.last().filter(|_| now.timeline.len() > 1);
    let at = written.and_then(|entry| entry.at.checked_add(SignedDuration::from_millis(1)).ok());
    narrator.say_of(at.unwrap_or_else(Timestamp::now), Who::Remediator, &text);
}

/// The phases that have ended, and how long they took. One without anything to do is not worth a word.
fn ended(before: Option<&TimelineEntry>, news: &[TimelineEntry]) -> String {
    let entries: Vec<&TimelineEntry> = before.into_iter().chain(news).collect();
    entries
        .windows(2)
        .filter_map(|pair| match pair {
            [from, to] => Some((from.phase, to.at.duration_since(from.at).as_secs_f64())),
            _ => None,
        })
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(phase, seconds)| format!("{} {seconds:.1}s -> ", phase.as_str()))
        .collect::<Vec<_>>()
        .concat()
}
