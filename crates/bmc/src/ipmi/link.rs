//! One UDP socket to one address of a BMC, and asking until there is an answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::wire::MAX_DATAGRAM;
use crate::error::BmcError;

/// More errors than this between two transmissions are not waited through one by one.
const MOST_ERRORS: u32 = 16;

/// Whether a datagram that is not answered is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// At growing intervals until the deadline.
    UntilAnswered,
    Never,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Not one datagram left this host.
    NotSent(String),
    /// Nothing that answers came in time.
    Silent(String),
}

impl Unanswered {
    /// The error that it amounts to: this one, unless nothing was sent.
    pub(super) fn or(self, silent: impl FnOnce(String) -> BmcError) -> BmcError {
        match self {
            Self::NotSent(cause) => BmcError::Unreachable(cause),
            Self::Silent(cause) => silent(cause),
        }
    }
}

/// A socket that is connected, so that the kernel hands over nothing from other peers.
#[derive(Debug)]
pub(super) struct Link {
    socket: UdpSocket,
    peer: SocketAddr,
    /// After this long without an answer a datagram is sent again, then after twice as long, and so on.
    patience: Duration,
}

impl Link {
    /// Takes a new source port of the peer's address family; `[::]` fails for IPv4 peers where the
    /// kernel runs without IPv6.
    pub(super) async fn open(peer: SocketAddr, patience: Duration) -> io::Result<Self> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).await?;
        socket.connect(peer).await?;
        Ok(Self {
            socket,
            peer,
            patience,
        })
    }

    /// Sends if that can be done at once.
    pub(super) fn send_now(&self, datagram: &[u8]) {
        if let Err(error) = self.socket.try_send(datagram) {
            tracing::debug!(%error, "a session at a BMC was left to end by itself");
        }
    }

    /// Sends what `next` makes, as often as `repeat` says, until `answer` recognises a datagram or the deadline
    /// passes. `answer` also gets how often was sent so far.
    pub(super) async fn ask<T>(
        &self,
        deadline: Instant,
        repeat: Repeat,
        mut next: impl FnMut() -> io::Result<Vec<u8>>,
        mut answer: impl FnMut(u32, &[u8]) -> Option<T>,
    ) -> Result<T, Unanswered> {
        let (mut sent, mut patience, mut trouble) = (0_u32, self.patience, None);
        let begun = Instant::now();
        loop {
            let transmitted = match next() {
                Ok(datagram) => self.send(&datagram).await,
                Err(error) => Err(error),
            };
            match transmitted {
                Ok(()) => sent = sent.saturating_add(1),
                Err(error) if sent == 0 => {
                    return Err(Unanswered::NotSent(format!("{}: {error}", self.peer)));
                }
                Err(error) => trouble = Some(error),
            }
            let until = match repeat {
                Repeat::UntilAnswered => deadline.min(after(patience)),
                Repeat::Never => deadline,
            };
            let received = self.receive(until, |bytes| answer(sent, bytes), &mut trouble);
            if let Some(found) = received.await {
                return Ok(found);
            }
            if Instant::now() >= deadline {
                let took = begun.elapsed().as_millis();
                let trouble = trouble.map_or(String::new(), |error| format!(" ({error})"));
                let cause = format!("{}: no answer within {took} ms{trouble}", self.peer);
                return Err(Unanswered::Silent(cause));
            }
            patience = patience.saturating_mul(2);
        }
    }

    /// Hands datagrams over until one is an answer or the time has come.
    async fn receive<T>(
        &self,
        until: Instant,
        mut answer: impl FnMut(&[u8]) -> Option<T>,
        trouble: &mut Option<io::Error>,
    ) -> Option<T> {
        let mut buffer = [0_u8; MAX_DATAGRAM];
        let mut errors = 0_u32;
        // Asked besides the timer: a peer that never stops sending never lets a timer have its turn.
        while Instant::now() < until {
            match timeout_at(until, self.socket.recv(&mut buffer)).await {
                Err(_) => return None,
                Ok(Ok(length)) => {
                    if let Some(found) = answer(buffer.get(..length).unwrap_or_default()) {
                        return Some(found);
                    }
                }
                // "Port unreachable" and the like: a BMC that restarts says so, too, so it is no verdict.
                Ok(Err(error)) => {
                    *trouble = Some(error);
                    errors = errors.saturating_add(1);
                    if errors > MOST_ERRORS {
                        sleep_until(until).await;
                    }
                }
            }
        }
        None
    }

    /// Sends, a second time if the first try only fetched the error of an earlier datagram.
    async fn send(&self, datagram: &[u8]) -> io::Result<()> {
        if self.socket.send(datagram).await.is_err() {
            self.socket.send(datagram).await?;
        }
        Ok(())
    }
}

/// The instant so much later.
pub(super) fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now)
}
