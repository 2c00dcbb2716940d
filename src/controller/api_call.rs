//! Calls to the API server: each with a deadline, none repeated behind our back.

use std::time::Duration;

use kube::Client;
use kube::config::Config;

/// The longest a call to the API server may take.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// Why a reconciliation stopped half way. It is tried again from what the world says then.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// Somebody else wrote the object in between; what they wrote is looked at first.
    #[error("the {object} changed in the meantime; nothing to do, it is read again")]
    Conflict {
        /// What changed.
        object: &'static str,
    },
    /// The server refused or could not be reached.
    #[error("{call} failed; check the API server and this daemon's role")]
    Api {
        /// Which call.
        call: &'static str,
        /// The cause.
        #[source]
        source: Box<kube::Error>,
    },
    /// No answer in time.
    #[error("{call} was not answered within {}s; check the API server", CALL_DEADLINE.as_secs())]
    Timeout {
        /// Which call.
        call: &'static str,
    },
    /// An object came back without what every object has.
    #[error(
        "the API server sent a {object} without {field}; check that deploy/crds is of this daemon's version"
    )]
    Incomplete {
        /// Which object.
        object: &'static str,
        /// Which field.
        field: &'static str,
    },
}

/// Awaits a call to the API server, at most [`CALL_DEADLINE`].
pub(crate) async fn within<T>(
    call: &'static str,
    future: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ShellError> {
    match tokio::time::timeout(CALL_DEADLINE, future).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(ShellError::Api {
            call,
            source: Box::new(source),
        }),
        Err(_) => Err(ShellError::Timeout { call }),
    }
}

impl ShellError {
    /// Whether the server said that the object is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    /// Whether the daemon's role does not allow the call.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.status().is_some_and(|status| status.code == 403)
    }

    /// Whether the resourceVersion that the write named was not the present one.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. }) || self.status().is_some_and(|status| status.code == 409)
    }

    /// Whether the server definitely refused the call, for whatever reason.
    pub(crate) fn is_refusal(&self) -> bool {
        self.is_conflict()
            || self
                .status()
                .is_some_and(|status| (400..500).contains(&status.code) && status.code != 429)
    }

    /// Whether the object exists already.
    pub(crate) fn is_already_exists(&self) -> bool {
        self.status()
            .is_some_and(|status| status.reason == "AlreadyExists")
    }

    fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api { source, .. } => {
                if let kube::Error::Api(status) = source.as_ref() {
                    Some(status)
                } else {
                    None
                }
            }
            Self::Conflict { .. } | Self::Timeout { .. } | Self::Incomplete { .. } => None,
        }
    }
}

/// A client that never repeats a call by itself: a repeated write could come minutes late.
///
/// # Errors
/// When no cluster is configured, or its client cannot be built.
pub(crate) async fn client() -> Result<Client, anyhow::Error> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    Ok(Client::try_from(config)?)
}
