//! How a connection comes about: TCP, TLS, HTTP/1.1, to one address and to no other from then on.

use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::metered::{Meter, Metered};
use super::{MAX_HEAD, MAX_HEADERS, Wire, with_source};
use crate::address::Host;
use crate::error::BmcError;
use crate::tls::{ClientSide, Offer, PresentedCertificate, TlsFailure};

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
        let share = self.deadlines.connect_share(self.peers.len());
        let mut failure = BmcError::Unreachable("it has no address".to_owned());
        for peer in self.peers.clone() {
            let opened = match timeout(share, self.open_to(peer)).await {
                Ok(opened) => opened,
                Err(_) => Err(BmcError::Unreachable(format!(
                    "no connection to {peer} within {share:?}"
                ))),
            };
            match opened {
                Ok((live, protection)) => {
                    self.protection = protection;
                    // Another address of the name may be another BMC: a command goes where the
                    // reading before it came from.
                    self.peers = vec![peer];
                    return Ok(live);
                }
                // Trying other addresses until one fits would only hide that something is wrong.
                Err(tls @ BmcError::Tls(_)) => return Err(tls),
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

async fn dial(peer: SocketAddr, meter: &Meter) -> Result<Metered, BmcError> {
    let unreachable = |error: std::io::Error| unreachable(peer, &error);
    let stream = TcpStream::connect(peer).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    // Dropping a connection must take back what was not delivered yet: a command whose answer was
    // given up on would otherwise still be delivered by the kernel, minutes later.
    stream.set_zero_linger().map_err(unreachable)?;
    let meter = meter.clone();
    Ok(Metered { stream, meter })
}

fn unreachable(peer: SocketAddr, error: &std::io::Error) -> BmcError {
    BmcError::Unreachable(format!("{peer}: {error}"))
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
        .map_err(|error| BmcError::Unreachable(with_source(&error)))?;
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

/// How a connection is protected.
#[derive(Clone, Debug)]
pub(in crate::redfish) struct Protection {
    pub(in crate::redfish) certificate: Option<PresentedCertificate>,
    /// As OpenSSL writes it, such as `TLSv1.3`.
    pub(in crate::redfish) version: &'static str,
}

impl Protection {
    fn of(connection: &rustls::ClientConnection) -> Self {
        let leaf = connection.peer_certificates().and_then(<[_]>::first);
        Self {
            certificate: leaf.map(PresentedCertificate::of),
            // Older ones are not in our configuration.
            version: match connection.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
                _ => "TLSv1.2",
            },
        }
    }
}

/// What a BMC is offered, and who it has to be.
pub(super) struct Secured {
    client: ClientSide,
    name: ServerName<'static>,
    /// What came to a connection last, so that a BMC with a short key has one handshake a connection.
    offer: Offer,
}

impl Secured {
    /// # Errors
    /// [`BmcError::TrustUnusable`] when no certificate can be for this name.
    pub(super) fn new(client: ClientSide, host: &Host) -> Result<Self, BmcError> {
        let name = match host {
            Host::Ip(ip) => ServerName::IpAddress((*ip).into()),
            Host::Name(name) => ServerName::try_from(name.as_str().to_owned())
                .map_err(|error| BmcError::TrustUnusable(format!("{name:?} cannot be verified ({error})")))?,
        };
        Ok(Self {
            client,
            name,
            offer: Offer::Full,
        })
    }

    /// Connects and shakes hands, and once more if something else has to be offered to this BMC.
    async fn connect(
        &mut self,
        peer: SocketAddr,
        meter: &Meter,
    ) -> Result<(TlsStream<Metered>, Protection), BmcError> {
        let first = match self.shake_hands(peer, self.offer, meter).await {
            Err(BmcError::Tls(failure)) => failure,
            done => return done,
        };
        let Some(other) = self.client.instead(self.offer, &first) else {
            return Err(BmcError::Tls(first));
        };
        match self.shake_hands(peer, other, meter).await {
            // It speaks no TLS 1.2: what to do about that is in what failed first.
            Err(BmcError::Tls(TlsFailure::ProtocolVersion | TlsFailure::HandshakeFailure))
                if other == Offer::Pkcs1 =>
            {
                Err(BmcError::Tls(first))
            }
            Err(error) => Err(error),
            Ok(done) => {
                self.offer = other;
                Ok(done)
            }
        }
    }

    async fn shake_hands(
        &self,
        peer: SocketAddr,
        offer: Offer,
        meter: &Meter,
    ) -> Result<(TlsStream<Metered>, Protection), BmcError> {
        let connector = TlsConnector::from(self.client.config(offer));
        let stream = dial(peer, meter).await?;
        let failed = |error| match TlsFailure::of(&error) {
            Some(failure) => BmcError::Tls(failure),
            None => unreachable(peer, &error),
        };
        let stream = connector.connect(self.name.clone(), stream);
        let stream = stream.await.map_err(failed)?;
        let protection = Protection::of(stream.get_ref().1);
        Ok((stream, protection))
    }
}
