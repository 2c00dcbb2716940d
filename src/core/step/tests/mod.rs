//! Tests of `step` against a model of the world.

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
