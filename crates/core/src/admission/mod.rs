//! Who may begin. Whether a host may be power-cycled is a matter of [`super::eligibility`]; here it is decided between
//! remediations, over all of them at once, so that no two ever work on one host, Node or Machine, and no more of them
//! at a time than the [`brakes`](super::brakes) allow.
//!
//! A remediation that has begun, or was admitted, holds what it works on. One that waits holds nothing, and asks when
//! nothing else forbids it to begin. Right before the power-off the same brakes and [`OwnNode`] are asked once more, on
//! what is known then.

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;

use super::brakes::{Claim, Fleet, Limits};
use super::facts::Obstacle;
use super::identity::SystemUuid;
use super::journal::Journal;
use super::phase::{Phase, Reason};
use super::quarantine;

/// The cluster of a Node, by namespace and name of its Cluster; none for the daemon's own.
pub type OfCluster = Option<(String, String)>;

/// Something that only one remediation may work on at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A host, by its system UUID, the same for both byte orders: what its Node says, its endpoint, or a journal.
    Host(SystemUuid),
    /// A host, by the address of its BMC, spelt in one way.
    Bmc(String),
    /// A Node.
    Node {
        /// Its cluster.
        cluster: OfCluster,
        /// Name.
        name: String,
    },
    /// A Machine, whatever API it is of.
    Machine {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// A control plane: its hosts are power-cycled one at a time.
    ControlPlane {
        /// Which.
        cluster: OfCluster,
    },
}

impl Key {
    /// A host by its system UUID.
    pub fn host(uuid: &SystemUuid) -> Self {
        Self::Host(uuid.in_either_order())
    }

    /// Whether it is one host, which all requests for it are about together.
    fn is_one_host(&self) -> bool {
        match self {
            Self::Host(_) | Self::Bmc(_) | Self::Node { .. } | Self::Machine { .. } => true,
            Self::ControlPlane { .. } => false,
        }
    }
}

/// Where a remediation stands for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has begun nothing.
    Waiting,
    /// It was admitted, and its journal does not show yet that it has begun.
    Admitted,
    /// It has made an attempt and waits to make the next.
    BetweenAttempts,
    /// It acts, or may still have to give a host its power back.
    Begun,
    /// It has failed at this time at what it had begun, and its host is in quarantine for it.
    Failed(Timestamp),
    /// It has ended otherwise.
    Over,
}

impl Stage {
    /// Where a journal stands. `is_taken_back`: its producer has told it to stop, or it is being deleted.
    pub fn of(journal: &Journal, is_taken_back: bool) -> Self {
        if journal.may_have_left_off() {
            return Self::Begun;
        }
        if journal.phase.is_final() {
            let failed = quarantine::since(journal, is_taken_back);
            return failed.map_or(Self::Over, Self::Failed);
        }
        if ![Phase::Pending, Phase::AwaitingConfirmation].contains(&journal.phase) {
            Self::Begun
        } else if journal.attempt > 0 {
            Self::BetweenAttempts
        } else {
            Self::Waiting
        }
    }
}

/// One remediation, as far as it concerns the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remediation {
    /// UID.
    pub uid: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// What it works on, or wants to.
    pub keys: BTreeSet<Key>,
    /// The cluster whose limits hold for it.
    pub cluster: OfCluster,
    /// The failure domain of its Node, if it has one.
    pub domain: Option<String>,
    /// When its host was powered off within a day, by others and in its own earlier attempts.
    pub power_offs_of_host: Vec<Timestamp>,
    /// Where it stands.
    pub stage: Stage,
    /// Everything else about it was examined and found in order, and it wants to begin now.
    pub asks: bool,
}

impl Remediation {
    /// What it would use of the limits.
    pub fn claim(&self) -> Claim {
        Claim {
            domain: self.domain.clone(),
            power_offs_of_host: self.power_offs_of_host.clone(),
            is_between_attempts: self.stage == Stage::BetweenAttempts,
        }
    }

    /// The order in which it is decided: the elder first.
    fn age(&self) -> (Option<Timestamp>, &str) {
        (self.created, &self.uid)
    }

    fn shares_a_key(&self, other: &Self) -> bool {
        self.uid != other.uid && !self.keys.is_disjoint(&other.keys)
    }

    fn is_of_the_same_host(&self, other: &Self) -> bool {
        self.keys.intersection(&other.keys).any(Key::is_one_host)
    }

