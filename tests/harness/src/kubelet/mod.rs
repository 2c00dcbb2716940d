//! Nodes without hosts: actors that report as a kubelet does, until their host loses power.
//!
//! An actor is in one of two states. Alive, it renews its Lease, keeps the Node's status as it
//! believes it to be, and runs and ends pods. Silent, it does nothing at all. Going silent drops
//! whatever is under way; a request already on the wire may still arrive, as from a real host.

mod heartbeat;
mod node;
mod pods;

pub use node::NodeTemplate;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::NodeCondition;
use kube::Client;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::namespaces;

/// How long the API server may take to accept a report.
const REPORT_WITHIN: Duration = Duration::from_mins(1);

/// What happens to the host a kubelet runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// It has lost power: the kubelet is silent from now on.
    Off,
    /// Its operating system has come up, under this boot id.
    Booted {
        /// `/proc/sys/kernel/random/boot_id` of this boot.
        boot_id: String,
    },
}

/// A random id as firmware gives a system and the kernel gives a boot.
pub fn random_uuid() -> String {
    namespaces::random_uuid()
}

/// One kubelet. Dropping it is pulling its plug.
#[derive(Debug)]
pub struct ScriptedKubelet {
    name: String,
    orders: mpsc::UnboundedSender<Order>,
    last_error: LastError,
    task: JoinHandle<()>,
}

/// Why the last report failed, for the error of whoever waits for it.
type LastError = Arc<Mutex<Option<String>>>;

/// Whom to tell when it is done.
type Done = oneshot::Sender<Result<(), String>>;

enum Order {
    Report(Box<NodeCondition>, Done),
    StopReporting(Done),
    Resume(String, Done),
}

/// What the actor was told last, or saw of its host.
enum Change {
    Order(Order),
    Host(HostEvent),
    /// Nobody can give orders any more.
    Abandoned,
}

/// What a living kubelet has to do first.
struct Life {
    /// Whether the kubelet starts now. Only then does it create its Node: one that is deleted under
    /// a running kubelet stays deleted.
    starting: bool,
    /// Those who wait for its next report.
    waiting: Vec<Done>,
}

/// What the actor knows of itself; it survives its silences as a disk would.
struct Kubelet {
    client: Client,
    template: NodeTemplate,
    conditions: BTreeMap<String, NodeCondition>,
    last_error: LastError,
}

impl ScriptedKubelet {
    /// Registers the node, Ready, and keeps it so.
    pub async fn start(client: Client, template: NodeTemplate) -> anyhow::Result<Self> {
        Self::spawn(client, template, None).await
    }

    /// The same, following its host's power.
    pub async fn start_on_host(
        client: Client,
        template: NodeTemplate,
        host: mpsc::UnboundedReceiver<HostEvent>,
    ) -> anyhow::Result<Self> {
        Self::spawn(client, template, Some(host)).await
    }

    async fn spawn(
        client: Client,
        template: NodeTemplate,
        host: Option<mpsc::UnboundedReceiver<HostEvent>>,
    ) -> anyhow::Result<Self> {
        let (orders, inbox) = mpsc::unbounded_channel();
        let last_error = LastError::default();
        let name = template.name.clone();
        let kubelet = Kubelet {
            client,
            conditions: node::healthy_conditions(),
            template,
            last_error: Arc::clone(&last_error),
        };
        let (registered, wait) = oneshot::channel();
        let task = tokio::spawn(kubelet.run(inbox, host, registered));
        let this = Self {
            name,
            orders,
            last_error,
            task,
        };
        this.until_done(wait).await?;
        Ok(this)
    }

    /// The node's name.
    pub fn node_name(&self) -> &str {
        &self.name
    }

    /// Reports Ready=True.
    pub async fn report_ready(&self) -> anyhow::Result<()> {
        self.report_condition("Ready", "True", "KubeletReady").await
    }

    /// Reports a condition from now on; returns when the API server has it.
    pub async fn report_condition(&self, kind: &str, status: &str, reason: &str) -> anyhow::Result<()> {
        let condition = Box::new(node::condition(kind, status, reason));
        self.order(|done| Order::Report(condition, done)).await
    }

    /// Goes silent, as when the host hangs; returns when it is.
    pub async fn stop_reporting(&self) -> anyhow::Result<()> {
        self.order(Order::StopReporting).await
    }

    /// Comes back after a boot; returns when the API server has the new boot id.
    pub async fn resume(&self, boot_id: impl Into<String>) -> anyhow::Result<()> {
        let boot_id = boot_id.into();
        self.order(|done| Order::Resume(boot_id, done)).await
    }

