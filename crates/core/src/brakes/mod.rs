//! Brakes: how many hosts are powered off at once, within a while and within a failure domain, and when none is: after
//! a start, when too many Nodes are unhealthy at once, and when hosts do not return. They hold without a word in the
//! policy. They are asked in the one admission and again right before the first power-off of an attempt; recovery never
//! asks them.

mod share;
#[cfg(test)]
mod tests;

pub use share::{BadShare, Share};

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::after;
use super::facts::Obstacle;
use super::phase::Reason;

/// For how long a host counts that did not return.
pub const FAILED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// What the administrator allows, for each cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Hosts under remediation at once, of all hosts.
    pub at_once: Share,
    /// Power-offs begun within [`Self::window`], of all hosts.
    pub in_window: Share,
    /// How long a power-off counts.
    pub window: SignedDuration,
    /// Hosts under remediation at once in a failure domain, of the hosts in it.
    pub in_domain: Share,
    /// The label of Nodes that names their failure domain.
    pub domain_label: String,
    /// More unhealthy hosts than this, of all hosts, are a storm; and more unhealthy Nodes, of all Nodes.
    pub unhealthy: Share,
    /// How long after a storm nothing is begun.
    pub cool_down: SignedDuration,
    /// How long after the start of the daemon nothing is begun.
    pub startup_hold: SignedDuration,
    /// No remediation begins on a host that was powered off so often within [`FAILED_FOR`].
    pub per_host: u32,
    /// The longest that a remediation may take by what it has chosen ([`Strategy::longest`]): others wait for it.
    ///
    /// [`Strategy::longest`]: crate::strategy::Strategy::longest
    pub longest: SignedDuration,
    /// As many hosts may have failed to return within [`FAILED_FOR`], of all hosts; with more nothing is begun.
    pub failed: Share,
}

impl Default for Limits {
    /// A tenth of the hosts at once and in ten minutes, a twentieth of a zone; nothing while three in ten Nodes are
    /// unhealthy (Kubernetes `pkg/controller/nodelifecycle` slows down at 55 % of a zone; NodeHealthCheck wants 51 %
    /// healthy). Each is at least one host, and the last two of several, lest small clusters be frozen.
    fn default() -> Self {
        Self {
            at_once: Share::Percent(10),
            in_window: Share::Percent(10),
            window: SignedDuration::from_mins(10),
            in_domain: Share::Percent(5),
            domain_label: "topology.kubernetes.io/zone".to_owned(),
            unhealthy: Share::Percent(30),
            cool_down: SignedDuration::from_mins(2),
            startup_hold: SignedDuration::from_mins(1),
            failed: Share::Percent(10),
            per_host: 3,
            longest: SignedDuration::from_hours(24),
        }
    }
}

/// Unhealthy Nodes that are no storm in any cluster, unless a count says so: the host of one is out for repair, and
/// that of another fails.
const FEW_UNHEALTHY: usize = 2;

/// Hosts that did not return that stop nothing, unless a count says so.
const FEW_FAILED: usize = 3;

/// Two hosts of a failure domain that become unhealthy within this time have something in common.
const TOGETHER: SignedDuration = SignedDuration::from_secs(60);

/// How long nothing is begun in their domain then. It ends, because in the end only their power may bring them back.
const TOGETHER_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How old the last renewal of the lead may be: it is renewed every two seconds.
const RENEWED_WITHIN: SignedDuration = SignedDuration::from_secs(5);

/// As many that became unhealthy each more than [`TOGETHER`] after the other lie more than [`TOGETHER_FOR`] apart, so that
/// those before them hold nothing up.
pub const LATEST_IN_DOMAIN: usize = 12;

/// In a domain of so few hosts, two that fail together hold nothing up.
const FEW_IN_DOMAIN: usize = 2;

