//! A small deterministic world: one host with its true power, its Node, Machine, health check, policy
//! and pods. Time is virtual and in milliseconds.

use super::metal3::Metal3;
use super::objects::{health_check, machine, node, ready_is, set_ready};
use super::shell::BMC_LATENCY;
use jiff::{SignedDuration, Timestamp};

use crate::facts::{ControlPlane, Lookup, Machine, Node, NodeReport, Objects, OutOfService, Policy};
use crate::health::HealthCheck;
use crate::journal::SavedNode;
use crate::node_lease::NodeLease;
use crate::power::{PowerState, Protocol};

pub(super) const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f4e3732";
pub(super) const SYSTEM: &str = "/redfish/v1/Systems/1";
const BEAT: i64 = 10_000;
const STATUS_EVERY: i64 = 300_000;
const GRACE: i64 = 40_000;
const EVICTION: i64 = 2_500;
/// Time until the Machine of a Node that has registered names it.
const LINKING: i64 = 1_500;

/// A virtual time as the core sees it.
pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + millis).expect("in range")
}

/// Who changed the power of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cause {
    Us { attempt: i32 },
    Metal3,
    Outside,
}

/// One change of the true power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) at: i64,
    pub(super) on: bool,
    pub(super) cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kubelet {
    Dead,
    Booting { until: i64 },
    Alive { next_beat: i64 },
}

/// The true host.
#[derive(Clone, Debug, Hash)]
pub(super) struct Host {
    pub(super) on: bool,
    change: Option<(i64, bool, Cause)>,
    pub(super) resets: Box<Resets>,
    pub(super) off_delay: i64,
    pub(super) on_delay: i64,
    pub(super) boot_delay: i64,
    /// Whether its kubelet comes up Ready after a boot.
    pub(super) boots_well: bool,
    pub(super) kubelet: Kubelet,
    pub(super) boots: u32,
    pub(super) edges: Vec<Edge>,
}

/// How it is reset without going off.
#[derive(Clone, Debug, Hash)]
pub(super) struct Resets {
    /// When one comes about that its BMC has begun with.
    due: Option<(i64, Cause)>,
    /// Whether one leaves it on.
    pub(super) stay_on: bool,
    /// Those that came about.
    pub(super) done: Vec<(i64, Cause)>,
}

/// What a BMC says about the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Says {
    TheTruth,
    /// This word or null, whatever the truth is.
    Always(Option<&'static str>),
}

/// How its BMC behaves.
#[derive(Clone, Debug, Hash)]
pub(super) struct Bmc {
    pub(super) reachable: bool,
    /// Whether there is the Secret without which it cannot be asked.
    pub(super) has_secret: bool,
    pub(super) reachable_since: i64,
    pub(super) uuid: Option<String>,
    pub(super) system: String,
    pub(super) protocol: Protocol,
    pub(super) says: Says,
    /// Says this while the host is going off.
    pub(super) going_off_word: &'static str,
    /// How long it takes to say the power state.
    pub(super) latency: i64,
    pub(super) obeys_off: bool,
    pub(super) obeys_on: bool,
    /// What the last command wanted whose task failed, true being On.
    pub(super) failed_to: Option<bool>,
}

impl Bmc {
    /// Whether it answers this process.
    pub(super) fn is_there(&self) -> bool {
        self.reachable && self.has_secret
    }
}

#[derive(Clone, Debug, Hash)]
pub(super) struct World {
    pub(super) now: i64,
    pub(super) host: Host,
    pub(super) bmc: Box<Bmc>,
    pub(super) objects: Objects,
    pub(super) lease: NodeReport,
    /// Who else powers the host, where metal3 manages it.
    pub(super) metal3: Option<Box<Metal3>>,
    /// The Lease by which medik8s' actors agree on who works on the Node.
    pub(super) node_lease: NodeLease,
    pub(super) metadata: SavedNode,
    pub(super) pods: Vec<String>,
    /// Whether Nodes have Machines.
    pub(super) has_machines: bool,
    /// Whether the Machine had no Node at the beginning.
    pub(super) began_without_node: bool,
    /// When the Node that is there registered.
    pub(super) registered: i64,
    /// When the Machine gets its `status.nodeRef`.
    link_at: Option<i64>,
    evict_at: Option<i64>,
    eviction: i64,
    last_beat: i64,
    last_status: i64,
    pub(super) version: u64,
    registrations: u32,
}