    async fn order(&self, order: impl FnOnce(Done) -> Order) -> anyhow::Result<()> {
        let (done, wait) = oneshot::channel();
        self.orders
            .send(order(done))
            .ok()
            .with_context(|| format!("the kubelet of {} has ended; keep its runtime alive", self.name))?;
        self.until_done(wait).await
    }

    async fn until_done(&self, wait: oneshot::Receiver<Result<(), String>>) -> anyhow::Result<()> {
        let why = match tokio::time::timeout(REPORT_WITHIN, wait).await {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(refused))) => refused,
            Ok(Err(_)) => "it went silent before it was done".to_owned(),
            Err(_) => {
                let last = self
                    .last_error
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                last.unwrap_or_else(|| format!("no answer within {REPORT_WITHIN:?}"))
            }
        };
        bail!(
            "the kubelet of {} could not do it: {why}; look at its Node and at the API server",
            self.name
        )
    }
}

impl Drop for ScriptedKubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Kubelet {
    async fn run(
        mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut host: Option<mpsc::UnboundedReceiver<HostEvent>>,
        registered: Done,
    ) {
        let mut alive = Some(Life {
            starting: true,
            waiting: vec![registered],
        });
        loop {
            let change = match alive.take() {
                Some(mut life) => {
                    let change = tokio::select! {
                        // What happens to the host comes before what the kubelet would do next.
                        biased;
                        change = next_change(&mut orders, &mut host) => change,
                        never = self.live(&mut life) => match never {},
                    };
                    // What it had not got done before the interruption is still to be done.
                    alive = Some(life);
                    change
                }
                None => next_change(&mut orders, &mut host).await,
            };
            match change {
                Change::Order(Order::Report(condition, done)) => {
                    self.adopt(*condition);
                    // A silent kubelet only keeps it in mind; the one who waits learns it by the drop.
                    if let Some(life) = &mut alive {
                        life.waiting.push(done);
                    }
                }
                Change::Order(Order::StopReporting(done)) => {
                    alive = None;
                    // Whoever asked may have stopped waiting.
                    done.send(Ok(())).ok();
                }
                Change::Order(Order::Resume(boot_id, done)) => {
                    self.boot(boot_id);
                    alive = Some(Life {
                        starting: true,
                        waiting: vec![done],
                    });
                }
                Change::Host(HostEvent::Off) => alive = None,
                Change::Host(HostEvent::Booted { boot_id }) => {
                    self.boot(boot_id);
                    alive = Some(Life {
                        starting: true,
                        waiting: Vec::new(),
                    });
                }
                Change::Abandoned => return,
            }
        }
    }

    /// A fresh start: what was wrong before the boot is not known to be wrong now.
    fn boot(&mut self, boot_id: String) {
        self.template.boot_id = boot_id;
        self.conditions = node::healthy_conditions();
    }

    fn adopt(&mut self, condition: NodeCondition) {
        let mut condition = condition;
        if let Some(before) = self.conditions.get(&condition.type_)
            && before.status == condition.status
        {
            condition
                .last_transition_time
                .clone_from(&before.last_transition_time);
        }
        self.conditions.insert(condition.type_.clone(), condition);
    }

    /// Keeps the error, or forgets an older one.
    fn note<T>(&self, result: &Result<T, kube::Error>) {
        let error = result.as_ref().err().map(ToString::to_string);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

async fn next_change(
    orders: &mut mpsc::UnboundedReceiver<Order>,
    host: &mut Option<mpsc::UnboundedReceiver<HostEvent>>,
) -> Change {
    let event = async {
        match host {
            Some(events) => events.recv().await,
            None => None,
        }
    };
    tokio::select! {
        biased;
        Some(event) = event => Change::Host(event),
        order = orders.recv() => order.map_or(Change::Abandoned, Change::Order),
    }
}

/// Nodes that always report and take no pods.
///
/// Where every node of a zone is silent, the node lifecycle controller suspects the network and
/// evicts nobody; in a small cluster it does so when more than two nodes, and 55 % or more, are. So
/// a test that kills `n` nodes keeps at least `n` of these.
pub async fn witnesses(client: &Client, prefix: &str, count: usize) -> anyhow::Result<Vec<ScriptedKubelet>> {
    try_join_all((0..count).map(|_| {
        let mut template = NodeTemplate::new(namespaces::unique(prefix));
        template.unschedulable = true;
        ScriptedKubelet::start(client.clone(), template)
    }))
    .await
}
