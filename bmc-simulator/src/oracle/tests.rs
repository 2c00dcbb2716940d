use std::collections::BTreeSet;

use proptest::prelude::*;

use super::naive::History;
use super::scribe::{Scribe, Step, look, step};
use super::{Case, Oracle};
use crate::RequestClass;
use crate::journal::{Delivery, Entry, Event, Tried};
use crate::power::Command;

fn found(history: &[Entry]) -> BTreeSet<(Oracle, u64)> {
    let mut case = Case::default();
    for entry in history {
        case.hear(entry);
    }
    let breaches = case.verdict("a", &Oracle::ALL);
    breaches
        .iter()
        .map(|breach| (breach.oracle, breach.seq))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_judged_as_it_is_written_is_what_the_rules_say(steps in prop::collection::vec(step(), 0..60)) {
        let mut scribe = Scribe::default();
        for step in &steps {
            scribe.take(step);
        }
        prop_assert_eq!(found(&scribe.history), History(&scribe.history).breaches());
    }

    #[test]
    fn answers_that_overtake_each_other_are_judged_by_when_they_were_asked_for(
        steps in prop::collection::vec(look(), 0..20),
    ) {
        let mut scribe = Scribe::default();
        for step in &steps {
            scribe.take(step);
        }
        prop_assert_eq!(found(&scribe.history), History(&scribe.history).breaches());
    }
}

#[test]
fn who_breaks_a_rule_for_ever_does_not_fill_the_memory() {
    let mut scribe = Scribe::default();
    for number in 0..3000_u32 {
        scribe.take(&Step::Command(0, Command::PowerCycle, false, Delivery::Lost, 9));
        scribe.write(Event::AuthFailed {
            class: RequestClass::Other,
            tried: Some(Tried {
                user: number.to_string(),
                credentials: number.to_string(),
            }),
            status: Some(401),
            delivery: Delivery::Sent,
        });
    }
    let mut case = Case::default();
    for entry in &scribe.history {
        case.hear(entry);
    }
    assert_eq!(case.verdict("a", &[Oracle::RelativeCommand]).len(), 100);
    assert_eq!(case.logins.remembered(), (1000, 1000));
}
