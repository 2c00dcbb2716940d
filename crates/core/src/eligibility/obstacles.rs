//! What forbids a power cycle, in the order in which it is told.

use jiff::Timestamp;

use crate::facts::Obstacle;
use crate::phase::Reason;

/// The rules of eligibility, in the order in which what they find is told: what ends a remediation comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// It is still asked for.
    Requested,
    /// The Machine that was meant is there.
    SameMachine,
    /// The Machine can be read.
    MachineKnown,
    /// The Machine is not being deleted.
    MachineStays,
    /// Nobody else remediates the Machine, and nobody else decides about it.
    MachineIsOurs,
    /// The Node is not healthy.
    Unhealthy,
    /// It is no host of the control plane, or the others keep quorum without it. One that is well again is not held to
    /// it: the trigger has to be taken off.
    ControlPlane,
    /// The Node can be read, and it and the Machine speak of each other.
    NodeBelongs,
    /// Nobody else fences the Node.
    NodeIsOurs,
    /// The administrator lets something new begin. That stops what is new, and no recovery from being seen.
    PolicyAllows,
    /// The administrator allows the namespace, and what the request has chosen.
    AllowedHere,
    /// Neither the Machine nor its Cluster is paused.
    NotPaused,
    /// Nobody else answers the trigger.
    TriggerIsOurs,
    /// A health check vouches for the trigger, or those that made the request still stand by it.
    HealthCheckAsks,
    /// The Node has been unhealthy for as long as its health checks ask.
    UnhealthyForLong,
    /// Without a Node: somebody asks for the remediation of the Machine.
    MachineIsMeant,
    /// Without a Node: the host was provisioned.
    Provisioned,
    /// Without a Node: there should be one by now.
    NodeIsMissed,
    /// Without a Node: a person has stated which host it is.
    HostIsStated,
    /// Without a Node: no Node of the cluster is or may be that of the host.
    HostHasNoNode,
    /// Nobody else describes the host who has reached it.
    OneOwner,
    /// The host was not power-cycled too often, and it was not tried in vain a short time ago.
    NotTooOften,
}

impl Rule {
    pub(super) fn broken(self, obstacle: Obstacle) -> Ineligible {
        Ineligible {
            rule: self,
            obstacle,
            until: None,
        }
    }

    pub(super) fn because(self, reason: Reason, detail: impl Into<String>) -> Ineligible {
        self.broken(Obstacle::new(reason, detail))
    }

    /// Whether a remediation that breaks it ends, because its signal is gone for good.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Requested | Self::SameMachine | Self::MachineStays)
    }
}

/// One reason why a host may not be power-cycled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineligible {
    /// The rule that forbids it.
    pub rule: Rule,
    /// What exactly.
    pub obstacle: Obstacle,
    /// Until when, if that is known.
    pub until: Option<Timestamp>,
}

impl Ineligible {
    pub(super) fn until(self, until: impl Into<Option<Timestamp>>) -> Self {
        Self {
            until: until.into(),
            ..self
        }
    }
}

/// Everything that forbids it; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles {
    first: Ineligible,
    others: Vec<Ineligible>,
}

impl Obstacles {
    pub(super) fn of(one: Ineligible, others: Vec<Ineligible>) -> Self {
        let mut obstacles = Self { first: one, others };
        obstacles.others.sort_by_key(|other| other.rule);
        if let Some(earlier) = obstacles.others.first_mut()
            && earlier.rule < obstacles.first.rule
        {
            std::mem::swap(earlier, &mut obstacles.first);
            obstacles.others.sort_by_key(|other| other.rule);
        }
        obstacles
    }

    /// The first, which is told.
    pub fn first(&self) -> &Ineligible {
        &self.first
    }

    pub(crate) fn into_first(self) -> Ineligible {
        self.first
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Ineligible> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn find(&self, is_meant: impl Fn(Rule) -> bool) -> Option<&Ineligible> {
        self.iter().find(|one| is_meant(one.rule))
    }

    /// The first that is about who asks, and whether they may.
    pub(crate) fn against_asking(&self) -> Option<&Ineligible> {
        self.find(|rule| {
            matches!(
                rule,
                Rule::PolicyAllows
                    | Rule::AllowedHere
                    | Rule::NotPaused
                    | Rule::TriggerIsOurs
                    | Rule::HealthCheckAsks
            )
        })
    }

    /// What makes a trigger be refused, so that our health checker does not put it there. For the rest a remediation
    /// waits, or it ends at once and takes the trigger off.
    pub fn against_a_new_trigger(&self) -> Option<&Ineligible> {
        self.find(|rule| match rule {
            Rule::SameMachine
            | Rule::MachineKnown
            | Rule::MachineStays
            | Rule::MachineIsOurs
            | Rule::ControlPlane
            | Rule::NodeBelongs
            | Rule::AllowedHere
            | Rule::NotPaused
            | Rule::TriggerIsOurs
            | Rule::HealthCheckAsks
            | Rule::Provisioned
            | Rule::NodeIsMissed
            | Rule::HostIsStated
            | Rule::OneOwner => true,
            Rule::Requested
            | Rule::Unhealthy
            | Rule::PolicyAllows
            | Rule::UnhealthyForLong
            | Rule::MachineIsMeant
            | Rule::NodeIsOurs
            | Rule::HostHasNoNode
            | Rule::NotTooOften => false,
        })
    }

    /// Why a trigger that is there does not become a remediation. One for a Node that is well powers nothing, and
    /// takes the trigger off, unless somebody else decides about the Machine. For the rest a remediation waits.
    pub(crate) fn against_taking_up(&self) -> Option<&Ineligible> {
        let always = self.find(|rule| {
            matches!(
                rule,
                Rule::SameMachine
                    | Rule::MachineKnown
                    | Rule::MachineStays
                    | Rule::MachineIsOurs
                    | Rule::AllowedHere
                    | Rule::NotPaused
                    | Rule::TriggerIsOurs
            )
        });
        if always.is_some() || self.is_well() {
            return always;
        }
        self.find(|rule| {
            matches!(
                rule,
                Rule::ControlPlane | Rule::HealthCheckAsks | Rule::Provisioned | Rule::NotTooOften
            )
        })
    }

    /// Whether the Node is healthy, by those who ask.
    fn is_well(&self) -> bool {
        self.find(|rule| rule == Rule::Unhealthy).is_some()
    }

    /// Whether a trigger is there for nothing: the Node is well, and nobody else answers it or decides about the Machine.
    pub(crate) fn is_needless(&self) -> bool {
        let is_of_others = |rule| {
            matches!(
                rule,
                Rule::MachineStays | Rule::MachineIsOurs | Rule::TriggerIsOurs
            )
        };
        self.is_well() && self.find(is_of_others).is_none()
    }
}
