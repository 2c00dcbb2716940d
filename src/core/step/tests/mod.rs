//! Tests of `step` against a model of the world.

// Virtual milliseconds are small numbers, and a test that overflows fails.
#![allow(clippy::arithmetic_side_effects)]

mod arbitrary;
mod cost;
mod crashes;
mod debts;
mod exploration;
mod invariants_intent;
mod invariants_release;
mod shell;
mod tables;
mod world;
