//! Checks in the background whether remediations would work: each host's BMC now and then, so that a
//! person hears of a wrong password or an expiring certificate before the host is dead.

pub(crate) mod acceptance;
pub(crate) mod check;
pub(crate) mod inspection;
mod state;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use jiff::SignedDuration;
use kube::ResourceExt as _;
use remediator_api::bmc_endpoint::FoundHost;
use remediator_api::{BMCEndpoint, keys};
use remediator_core::facts::Obstacle;
use remediator_core::readiness::FoundHost as Found;
use remediator_core::readiness::schedule::{Ended, First, GAP, HostKey, HostKind, Schedule, stable_hash};
use tokio::task::{Id, JoinSet};
use tokio::time::{MissedTickBehavior, sleep};

use self::check::{CheckFindings, CheckResult, check};
use self::state::{Finding, Rules, rules};
pub(crate) use self::state::{Findings, Readiness};
use crate::report::conditions::READY;
use crate::report::{HostCheck, ReadinessState};
use crate::snapshot::host;
use crate::watch::caches;
use crate::watch::indexed_store::ObjectKey;

/// How often hosts are compared with what is known of them.
const ROUND: Duration = Duration::from_secs(5);

/// Whom to tell that conditions have to be looked at again.
#[derive(Clone, Debug)]
pub(crate) struct ConditionQueue {
    pub(crate) one: UnboundedSender<ObjectKey>,
    pub(crate) all: UnboundedSender<()>,
}

pub(crate) async fn run(context: Arc<Readiness>, tell: ConditionQueue) {
    let mut checker = Checks {
        context,
        tell,
        schedule: None,
        rules: None,
        off: None,
        rounds: 0,
        running: JoinSet::new(),
        under_way: HashMap::new(),
    };
    let mut rounds = tokio::time::interval(ROUND);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let wake = checker.next_due();
        tokio::select! {
            _ = rounds.tick() => checker.round(),
            Some(ended) = checker.running.join_next_with_id() => checker.ended(ended),
            () = sleep(wake.unwrap_or(ROUND)), if wake.is_some() => {}
        }
        checker.begin();
    }
}

type Joined = Result<(Id, CheckResult), tokio::task::JoinError>;

struct Checks {
    context: Arc<Readiness>,
    tell: ConditionQueue,
    /// While checks are on.
    schedule: Option<Schedule>,
    /// The rules that hold, apart from the interval.
    rules: Option<Rules>,
    off: Option<Obstacle>,
    rounds: u64,
    running: JoinSet<CheckResult>,
    under_way: HashMap<Id, HostKey>,
}

impl Checks {
    fn next_due(&self) -> Option<Duration> {
        let at = self.schedule.as_ref()?.next_due()?;
        let left = at.duration_since(self.context.sources.clock.steady());
        Some(Duration::try_from(left).unwrap_or_default())
    }

    fn begin(&mut self) {
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        while let Some(key) = schedule.begin(self.context.sources.clock.steady()) {
            let (context, host) = (Arc::clone(&self.context), key.clone());
            let task = self.running.spawn(async move { check(&context, &host).await });
            self.under_way.insert(task.id(), key);
        }
    }

    fn round(&mut self) {
        match rules(&self.context) {
            Ok((interval, rules)) => self.go_through(interval, rules),
            Err(why) => self.switch_off(why),
        }
    }

    fn switch_off(&mut self, why: Obstacle) {
        if let Some(mut schedule) = self.schedule.take() {
            self.running.abort_all();
            schedule.begin_round();
            for host in schedule.end_round() {
                self.forget(&host);
            }
        }
        if self.off.as_ref() != Some(&why) {
            self.off = Some(why);
            let _ = self.tell.all.unbounded_send(());
        }
    }

    fn go_through(&mut self, interval: SignedDuration, mut rules: Rules) {
        let now = self.context.sources.clock.steady();
        if self.off.take().is_some() {
            let _ = self.tell.all.unbounded_send(());
        }
        // Another interval is no reason to check everything anew.
        rules.0.readiness = remediator_api::readiness_rules::ReadinessRules::default();
        let begins = self.schedule.is_none();
        let mut schedule = self.schedule.take().unwrap_or_else(|| Schedule::new(interval));
        schedule.set_interval(interval, now);
        if self.rules.as_ref().is_some_and(|before| *before != rules) && !begins {
            schedule.hurry_all(now);
        }
        self.rules = Some(rules);
        schedule.begin_round();
        see_endpoints(&self.context, &mut schedule, begins);
        see_machines(&self.context, &mut schedule, self.rounds == 0);
        self.rounds = self.rounds.saturating_add(1);
        for (secret, version) in self.context.bmc.secrets_read() {
            schedule.saw_secret(&secret, &version, now);
        }
        for (host, node) in self.context.findings.waiting_for_a_node() {
            if check::node_now(&self.context, &host) != node {
                schedule.hurry(&host, now);
            }
        }
        for host in schedule.end_round() {
            self.forget(&host);
        }
        self.schedule = Some(schedule);
    }

    fn forget(&self, host: &HostKey) {
        self.context.findings.forget(host);
        self.context.reporter.host_gone(host);
    }

    fn ended(&mut self, joined: Joined) {
        let (id, checked) = match joined {
            Ok(joined) => joined,
            Err(error) => (error.id(), CheckResult::PutOff(GAP)),
        };
        let Some(host) = self.under_way.remove(&id) else {
            return;
        };
        let now = self.context.sources.clock.steady();
        let Some(schedule) = self.schedule.as_mut().filter(|schedule| schedule.knows(&host)) else {
            return;
        };
        match checked {
            CheckResult::PutOff(pause) => schedule.end(&host, Ended::PutOff(pause), None, now),
            CheckResult::Found(found) => {
                let is_ready = found.answer.verdict.is_ok();
                let ended = if is_ready { Ended::Ready } else { Ended::NotReady };
                schedule.end(&host, ended, found.secret.clone(), now);
                self.note(host, *found);
            }
        }
    }

