//! Tests of `step` against a model of the world.

mod cost;
mod exploration;
mod invariants_intent;
mod invariants_release;
mod shell;
mod tables;
mod world;
