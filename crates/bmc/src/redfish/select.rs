//! Which of a BMC's systems is meant, and reading it.
//!
//! Some BMCs list several: blades, decoys such as OpenBMC's `hypervisor` or NVIDIA's `HGX_Baseboard_0`. Taking
//! the first or last one powers off somebody else's host (fence-agents `fence_redfish` and NVIDIA/libredfish did).

use jiff::Timestamp;
use tokio::time::Instant;

use super::resource::{Chassis, Collection, Described, Root, System, decode};
use super::{Control, Redfish, own};
use crate::address::ResourcePath;
use crate::error::BmcError;
use crate::{PowerRead, Protocol, dated};
use remediator_core::identity::SystemUuid;
use remediator_core::journal::HostState;
use remediator_core::power::PowerState;

/// Readable without a login (DSP0266, "Resources that do not require authentication").
pub(super) const ROOT: &str = "/redfish/v1/";
const SYSTEMS: &str = "/redfish/v1/Systems";
/// More members than this are not searched.
const MAX_MEMBERS: usize = 32;
/// Longest word taken over from a system, in characters.
pub(super) const MAX_WORD: usize = 64;

/// What a system said, how it is commanded, and when it was asked: before its chassis, where that is asked, too.
pub(super) type SystemRead = (PowerRead, Control, Instant);

impl Redfish {
    /// Reads one system.
    pub(super) async fn read_system(&mut self, path: &ResourcePath) -> Result<SystemRead, BmcError> {
        let answer = match self.get(path).await {
            Err(BmcError::Http {
                status: 404, text, ..
            }) => {
                return Err(self.no_system(path, format!("HTTP 404: {text}")));
            }
            other => other?,
        };
        let system: System = Self::decode(&answer)?;
        let kind = system.kind.as_deref();
        if let Some(kind) = kind.filter(|kind| !kind.starts_with("#ComputerSystem.")) {
            // A chassis has a PowerState too, and it is not the host's.
            let kind = self.redactor.shorten(kind, MAX_WORD);
            return Err(self.no_system(path, format!("it is a {kind}")));
        }
        let mut power = PowerState::from_literal(system.power_state.as_deref());
        let mut contradiction = None;
        if let Some(chassis) = witness(&system).filter(|_| power == PowerState::Off) {
            contradiction = self.contradiction(&chassis, path).await?;
        }
        if contradiction.is_some() {
            power = PowerState::Unknown;
        }
        let described: Described = decode(answer.bytes()).unwrap_or_default();
        let host = self.host_state(&described);
        let logs = described.logs.and_then(|logs| logs.id);
        self.logs = logs.and_then(|logs| ResourcePath::parse(&logs).ok());
        let word = |word: &Option<String>| word.as_deref().map(|word| self.redactor.shorten(word, MAX_WORD));
        let reading = PowerRead {
            protocol: Protocol::Redfish,
            power,
            literal: contradiction.or_else(|| word(&system.power_state)),
            uuid: word(&system.uuid),
            serial: word(&system.serial),
            system: self.redactor.shorten(path.as_str(), usize::MAX),
            session: self.session_path(),
            command_failure: None,
            fallback: None,
            certificate: None,
            host,
            began: dated(answer.sent),
            ended: Timestamp::now(),
        };
        let uuid = system.uuid.as_deref();
        let control = Control {
            uuid: uuid.and_then(|uuid| SystemUuid::parse(uuid).ok()),
            reset: system.actions.and_then(|actions| actions.reset),
        };
        Ok((reading, control, answer.sent))
    }

    /// What else the system says of its host, for people.
    fn host_state(&self, described: &Described) -> HostState {
        let word = |word: &Option<String>| word.as_deref().map(|word| self.redactor.shorten(word, MAX_WORD));
        let (status, boot) = (described.status.as_ref(), described.boot_progress.as_ref());
        HostState {
            health: status.and_then(|status| word(&status.health)),
            state: status.and_then(|status| word(&status.state)),
            boot_progress: boot.and_then(|boot| word(&boot.last_state)),
            boot_progress_since: boot.and_then(|boot| word(&boot.since)),
            last_reset: word(&described.last_reset),
            last_power_event: None,
        }
    }

    /// The path may be one that the BMC named.
    fn no_system(&self, path: &ResourcePath, found: String) -> BmcError {
        BmcError::NoSuchSystem {
            path: self.redactor.clean(path.as_str()),
            found,
        }
    }

