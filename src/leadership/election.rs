//! Takes the Lease, renews it, and gives it away.

use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::leadership::candidate::{Candidate, Turn, given_away};
use crate::leadership::lead::{Lead, RENEW_WITHIN};
use crate::report::{Probes, Standing};

/// The Lease, in the namespace of the daemon.
pub(crate) const LEASE_NAME: &str = "baremetal-remediator";

/// Between two renewals, and after something that did not work.
const RETRY: Duration = Duration::from_secs(2);

/// The longest a call may take: two fit into the time to renew.
const CALL: Duration = Duration::from_secs(4);

/// A leader.
pub(crate) struct Elected {
    leases: Api<Lease>,
    candidate: Candidate,
    clock: Clock,
    /// The right to act.
    pub(crate) lead: Lead,
    epoch: i64,
    acquired: MicroTime,
    version: String,
    until: Instant,
}

/// Waits until this process leads. `client` is in the daemon's namespace; `identity` is of this process alone. `probes`
/// are told whether it is known who leads.
pub(crate) async fn elected(client: Client, clock: Clock, identity: String, probes: &Probes) -> Elected {
    let leases: Api<Lease> = Api::default_namespaced(client);
    // An event spares waiting; without any, the Lease is read when it may be taken.
    let mut changes = watcher::watch_object(leases.clone(), LEASE_NAME)
        .default_backoff()
        .boxed();
    let mut candidate = Candidate::new(identity);
    let mut is_told = false;
    loop {
        let again = match attempt(&leases, &mut candidate, &clock).await {
            Ok(Ok((epoch, acquired, version, (until, jumps)))) => {
                let lead = Lead::elected(clock.clone(), epoch, (until, jumps));
                tracing::info!(epoch, "leading");
                return Elected {
                    leases,
                    candidate,
                    clock,
                    lead,
                    epoch,
                    acquired,
                    version,
                    until,
                };
            }
            Ok(Err((until, leader))) => {
                probes.stands_by(leader);
                if !std::mem::replace(&mut is_told, true) {
                    tracing::info!("another replica holds the lead; standing by");
                }
                until
            }
            Err(why) => {
                probes.stands(Standing::Starting);
                tracing::warn!(
                    why,
                    "cannot take the Lease {LEASE_NAME}; check the API server and the role of this daemon"
                );
                Instant::now().checked_add(RETRY).unwrap_or_else(Instant::now)
            }
        };
        tokio::select! {
            () = tokio::time::sleep_until(again) => {}
            Some(Ok(_)) = changes.next() => {}
        }
    }
}

/// What was won: term, since when, the version of the Lease, and until when, after how many jumps of the clock.
type Won = (i64, MicroTime, String, (Instant, u64));

/// Who holds the Lease, and when it may be taken.
type Held = (Instant, Option<String>);

/// Reads the Lease and takes it if it may.
async fn attempt(
    leases: &Api<Lease>,
    candidate: &mut Candidate,
    clock: &Clock,
) -> Result<Result<Won, Held>, String> {
    let now = Instant::now();
    let lease = within("reading it", leases.get_opt(LEASE_NAME)).await?;
    let (epoch, version) = match candidate.turn(lease.as_ref(), now) {
        Turn::Wait(until) => {
            let spec = lease.and_then(|lease| lease.spec);
            return Ok(Err((until, spec.and_then(|spec| spec.holder_identity))));
        }
        Turn::Create(epoch) => (epoch, None),
        Turn::Take(epoch, version) => (epoch, Some(version)),
    };
    let (sent, acquired) = (Sent::now(clock), now_on_the_wall());
    let wanted = object(
        version.clone(),
        candidate.held(epoch, &acquired, acquired.clone()),
    );
    let written = if version.is_some() {
        within(
            "taking it",
            leases.replace(LEASE_NAME, &PostParams::default(), &wanted),
        )
        .await?
    } else {
        within("creating it", leases.create(&PostParams::default(), &wanted)).await?
    };
    Ok(Ok((
        epoch,
        acquired,
        written.resource_version().unwrap_or_default(),
        (sent.until, sent.jumps),
    )))
}

