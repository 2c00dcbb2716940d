//! Answers under way.

use super::Case;
use crate::journal::Tried;

/// What a client will know when a late answer is there.
#[derive(Debug)]
pub(super) enum Late {
    Read { system: String, word: String },
    Accepted { system: String },
    Refused { system: String },
    Rejected { tried: Tried, over_ipmi: bool },
    Session,
}

impl Case {
    /// The BMC is gone, and with it all answers under way.
    pub(super) fn hang_up(&mut self) {
        for (of, late) in std::mem::take(&mut self.late) {
            if let Late::Refused { system } = late {
                self.system(&system).refused(of, false);
            }
        }
    }

    /// Rejections on their way that do not matter any more.
    pub(super) fn forget_late(&mut self, forgotten: impl Fn(&Tried) -> bool) {
        self.late
            .retain(|_, late| !matches!(late, Late::Rejected { tried, .. } if forgotten(tried)));
    }

    pub(super) fn answered(&mut self, seq: u64, of: u64, sent: bool) {
        let late = self.late.remove(&of);
        if let Some(Late::Refused { system }) = &late {
            self.system(system).refused(of, sent);
        }
        if !sent {
            return;
        }
        // Over IPMI a lost answer can be asked for again.
        self.sessions.known(of);
        match late {
            Some(Late::Read { system, word }) => self.system(&system).observed(of, seq, &word),
            Some(Late::Accepted { system }) => self.system(&system).proof.acknowledged(of, seq),
            Some(Late::Rejected { tried, over_ipmi }) => self.logins.rejected(&tried, of, over_ipmi),
            Some(Late::Refused { .. } | Late::Session) | None => {}
        }
    }
}
