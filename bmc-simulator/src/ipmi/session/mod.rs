//! Sessions of one BMC: half-open, open, and the sequence numbers of their packets.

mod table;
mod window;

#[cfg(test)]
pub(crate) use table::HALF_OPEN;
pub(crate) use table::{Claim, Session, Sessions};
pub(crate) use window::Window;