    /// What the chassis says against a system that says Off; `None` when it agrees or is no witness.
    ///
    /// OpenBMC's `PowerState` follows the host's software, and an unknown state reads Off; the power of the chassis
    /// is separate (openbmc/bmcweb `redfish-core/lib/systems.hpp` and `chassis.hpp`).
    async fn contradiction(
        &mut self,
        chassis: &str,
        system: &ResourcePath,
    ) -> Result<Option<String>, BmcError> {
        let path = own("chassis", Some(chassis))?;
        let answer = match self.get(&path).await {
            // What is not to be seen is no witness, and no reason to believe either.
            Err(error @ (BmcError::Http { .. } | BmcError::Forbidden(_))) if !error.is_transient() => {
                return Ok(Some("Off, but its chassis cannot be read".to_owned()));
            }
            answer => answer?,
        };
        let chassis: Chassis = Self::decode(&answer)?;
        let systems = chassis.links.and_then(|links| links.systems).unwrap_or_default();
        // A link that cannot be read names nobody.
        let linked = systems
            .iter()
            .flatten()
            .filter_map(|one| path_of(one.id.as_deref()?));
        let mut others = linked.filter(|path| *path != system.as_str().trim_end_matches('/'));
        // The power of a chassis that holds several hosts is not that of one.
        if others.next().is_some() {
            return Ok(None);
        }
        Ok(match PowerState::from_literal(chassis.power_state.as_deref()) {
            PowerState::Off => None,
            PowerState::On | PowerState::PoweringOn | PowerState::PoweringOff | PowerState::Unknown => {
                let said = chassis.power_state.as_deref().unwrap_or("null");
                let said = self.redactor.shorten(said, MAX_WORD);
                Some(format!("Off, but its chassis says {said}"))
            }
        })
    }

    /// Finds the system when the address names none, and hands back the reading that decided.
    pub(super) async fn select(&mut self) -> Result<(ResourcePath, SystemRead), BmcError> {
        let members = self.members().await?;
        if let [only] = members.as_slice() {
            let path = own("system", only.as_deref())?;
            let reading = self.read_system(&path).await?;
            return Ok((path, reading));
        }
        let ambiguous = |matching| BmcError::AmbiguousSystem {
            members: members.len(),
            matching,
        };
        let expected = self.expected.clone().filter(|_| members.len() <= MAX_MEMBERS);
        let expected = expected.ok_or_else(|| ambiguous(0))?;
        let agrees = |uuid: &SystemUuid| expected.matches(uuid).is_some();
        let (mut found, mut known) = (Vec::new(), None);
        for member in members.iter().flatten() {
            let path = own("system", Some(member))?;
            match self.read_system(&path).await {
                Ok(reading) if reading.1.uuid.as_ref().is_some_and(agrees) => found.push((path, reading)),
                Ok(reading) if reading.1.uuid.is_none() && self.known.as_ref() == Some(&path) => {
                    known = Some((path, reading));
                }
                // A decoy may answer 503 while the host is off (NVIDIA/infra-controller issue
                // 5418) or deny access. It cannot be the match; the match proves itself.
                Ok(_)
                | Err(BmcError::Http { .. } | BmcError::NoSuchSystem { .. } | BmcError::Forbidden(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let matching = found.len();
        match found.pop().or(known) {
            Some(system) if matching <= 1 => Ok(system),
            Some(_) | None => Err(ambiguous(matching)),
        }
    }

    /// The paths of all members; `None` for a member without one.
    async fn members(&mut self) -> Result<Vec<Option<String>>, BmcError> {
        let answer = match self.get(&ResourcePath::fixed(SYSTEMS)).await {
            Err(BmcError::Http { status: 404, .. }) => {
                let root: Root = Self::decode(&self.get(&ResourcePath::fixed(ROOT)).await?)?;
                let link = root.systems.and_then(|systems| systems.id);
                let path = own("collection of systems", link.as_deref())?;
                self.get(&path).await?
            }
            other => other?,
        };
        let collection: Collection = Self::decode(&answer)?;
        let goes_on = collection.goes_on();
        let members = collection.members.unwrap_or_default().into_iter();
        let mut members: Vec<Option<String>> = members.map(|member| member?.id).collect();
        if goes_on {
            // "The only one" is never concluded from an incomplete list.
            members.push(None);
        }
        Ok(members)
    }
}

/// The chassis to be asked besides a system that says Off, with one request more: only of services with the mark
/// of OpenBMC, reset types behind `@Redfish.ActionInfo` (ibm-openbmc/dev issue 3211), and one chassis linked.
fn witness(system: &System) -> Option<String> {
    let reset = system.actions.as_ref()?.reset.as_ref()?;
    if reset.offered.is_some() || reset.action_info.is_none() {
        return None;
    }
    match system.links.as_ref()?.chassis.as_deref()? {
        [Some(only)] => only.id.clone(),
        _ => None,
    }
}

/// The path of a reference, which some BMCs write with a name of theirs in front.
fn path_of(reference: &str) -> Option<&str> {
    let path = match reference.split_once("://") {
        Some((_, rest)) => rest.get(rest.find('/')?..)?,
        None => reference,
    };
    path.starts_with('/').then(|| path.trim_end_matches('/'))
}
