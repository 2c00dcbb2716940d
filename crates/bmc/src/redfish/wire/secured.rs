//! TLS on the one connection to a BMC.

use std::net::SocketAddr;

use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::connecting::{dial, unreachable};
use super::metered::{Meter, Metered};
use crate::address::Host;
use crate::error::BmcError;
use crate::tls::{ClientSide, Offer, PresentedCertificate, TlsFailure};

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
            Host::Name(name) => {
                ServerName::try_from(name.as_str().to_owned()).map_err(|error| BmcError::TrustUnusable {
                    cause: format!("{name:?} cannot be verified ({error})"),
                })?
            }
        };
        Ok(Self {
            client,
            name,
            offer: Offer::Full,
        })
    }

    /// Connects and shakes hands, and once more if something else has to be offered to this BMC.
    ///
    /// # Errors
    /// [`BmcError::Tls`], [`BmcError::Unreachable`].
    pub(super) async fn connect(
        &mut self,
        peer: SocketAddr,
        meter: &Meter,
    ) -> Result<(TlsStream<Metered>, Protection), BmcError> {
        let first = match self.shake_hands(peer, self.offer, meter).await {
            Err(BmcError::Tls { failure }) => failure,
            done => return done,
        };
        let Some(other) = self.client.instead(self.offer, &first) else {
            return Err(BmcError::Tls { failure: first });
        };
        match self.shake_hands(peer, other, meter).await {
            // It speaks no TLS 1.2: what to do about that is in what failed first.
            Err(BmcError::Tls {
                failure: TlsFailure::ProtocolVersion | TlsFailure::HandshakeFailure,
            }) if other == Offer::Pkcs1 => Err(BmcError::Tls { failure: first }),
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
        let stream =
            connector
                .connect(self.name.clone(), stream)
                .await
                .map_err(|error| match TlsFailure::of(&error) {
                    Some(failure) => BmcError::Tls { failure },
                    None => unreachable(peer, &error),
                })?;
        let protection = Protection::of(stream.get_ref().1);
        Ok((stream, protection))
    }
}
