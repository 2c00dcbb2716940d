//! Whether a remediation of a host would work today, as far as its BMC has a say. [`judge`] turns what a BMC showed into
//! one verdict; [`schedule`] says whose turn it is to be asked.

pub mod schedule;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use super::facts::{NodeReport, Obstacle};
use super::identity::{self, SystemUuid};
use super::journal::Verb;
use super::phase::Reason;
use super::power::PowerState;
use super::proof;

/// A certificate whose dates matter is reported this long before it expires: time to get another.
const EXPIRY_NOTICE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A BMC is too slow when so many answers in a row were ([`proof::is_too_slow`]). One may be bad luck, or that of
/// another client; and a proof needs one fast answer among those that follow each other, so the fastest counts.
pub const SLOW_ANSWERS: usize = 3;

/// What a BMC showed, without anything having been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BmcReport {
    /// How long it took to say the power state: the fastest of [`SLOW_ANSWERS`], if the first was too slow.
    pub took: SignedDuration,
    /// How it was spoken to, such as "Redfish with a session".
    pub how: String,
    /// Why that was IPMI although the BMC's address names Redfish.
    pub fallback: Option<String>,
    /// The power state.
    pub power: PowerState,
    /// The word that the BMC used for it.
    pub said: Option<String>,
    /// The system UUID as the BMC writes it.
    pub uuid: Option<String>,
    /// Which system was read.
    pub system: String,
    /// The power commands that the BMC does not offer although it lists what it offers.
    pub missing: Vec<Verb>,
    /// The certificate that it presented.
    pub certificate: Option<Certificate>,
}

/// What matters about a certificate that a BMC presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Its last moment, if it can be read.
    pub not_after: Option<Timestamp>,
    /// Whether it is refused after that: not one that is known by its fingerprint, or that nobody verifies.
    pub dates_matter: bool,
}

/// Whose host should be behind the BMC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected<'a> {
    /// The host of a Node: its name, and the system UUID in its status.
    Node(&'a str, Option<&'a str>),
    /// The host of a Node that is not there; what is missing.
    NoNode(String),
    /// Nobody's: the BMC was asked by its address alone.
    Anybody,
}

/// The verdict on what a BMC showed: a remediation would work, with what was seen in words that stay as
/// long as it does; or the reason why it would not, now or soon. Where Redfish is silent it would work over IPMI alone,
/// but what is broken has to be mended before the other fails, too. `stated`: the UUID that an administrator stated.
/// `is_only_reset`: the host must not be powered off.
pub fn judge(
    found: &BmcReport,
    expected: &Expected<'_>,
    stated: Option<&SystemUuid>,
    is_only_reset: bool,
    now: Timestamp,
) -> Result<String, Obstacle> {
    is_the_host(found, expected, stated)?;
    let is_needed = |verb: &&Verb| match verb {
        Verb::PowerOff => !is_only_reset,
        Verb::PowerOn => true,
        Verb::Restart => is_only_reset,
    };
    let missing = found.missing.iter().filter(is_needed);
    let missing: Vec<&str> = missing.map(|verb| verb.reset_type()).collect();
    if !missing.is_empty() {
        let missing = missing.join(" and ");
        let detail = format!("the BMC lists what it can do, and {missing} is not among it");
        return Err(Obstacle::new(Reason::BmcCommandRefused, detail));
    }
    let said = found.said.as_deref().unwrap_or("null");
    let power = match found.power {
        PowerState::On | PowerState::Off | PowerState::PoweringOn | PowerState::PoweringOff => said,
        PowerState::Unknown => {
            let detail = format!("the BMC gives the power state of {} as \"{said}\"", found.system);
            return Err(Obstacle::new(Reason::BmcPowerStateUnknown, detail));
        }
    };
    if proof::is_too_slow(found.took) {
        return Err(too_slow(found.took));
    }
    if let Some(why) = &found.fallback {
        let detail = format!("a remediation would work {why}");
        return Err(Obstacle::new(Reason::BmcOnlyOverIpmi, detail));
    }
    let certificate = match &found.certificate {
        Some(certificate) => will_last(certificate, now)?,
        None => String::new(),
    };
    Ok(format!("{}; the host is {power}{certificate}", found.how))
}