/// The Nodes and remediations of one cluster, as far as the brakes go by them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fleet {
    /// All hosts: Nodes whose host is known, and Machines with such a host that have no Node.
    pub hosts: usize,
    /// Those that are not Ready, cannot be read, or have no Node.
    pub unhealthy_hosts: usize,
    /// All Nodes, whatever they run on.
    pub nodes: usize,
    /// Those that are not Ready, or cannot be read.
    pub unhealthy: usize,
    /// Other hosts that are, or may be, under remediation, or were admitted to it; those of remediations that cannot be
    /// read among them.
    pub begun: usize,
    /// Other hosts that wait between two attempts.
    pub between_attempts: usize,
    /// Begins of power-offs of other remediations, all that are younger than the window. One that was admitted and is
    /// not journalled yet begins now.
    pub power_offs: Vec<Timestamp>,
    /// When other remediations have failed at what they had begun, all within [`FAILED_FOR`]; not those whose Machine
    /// is in quarantine no more.
    pub failed: Vec<Timestamp>,
    /// The failure domains of those that ask, by name.
    pub domains: BTreeMap<String, Domain>,
    /// Whether what this process sees is to be believed.
    pub view: OwnView,
    /// When this process began to watch.
    pub watched_since: Option<Timestamp>,
    /// When this process last saw a storm.
    pub last_storm: Option<Timestamp>,
}

/// Whether it may be this process that cannot see, and not the hosts that are silent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnView {
    /// How long ago the API server took the last renewal of this process's lead; none where nobody is elected.
    pub last_renewal: Option<SignedDuration>,
    /// Nodes of the control plane; none where they are not shown.
    pub control_plane: usize,
    /// Those that are Ready.
    pub control_plane_ready: usize,
}

impl OwnView {
    /// Why what is seen is not believed.
    fn doubt(&self) -> Option<String> {
        let (all, ready) = (self.control_plane, self.control_plane_ready);
        match self.last_renewal {
            Some(ago) if ago > RENEWED_WITHIN => Some(format!(
                "the API server took the last renewal of the daemon's own Lease {ago:.0} ago"
            )),
            _ if all > 0 && ready.saturating_mul(2) <= all => Some(format!(
                "only {ready} of {all} Nodes of the control plane are Ready"
            )),
            Some(_) | None => None,
        }
    }
}

/// A failure domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Domain {
    /// All hosts in it.
    pub hosts: usize,
    /// Those of [`Fleet::begun`] in it.
    pub at_work: usize,
    /// Since when those are unhealthy that became so last, the latest first: [`LATEST_IN_DOMAIN`] of them are enough.
    pub unhealthy_since: Vec<Timestamp>,
}

/// What a remediation would use of the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The failure domain of its Node, if it has one.
    pub domain: Option<String>,
    /// When the host was powered off, whoever asked for it; without the attempt that is under way. All within
    /// [`FAILED_FOR`].
    pub power_offs_of_host: Vec<Timestamp>,
    /// Whether it has failed an attempt. Then it waits for none that has, too, lest they wait for each other.
    pub is_between_attempts: bool,
}

impl Fleet {
    /// One more host is under remediation from now on.
    pub fn take(&mut self, claim: &Claim, now: Timestamp) {
        self.begun = self.begun.saturating_add(1);
        self.power_offs.push(now);
        if let Some(name) = &claim.domain {
            let domain = self.domains.entry(name.clone()).or_default();
            domain.at_work = domain.at_work.saturating_add(1);
        }
    }

    /// How many hosts are under remediation, as far as a claim waits for them.
    fn at_work_for(&self, claim: &Claim) -> usize {
        let between = if claim.is_between_attempts {
            0
        } else {
            self.between_attempts
        };
        self.begun.saturating_add(between)
    }
}

/// What of the limits is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Hosts under remediation.
    pub at_once: usize,
    /// Power-offs begun in the window.
    pub in_window: usize,
    /// Hosts that did not return.
    pub failed: usize,
}

/// What is used of one limit, and how much it allows; `1 of 10` for people and in the status of the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// Used.
    pub used: usize,
    /// Allowed.
    pub allowed: usize,
}

impl fmt::Display for Figure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.used, self.allowed)
    }
}

impl FromStr for Figure {
    type Err = BadFigure;

