//! One delay: always the same, or drawn anew each time.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::human::{format_duration, parse_duration};
use crate::seed::Seeded;

/// How long something takes. In JSON and YAML a duration, `"2s"`, or a distribution:
/// `{"uniform":{"from":"1s","to":"11s"}}`, `{"exponential":{"mean":"4s"}}`,
/// `{"normal":{"mean":"4s","deviation":"500ms"}}`. Draws repeat with the simulator's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Always this long.
    Fixed(Duration),
    /// Anything between the two, each as likely as the others.
    Uniform {
        /// The shortest.
        from: Duration,
        /// The longest.
        to: Duration,
    },
    /// Mostly short and sometimes very long: exponentially distributed.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Around a mean: normally distributed, and never less than zero.
    Normal {
        /// The mean.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
}

impl Delay {
    /// No delay.
    pub const ZERO: Self = Self::Fixed(Duration::ZERO);

    /// How long it takes this time.
    pub(super) fn draw(self, draws: &mut Seeded) -> Duration {
        match self {
            Self::Fixed(duration) => duration,
            Self::Uniform { from, to } => {
                let spread = to.saturating_sub(from).as_secs_f64();
                from.saturating_add(seconds(spread * draws.fraction()))
            }
            Self::Exponential { mean } => seconds(-mean.as_secs_f64() * (1.0 - draws.fraction()).ln()),
            Self::Normal { mean, deviation } => {
                // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
                let radius = (-2.0 * (1.0 - draws.fraction()).ln()).sqrt();
                let standard = radius * (std::f64::consts::TAU * draws.fraction()).cos();
                seconds(mean.as_secs_f64() + deviation.as_secs_f64() * standard)
            }
        }
    }
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::MAX)
}

impl From<Duration> for Delay {
    fn from(duration: Duration) -> Self {
        Self::Fixed(duration)
    }
}

/// The shape of a distribution in JSON and YAML.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Distribution {
    Uniform {
        #[serde(with = "crate::human::text")]
        from: Duration,
        #[serde(with = "crate::human::text")]
        to: Duration,
    },
    Exponential {
        #[serde(with = "crate::human::text")]
        mean: Duration,
    },
    Normal {
        #[serde(with = "crate::human::text")]
        mean: Duration,
        #[serde(with = "crate::human::text")]
        deviation: Duration,
    },
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let distribution = match *self {
            Self::Fixed(duration) => return serializer.serialize_str(&format_duration(duration)),
            Self::Uniform { from, to } => Distribution::Uniform { from, to },
            Self::Exponential { mean } => Distribution::Exponential { mean },
            Self::Normal { mean, deviation } => Distribution::Normal { mean, deviation },
        };
        distribution.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a text as a duration and a map as a distribution, so that a mistake is told where it is.
struct Reader;

impl<'de> serde::de::Visitor<'de> for Reader {
    type Value = Delay;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a duration such as 2s, or one of uniform, exponential, normal")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Delay, E> {
        parse_duration(text).map(Delay::Fixed).map_err(E::custom)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
        let distribution = Distribution::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        match distribution {
            Distribution::Uniform { from, to } if from > to => Err(A::Error::custom(
                "`from` is more than `to`: let it be at most that",
            )),
            Distribution::Uniform { from, to } => Ok(Delay::Uniform { from, to }),
            Distribution::Exponential { mean } => Ok(Delay::Exponential { mean }),
            Distribution::Normal { mean, deviation } => Ok(Delay::Normal { mean, deviation }),
        }
    }
}

pub(super) mod or_never {
    //! `#[serde(with)]` for a delay that may be `never` (`None`).
    use super::{Delay, Deserializer, Reader, Serialize, Serializer};
    use serde::de::{MapAccess, Visitor};

    // serde's `with` hands over a reference to the field as it is.
    #[allow(clippy::ref_option)]
    pub(in crate::power) fn serialize<S: Serializer>(
        value: &Option<Delay>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(delay) => delay.serialize(serializer),
            None => serializer.serialize_str("never"),
        }
    }

    pub(in crate::power) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Delay>, D::Error> {
        deserializer.deserialize_any(OrNever)
    }

    struct OrNever;

    impl<'de> Visitor<'de> for OrNever {
        type Value = Option<Delay>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Reader.expecting(formatter)?;
            formatter.write_str(", or never")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Option<Delay>, E> {
            if text == "never" {
                return Ok(None);
            }
            Reader.visit_str(text).map(Some)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Delay>, A::Error> {
            Reader.visit_map(map).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Delay, Duration, Seeded};

    fn read(text: &str) -> Result<Delay, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_and_writes_what_it_read() {
        for text in [
            r#""2s""#,
            r#"{"uniform":{"from":"1s","to":"11s"}}"#,
            r#"{"exponential":{"mean":"4s"}}"#,
            r#"{"normal":{"mean":"4s","deviation":"500ms"}}"#,
        ] {
            assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
        }
        for (text, says) in [
            (r#""soon""#, "soon"),
            (r#"{"uniform":{"from":"2s","to":"1s"}}"#, "at most"),
            (r#"{"gaussian":{}}"#, "gaussian"),
            ("7", "a duration such as 2s"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn draws_have_the_mean_they_should_and_repeat() {
        let second = Duration::from_secs;
        let (from, to, mean, deviation) = (second(1), second(11), second(6), second(1));
        for delay in [
            Delay::Fixed(mean),
            Delay::Uniform { from, to },
            Delay::Exponential { mean },
            Delay::Normal { mean, deviation },
        ] {
            let run = || -> Vec<Duration> {
                let mut draws = Seeded::named(1, "delays");
                (0..20_000).map(|_| delay.draw(&mut draws)).collect()
            };
            let drawn = run();
            assert_eq!(drawn, run());
            let average = drawn.iter().sum::<Duration>() / 20_000;
            assert!(average.abs_diff(mean) < second(1) / 5, "{delay:?}: {average:?}");
            if let Delay::Uniform { .. } = delay {
                assert!(drawn.iter().all(|one| (from..=to).contains(one)));
            }
        }
    }
}
