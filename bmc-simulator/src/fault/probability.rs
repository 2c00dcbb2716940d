//! How likely a fault is to hit.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Parts of a whole.
const WHOLE: u32 = 1_000_000;

/// A probability with six digits, so that two that are written alike are equal. In JSON a number, more
/// than 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probability {
    millionths: u32,
}

impl Probability {
    /// From a number more than 0 and at most 1, rounded to millionths; `None` for any other.
    pub fn new(value: f64) -> Option<Self> {
        let scaled = (value * f64::from(WHOLE)).round();
        if !(1.0..=f64::from(WHOLE)).contains(&scaled) {
            return None;
        }
        // In range, as was just looked at.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let millionths = scaled as u32;
        Some(Self { millionths })
    }

    /// As a number of 0 to 1.
    pub fn get(self) -> f64 {
        f64::from(self.millionths) / f64::from(WHOLE)
    }

    /// Whether a draw, uniform over all numbers, hits.
    pub(crate) fn hits(self, draw: u64) -> bool {
        draw.checked_rem(u64::from(WHOLE)).unwrap_or_default() < u64::from(self.millionths)
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        let wrong = || {
            serde::de::Error::custom(format!(
                "{value} is no probability: write a number above 0, at most 1"
            ))
        };
        Self::new(value).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::Probability;

    #[test]
    fn takes_what_lies_between_and_nothing_else() {
        for good in [0.000_001, 0.25, 1.0] {
            let probability = Probability::new(good).unwrap();
            assert!((probability.get() - good).abs() < 1e-9);
        }
        for bad in [0.0, -0.5, 1.1, f64::NAN, f64::INFINITY, 1e-9] {
            assert_eq!(Probability::new(bad), None, "{bad}");
        }
        let error = serde_json::from_str::<Probability>("2").unwrap_err().to_string();
        assert!(error.contains("at most 1"), "{error}");
    }

    #[test]
    fn one_always_hits_and_a_quarter_a_quarter_of_the_time() {
        let quarter = Probability::new(0.25).unwrap();
        let hits = (0..1_000_000_u64).filter(|draw| quarter.hits(*draw)).count();
        assert_eq!(hits, 250_000);
        assert!((0..1_000_000_u64).all(|draw| Probability::new(1.0).unwrap().hits(draw)));
    }
}
