//! A proxy in front of the IPMI port of a BMC. What is inside of a session it cannot read: those datagrams are
//! requests to it, one as the other.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Result;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use super::{Call, Front, Gate};

/// A BMC that has not answered by then does not.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longer than any datagram of IPMI.
const LONGEST: usize = 2048;

/// The proxy. Where the BMC is may be told later, because its simulator starts later.
pub struct IpmiFront {
    front: Front,
    bmc: Arc<OnceLock<SocketAddr>>,
}

impl IpmiFront {
    pub async fn start<G: Gate>(gate: Arc<G>) -> Result<Self> {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await?);
        let bmc = Arc::new(OnceLock::new());
        let address = socket.local_addr()?;
        let run = sort(socket, Arc::clone(&bmc), gate);
        let task = tokio::spawn(async move {
            // A socket that fails answers nobody, which the test notices.
            let _ = run.await;
        });
        Ok(Self {
            front: Front {
                address,
                task: task.abort_handle(),
            },
            bmc,
        })
    }

    /// Where it listens. What comes there goes to the BMC at this address.
    pub fn instead_of(&self, bmc: SocketAddr) -> SocketAddr {
        // The first one stays: there is one BMC behind it.
        let _ = self.bmc.set(bmc);
        self.front.address
    }
}

/// Gives each console a socket of its own, by which the BMC tells them apart.
async fn sort<G: Gate>(socket: Arc<UdpSocket>, bmc: Arc<OnceLock<SocketAddr>>, gate: Arc<G>) -> Result<()> {
    let mut consoles: HashMap<SocketAddr, mpsc::UnboundedSender<Vec<u8>>> = HashMap::new();
    let mut tasks = tokio::task::JoinSet::new();
    let mut buffer = [0; LONGEST];
    loop {
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else {
            // What a peer's host said of an earlier answer.
            continue;
        };
        let Some(bmc) = bmc.get().copied() else {
            continue;
        };
        let datagram = buffer.get(..length).unwrap_or_default().to_vec();
        let console = consoles.entry(peer).or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let console = Console {
                socket: Arc::clone(&socket),
                peer,
                bmc,
                life: gate.life(),
            };
            let gate = Arc::clone(&gate);
            tasks.spawn(async move { console.serve(receiver, &*gate).await });
            sender
        });
        // Its task ends with ours.
        let _ = console.send(datagram);
    }
}

struct Console {
    socket: Arc<UdpSocket>,
    peer: SocketAddr,
    bmc: SocketAddr,
    life: u64,
}

impl Console {
    async fn serve<G: Gate>(self, mut datagrams: mpsc::UnboundedReceiver<Vec<u8>>, gate: &G) -> Result<()> {
        let upstream = UdpSocket::bind("127.0.0.1:0").await?;
        upstream.connect(self.bmc).await?;
        while let Some(datagram) = datagrams.recv().await {
            let call = Call {
                name: name(&datagram),
                life: self.life,
            };
            let answer = gate.pass(&call, exchanged(&upstream, &datagram)).await.flatten();
            if let Some(answer) = answer {
                self.socket.send_to(&answer, self.peer).await?;
            }
        }
        Ok(())
    }
}

async fn exchanged(upstream: &UdpSocket, datagram: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = [0; LONGEST];
    upstream.send(datagram).await.ok()?;
    let length = tokio::time::timeout(PATIENCE, upstream.recv(&mut buffer))
        .await
        .ok()?
        .ok()?;
    Some(buffer.get(..length)?.to_vec())
}

/// By the RMCP class, the authentication type and the payload type (IPMI 2.0, 13.6).
fn name(datagram: &[u8]) -> String {
    let payload = datagram.get(5).map(|payload| payload & 0x3f);
    let what = match (datagram.get(3), datagram.get(4), payload) {
        (Some(6), ..) => "ping",
        (_, Some(6), Some(0)) => "request",
        (_, Some(6), Some(0x10)) => "open",
        (_, Some(6), Some(0x12)) => "rakp1",
        (_, Some(6), Some(0x14)) => "rakp3",
        _ => "discovery",
    };
    format!("bmc-{what}")
}