    /// Whether another one is to be waited for. What was admitted gives way only to what has begun, or was admitted
    /// before it. Of two between attempts the elder goes on, or they would wait for each other.
    fn waits_for(&self, other: &Self) -> bool {
        let is_elder = self.age() < other.age();
        match (other.stage, self.stage) {
            (Stage::Begun, _) => true,
            (Stage::Admitted, Stage::Admitted) => !is_elder,
            (Stage::Admitted, _) => true,
            (Stage::BetweenAttempts, Stage::Begun | Stage::Admitted) => false,
            (Stage::BetweenAttempts, Stage::BetweenAttempts) => !is_elder,
            (Stage::BetweenAttempts, Stage::Waiting | Stage::Failed(_) | Stage::Over) => true,
            (Stage::Waiting | Stage::Failed(_) | Stage::Over, _) => false,
        }
    }

    /// Whether another one has failed while this one waited for it: requests for one host at once are one request.
    fn failed_with(&self, other: &Self) -> bool {
        match (self.stage, other.stage, self.created) {
            (Stage::Waiting, Stage::Failed(at), Some(created)) => {
                at >= created && self.is_of_the_same_host(other)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Remediation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, .. } = self;
        write!(formatter, "PowerCycleRemediation {namespace}/{name}")
    }
}

/// Whether one remediation may begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Nothing forbids it, and it has not asked.
    #[default]
    NotAsked,
    /// It may begin.
    Admitted,
    /// It may not, and why. [`Reason::Quarantined`]: it is not to begin at all.
    Denied(Obstacle),
}

impl Reply {
    /// Why it may not begin.
    pub fn denied(&self) -> Option<&Obstacle> {
        match self {
            Self::Denied(obstacle) => Some(obstacle),
            Self::NotAsked | Self::Admitted => None,
        }
    }
}

/// Who may begin, by UID.
pub type Replies = BTreeMap<String, Reply>;

/// A remediation that cannot be read, perhaps of a later version. It may be at work on any Machine of its namespace, or
/// on a Node without one, unless its owner says that it is about another Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The Machine that owns it, if one does.
    pub machine: Option<String>,
}

impl Unreadable {
    /// Whether it may be at work on this Machine, or on a Node without one.
    pub fn may_be_about(&self, namespace: &str, machine: Option<&str>) -> bool {
        self.namespace == namespace && (self.machine.is_none() || self.machine.as_deref() == machine)
    }

    /// What it means for whatever else is to be done there.
    pub fn obstacle(&self, machine: Option<&str>) -> Obstacle {
        let at = machine.map_or_else(|| "this Node".to_owned(), |machine| format!("Machine {machine}"));
        let of = format!("PowerCycleRemediation {}/{}", self.namespace, self.name);
        let detail = format!("{of} cannot be read, so it may be at work on {at}");
        Obstacle::new(Reason::JournalUnreadable, detail)
    }
}

/// The Node of the replica that leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnNode {
    /// Name.
    pub name: String,
    /// By what it is known: the Node, and the host that it says it runs on.
    pub keys: BTreeSet<Key>,
    /// It is not Ready, cannot be read or is not there: it may be this replica that is cut off.
    pub is_unhealthy: bool,
}

impl OwnNode {
    /// Why another replica has to power off what has these keys.
    ///
    /// # Errors
    ///
    /// [`Reason::OwnNode`].
    pub fn allows(&self, keys: &BTreeSet<Key>) -> Result<(), Obstacle> {
        let name = &self.name;
        let detail = if !self.keys.is_disjoint(keys) {
            format!("the replica that leads runs on Node {name} itself; another one has to take over first")
        } else if self.is_unhealthy {
            format!(
                "Node {name}, on which the replica that leads runs, is unhealthy itself: it may be the one that is cut \
                 off; another one has to take over first"
            )
        } else {
            return Ok(());
        };
        Err(Obstacle::new(Reason::OwnNode, detail))
    }
}

/// What it is decided on who may begin.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Those that ask, and all that stands in their way.
    pub remediations: &'a [Remediation],
    /// Those that cannot be read.
    pub unreadable: &'a [Unreadable],
    /// The clusters of those that ask, without them; or why one is not known.
    pub fleets: &'a BTreeMap<OfCluster, Result<Fleet, Obstacle>>,
    /// What the administrator allows.
    pub limits: &'a Limits,
    /// The Node of this process, where it has one that is heeded now.
    pub own_node: Option<&'a OwnNode>,
    /// The time.
    pub now: Timestamp,
}

