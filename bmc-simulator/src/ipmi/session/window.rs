//! Sequence numbers of received packets (section 6.12.13).

/// How many numbers before the newest are told apart; as many again may be skipped at once.
const BEHIND: u32 = 16;
const AHEAD: u32 = 15;

/// Accepts each number once, in any order within a window of 32 around the newest, gaps included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    newest: u32,
    /// Bit n: `newest - n` was seen.
    seen: u32,
}

impl Default for Window {
    /// Before the first packet, whose number is 1 or little more.
    fn default() -> Self {
        Self {
            newest: 0,
            seen: u32::MAX,
        }
    }
}

impl Window {
    /// Whether a packet with this number is new; if so it is remembered.
    pub(crate) fn accept(&mut self, number: u32) -> bool {
        if number == 0 {
            return false;
        }
        let ahead = number.wrapping_sub(self.newest);
        if (1..=AHEAD).contains(&ahead) {
            self.newest = number;
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            return true;
        }
        let behind = self.newest.wrapping_sub(number);
        let bit = 1_u32.checked_shl(behind).unwrap_or(0);
        if behind > BEHIND || bit == 0 || self.seen & bit != 0 {
            return false;
        }
        self.seen |= bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn takes_each_number_once_in_any_order_with_gaps() {
        let mut window = Window::default();
        for (number, taken) in [
            (0, false),
            (u32::MAX, false),
            (1, true),
            (1, false),
            (16, true),
            (2, true),
            (2, false),
            (15, true),
            (32, false),
            (31, true),
            (15, false),
            (14, false),
            (17, true),
            (100, false),
        ] {
            assert_eq!(window.accept(number), taken, "{number}");
        }
    }

    #[test]
    fn wraps_around_zero() {
        let mut window = Window {
            newest: u32::MAX - 1,
            seen: 1,
        };
        for (number, taken) in [
            (u32::MAX, true),
            (0, false),
            (1, true),
            (u32::MAX, false),
            (2, true),
        ] {
            assert_eq!(window.accept(number), taken, "{number}");
        }
    }
}
