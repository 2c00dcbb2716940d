//! Fleet files.

use crate::{Fleet, FleetError};

/// Reads a fleet file: how many hosts it has, or what is wrong with it. Absent when it is no text at all.
pub fn fleet(bytes: &[u8]) -> Option<Result<usize, FleetError>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(Fleet::from_yaml(text).map(|fleet| fleet.names().count()))
}