impl World {
    /// A Node that fell silent five minutes ago; its host still has power.
    pub(super) fn with_dead_node() -> Self {
        let last_beat = -345_000;
        Self {
            now: 0,
            host: Host {
                on: true,
                change: None,
                resets: Box::new(Resets {
                    due: None,
                    stay_on: true,
                    done: Vec::new(),
                }),
                off_delay: 400,
                on_delay: 400,
                boot_delay: 60_000,
                boots_well: true,
                kubelet: Kubelet::Dead,
                boots: 1,
                edges: Vec::new(),
            },
            bmc: Box::new(Bmc {
                reachable: true,
                has_secret: true,
                reachable_since: -3_600_000,
                uuid: Some(UUID.to_owned()),
                system: SYSTEM.to_owned(),
                protocol: Protocol::Redfish,
                says: Says::TheTruth,
                going_off_word: "On",
                latency: BMC_LATENCY,
                obeys_off: true,
                obeys_on: true,
                failed_to: None,
            }),
            objects: Objects {
                policy: Lookup::Present(Policy::in_tests(false)),
                machine: Lookup::Present(machine()),
                node: Lookup::Present(node(
                    "node-uid-1",
                    "boot-1",
                    "Unknown",
                    at(-300_000),
                    at(last_beat),
                )),
                health_checks: vec![Lookup::Present(health_check())],
                node_of_host: Lookup::Absent,
                rival: None,
                node_cluster: None,
                cluster: Lookup::Absent,
                control_plane: ControlPlane::default(),
            },
            lease: NodeReport {
                lease_renewed: Some(at(last_beat)),
                lease_duration: Some(SignedDuration::from_secs(40)),
                heartbeat: Some(at(last_beat)),
            },
            metal3: None,
            node_lease: NodeLease::Unused,
            metadata: SavedNode {
                labels: [("rack".to_owned(), "7".to_owned())].into(),
                ..SavedNode::default()
            },
            has_machines: true,
            began_without_node: false,
            registered: -3_600_000,
            link_at: None,
            pods: vec!["Pod shop/db-0".to_owned()],
            evict_at: None,
            eviction: EVICTION,
            last_beat,
            last_status: last_beat,
            version: 1,
            registrations: 1,
        }
    }

    /// A Machine for which no Node joined within an hour; its host has power. `named`: it had one, which was
    /// deleted.
    pub(super) fn without_node(named: bool) -> Self {
        let mut world = Self {
            began_without_node: true,
            metadata: SavedNode::default(),
            pods: Vec::new(),
            ..Self::with_dead_node()
        };
        world.objects.node = Lookup::Absent;
        world.edit_machine(|machine| {
            machine.node_name = named.then(|| "worker-1".to_owned());
            machine.phase = Some("Provisioned".to_owned());
            machine.state.last_updated = Some(at(-3_600_000));
        });
        world
    }

    /// The kubelet comes alive and registers its Node, without a reboot.
    pub(super) fn join(&mut self) {
        if self.host.on && self.host.kubelet == Kubelet::Dead && self.objects.node == Lookup::Absent {
            self.register();
            self.last_status = i64::MIN / 2;
            self.beat();
        }
    }

    pub(super) fn node(&self) -> Option<&Node> {
        match &self.objects.node {
            Lookup::Present(node) => Some(node),
            Lookup::Absent | Lookup::Unreadable(_) => None,
        }
    }

    pub(super) fn edit_node(&mut self, edit: impl FnOnce(&mut Node)) {
        self.version += 1;
        let version = self.version;
        if let Lookup::Present(node) = &mut self.objects.node {
            edit(node);
            if !self.has_machines {
                node.machine_link = None;
                node.provider_id = None;
            }
            node.resource_version = version.to_string();
        }
    }

    pub(super) fn edit_machine(&mut self, edit: impl FnOnce(&mut Machine)) {
        self.version += 1;
        if let Lookup::Present(machine) = &mut self.objects.machine {
            edit(machine);
            machine.resource_version = self.version.to_string();
        }
    }

    pub(super) fn edit_check(&mut self, edit: impl FnOnce(&mut HealthCheck)) {
        if let Some(Lookup::Present(check)) = self.objects.health_checks.first_mut() {
            edit(check);
        }
    }

