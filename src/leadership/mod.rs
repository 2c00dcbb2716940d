//! Which replica leads: a Lease, by the algorithm of client-go on a monotonic clock.
//!
//! Who does not lead does nothing but wait, and serve metrics and its health. Whoever loses the lead ends its process.
//! Between the two, [`Lead`] is the right to act: every intent is bounded by it, and every write to an API server is
//! refused once it is over, so that a process that was frozen does nothing when it goes on.
//!
//! Source: client-go `tools/leaderelection/leaderelection.go`.

pub(crate) mod candidate;
pub(crate) mod election;
pub(crate) mod gate;
pub(crate) mod lead;

#[cfg(test)]
mod tests;
