//! Verdicts and turns.

#![allow(clippy::arithmetic_side_effects, reason = "a test that overflows says so")]

mod gate;
mod turns;
mod verdict;
