//! How a machine's power control misbehaves.

use std::time::Duration;

/// What happens to power-offs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OffHandling {
    /// They land after their delay.
    #[default]
    Normal,
    /// They are accepted and forgotten; one that was pending is dropped.
    Ignored,
    /// They begin and never finish; one that was pending sticks.
    Stuck,
}

/// Misbehaviour of the power control; the default is an honest machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Behaviour {
    /// What happens to power-offs.
    pub(crate) offs: OffHandling,
    /// Every command is accepted and forgotten.
    pub(crate) ignore_commands: bool,
    /// A forced restart ends in a system that never boots.
    pub(crate) restart_hangs: bool,
    /// `On` is forgotten while a power-off is pending.
    pub(crate) lose_on_while_powering_off: bool,
    /// `On` is forgotten when the machine went off less than this ago.
    pub(crate) lose_on_after_off: Option<Duration>,
    /// The machine powers on by itself after being off for this long.
    pub(crate) powers_on_by_itself: Option<Duration>,
}