impl Elected {
    /// Renews the lead until it is lost, and says why.
    pub(crate) async fn keep(&mut self) -> String {
        loop {
            tokio::time::sleep(RETRY).await;
            let sent = Sent::now(&self.clock);
            if Instant::now() >= self.until {
                return format!("the Lease could not be renewed for {} s", RENEW_WITHIN.as_secs());
            }
            let spec = self.candidate.held(self.epoch, &self.acquired, now_on_the_wall());
            let written = tokio::time::timeout_at(self.until, self.write(spec)).await;
            match written.unwrap_or_else(|_| Err(Refused::Unknown("the lead is over".to_owned()))) {
                Ok(()) => {
                    self.until = sent.until;
                    self.lead.renew(sent.until, sent.jumps);
                }
                Err(Refused::Lost(why)) => return why,
                Err(why @ (Refused::Conflict | Refused::Unknown(_))) => {
                    tracing::warn!(%why, "the lead was not renewed; it is tried again");
                }
            }
        }
    }

    /// Gives the Lease away, so that the next replica need not wait for its end. Nothing of this process acts any more.
    pub(crate) async fn give_away(&mut self) {
        let spec = given_away(self.epoch, &now_on_the_wall());
        if let Err(why) = self.write(spec).await {
            tracing::info!(
                %why,
                "the Lease was not given away; another replica waits for its end"
            );
        }
    }

    /// Writes the Lease as long as it is the one that this process wrote last.
    async fn write_once(&mut self, spec: &LeaseSpec) -> Result<(), Refused> {
        let wanted = object(Some(self.version.clone()), spec.clone());
        let parameters = PostParams::default();
        let written = self.leases.replace(LEASE_NAME, &parameters, &wanted);
        match tokio::time::timeout(CALL, written).await {
            Ok(Ok(lease)) => {
                self.version = lease.resource_version().unwrap_or_default();
                Ok(())
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => {
                Err(Refused::Lost("the Lease was deleted".to_owned()))
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(Refused::Conflict),
            Ok(Err(error)) => Err(Refused::Unknown(crate::report::chain(&error))),
            Err(_) => Err(Refused::Unknown(format!(
                "the API server did not answer within {} s",
                CALL.as_secs()
            ))),
        }
    }

    /// Writes the Lease, once more if only its version was another.
    async fn write(&mut self, spec: LeaseSpec) -> Result<(), Refused> {
        match self.write_once(&spec).await {
            Err(Refused::Conflict) => {
                self.look().await?;
                self.write_once(&spec).await
            }
            written => written,
        }
    }

    /// Somebody wrote the Lease: this process itself, whose answer was lost; a person; or who leads now.
    async fn look(&mut self) -> Result<(), Refused> {
        let lease = within("reading it", self.leases.get(LEASE_NAME))
            .await
            .map_err(Refused::Unknown)?;
        let wanted = self
            .candidate
            .held(self.epoch, &self.acquired, self.acquired.clone());
        let spec = lease.spec.clone().unwrap_or_default();
        let is_ours = (&spec.holder_identity, spec.lease_transitions)
            == (&wanted.holder_identity, wanted.lease_transitions);
        if !is_ours {
            let holder = spec.holder_identity.unwrap_or_default();
            return Err(Refused::Lost(format!("the Lease is held by \"{holder}\"")));
        }
        self.version = lease.resource_version().unwrap_or_default();
        Ok(())
    }
}

/// Why the Lease was not written.
#[derive(Debug, thiserror::Error)]
enum Refused {
    /// Another one leads, or may.
    #[error("{0}")]
    Lost(String),
    #[error("the Lease is written by others again and again")]
    Conflict,
    #[error("{0}")]
    Unknown(String),
}

/// When a renewal was sent: from then on it counts.
struct Sent {
    until: Instant,
    jumps: u64,
}

impl Sent {
    fn now(clock: &Clock) -> Self {
        let (jumps, now) = (clock.moment().1, Instant::now());
        let until = now.checked_add(RENEW_WITHIN).unwrap_or(now);
        Self { until, jumps }
    }
}

fn now_on_the_wall() -> MicroTime {
    MicroTime(Timestamp::now())
}

fn object(version: Option<String>, spec: LeaseSpec) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(LEASE_NAME.to_owned()),
            resource_version: version,
            ..ObjectMeta::default()
        },
        spec: Some(spec),
    }
}

async fn within<T>(what: &str, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, String> {
    match tokio::time::timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(format!("{what} failed: {}", crate::report::chain(&error))),
        Err(_) => Err(format!("{what} was not answered within {} s", CALL.as_secs())),
    }
}
