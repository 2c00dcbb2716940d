//! Something between a client and a TLS server: it counts connections, and may present another certificate than
//! the server's, as whoever diverts a BMC's traffic can.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// Record and handshake types (RFC 5246, sections 6.2.1 and 7.4).
const HANDSHAKE_RECORD: u8 = 22;
const CERTIFICATE: u8 = 11;
const SERVER_HELLO_DONE: u8 = 14;

/// A listening forwarder. Ends when it is dropped.
pub(crate) struct Middle {
    pub(crate) address: SocketAddr,
    server: Arc<Mutex<SocketAddr>>,
    accepted: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Middle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Middle {
    /// Forwards to a server, as it is.
    pub(crate) async fn forwarding(server: SocketAddr) -> Result<Self> {
        Self::start(server, None).await
    }

    /// Forwards to a server of TLS 1.2 and puts this certificate (DER) in the place of the server's.
    pub(crate) async fn presenting(certificate: Vec<u8>, server: SocketAddr) -> Result<Self> {
        Self::start(server, Some(certificate)).await
    }

    async fn start(server: SocketAddr, certificate: Option<Vec<u8>>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (server, accepted) = (Arc::new(Mutex::new(server)), Arc::new(AtomicUsize::new(0)));
        let (to, count) = (Arc::clone(&server), Arc::clone(&accepted));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let to = *to.lock().unwrap_or_else(PoisonError::into_inner);
                // Either side may hang up at any time.
                tokio::spawn(forward(client, to, certificate.clone()));
            }
        });
        Ok(Self {
            address,
            server,
            accepted,
            task,
        })
    }

    /// Connections from now on go to another server.
    pub(crate) fn forward_to(&self, server: SocketAddr) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = server;
    }

    /// Connections that were made since this was asked last.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.swap(0, Ordering::SeqCst)
    }
}

async fn forward(mut client: TcpStream, to: SocketAddr, certificate: Option<Vec<u8>>) -> io::Result<()> {
    let mut server = TcpStream::connect(to).await?;
    let Some(certificate) = certificate else {
        copy_bidirectional(&mut client, &mut server).await?;
        return Ok(());
    };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let back = async {
        let flight = read_flight(&mut from_server).await?;
        to_client
            .write_all(&with_certificate(&flight, &certificate)?)
            .await?;
        copy(&mut from_server, &mut to_client).await
    };
    tokio::try_join!(copy(&mut from_client, &mut to_server), back).map(|_| ())
}

/// The handshake messages of a server up to ServerHelloDone, each with its type.
async fn read_flight(server: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<Vec<(u8, Vec<u8>)>> {
    let (mut bytes, mut messages) = (Vec::new(), Vec::new());
    loop {
        let mut head = [0; 5];
        server.read_exact(&mut head).await?;
        if head[0] != HANDSHAKE_RECORD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        server.read_exact(&mut body).await?;
        bytes.append(&mut body);
        while let Some(&[kind, a, b, c]) = bytes.first_chunk() {
            let end = (u32::from_be_bytes([0, a, b, c]) as usize).saturating_add(4);
            if bytes.len() < end {
                break;
            }
            let message: Vec<u8> = bytes.drain(..end).skip(4).collect();
            messages.push((kind, message));
            if kind == SERVER_HELLO_DONE {
                return Ok(messages);
            }
        }
    }
}

/// The same messages, a record each, with this one certificate (RFC 5246, section 7.4.2).
fn with_certificate(flight: &[(u8, Vec<u8>)], certificate: &[u8]) -> io::Result<Vec<u8>> {
    let list = with_length(&with_length(certificate)?)?;
    let mut records = Vec::new();
    for (kind, message) in flight {
        let message = if *kind == CERTIFICATE { &list } else { message };
        let message = [&[*kind], with_length(message)?.as_slice()].concat();
        let length = u16::try_from(message.len())
            .map_err(io::Error::other)?
            .to_be_bytes();
        records.extend([&[HANDSHAKE_RECORD, 3, 3], length.as_slice(), &message].concat());
    }
    Ok(records)
}

/// Three bytes of length, and the bytes.
fn with_length(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(bytes.len())
        .map_err(io::Error::other)?
        .to_be_bytes();
    Ok([&length[1..], bytes].concat())
}
