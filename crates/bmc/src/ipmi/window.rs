//! Sequence numbers of what the BMC sends (IPMI 2.0, section 6.12.13).

/// How many numbers before the newest are told apart, and how many may be skipped at once: 32 in all.
/// BMCs that share their port with the host are known to skip some (FreeIPMI, "LAN Session" notes,
/// ASRock).
const BEHIND: u32 = 15;
const AHEAD: u32 = 16;

/// Takes each number once, in any order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    newest: u32,
    /// Bit n: `newest - n` was taken.
    taken: u32,
}

impl Window {
    /// Before the first packet, which has the number 1 unless some were skipped.
    pub(super) fn new() -> Self {
        Self {
            newest: 0,
            taken: u32::MAX,
        }
    }

    /// Takes a number, or says that it is a duplicate or too old or too new.
    pub(super) fn take(&mut self, number: u32) -> bool {
        // 0 is for packets outside of sessions.
        if number == 0 {
            return false;
        }
        let ahead = number.wrapping_sub(self.newest);
        if (1..=AHEAD).contains(&ahead) {
            self.newest = number;
            self.taken = self.taken.wrapping_shl(ahead) | 1;
            return true;
        }
        let behind = self.newest.wrapping_sub(number);
        if behind > BEHIND {
            return false;
        }
        let bit = 1_u32.wrapping_shl(behind);
        let new = self.taken & bit == 0;
        self.taken |= bit;
        new
    }
}
