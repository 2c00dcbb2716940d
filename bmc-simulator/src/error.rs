//! What can go wrong when a simulator is set up or driven; peers' mistakes are answers, not errors.

use std::io::ErrorKind;
use std::net::SocketAddr;

/// Failure of the simulator's own API. Each message ends in what to do; none carries a credential.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// No host has this name.
    #[error(
        "no host is named `{name}`: use the name of one that is simulated (GET /hosts of the control API lists them)"
    )]
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
    /// Two machines were given the same UUID.
    #[error(
        "host `{name}`, field `{field}`: a machine of `{other}` has this UUID, too: give each its own, or leave it out"
    )]
    DuplicateUuid {
        /// The host that was given it last.
        name: String,
        /// The field, as a fleet file names it.
        field: String,
        /// The host that has it already.
        other: String,
    },
    /// Behind one port, where TLS tells hosts apart, two names are the same.
    #[error(
        "the host names `{first}` and `{second}` differ in case only, and behind one port that is one name: give \
         each host its own"
    )]
    SameNameInTls {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A [`HostSpec`](crate::HostSpec) cannot be served as it is.
    #[error("host `{name}`, field `{field}`: {reason}")]
    InvalidHost {
        /// The host.
        name: String,
        /// The offending field, as a fleet file names it.
        field: String,
        /// What is wrong and what to write instead.
        reason: &'static str,
    },
    /// Somebody pressed the power button of a machine that has no mains.
    #[error("the mains of host `{host}` are off, and no button changes that: give them back first")]
    NoMains {
        /// The host.
        host: String,
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
    #[error("cannot listen on {address}: {source}; {remedy}", remedy = remedy(source))]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// This process may not open as many files as its BMCs need; nothing was opened.
    #[error(
        "these BMCs need {needed} open files, of which this process may have {limit}: {remedy}, which leaves \
         room for a connection to each) or run fewer hosts",
        remedy = raise(*comfortable, *most)
    )]
    OpenFilesLimit {
        /// Files for all listeners and a few more.
        needed: u64,
        /// Files that this process may have (`RLIMIT_NOFILE`).
        limit: u64,
        /// Files that it may raise this limit to by itself.
        most: u64,
        /// Files with which each BMC could have a connection, too.
        comfortable: u64,
    },
    /// This process ran out of open files.
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

/// How to come to so many open files when no more than `most` can be had without privileges.
fn raise(comfortable: u64, most: u64) -> String {
    if comfortable <= most {
        format!("raise the limit (ulimit -n {comfortable}")
    } else {
        format!(
            "raise the hard limit (as root ulimit -n {comfortable}, or LimitNOFILE={comfortable} of its systemd unit"
        )
    }
}

/// `EMFILE` and `ENFILE` of Linux.
const TOO_MANY_FILES: [i32; 2] = [24, 23];

/// Whether the process, or the system, has as many open files as it may have.
pub(crate) fn is_too_many_files(error: &std::io::Error) -> bool {
    error
        .raw_os_error()
        .is_some_and(|code| TOO_MANY_FILES.contains(&code))
}

impl SimError {
    /// Why an address could not be listened on.
    pub(crate) fn bind(address: SocketAddr, source: std::io::Error) -> Self {
        match source.raw_os_error() {
            Some(code) if TOO_MANY_FILES.contains(&code) => Self::TooManyFiles { address },
            Some(_) | None => Self::Bind { address, source },
        }
    }
}

/// What to do when an address cannot be listened on.
fn remedy(source: &std::io::Error) -> &'static str {
    let kind = source.kind();
    if kind == ErrorKind::AddrInUse {
        "another program, or another host of this fleet, has it: choose a free port (0 = any)"
    } else if kind == ErrorKind::AddrNotAvailable {
        "this machine does not have the address: choose one of its own, such as any of 127.0.0.0/8"
    } else if kind == ErrorKind::PermissionDenied {
        "ports below 1024 take root or the sysctl net.ipv4.ip_unprivileged_port_start: choose a higher one"
    } else {
        "choose an address of this machine and a free port (0 = any)"
    }
}

#[cfg(test)]
mod tests {
    use super::SimError;

    #[test]
    fn a_listener_that_cannot_be_opened_is_told_with_the_remedy() {
        let address = ([127, 0, 0, 9], 443).into();
        let told = |code| SimError::bind(address, std::io::Error::from_raw_os_error(code)).to_string();
        for (code, text) in [
            (
                98,
                "cannot listen on 127.0.0.9:443: Address already in use (os error 98); another program, or another \
                 host of this fleet, has it: choose a free port (0 = any)",
            ),
            (
                99,
                "cannot listen on 127.0.0.9:443: Cannot assign requested address (os error 99); this machine does \
                 not have the address: choose one of its own, such as any of 127.0.0.0/8",
            ),
            (
                13,
                "cannot listen on 127.0.0.9:443: Permission denied (os error 13); ports below 1024 take root or the \
                 sysctl net.ipv4.ip_unprivileged_port_start: choose a higher one",
            ),
            (
                97,
                "cannot listen on 127.0.0.9:443: Address family not supported by protocol (os error 97); choose an \
                 address of this machine and a free port (0 = any)",
            ),
            (
                24,
                "too many open files at 127.0.0.9:443: each BMC needs one, two with IPMI, and one more for each \
                 connection; raise the limit (ulimit -n) or run fewer hosts",
            ),
        ] {
            assert_eq!(told(code), text);
        }
    }
}
