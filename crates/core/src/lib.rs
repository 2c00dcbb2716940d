//! Decides. Pure: no async, no clock, no client, no logging, no randomness.
//!
//! `facts` and `now` go into [`step::step`], one [`decision::Decision`] comes out. A decision is so
//! specific that carrying it out leaves no choices.

pub mod admission;
pub mod brakes;
pub mod checker;
pub mod confirmation;
pub mod decision;
pub mod eligibility;
pub mod facts;
pub mod health;
pub mod identity;
pub mod intake;
pub mod journal;
pub mod machine_api;
pub mod manual;
pub mod metal3;
pub mod node_lease;
pub mod observed;
pub mod phase;
pub mod power;
pub mod power_command;
pub mod proof;
pub mod quarantine;
pub mod readiness;
pub mod resource_version;
pub mod step;
pub mod strategy;

use jiff::{SignedDuration, Timestamp};

/// A time and a pause; the end of time where the sum cannot be expressed.
pub(crate) fn after(start: Timestamp, pause: SignedDuration) -> Timestamp {
    start.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

/// A pause that doubles with each failure after the first, up to a cap.
pub(crate) fn doubling(pause: SignedDuration, failures: u32, cap: SignedDuration) -> SignedDuration {
    let factor = 2_i32.saturating_pow(failures.saturating_sub(1));
    pause.saturating_mul(factor).min(cap)
}

/// Drops the oldest, at the front, beyond so many.
pub(crate) fn keep_newest<T>(list: &mut Vec<T>, kept: usize) {
    list.drain(..list.len().saturating_sub(kept));
}
