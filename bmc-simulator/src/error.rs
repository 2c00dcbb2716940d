//! What can go wrong when a simulator is set up or driven; peers' mistakes are answers, not errors.

use std::net::SocketAddr;

/// Failure of the simulator's own API. Each message ends in what to do; none carries a credential.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// No host has this name.
    #[error("no host is named `{name}`: use one of the names given to the builder")]
    UnknownHost {
        /// The name asked for.
        name: String,
    },
    /// No machine of a host is this system.
    #[error("host `{host}` has no machine that is system `{system}`: use an id that its machines were given")]
    UnknownSystem {
        /// The host.
        host: String,
        /// The id asked for.
        system: String,
    },
    /// Two hosts were given the same name.
    #[error("the host name `{name}` is given twice: give each host its own name")]
    DuplicateHost {
        /// The name given twice.
        name: String,
    },
    /// A [`HostSpec`](crate::HostSpec) cannot be served as it is.
    #[error("host `{name}`: {reason}")]
    InvalidHost {
        /// The host.
        name: String,
        /// What is wrong and what to write instead.
        reason: &'static str,
    },
    /// A fault was asked for in a shape that could have no effect.
    #[error("fault `{fault}`, field `{field}`: {reason}")]
    InvalidFault {
        /// The fault's name.
        fault: &'static str,
        /// The offending field.
        field: &'static str,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// The control endpoint was asked to listen where others could reach it.
    #[error(
        "the control endpoint has no login, so {address} is refused: use an address of 127.0.0.0/8 or ::1"
    )]
    ControlNotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
    /// A listener could not be opened.
    #[error(
        "cannot listen on {address}: {source}; choose an address of this machine and a free port (0 = any)"
    )]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// This process may not open as many files as its BMCs need.
    #[error(
        "too many open files at {address}: each BMC needs one, two with IPMI, and one more for each connection; \
         raise the limit (ulimit -n) or run fewer hosts"
    )]
    TooManyFiles {
        /// The address that could not be opened any more.
        address: SocketAddr,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}; check that the listen address is a plain IP address")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refused the configuration.
    #[error("TLS refused the configuration: {0}; report this as a bug of the simulator")]
    Tls(#[from] rustls::Error),
    /// The simulator was shut down while something was awaited.
    #[error("the simulator was shut down while waiting: keep the `Simulator` alive until the wait ends")]
    Stopped,
}

/// `EMFILE` and `ENFILE` of Linux.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

impl SimError {
    /// Why an address could not be listened on.
    pub(crate) fn bind(address: SocketAddr, source: std::io::Error) -> Self {
        match source.raw_os_error() {
            Some(code) if TOO_MANY_FILES.contains(&code) => Self::TooManyFiles { address },
            Some(_) | None => Self::Bind { address, source },
        }
    }
}
