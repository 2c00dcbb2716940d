//! What can go wrong over IPMI and nowhere else.

/// Why a BMC did not do over IPMI what was asked. None of them is a power command of unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpmiError {
    /// User name, password or KG are wrong. Not tried again by this conversation.
    #[error("the BMC and we do not agree on the IPMI login ({text}). Correct the Secret.")]
    LoginRejected {
        /// What showed it.
        text: String,
    },
    /// The BMC opened a session and then said nothing to the login. Not tried again by itself.
    #[error(
        "the BMC does not answer {step} of the IPMI login ({cause}). Some BMCs stay silent to a user name or password that they do not know, so check the Secret; else check the network."
    )]
    LoginUnanswered {
        /// The message of the login.
        step: &'static str,
        /// What happened.
        cause: String,
    },
    /// The login is right, but the account may not do this. Nothing was done.
    #[error(
        "the BMC does not give the account this privilege ({text}). Give it OPERATOR on the LAN channel, or ask for less with ?privilegelevel= in the BMC address."
    )]
    PrivilegeDenied {
        /// What the BMC said.
        text: String,
    },
    /// The BMC agrees to none of the cipher suites that prove, authenticate and encrypt.
    #[error(
        "the BMC accepts none of the cipher suites 17 and 3 ({refusals}). Enable one of them on its LAN channel; suites without encryption are not used."
    )]
    NoCipherSuite {
        /// What it said to each.
        refusals: String,
    },
    /// Any other refusal to open a session or to answer a request.
    #[error("the BMC refused over IPMI ({text}). See its log, and try again later.")]
    Refused {
        /// What the BMC said.
        text: String,
        /// Whether it passes by itself.
        busy: bool,
    },
    /// An answer that IPMI does not have.
    #[error("the BMC's answer is not IPMI 2.0: {found}. Update the BMC's firmware.")]
    Malformed {
        /// What was found instead.
        found: String,
    },
    /// A power command was sent earlier and not answered, and could still arrive. The next one was
    /// not sent.
    #[error(
        "the command was not sent, because an earlier one may still be under way to the BMC and its session could not be closed. Wait a minute; the BMC ends that session by itself."
    )]
    EarlierCommandUnderWay,
}

impl IpmiError {
    /// As [`BmcError::reason`](crate::BmcError::reason).
    pub fn reason(&self) -> &'static str {
        match self {
            Self::LoginRejected { .. } => "BmcCredentialsRejected",
            Self::LoginUnanswered { .. } => "BmcLoginUnanswered",
            Self::PrivilegeDenied { .. } => "BmcForbidden",
            Self::NoCipherSuite { .. } => "BmcNoCipherSuite",
            Self::Refused { .. } => "BmcIpmiError",
            Self::Malformed { .. } => "BmcNotIpmi",
            Self::EarlierCommandUnderWay => "BmcCommandUnderWay",
        }
    }

    /// Whether the BMC was asked and nothing came back.
    pub(crate) fn is_silence(&self) -> bool {
        match self {
            Self::LoginUnanswered { .. } | Self::EarlierCommandUnderWay => true,
            Self::LoginRejected { .. }
            | Self::PrivilegeDenied { .. }
            | Self::NoCipherSuite { .. }
            | Self::Refused { .. }
            | Self::Malformed { .. } => false,
        }
    }

    /// Whether the same attempt may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused { busy, .. } => *busy,
            Self::EarlierCommandUnderWay => true,
            Self::LoginRejected { .. }
            | Self::LoginUnanswered { .. }
            | Self::PrivilegeDenied { .. }
            | Self::NoCipherSuite { .. }
            | Self::Malformed { .. } => false,
        }
    }
}
