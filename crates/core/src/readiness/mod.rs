//! Whether a remediation of a host would work today, as far as its BMC has a say.
//!
//! [`judge`] turns what a BMC showed into one verdict; [`schedule`] says whose turn it is to be asked.

pub mod schedule;
pub mod slot;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

use super::facts::{NodeReport, Obstacle};
use super::identity::{self, SystemUuid};
use super::phase::Reason;
use super::power::PowerState;

/// A certificate whose dates matter is reported this long before it expires: time to get another.
pub const EXPIRY_NOTICE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// What a BMC showed, without anything having been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BmcReport {
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
    /// The absolute power commands that the BMC does not offer although it lists what it offers.
    pub missing: Vec<&'static str>,
    /// The certificate that it presented.
    pub certificate: Option<Certificate>,
}

/// What matters about a certificate that a BMC presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Its last moment, if it can be read.
    pub not_after: Option<Timestamp>,
    /// Whether it is refused after that. One that is known by its fingerprint is not, nor is one that
    /// nobody verifies.
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
/// long as it does; or the reason why it would not, now or soon. `stated` is the UUID that an
/// administrator stated for the host.
///
/// # Errors
/// The obstacle: wrong or unproven identity, missing power commands, a power state that proves nothing, a
/// certificate that is about to be refused, or Redfish silent, so that a remediation would depend on IPMI
/// alone: it would work, but what is broken has to be mended before the other fails, too.
pub fn judge(
    found: &BmcReport,
    expected: &Expected<'_>,
    stated: Option<&SystemUuid>,
    now: Timestamp,
) -> Result<String, Obstacle> {
    is_the_host(found, expected, stated)?;
    if !found.missing.is_empty() {
        let detail = format!(
            "the BMC lists what it can do, and {} is not among it",
            found.missing.join(" and ")
        );
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

/// Whether a BMC is believed that said Off of a host whose Node is Ready. `earlier` and `later` are two reads
/// of the Node's reports, both begun after that; `again` is the power state as the BMC gave it after the
/// later one. A Node that reported in between, while the BMC says Off before and after, is not the host
/// behind that BMC, or the BMC does not say what is: its proof of Off would release what still runs.
///
/// # Errors
/// The obstacle, when they contradict each other.
pub fn off_is_believable(
    node: &str,
    earlier: &NodeReport,
    later: &NodeReport,
    again: PowerState,
) -> Result<(), Obstacle> {
    let reported = later.lease_renewed.is_some() && later.lease_renewed != earlier.lease_renewed;
    match again {
        PowerState::Off if reported => Err(Obstacle::new(
            Reason::NodeStillReporting,
            format!("the BMC says Off, and Node {node} is Ready and renewed its Lease after that"),
        )),
        PowerState::Off
        | PowerState::On
        | PowerState::PoweringOn
        | PowerState::PoweringOff
        | PowerState::Unknown => Ok(()),
    }
}

fn is_the_host(
    found: &BmcReport,
    expected: &Expected<'_>,
    stated: Option<&SystemUuid>,
) -> Result<(), Obstacle> {
    let (said, system) = (found.uuid.as_deref(), found.system.as_str());
    match expected {
        Expected::Node(name, uuid) => identity::prove(said, system, (name, *uuid), stated).map(drop),
        Expected::NoNode(detail) => {
            identity::prove_stated(said, system, stated)?;
            Err(Obstacle::new(Reason::NodeMissing, detail.clone()))
        }
        Expected::Anybody => identity::prove_stated(said, system, stated).map(drop),
    }
}

/// What there is to say about a certificate that does no harm.
fn will_last(certificate: &Certificate, now: Timestamp) -> Result<String, Obstacle> {
    let Some(not_after) = certificate.not_after else {
        return Ok("; nobody can tell when its certificate expires".to_owned());
    };
    let day = date(not_after);
    let gone = not_after <= now;
    let near = not_after.duration_since(now) <= EXPIRY_NOTICE;
    match (certificate.dates_matter, gone, near) {
        (true, true, _) => Err(Obstacle::new(
            Reason::BmcCertificateExpiring,
            format!("the certificate of the BMC expired on {day}"),
        )),
        (true, false, true) => Err(Obstacle::new(
            Reason::BmcCertificateExpiring,
            format!("the certificate of the BMC expires on {day}"),
        )),
        (true, false, false) => Ok(format!("; its certificate expires on {day}")),
        (false, true, _) => Ok(format!(
            "; its certificate expired on {day}, which does no harm to one that is not judged by dates"
        )),
        (false, false, _) => Ok(format!(
            "; its certificate expires on {day}, which will do no harm to one that is not judged by dates"
        )),
    }
}

/// The day, in UTC.
fn date(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