    fn from_str(text: &str) -> Result<Self, BadFigure> {
        let (used, allowed) = text.split_once(" of ").ok_or(BadFigure)?;
        Ok(Self {
            used: used.parse().map_err(|_| BadFigure)?,
            allowed: allowed.parse().map_err(|_| BadFigure)?,
        })
    }
}

/// A text that is no [`Figure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected what is used and what is allowed, such as \"1 of 10\"")]
pub struct BadFigure;

/// What of the limits is used, for people and for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Hosts under remediation.
    pub at_once: Figure,
    /// Power-offs begun in the window.
    pub in_window: Figure,
    /// Unhealthy hosts.
    pub unhealthy: Figure,
    /// Hosts that did not return.
    pub failed: Figure,
    /// Hosts under remediation in each domain that has any.
    pub domains: String,
}

impl Limits {
    /// Limits that hold nothing up.
    pub fn none() -> Self {
        Self {
            at_once: Share::Count(u32::MAX),
            in_window: Share::Count(u32::MAX),
            in_domain: Share::Count(u32::MAX),
            unhealthy: Share::Count(u32::MAX),
            cool_down: SignedDuration::ZERO,
            startup_hold: SignedDuration::ZERO,
            failed: Share::Count(u32::MAX),
            per_host: u32::MAX,
            longest: SignedDuration::MAX,
            ..Self::default()
        }
    }

    /// Whether so many are unhealthy that it is a storm.
    pub fn is_storm(&self, fleet: &Fleet) -> bool {
        self.storm(fleet).is_some()
    }

    /// Whether there can be a storm among so many Nodes.
    pub fn knows_storms_of(&self, nodes: usize) -> bool {
        self.unhealthy.of(nodes, FEW_UNHEALTHY) < nodes
    }

    /// What is a storm, with how many are unhealthy of how many, and how many may be.
    fn storm(&self, fleet: &Fleet) -> Option<(&'static str, usize, usize, usize)> {
        let of = [
            ("hosts", fleet.unhealthy_hosts, fleet.hosts),
            ("Nodes", fleet.unhealthy, fleet.nodes),
        ];
        let judged =
            of.map(|(what, unhealthy, all)| (what, unhealthy, all, self.unhealthy.of(all, FEW_UNHEALTHY)));
        judged
            .into_iter()
            .find(|(_, unhealthy, _, allowed)| unhealthy > allowed)
    }

    /// What is used.
    pub fn used(&self, fleet: &Fleet, claim: &Claim, now: Timestamp) -> Used {
        let within = |times: &[Timestamp], span| {
            let young = times.iter().filter(|time| now.duration_since(**time) < span);
            young.count()
        };
        Used {
            at_once: fleet.at_work_for(claim),
            in_window: within(&fleet.power_offs, self.window),
            failed: within(&fleet.failed, FAILED_FOR),
        }
    }

    /// Used and allowed, each as `1 of 10`: hosts at once, in the window, unhealthy, failed; and of each domain that is
    /// known.
    pub fn told(&self, fleet: &Fleet, now: Timestamp) -> Told {
        let (used, hosts) = (self.used(fleet, &Claim::default(), now), fleet.hosts);
        let of = |used, allowed| Figure { used, allowed };
        let domains = fleet.domains.iter().filter(|(_, domain)| domain.at_work > 0);
        let domains = domains.map(|(name, domain)| {
            let allowed = self.in_domain.of(domain.hosts, 1);
            format!("{name}: {}", of(domain.at_work, allowed))
        });
        Told {
            at_once: of(used.at_once, self.at_once.of(hosts, 1)),
            in_window: of(used.in_window, self.in_window.of(hosts, 1)),
            unhealthy: of(fleet.unhealthy_hosts, self.unhealthy.of(hosts, FEW_UNHEALTHY)),
            failed: of(used.failed, self.failed.of(hosts, FEW_FAILED)),
            domains: domains.collect::<Vec<_>>().join(", "),
        }
    }

