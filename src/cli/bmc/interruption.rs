//! Ctrl-C: nothing more is asked, and the session at the BMC is ended all the same.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What a program that was ended by a signal exits with, besides the number of the signal (POSIX, Shell Command
/// Language, 2.8.2, and what shells make of it).
const SIGNALLED: u8 = 128;

/// Ends a command that a person stopped, with the exit status of a program that its signal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted; a power command that was sent may still be carried out, so ask for the status")]
pub struct Interrupted {
    /// The exit status.
    pub status: u8,
}

/// Whether a person stopped us.
#[derive(Clone, Debug)]
pub(super) struct Interruption(watch::Receiver<Option<Interrupted>>);

impl Interruption {
    /// Watches for SIGINT and SIGTERM from now on. The second one ends the program at once.
    pub(super) fn watch() -> io::Result<Self> {
        let (tell, told) = watch::channel(None);
        for (kind, number) in [(SignalKind::interrupt(), 2), (SignalKind::terminate(), 15)] {
            let interrupted = Interrupted {
                status: SIGNALLED.saturating_add(number),
            };
            let (mut signals, tell) = (signal(kind)?, tell.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if tell.send_replace(Some(interrupted)).is_some() {
                        std::process::exit(interrupted.status.into());
                    }
                }
            });
        }
        Ok(Self(told))
    }

    /// Does something until it is done or a person stops us.
    pub(super) async fn or<Done>(&self, work: impl Future<Output = Done>) -> Result<Done, Interrupted> {
        let mut told = self.0.clone();
        tokio::select! {
            biased;
            Some(interrupted) = async { told.wait_for(Option::is_some).await.ok().and_then(|told| *told) } => {
                Err(interrupted)
            }
            done = work => Ok(done),
        }
    }
}
