//! What a BMC's clients are found guilty of.

use super::{Breach, Case, Oracle};

impl Case {
    /// Which of these rules were broken when this is the end; at most 100 breaches of each.
    pub(crate) fn verdict(&self, host: &str, oracles: &[Oracle]) -> Vec<Breach> {
        let at_the_end = self.at_the_end().map(|(oracle, seq, text)| Breach {
            oracle,
            host: host.to_owned(),
            seq,
            text,
        });
        let mut breaches: Vec<Breach> = self.breaches.values().flatten().cloned().collect();
        breaches.extend(at_the_end);
        breaches.retain(|breach| oracles.contains(&breach.oracle));
        breaches.sort_by_key(|breach| (breach.seq, breach.oracle));
        breaches
    }

    fn at_the_end(&self) -> impl Iterator<Item = (Oracle, u64, String)> {
        let leaked = self.sessions.leaked();
        let leaked = leaked.map(|(seq, text)| (Oracle::LeakedSession, seq, text));
        let ends = self.systems.values().filter(|_| !self.walled_off);
        let unproven = ends.filter_map(|system| system.proof.given_up_on(self.hindered));
        let unproven = unproven.map(|seq| {
            let text = "at the end no two reads in a row had said Off after this ForceOff";
            (Oracle::OffNotProvenTwice, seq, text.to_owned())
        });
        leaked.chain(unproven)
    }
}
