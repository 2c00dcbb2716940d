//! Ways to break a BMC. What a fault does is here; where it takes hold is its reader's business.

mod check;
#[cfg(test)]
mod check_tests;
mod effect;
mod hit;
mod injection;
mod ipmi;
mod lasting;
mod machine;
mod name;
mod parameters;
mod pattern;
mod probability;
#[cfg(test)]
mod samples;
mod selector;
mod set;
mod target;
mod vendor;
mod walls;

pub(crate) use effect::{Aftermath, Answer, Connection, HtmlPage, TaskCourse};
pub use injection::{Injection, Window};
pub use ipmi::IpmiFault;
pub(crate) use ipmi::{IpmiEffect, ReplyFault};
pub(crate) use machine::FaultsOf;
pub(crate) use parameters::LARGEST_ANSWER;
pub use probability::Probability;
pub(crate) use selector::Asked;
pub(crate) use set::FaultSet;
pub(crate) use target::Target;
pub use vendor::VendorError;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One way to misbehave. In JSON: `"hang"`, `{"http-status":{"status":503,"retryAfter":1}}`,
/// `{"report-literal":null}`, `{"powers-on-by-itself":{"after":"2s"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Fault {
    /// Reports Off although the machine is on; power-offs are accepted and ignored.
    LieOffWhileOn,
    /// Every command is accepted and nothing happens; reports the truth.
    AcceptAndIgnore,
    /// Once told to power off it reports `PoweringOff` for ever; the machine stays on.
    StuckPoweringOff,
    /// Reports this word as the power state, `None` being JSON null.
    ReportLiteral(Option<String>),
    /// Answers 200 with an HTML page; executes nothing.
    HtmlInsteadOfJson,
    /// Answers with this status; executes nothing.
    #[serde(rename_all = "camelCase")]
    HttpStatus {
        /// HTTP status, 200 to 599.
        status: u16,
        /// Value of `Retry-After` in seconds; absent = no such header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
    },
    /// Answers 401 to right credentials, too.
    RejectCredentials,
    /// Does what was asked, then closes the connection without an answer. Limited to
    /// [`RequestClass::Reset`](crate::RequestClass::Reset) unless told otherwise.
    DropAfterExecute,
    /// Reads the request and never answers; executes nothing.
    Hang,
    /// Answers 307 to this URL; executes nothing.
    Redirect {
        /// Value of `Location`.
        to: String,
    },
    /// A reset is carried out on another machine behind the same BMC, whose state is not looked at: the
    /// nodes of the chassis are wired wrongly. What is read is of the system that is asked for.
    WrongNode {
        /// The system that is reset in place of any other.
        executes_on: String,
    },
    /// Another machine's UUID and serial number behind this address.
    WrongUuid,
    /// No `SessionService`: 404, and the service root does not name it (as sushy-emulator).
    NoSessionService,
    /// Answers 409 when a reset asks for the state the machine is in (as Dell iDRAC).
    #[serde(rename = "already-there-409")]
    AlreadyThere409,
    /// Cuts JSON answers in half.
    TruncatedJson,
    /// Forgets an `On` that comes while a power-off is pending (as sushy-emulator).
    LoseOnWhilePoweringOff,
    /// The machine powers on by itself once it has been off for this long.
    PowersOnByItself {
        /// Time from off to on.
        #[serde(with = "crate::human::text")]
        after: Duration,
    },
    /// Refuses connections: nothing listens.
    RefuseConnections,
    /// Connections neither open nor fail, as behind a firewall that drops everything.
    Blackhole,
    /// Takes a connection and then says nothing, not even in the TLS handshake.
    AcceptThenHang,
    /// Resets a connection as soon as it is open.
    ResetOnConnect,
    /// Closes its own direction of a connection at once and goes on reading.
    HalfClose,
    /// Answers in clear text where TLS is expected.
    PlaintextOnTls,
    /// Ends the TLS handshake with a fatal alert.
    TlsAlert,
    /// Presents a certificate with a defect.
    Certificate(CertificateDefect),
    /// Speaks TLS 1.2 only.
    #[serde(rename = "tls-1.2-only")]
    Tls12Only,
    /// Resets a connection when a second request comes over it (as HPE, NVIDIA/libredfish `network.rs`).
    ResetOnReuse,
    /// Executes at once and answers after this time.
    SlowAnswer {
        /// Time until the answer.
        #[serde(with = "crate::human::text")]
        by: Duration,
    },
    /// Sends the body of the answer one byte at a time.
    SlowLoris {
        /// Time between two bytes.
        #[serde(with = "crate::human::text")]
        every: Duration,
    },
    /// Executes, sends the first bytes of the body and resets the connection.
    CutAnswer {
        /// So many bytes.
        after: u64,
    },
    /// Answers 200 with a body that never ends; executes nothing.
    EndlessBody,
    /// Answers 200 with JSON nested so deep; executes nothing.
    DeepJson {
        /// Levels of arrays.
        depth: u32,
    },
    /// Answers 200 with an error as the body; executes nothing (as HPE).
    #[serde(rename = "error-in-200")]
    ErrorIn200,
    /// Executes, then answers with this status and an error.
    ExecuteThenStatus {
        /// HTTP status, 200 to 599.
        status: u16,
    },
    /// Executes and answers with this header set, such as an absurd `Retry-After`.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Executes, and puts this value at a place of the JSON answer.
    JsonSet {
        /// Where: a JSON Pointer (RFC 6901) such as `/PowerState`. The object that holds it must be there.
        pointer: String,
        /// What.
        value: serde_json::Value,
    },
    /// Executes, and takes something out of the JSON answer.
    JsonRemove {
        /// What: a JSON Pointer (RFC 6901).
        pointer: String,
    },
    /// Answers 504 with an HTML page until the BMC restarts; executes nothing (iDRAC:
    /// ironcore-dev/metal-operator issue 448).
    GatewayTimeoutHtml,
    /// Answers with an error of a vendor; executes nothing.
    VendorError(VendorError),
    /// Refuses new sessions because the table is full (as Dell iDRAC's RAC0218), until the BMC restarts.
    SessionTableFull,
    /// Reports the power state as it was so long ago.
    StaleReads {
        /// How old what is reported is.
        #[serde(with = "crate::human::text")]
        age: Duration,
    },
    /// Reports the truth and its opposite in turn.
    ReportFlaps {
        /// How long each is reported.
        #[serde(with = "crate::human::text")]
        every: Duration,
    },
    /// Answers 409 to an `On` that comes sooner than this after the machine went off (as iDRAC10).
    #[serde(rename = "on-409-after-off")]
    On409AfterOff {
        /// For how long after the power-off.
        #[serde(with = "crate::human::text")]
        within: Duration,
    },
    /// Accepts and forgets an `On` that comes sooner than this after the machine went off.
    OnLostAfterOff {
        /// For how long after the power-off.
        #[serde(with = "crate::human::text")]
        within: Duration,
    },
    /// The BMC reboots when asked; the connection breaks without an answer.
    RebootBmc,
    /// The BMC reboots when it is asked more often than this (as omni issue 785).
    CrashAbove {
        /// Requests in one second that it still stands.
        requests_per_second: u32,
    },
    /// The BMC does not know what the host does and so says that it is Off; the chassis shows its power as it
    /// is (openbmc/bmcweb `systems.hpp`, `getHostState`).
    HostStateUnknown,
    /// The BMC cannot ask about the host: the system has no power state at all; the chassis shows its power
    /// as it is (openbmc/bmcweb `systems.hpp`, `getHostState`).
    HostStateUnreachable,
    /// After an On to a machine that is on it says `PoweringOn` for so long (HPE Cray EX: powerman
    /// `redfishpower.c`).
    OnShowsPoweringOn {
        /// For how long.
        #[serde(with = "crate::human::text")]
        during: Duration,
    },
    /// A ForceRestart ends in a machine that never boots, until its power was off (Lenovo SR675 V3:
    /// NVIDIA/libredfish `lenovo.rs`).
    ForceRestartHangs,
    /// A reset is answered 202 with a task that stays `Running` until the BMC restarts.
    StuckTask {
        /// Whether the machine obeys all the same: of tasks that never end some had nothing left to do.
        executes: bool,
    },
    /// A reset is answered 202 with a task that ends in `Exception`; the machine stays as it is.
    FailedTask {
        /// Time from the answer to the end; until then the task is `Running`.
        #[serde(with = "crate::human::text")]
        after: Duration,
    },
    /// Misbehaves over IPMI.
    Ipmi(IpmiFault),
}

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateDefect {
    /// It has expired.
    Expired,
    /// It is good, and expires in a week.
    ExpiresSoon,
    /// It is not valid yet.
    NotYetValid,
    /// It is another host's.
    WrongName,
    /// It is signed by nobody but itself.
    SelfSigned,
    /// It is signed by itself and says that it is an authority, as BMCs leave the factory; rustls
    /// refuses it even when it is trusted.
    SelfSignedAuthority,
    /// It is of X.509 version 1: without extensions, and thus without the names that it is for. BMCs of old are
    /// delivered so. webpki and what is built on it refuse to read it.
    X509V1,
}
