//! Seeded generator: identities, boot ids and session tokens repeat from run to run.
//!
//! SplitMix64 (Steele, Lea, Flood 2014). It is a test generator; nothing it makes is secret.

/// A deterministic stream of numbers, independent per host so that adding a host changes no other.
#[derive(Debug, Clone)]
pub(crate) struct Seeded {
    state: u64,
}

impl Seeded {
    /// The stream that belongs to `name` under `seed`.
    pub(crate) fn named(seed: u64, name: &str) -> Self {
        // FNV-1a mixes the name in; the seed alone would give all hosts the same stream.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self {
            state: seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ hash,
        }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of 0 to 1, without 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        // 53 bits are what an f64 holds exactly.
        #[allow(clippy::cast_precision_loss)]
        let bits = (self.next() >> 11) as f64;
        bits / 9_007_199_254_740_992.0
    }

    /// 32 hexadecimal digits.
    pub(crate) fn hex(&mut self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }

    /// Text in the shape of a version 4 UUID (RFC 9562 section 5.4), in lower case.
    pub(crate) fn uuid(&mut self) -> String {
        let high = (self.next() & 0xffff_ffff_ffff_0fff) | 0x4000;
        let low = (self.next() & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        let digits = format!("{high:016x}{low:016x}");
        let mut uuid = String::with_capacity(36);
        for (index, digit) in digits.chars().enumerate() {
            if matches!(index, 8 | 12 | 16 | 20) {
                uuid.push('-');
            }
            uuid.push(digit);
        }
        uuid
    }
}

#[cfg(test)]
mod tests {
    use super::Seeded;

    #[test]
    fn same_seed_and_name_repeat_and_others_differ() {
        let first: Vec<u64> = (0..3).map(|_| Seeded::named(7, "a").next()).collect();
        assert_eq!(first[0], first[1]);
        assert_ne!(Seeded::named(7, "a").uuid(), Seeded::named(7, "b").uuid());
        assert_ne!(Seeded::named(7, "a").uuid(), Seeded::named(8, "a").uuid());
    }

    #[test]
    fn uuid_has_version_and_variant() {
        let mut seeded = Seeded::named(1, "x");
        for _ in 0..200 {
            let uuid = seeded.uuid();
            assert_eq!(uuid.len(), 36, "{uuid}");
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }
}
