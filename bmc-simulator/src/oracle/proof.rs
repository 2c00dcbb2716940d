//! Whether a forced power-off was proven: two reads in a row that say Off, each begun after the command, and
//! the second when the first was answered.

/// The proof of the newest forced power-off.
#[derive(Debug, Default)]
pub(super) struct Proof(Option<Open>);

#[derive(Debug)]
struct Open {
    /// The command's entry.
    since: u64,
    /// Whether the client knows that the command was accepted.
    acknowledged: bool,
    /// When a first Off was answered, if the newest read said so.
    first_off: Option<u64>,
    /// Whether any read was begun and answered since.
    looked: bool,
    /// The newest entry of command or read.
    last: u64,
}

impl Proof {
    /// A power-off was commanded.
    pub(super) fn begin(&mut self, seq: u64, acknowledged: bool) {
        self.0 = Some(Open {
            since: seq,
            acknowledged,
            first_off: None,
            looked: false,
            last: seq,
        });
    }

    /// The client learnt late that its command was accepted.
    pub(super) fn acknowledged(&mut self, seq: u64, answered: u64) {
        if let Some(open) = self.0.as_mut().filter(|open| open.since == seq) {
            open.acknowledged = true;
            open.last = open.last.max(answered);
        }
    }

    /// A read was answered.
    pub(super) fn observed(&mut self, begun: u64, answered: u64, off: bool) {
        let Some(open) = self.0.as_mut().filter(|open| open.since < begun) else {
            return;
        };
        open.looked = true;
        open.last = open.last.max(answered);
        match (off, open.first_off) {
            (false, _) => open.first_off = None,
            (true, None) => open.first_off = Some(answered),
            (true, Some(first)) if begun > first => self.0 = None,
            // Both were under way together: one look.
            (true, Some(_)) => {}
        }
    }

    /// Whether a power-off waits to be proven.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// The entry of a power-off that the client took for done too early, when this is the end and the last
    /// thing that may have kept the client from reading happened at `hindered`. Who saw the machine stay
    /// on may have given up, and that is no mistake.
    pub(super) fn given_up_on(&self, hindered: Option<u64>) -> Option<u64> {
        let open = self.0.as_ref().filter(|open| open.acknowledged)?;
        let free = hindered.is_none_or(|at| at < open.last);
        let content = open.first_off.is_some() || !open.looked;
        (free && content).then_some(open.since)
    }
}