/// The host that the BMC was found to be of, with what is expected of it; or that another one answers.
pub fn found_host(found: &BmcReport, expected: &Expected<'_>, stated: Option<&SystemUuid>) -> FoundHost {
    let is_its = match is_the_host(found, expected, stated) {
        Ok(()) => true,
        Err(obstacle) => obstacle.reason == Reason::NodeMissing,
    };
    let said = found
        .uuid
        .as_deref()
        .and_then(|uuid| SystemUuid::parse(uuid).ok());
    said.filter(|_| is_its).map_or(FoundHost::Another, FoundHost::Its)
}

/// What a check says of whose BMC it asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundHost {
    /// It is the BMC of the host with this system UUID.
    Its(SystemUuid),
    /// It answered, and is another host's, or refuses the login.
    Another,
    /// It did not answer: what was found before stands.
    Unknown,
}

impl FoundHost {
    /// What a check says that failed before the BMC had said whose it is.
    pub fn failed(why: Reason) -> Self {
        let is_silent = [
            Reason::BmcUnreachable,
            Reason::BmcNotReady,
            Reason::BmcProtocolError,
        ];
        if is_silent.contains(&why) {
            Self::Unknown
        } else {
            Self::Another
        }
    }
}

/// What is wrong with a BMC whose fastest answer took so long.
pub(crate) fn too_slow(took: SignedDuration) -> Obstacle {
    let (seconds, most) = (took.as_secs_f64(), proof::SLOWEST_ANSWER.as_secs());
    let detail = format!(
        "the fastest of {SLOW_ANSWERS} answers of the BMC took {seconds:.1} s, and Off is proven by answers within {most} s"
    );
    Obstacle::new(Reason::BmcTooSlow, detail)
}

/// Whether a BMC is believed that said Off of a host whose Node is Ready. `earlier` and `later` are two reads
/// of the Node's reports, both begun after that; `again` is the power state as the BMC gave it after the
/// later one. A Node that reported in between, while the BMC says Off before and after, is not the host
/// behind that BMC, or the BMC does not say what is: its proof of Off would release what still runs.
pub fn off_is_believable(
    node: &str,
    earlier: &NodeReport,
    later: &NodeReport,
    again: PowerState,
) -> Result<(), Obstacle> {
    let reported = later.lease_renewed.is_some() && later.lease_renewed != earlier.lease_renewed;
    if again == PowerState::Off && reported {
        return Err(Obstacle::new(
            Reason::NodeStillReporting,
            format!("the BMC says Off, and Node {node} is Ready and renewed its Lease after that"),
        ));
    }
    Ok(())
}

fn is_the_host(
    found: &BmcReport,
    expected: &Expected<'_>,
    stated: Option<&SystemUuid>,
) -> Result<(), Obstacle> {
    let (said, system) = (found.uuid.as_deref(), found.system.as_str());
    match expected {
        Expected::Node(name, uuid) => identity::prove(said, system, (name, *uuid), stated).map(drop),
        Expected::Anybody => identity::prove_stated(said, system, stated).map(drop),
        Expected::NoNode(detail) => {
            identity::prove_stated(said, system, stated)?;
            Err(Obstacle::new(Reason::NodeMissing, detail.clone()))
        }
    }
}

/// What there is to say about a certificate that does no harm.
fn will_last(certificate: &Certificate, now: Timestamp) -> Result<String, Obstacle> {
    let Some(not_after) = certificate.not_after else {
        return Ok("; nobody can tell when its certificate expires".to_owned());
    };
    let day = not_after.strftime("%Y-%m-%d");
    let is_over = not_after <= now;
    let expires = if is_over { "expired" } else { "expires" };
    if certificate.dates_matter && not_after.duration_since(now) <= EXPIRY_NOTICE {
        let detail = format!("the certificate of the BMC {expires} on {day}");
        return Err(Obstacle::new(Reason::BmcCertificateExpiring, detail));
    }
    let harmless = match (certificate.dates_matter, is_over) {
        (true, _) => "",
        (false, true) => ", which does no harm to one that is not judged by dates",
        (false, false) => ", which will do no harm to one that is not judged by dates",
    };
    Ok(format!("; its certificate {expires} on {day}{harmless}"))
}