    pub(super) fn tainted(&self) -> bool {
        self.node().is_some_and(|node| node.out_of_service.is_ours())
    }

    pub(super) fn triggered(&self) -> bool {
        matches!(&self.objects.machine, Lookup::Present(machine) if machine.state.triggered)
    }

    /// What the BMC says about the power now.
    pub(super) fn word(&self) -> Option<&'static str> {
        if let Says::Always(word) = self.bmc.says {
            return word;
        }
        Some(match (self.host.on, self.host.change) {
            (true, Some((_, false, _))) => self.bmc.going_off_word,
            (true, _) => "On",
            (false, Some((_, true, _))) => "PoweringOn",
            (false, _) => "Off",
        })
    }

    /// What the BMC says of a command that it took and failed over, until the power is what that wanted.
    pub(super) fn command_failure(&mut self, said: PowerState) -> Option<String> {
        let wanted = if self.bmc.failed_to? {
            PowerState::On
        } else {
            PowerState::Off
        };
        if said == wanted {
            self.bmc.failed_to = None;
            return None;
        }
        Some("its task ended in Exception".to_owned())
    }

    pub(super) fn command(&mut self, on: bool, cause: Cause) {
        self.command_after(0, on, cause);
    }

    /// The same, where the BMC begins with it only after so many milliseconds.
    pub(super) fn command_after(&mut self, late: i64, on: bool, cause: Cause) {
        let (obeys, delay) = match (on, cause) {
            (true, Cause::Us { .. } | Cause::Metal3) => (self.bmc.obeys_on, self.host.on_delay),
            (false, Cause::Us { .. } | Cause::Metal3) => (self.bmc.obeys_off, self.host.off_delay),
            (_, Cause::Outside) => (true, 0),
        };
        let on_the_way = self.host.change.is_some_and(|(_, to, _)| to == on);
        if obeys && self.host.on != on && !on_the_way {
            self.host.change = Some((self.now + late + delay, on, cause));
        } else if obeys && self.host.on == on {
            self.host.change = None;
        }
        self.advance(self.now);
    }

    /// The BMC resets the host, or begins with it only after so many milliseconds.
    pub(super) fn reset_after(&mut self, late: i64, cause: Cause) {
        if self.bmc.obeys_off {
            self.host.resets.due = Some((self.now + late + self.host.off_delay, cause));
        }
        self.advance(self.now);
    }

    fn reset(&mut self, cause: Cause) {
        if !self.host.on {
            return;
        }
        self.host.resets.done.push((self.now, cause));
        if self.host.resets.stay_on {
            self.boots();
        } else {
            self.switched(false, cause);
        }
    }

    /// The kubelet comes alive again without a reboot.
    pub(super) fn revive(&mut self) {
        if self.host.on && self.host.kubelet == Kubelet::Dead {
            self.host.kubelet = Kubelet::Alive { next_beat: self.now };
            self.advance(self.now);
        }
    }

    /// The host has booted without anybody's command, and its kubelet reports now.
    pub(super) fn boot_by_itself(&mut self) {
        self.host.kubelet = Kubelet::Booting { until: self.now };
        self.advance(self.now);
    }

    /// The kubelet registers its Node again, and it does not become Ready.
    pub(super) fn register_not_ready(&mut self) {
        self.registrations += 1;
        let uid = format!("node-uid-{}", self.registrations);
        self.metadata = SavedNode::default();
        self.host.boots += 1;
        let (now, boot_id) = (at(self.now), format!("boot-{}", self.host.boots));
        self.objects.node = Lookup::Present(node(&uid, &boot_id, "False", now, now));
        self.edit_node(|_| {});
        self.last_beat = self.now;
    }

    pub(super) fn removed_by_us(&mut self) {
        self.objects.node = Lookup::Absent;
        self.evict_at = Some(self.now + self.eviction);
    }

    /// The pods take this long to go.
    pub(super) fn hold_pods(&mut self, millis: i64) {
        self.eviction = millis;
        self.evict_at = self.evict_at.map(|_| self.now + millis);
    }

    pub(super) fn tainted_by_us(&mut self) {
        self.edit_node(|node| node.out_of_service = OutOfService::Ours("pcr-uid".to_owned()));
        self.evict_at = Some(self.now + self.eviction);
    }

    /// Whatever the BMC has begun with comes about.
    pub(super) fn settle(&mut self) {
        let due = [
            self.host.change.map(|change| change.0),
            self.host.resets.due.map(|reset| reset.0),
        ];
        if let Some(due) = due.into_iter().flatten().max() {
            self.advance(due.max(self.now));
        }
    }

    /// When something happens next by itself, and whether watchers of objects notice.
    pub(super) fn next_event(&self) -> Option<i64> {
        let silent = self.node().is_some_and(|node| !ready_is(node, "Unknown"));
        let kubelet = match self.host.kubelet {
            Kubelet::Dead => None,
            Kubelet::Booting { until } => Some(until),
            Kubelet::Alive { next_beat } => Some(next_beat),
        };
        let silence = silent.then_some(self.last_beat + GRACE);
        [
            self.host.change.map(|change| change.0),
            self.host.resets.due.map(|reset| reset.0),
            kubelet,
            silence,
            self.evict_at,
            self.link_at,
            self.metal3.as_deref().map(Metal3::next_event),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Lets time pass; whatever is due happens at its time.
    pub(super) fn advance(&mut self, to: i64) {
        while let Some(next) = self.next_event().filter(|next| *next <= to) {
            self.now = self.now.max(next);
            self.happen();
        }
        self.now = self.now.max(to);
    }

    fn happen(&mut self) {
        let now = self.now;
        self.metal3_happens();
        if let Some((_, on, cause)) = self.host.change.take_if(|change| change.0 <= now) {
            self.switched(on, cause);
        }
        if let Some((_, cause)) = self.host.resets.due.take_if(|reset| reset.0 <= now) {
            self.reset(cause);
        }
        match self.host.kubelet {
            Kubelet::Booting { until } if until <= now => self.started(),
            Kubelet::Alive { next_beat } if next_beat <= now => self.beat(),
            Kubelet::Dead | Kubelet::Booting { .. } | Kubelet::Alive { .. } => {}
        }
        if self.last_beat + GRACE <= now && self.node().is_some_and(|node| !ready_is(node, "Unknown")) {
            self.edit_node(|node| set_ready(node, "Unknown", at(now)));
        }
        if self.link_at.take_if(|due| *due <= now).is_some() {
            self.edit_machine(|machine| machine.node_name = Some("worker-1".to_owned()));
        }
        if self.evict_at.take_if(|due| *due <= now).is_some() {
            self.pods.clear();
        }
    }

    fn switched(&mut self, on: bool, cause: Cause) {
        if self.host.on == on {
            return;
        }
        self.host.on = on;
        self.host.edges.push(Edge {
            at: self.now,
            on,
            cause,
        });
        // It boots all the same, and only its kubelet does not come up.
        self.host.boots += u32::from(on && !self.host.boots_well && self.began_without_node);
        self.boots();
    }

    fn boots(&mut self) {
        self.host.kubelet = if self.host.on && self.host.boots_well {
            Kubelet::Booting {
                until: self.now + self.host.boot_delay,
            }
        } else {
            Kubelet::Dead
        };
    }

    fn started(&mut self) {
        self.host.boots += 1;
        self.host.kubelet = Kubelet::Alive { next_beat: self.now };
        if self.objects.node == Lookup::Absent {
            self.register();
        }
        self.last_status = i64::MIN / 2;
        self.beat();
    }

    fn register(&mut self) {
        self.registrations += 1;
        self.registered = self.now;
        let uid = format!("node-uid-{}", self.registrations);
        self.metadata = SavedNode::default();
        self.objects.node = Lookup::Present(node(&uid, "", "Unknown", at(self.now), at(self.now)));
        self.link_at = Some(self.now + LINKING);
    }

    fn beat(&mut self) {
        let (now, boot_id) = (self.now, format!("boot-{}", self.host.boots));
        self.host.kubelet = Kubelet::Alive {
            next_beat: now + BEAT,
        };
        self.last_beat = now;
        self.lease.lease_renewed = Some(at(now));
        let due = self.last_status + STATUS_EVERY <= now;
        if due || self.node().is_some_and(|node| !ready_is(node, "True")) {
            self.last_status = now;
            self.lease.heartbeat = Some(at(now));
            self.edit_node(|node| {
                set_ready(node, "True", at(now));
                node.boot_id = Some(boot_id);
                node.heartbeat = Some(at(now));
            });
        }
    }
}
