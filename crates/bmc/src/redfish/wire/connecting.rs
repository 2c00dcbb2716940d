//! How a connection comes about: TCP, TLS, HTTP/1.1, to one address and to no other from then on.

use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::metered::{Meter, Metered};
use super::secured::Protection;
use super::{MAX_HEAD, MAX_HEADERS, Wire, with_source};
use crate::error::BmcError;

pub(super) struct Live {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) meter: Meter,
    driver: tokio::task::JoinHandle<()>,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Wire {
    /// Connects to the first checked address that answers, and to no other from then on.
    pub(super) async fn open(&mut self) -> Result<Live, BmcError> {
        let count = u32::try_from(self.peers.len()).unwrap_or(u32::MAX).max(1);
        let share = self
            .deadlines
            .connect
            .checked_div(count)
            .unwrap_or(self.deadlines.connect);
        let mut failure = BmcError::Unreachable {
            cause: "it has no address".to_owned(),
        };
        for peer in self.peers.clone() {
            let opened = match timeout(share, self.open_to(peer)).await {
                Ok(opened) => opened,
                Err(_) => Err(BmcError::Unreachable {
                    cause: format!("no connection to {peer} within {share:?}"),
                }),
            };
            match opened {
                Ok((live, protection)) => {
                    self.protection = protection;
                    // Another address of the name may be another BMC: a command goes where the
                    // reading before it came from. A new conversation resolves the name anew.
                    self.peers = vec![peer];
                    return Ok(live);
                }
                // A verdict on the peer's identity is final: trying its other addresses until
                // one fits would only hide that something is wrong.
                Err(tls @ BmcError::Tls { .. }) => return Err(tls),
                Err(other) => failure = other,
            }
        }
        Err(failure)
    }

    async fn open_to(&mut self, peer: SocketAddr) -> Result<(Live, Option<Protection>), BmcError> {
        let meter = Meter::default();
        match &mut self.tls {
            None => Ok((handshake(dial(peer, &meter).await?, meter).await?, None)),
            Some(tls) => {
                let (stream, protection) = tls.connect(peer, &meter).await?;
                Ok((handshake(stream, meter).await?, Some(protection)))
            }
        }
    }
}

/// Connects.
///
/// # Errors
/// [`BmcError::Unreachable`].
pub(super) async fn dial(peer: SocketAddr, meter: &Meter) -> Result<Metered, BmcError> {
    let unreachable = |error: std::io::Error| unreachable(peer, &error);
    let stream = TcpStream::connect(peer).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    // Dropping a connection must take back what was not delivered yet: a command whose answer was
    // given up on would otherwise still be delivered by the kernel, minutes later.
    stream.set_zero_linger().map_err(unreachable)?;
    Ok(Metered::new(stream, meter.clone()))
}

pub(super) fn unreachable(peer: SocketAddr, error: &std::io::Error) -> BmcError {
    BmcError::Unreachable {
        cause: format!("{peer}: {error}"),
    }
}

async fn handshake<Stream>(stream: Stream, meter: Meter) -> Result<Live, BmcError>
where
    Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| BmcError::Unreachable {
            cause: with_source(&error),
        })?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the connection to a BMC ended");
        }
    });
    Ok(Live {
        sender,
        meter,
        driver,
    })
}
