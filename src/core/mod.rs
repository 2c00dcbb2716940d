//! Decides. Pure: no async, no clock, no client, no logging, no randomness.
pub mod identity;
pub mod power;