/// Decides who may begin: who is between attempts before who has begun nothing, and the elder first. Who is admitted
/// uses up what the next one asks for.
pub fn admit(situation: &Situation<'_>) -> Replies {
    let mut by_key = ByKey::new();
    for one in situation.remediations {
        for key in &one.keys {
            by_key.entry(key).or_default().push(one);
        }
    }
    let mut ordered: Vec<&Remediation> = situation.remediations.iter().collect();
    ordered.sort_by_key(|one| (one.stage == Stage::Waiting, one.age()));
    let mut admitted: BTreeMap<&Key, &Remediation> = BTreeMap::new();
    let mut fleets = situation.fleets.clone();
    let mut replies = Replies::new();
    for one in ordered {
        let holders = one.keys.iter().filter_map(|key| admitted.get(key));
        let obstacle = may_be_at_work(situation.unreadable, one)
            .or_else(|| beside(one, &by_key))
            .or_else(|| {
                holders
                    .min_by_key(|other| other.age())
                    .map(|other| at_work(one, other))
            })
            .or_else(|| braked(situation, one, fleets.get(&one.cluster)));
        let reply = match obstacle {
            Some(obstacle) => Reply::Denied(obstacle),
            None if one.asks || one.stage == Stage::Admitted => {
                admitted.extend(one.keys.iter().map(|key| (key, one)));
                // Whoever was admitted before is counted already.
                if one.stage != Stage::Admitted
                    && let Some(Ok(fleet)) = fleets.get_mut(&one.cluster)
                {
                    fleet.take(&one.claim(), situation.now);
                }
                Reply::Admitted
            }
            None => Reply::NotAsked,
        };
        replies.insert(one.uid.clone(), reply);
    }
    replies
}

/// What holds up one that wants to begin. One whose earlier attempt may have left its host off makes the next one only as
/// the brakes allow; bringing the host back asks nobody.
fn braked(
    situation: &Situation<'_>,
    one: &Remediation,
    fleet: Option<&Result<Fleet, Obstacle>>,
) -> Option<Obstacle> {
    match one.stage {
        Stage::Waiting | Stage::BetweenAttempts | Stage::Begun => {}
        Stage::Admitted | Stage::Failed(_) | Stage::Over => return None,
    }
    let allowed = match fleet {
        Some(Ok(fleet)) => situation.limits.allow(fleet, &one.claim(), situation.now),
        Some(Err(unknown)) => Err(unknown.clone()),
        // It is none of those that it is decided about.
        None => return None,
    };
    let own_node = || situation.own_node.map_or(Ok(()), |node| node.allows(&one.keys));
    allowed.and_then(|()| own_node()).err()
}

/// Who else works on what a remediation is about that is to be escalated: what they do may still help.
pub fn at_work_beside(own: &Remediation, others: &[Remediation]) -> Option<Obstacle> {
    let is_at_work = |other: &&Remediation| match other.stage {
        Stage::Begun | Stage::BetweenAttempts | Stage::Admitted => own.shares_a_key(other),
        Stage::Waiting | Stage::Failed(_) | Stage::Over => false,
    };
    let at_work_beside = others.iter().filter(is_at_work);
    let first = at_work_beside.min_by_key(|other| other.age());
    first.map(|other| at_work(own, other))
}

/// Who has each key.
type ByKey<'a> = BTreeMap<&'a Key, Vec<&'a Remediation>>;

/// The first unreadable one that may be at work where this one wants to be.
fn may_be_at_work(unreadable: &[Unreadable], one: &Remediation) -> Option<Obstacle> {
    let machine = one.keys.iter().find_map(|key| match key {
        Key::Machine { name, .. } => Some(name.as_str()),
        Key::Host(_) | Key::Bmc(_) | Key::Node { .. } | Key::ControlPlane { .. } => None,
    });
    let others = unreadable.iter();
    let may_be = others.filter(|other| other.may_be_about(&one.namespace, machine));
    let first = may_be.min_by(|one, other| one.name.cmp(&other.name))?;
    Some(first.obstacle(machine))
}

/// What the others have begun, or have failed at, that stands in its way.
fn beside(one: &Remediation, by_key: &ByKey<'_>) -> Option<Obstacle> {
    let neighbours = || {
        let of_keys = one.keys.iter().filter_map(|key| by_key.get(key));
        of_keys.flatten().filter(|other| other.uid != one.uid)
    };
    let failed = neighbours().filter(|other| one.failed_with(other));
    let first = neighbours().filter(|other| one.waits_for(other));
    failed
        .min_by_key(|other| other.age())
        .map(|other| failed_meanwhile(other))
        .or_else(|| {
            let first = first.min_by_key(|other| other.age());
            first.map(|other| at_work(one, other))
        })
}

fn at_work(one: &Remediation, other: &Remediation) -> Obstacle {
    let detail = if one.is_of_the_same_host(other) {
        format!("{other} is at work on the same Machine, Node or BMC")
    } else {
        format!(
            "{other} is at work on another host of the control plane, whose hosts are power-cycled one at a time"
        )
    };
    Obstacle::new(Reason::AnotherRemediationActive, detail)
}

fn failed_meanwhile(other: &Remediation) -> Obstacle {
    let detail = format!("{other} of the same Machine, Node or BMC has failed while this one waited for it");
    Obstacle::new(Reason::Quarantined, detail)
}
