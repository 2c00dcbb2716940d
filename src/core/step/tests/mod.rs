//! Tests of `step` against a model of the world.

mod cost;
mod exploration;
mod shell;
mod world;