    /// What is used and what is left, for people.
    pub fn describe(&self, fleet: &Fleet, now: Timestamp) -> String {
        let (used, hosts) = (self.used(fleet, &Claim::default(), now), fleet.hosts);
        format!(
            "{} of {} hosts under remediation, {} of {} power-offs within {:#}, {} of {} hosts that did not return; {} of \
             {hosts} hosts unhealthy, {} allowed; {} of {} Nodes unhealthy, {} allowed",
            used.at_once,
            self.at_once.of(hosts, 1),
            used.in_window,
            self.in_window.of(hosts, 1),
            self.window,
            used.failed,
            self.failed.of(hosts, FEW_FAILED),
            fleet.unhealthy_hosts,
            self.unhealthy.of(hosts, FEW_UNHEALTHY),
            fleet.unhealthy,
            fleet.nodes,
            self.unhealthy.of(fleet.nodes, FEW_UNHEALTHY),
        )
    }

    /// Whether the power-off of one more host may be begun. As an error: what holds it up.
    ///
    /// # Errors
    ///
    /// The brake, with what is used of it.
    pub fn allow(&self, fleet: &Fleet, claim: &Claim, now: Timestamp) -> Result<(), Obstacle> {
        sees(fleet)?;
        self.watched_long_enough(fleet, now)?;
        self.no_storm(fleet, now)?;
        self.hosts_return(fleet, now)?;
        let (used, hosts) = (self.used(fleet, claim, now), fleet.hosts);
        let at_once = self.at_once.of(hosts, 1);
        if used.at_once >= at_once {
            let detail = format!(
                "{} hosts are under remediation, and spec.limits.maxConcurrent allows {at_once} ({}) of {hosts}",
                used.at_once, self.at_once
            );
            return Err(Obstacle::new(Reason::WaitingForBudget, detail));
        }
        let in_window = self.in_window.of(hosts, 1);
        if used.in_window >= in_window {
            let detail = format!(
                "{} hosts were powered off within {:#}, and spec.limits.maxPerWindow allows {in_window} ({}) of {hosts}",
                used.in_window, self.window, self.in_window
            );
            return Err(Obstacle::new(Reason::WaitingForBudget, detail));
        }
        self.domain_allows(fleet, claim, now)?;
        self.host_allows(claim, now)
    }

    /// Whether the power-off of a host may be repeated whose first one may never have been sent, and which is on: its
    /// slot is its own, where there are any.
    ///
    /// # Errors
    ///
    /// The storm, the start, or that nothing is allowed at all.
    pub fn allow_again(&self, fleet: &Fleet, now: Timestamp) -> Result<(), Obstacle> {
        sees(fleet)?;
        self.watched_long_enough(fleet, now)?;
        self.no_storm(fleet, now)?;
        for (share, field) in [(self.at_once, "maxConcurrent"), (self.in_window, "maxPerWindow")] {
            if share.is_zero() {
                let detail = format!("spec.limits.{field} is {share}, which allows nothing");
                return Err(Obstacle::new(Reason::WaitingForBudget, detail));
            }
        }
        Ok(())
    }

    /// A storm that a predecessor saw is not known: its cool-down is waited out, too.
    fn hold_after_start(&self) -> SignedDuration {
        self.startup_hold.max(self.cool_down)
    }

    fn watched_long_enough(&self, fleet: &Fleet, now: Timestamp) -> Result<(), Obstacle> {
        let hold = self.hold_after_start();
        let over = fleet.watched_since.and_then(|since| since.checked_add(hold).ok());
        match over {
            Some(over) if over <= now => Ok(()),
            Some(over) => {
                let detail = format!("the daemon has just started and only watches until {over:.0}");
                Err(Obstacle::new(Reason::WatchingAfterStart, detail))
            }
            None if hold.is_zero() => Ok(()),
            None => {
                let detail = "it is not known since when the Nodes are watched";
                Err(Obstacle::new(Reason::WatchingAfterStart, detail))
            }
        }
    }

