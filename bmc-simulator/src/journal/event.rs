//! What an entry of the journal tells.

use serde::{Deserialize, Serialize};

use crate::ipmi::Privilege;
use crate::power::{Change, Command, Delays, Outcome, Power};
use crate::redfish::RedfishSpec;
use crate::{Injection, RequestClass, Stage};

/// By which door a request came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// Redfish with HTTP Basic.
    RedfishBasic,
    /// Redfish with the session of this id.
    RedfishSession(String),
    /// IPMI, in the session of this id.
    IpmiSession(String),
}

/// What became of the answer that carries what an entry tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// It was sent at once.
    Sent,
    /// It takes long: [`Event::Answered`] tells when it was sent, or that it never was.
    Late,
    /// It was not sent: no answer, half of one, or another one in its place.
    Lost,
}

/// Stands for credentials that were tried. Equal ones have equal texts within one run, and nobody who does
/// not know the run's secret salt can tell the credentials by them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// Stands for the user name.
    pub user: String,
    /// Stands for user name and password. A BMC does not see a password over IPMI (section 13.31 of IPMI
    /// 2.0), so there all wrong passwords of one user are one.
    pub credentials: String,
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// By Close Session (IPMI; see [`Event::SessionDeleted`] for Redfish).
    Closed,
    /// Nothing valid came for too long (IPMI; see [`Event::SessionExpired`] for Redfish).
    Idle,
    /// Its login changed.
    CredentialsRotated,
    /// Its account was deleted.
    AccountDeleted,
    /// Its account was disabled.
    AccountDisabled,
    /// The BMC rebooted or lost its power.
    BmcGone,
}

/// Something that happened at one BMC or to its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A TCP connection was accepted.
    TcpAccepted,
    /// A TLS handshake was completed.
    TlsHandshake,
    /// A TLS handshake failed or took too long.
    TlsFailed,
    /// A session was opened.
    SessionCreated {
        /// Its id.
        session: String,
        /// HTTP status of the answer; absent when none was sent at once.
        status: Option<u16>,
        /// Whether the client got to know of the session.
        delivery: Delivery,
    },
    /// A session was closed by its owner or an administrator.
    SessionDeleted {
        /// Its id.
        session: String,
    },
    /// A session was ended by something that happened to its account or to the BMC.
    SessionEnded {
        /// Its id.
        session: String,
        /// What.
        reason: Ended,
    },
    /// A session was opened over IPMI.
    IpmiSessionOpened {
        /// Its id: what the BMC calls it, 8 hexadecimal digits.
        session: String,
        /// Who opened it.
        username: String,
        /// The highest privilege that it may ask for.
        limit: Privilege,
        /// Id of its cipher suite.
        cipher_suite: u8,
        /// RMCP+ status code answered (0); absent when no answer was sent at once.
        status: Option<u16>,
        /// Whether the answer reached the console.
        delivery: Delivery,
    },
    /// A session over IPMI ended.
    IpmiSessionEnded {
        /// Its id.
        session: String,
        /// Why.
        reason: Ended,
    },
    /// A session ended because it was not used for too long.
    SessionExpired {
        /// Its id.
        session: String,
    },
    /// A request was refused for missing or wrong credentials.
    AuthFailed {
        /// What kind of request.
        class: RequestClass,
        /// Stands for the user name and password that were refused; absent when the request had none: a
        /// stale token, or nothing at all.
        tried: Option<Tried>,
        /// HTTP status or, over IPMI, RMCP+ status code answered; absent when no answer was sent at once.
        status: Option<u16>,
        /// Whether the client got to know of the refusal.
        delivery: Delivery,
    },
    /// A login was accepted that other tries were rejected before: of the same user, or with the same
    /// credentials. Other successes are not written down.
    LoginAccepted {
        /// What kind of request.
        class: RequestClass,
        /// Stands for the user name and password.
        tried: Tried,
    },
    /// A power command was accepted.
    Command {
        /// Id of the system it was sent to.
        system: String,
        /// The command.
        command: Command,
        /// How it came in.
        via: Via,
        /// What became of it.
        outcome: Outcome,
        /// HTTP status or, over IPMI, completion code answered; absent when no answer was sent at once.
        status: Option<u16>,
        /// Whether the client got to know that it was accepted.
        delivery: Delivery,
    },
    /// A power command was refused and had no effect.
    CommandRefused {
        /// Id of the system it was sent to.
        system: String,
        /// The command; absent when it is none that the BMC knows, or the request did not get so far.
        command: Option<Command>,
        /// How it came in.
        via: Via,
        /// HTTP status or, over IPMI, completion code answered; absent when no answer was sent at once.
        status: Option<u16>,
        /// Whether the client got to know that it was refused.
        delivery: Delivery,
        /// Why.
        reason: String,
    },
    /// A power state was read.
    Observed {
        /// Id of the system that was read.
        system: String,
        /// How the request came in.
        via: Via,
        /// What was reported, as a fault may have edited it; absent = null.
        reported: Option<String>,
        /// What was true at that moment.
        truth: Power,
        /// HTTP status or, over IPMI, completion code answered; absent when no answer was sent at once.
        status: Option<u16>,
        /// Whether the report reached the client.
        delivery: Delivery,
    },
    /// An answer that took long ([`Delivery::Late`]) was sent, or never will be.
    Answered {
        /// Number of the entry that it belongs to.
        of: u64,
        /// HTTP status, or code of IPMI, answered; absent when the client was gone, or the BMC.
        status: Option<u16>,
    },
    /// The truth about a machine changed.
    Changed {
        /// Id of the system that the machine is.
        system: String,
        /// What changed.
        #[serde(flatten)]
        change: Change,
    },
    /// Somebody set the truth directly.
    Pressed {
        /// Id of the system whose.
        system: String,
        /// To what.
        to: Power,
    },
    /// The BMC itself rebooted: sessions and connections are gone.
    BmcRebooted,
    /// The BMC itself came a stage further.
    BmcStage {
        /// How far it is.
        stage: Stage,
    },
    /// The mains failed: neither the BMC nor its machine has power.
    MainsLost,
    /// The mains are back; the BMC boots.
    MainsRestored,
    /// A fault replaced or damaged an answer.
    FaultApplied {
        /// The fault's name.
        fault: String,
        /// What kind of request it hit.
        class: RequestClass,
    },
    /// The faults in force became these.
    FaultsSet {
        /// Those that were injected, in order.
        faults: Vec<Injection>,
        /// Those that belong to the personality.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        personality_faults: Vec<Injection>,
    },
    /// The delays of a machine became these.
    DelaysSet {
        /// Id of the system that the machine is.
        system: String,
        /// All of them.
        #[serde(flatten)]
        delays: Delays,
    },
    /// The switches of the Redfish service were replaced by these.
    RedfishSet {
        /// All of them.
        redfish: Box<RedfishSpec>,
    },
    /// A login was made, changed, enabled or unlocked: what was rejected before may be right now. The
    /// sessions that ended of it have entries of their own.
    CredentialsRotated {
        /// Stand for the user names that it concerns, as [`Tried::user`] does.
        users: Vec<String>,
    },
    /// The TLS certificate was swapped; all connections were closed.
    CertificateSwapped {
        /// SHA-256 of the new certificate, in hexadecimal.
        sha256: String,
    },
}
