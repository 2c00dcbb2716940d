//! The only writer of conditions, events and log lines about remediations.

pub mod conditions;
mod events;

pub use events::Reporter;