    fn no_storm(&self, fleet: &Fleet, now: Timestamp) -> Result<(), Obstacle> {
        if let Some((what, unhealthy, all, allowed)) = self.storm(fleet) {
            let detail = format!(
                "{unhealthy} of {all} {what} are unhealthy, and spec.limits.maxUnhealthy allows {allowed} ({})",
                self.unhealthy
            );
            return Err(Obstacle::new(Reason::TooManyUnhealthy, detail));
        }
        let over = fleet
            .last_storm
            .and_then(|last| last.checked_add(self.cool_down).ok());
        match over.filter(|over| *over > now) {
            Some(over) => {
                let detail = format!(
                    "too many Nodes were unhealthy a moment ago; all are watched anew until {over:.0}"
                );
                Err(Obstacle::new(Reason::TooManyUnhealthy, detail))
            }
            None => Ok(()),
        }
    }

    fn hosts_return(&self, fleet: &Fleet, now: Timestamp) -> Result<(), Obstacle> {
        let (failed, allowed) = (
            self.used(fleet, &Claim::default(), now).failed,
            self.failed.of(fleet.hosts, FEW_FAILED),
        );
        // As many as are allowed stop it: what comes would be one more.
        if failed < allowed.max(1) {
            return Ok(());
        }
        let detail = format!(
            "{failed} hosts did not return within {FAILED_FOR:#}, and spec.limits.maxFailed is {allowed} ({})",
            self.failed
        );
        Err(Obstacle::new(Reason::TooManyFailed, detail))
    }

    fn host_allows(&self, claim: &Claim, now: Timestamp) -> Result<(), Obstacle> {
        let mut times = claim.power_offs_of_host.clone();
        times.retain(|at| now.duration_since(*at) < FAILED_FOR);
        times.sort_unstable_by(|one, other| other.cmp(one));
        let most = usize::try_from(self.per_host).unwrap_or(usize::MAX);
        let Some(first_of_most) = most.checked_sub(1).and_then(|last| times.get(last)) else {
            return Ok(());
        };
        let until = after(*first_of_most, FAILED_FOR);
        let detail = format!(
            "the host was powered off {} times within {FAILED_FOR:#}, and spec.limits.maxPerHost allows {most}; not before \
             {until:.0} again",
            times.len()
        );
        Err(Obstacle::new(Reason::TooManyPowerCycles, detail))
    }

    fn domain_allows(&self, fleet: &Fleet, claim: &Claim, now: Timestamp) -> Result<(), Obstacle> {
        let Some(name) = &claim.domain else {
            return Ok(());
        };
        let unknown = Domain::default();
        let domain = fleet.domains.get(name).unwrap_or(&unknown);
        let (used, label) = (domain.at_work, &self.domain_label);
        let allowed = self.in_domain.of(domain.hosts, 1);
        if used >= allowed {
            let detail = format!(
                "{used} hosts of {label}={name} are under remediation, and spec.limits.failureDomain.maxConcurrent \
                 allows {allowed} ({}) of {}",
                self.in_domain, domain.hosts
            );
            return Err(Obstacle::new(Reason::WaitingForBudget, detail));
        }
        let held_until = domain.failed_together().map(|last| after(last, TOGETHER_FOR));
        match held_until.filter(|until| *until > now) {
            Some(until) => {
                let detail = format!(
                    "two hosts of {label}={name} became unhealthy within {TOGETHER:#}; what they have in common may pass, \
                     so nothing begins there until {until:.0}"
                );
                Err(Obstacle::new(Reason::TooManyUnhealthy, detail))
            }
            None => Ok(()),
        }
    }
}

fn sees(fleet: &Fleet) -> Result<(), Obstacle> {
    let doubt = fleet.view.doubt();
    doubt.map_or(Ok(()), |detail| {
        Err(Obstacle::new(Reason::OwnViewUncertain, detail))
    })
}

impl Domain {
    /// When the second of the last two hosts became unhealthy that did so together, whoever else did so since.
    fn failed_together(&self) -> Option<Timestamp> {
        let mut pairs = self
            .unhealthy_since
            .iter()
            .zip(self.unhealthy_since.iter().skip(1));
        let together = pairs.find(|(last, before)| last.duration_since(**before).abs() <= TOGETHER);
        together
            .filter(|_| self.hosts > FEW_IN_DOMAIN)
            .map(|(last, _)| *last)
    }
}