    fn note(&self, host: HostKey, found: CheckFindings) {
        let context = &self.context;
        let check = HostCheck {
            before: self.before(&host),
            host,
            regarding: found.regarding,
            verdict: found.answer.verdict.clone(),
            certificate_expiry: found.answer.certificate_expiry,
            took: found.took,
        };
        context.reporter.host_checked(&check);
        let finding = Finding {
            found: self.found(&check.host, found.answer.found, found.generation),
            verdict: found.answer.verdict,
            generation: found.generation,
            node: found.node,
        };
        if context.findings.note(&check.host, finding) && check.host.kind == HostKind::Endpoint {
            let endpoint = ObjectKey::new(Some(&check.host.namespace), &check.host.name);
            let _ = self.tell.one.unbounded_send(endpoint);
        }
        // Nobody waits for an API server that is slow to take an event.
        let reporter = context.reporter.clone();
        tokio::spawn(async move { reporter.tell_of_host(&check).await });
    }

    /// The host that a BMC is known to be of after a check. One that did not answer was found before, or was not.
    fn found(&self, host: &HostKey, found: Found, generation: Option<i64>) -> Option<FoundHost> {
        let generation = generation?;
        match found {
            Found::Its(uuid) => Some(FoundHost {
                generation,
                system_uuid: uuid.to_string(),
            }),
            Found::Another => None,
            Found::Unknown => {
                let before = match self.context.findings.of(host) {
                    Some(finding) => finding.found,
                    None => {
                        let endpoints = &self.context.sources.caches.endpoints;
                        let endpoint = caches::find(endpoints, Some(&host.namespace), &host.name);
                        let endpoint = endpoint.as_deref().and_then(|guarded| guarded.0.as_ref().ok());
                        endpoint.and_then(|endpoint| endpoint.status.as_ref()?.found.clone())
                    }
                };
                before.filter(|before| before.generation == generation)
            }
        }
    }

    /// How a host stood until now: as this process found it, else as an earlier one wrote.
    fn before(&self, host: &HostKey) -> ReadinessState {
        if let Some(finding) = self.context.findings.of(host) {
            return match finding.verdict {
                Ok(_) => ReadinessState::Ready,
                Err(obstacle) => ReadinessState::NotReady(obstacle.reason.as_str().to_owned()),
            };
        }
        match host.kind {
            HostKind::Machine => ReadinessState::Unknown,
            HostKind::Endpoint => {
                let endpoints = &self.context.sources.caches.endpoints;
                let endpoint = caches::find(endpoints, Some(&host.namespace), &host.name);
                let endpoint = endpoint.as_deref().and_then(|guarded| guarded.0.as_ref().ok());
                let standing = endpoint.and_then(standing);
                standing.map_or(ReadinessState::Unknown, |(standing, _)| standing)
            }
        }
    }
}

/// Those that a BMCEndpoint describes. When checks begin, what an earlier process wrote is believed.
fn see_endpoints(context: &Readiness, schedule: &mut Schedule, begins: bool) {
    let now = context.sources.clock.steady();
    for guarded in context.sources.caches.endpoints.all() {
        let Ok(endpoint) = &guarded.0 else { continue };
        let key = key_of(HostKind::Endpoint, endpoint);
        let metadata = &endpoint.metadata;
        let generation = metadata.generation.unwrap_or_default().to_string();
        let version = stable_hash(&[metadata.uid.as_deref().unwrap_or_default(), &generation]);
        let mut first = First::Soon;
        if begins {
            let standing = standing(endpoint);
            match &standing {
                Some((ReadinessState::Ready, checked)) if *checked == metadata.generation => {
                    first = First::InTurn;
                    context.reporter.host_stands(&key, true);
                }
                Some((ReadinessState::NotReady(_), _)) => context.reporter.host_stands(&key, false),
                Some(_) | None => {}
            }
        }
        schedule.see(&key, version, first, now);
    }
}

/// Those whose Machine refers to a BareMetalHost.
fn see_machines(context: &Readiness, schedule: &mut Schedule, at_start: bool) {
    let now = context.sources.clock.steady();
    let first = if at_start { First::Settling } else { First::Soon };
    for guarded in context.sources.caches.machines() {
        let Ok(machine) = &guarded.0 else { continue };
        // A reference that cannot be read is one, too.
        if matches!(host::reference(machine), Ok(None)) {
            continue;
        }
        let key = key_of(HostKind::Machine, machine);
        let annotation = machine.annotations().get(keys::BARE_METAL_HOST_ANNOTATION);
        let version = stable_hash(&[
            machine.metadata.uid.as_deref().unwrap_or_default(),
            machine.spec.provider_id.as_deref().unwrap_or_default(),
            annotation.map(String::as_str).unwrap_or_default(),
            machine.node_name().unwrap_or_default(),
        ]);
        schedule.see(&key, version, first, now);
    }
}

fn key_of<K: kube::Resource>(kind: HostKind, object: &K) -> HostKey {
    HostKey {
        kind,
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
    }
}

/// What the condition of an endpoint says, and of which generation.
fn standing(endpoint: &BMCEndpoint) -> Option<(ReadinessState, Option<i64>)> {
    let conditions = &endpoint.status.as_ref()?.conditions;
    let ready = conditions.iter().find(|condition| condition.type_ == READY)?;
    Some((
        ReadinessState::of(&ready.status, &ready.reason),
        ready.observed_generation,
    ))
}
