//! A network between us and a BMC that holds datagrams up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

/// What is to happen to datagrams on their way to the BMC.
#[derive(Default)]
struct Plan {
    /// Hold the next one.
    hold: bool,
    /// Hand the next one over and keep a copy.
    copy: bool,
    held: Vec<(Arc<UdpSocket>, Vec<u8>)>,
    /// Clients of which nothing gets through.
    cut: Vec<SocketAddr>,
    clients: BTreeMap<SocketAddr, Arc<UdpSocket>>,
}

/// Hands datagrams over in both directions, each client from a port of its own.
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
    task: tokio::task::JoinHandle<()>,
}

impl Relay {
    pub(super) async fn to(bmc: SocketAddr) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = front.local_addr().unwrap();
        let plan = Arc::new(Mutex::new(Plan::default()));
        let task = tokio::spawn(run(front, bmc, Arc::clone(&plan)));
        Self { address, plan, task }
    }

    /// Holds the next datagram to the BMC.
    pub(super) fn hold_next(&self) {
        self.plan.lock().unwrap().hold = true;
    }

    /// Keeps a copy of the next datagram to the BMC.
    pub(super) fn copy_next(&self) {
        self.plan.lock().unwrap().copy = true;
    }

    /// Lets nothing through any more from the clients seen so far.
    pub(super) fn cut_known_clients(&self) {
        let mut plan = self.plan.lock().unwrap();
        plan.cut = plan.clients.keys().copied().collect();
    }

    /// Lets everybody through again.
    pub(super) fn mend(&self) {
        self.plan.lock().unwrap().cut.clear();
    }

    /// Delivers what was held or copied. Answers how much that was.
    pub(super) async fn deliver_held(&self) -> usize {
        let held = std::mem::take(&mut self.plan.lock().unwrap().held);
        for (back, bytes) in &held {
            back.send(bytes).await.unwrap();
        }
        held.len()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(front: Arc<UdpSocket>, bmc: SocketAddr, plan: Arc<Mutex<Plan>>) {
    let mut buffer = [0; 2048];
    loop {
        let (length, client) = front.recv_from(&mut buffer).await.unwrap();
        let bytes = &buffer[..length];
        let known = plan.lock().unwrap().clients.get(&client).cloned();
        let back = match known {
            Some(back) => back,
            None => {
                let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                back.connect(bmc).await.unwrap();
                tokio::spawn(answers(Arc::clone(&back), Arc::clone(&front), client));
                plan.lock().unwrap().clients.insert(client, Arc::clone(&back));
                back
            }
        };
        let passes = {
            let mut plan = plan.lock().unwrap();
            let hold = std::mem::take(&mut plan.hold);
            if hold || std::mem::take(&mut plan.copy) {
                plan.held.push((Arc::clone(&back), bytes.to_vec()));
            }
            !hold && !plan.cut.contains(&client)
        };
        if passes {
            back.send(bytes).await.unwrap();
        }
    }
}

async fn answers(back: Arc<UdpSocket>, front: Arc<UdpSocket>, client: SocketAddr) {
    let mut buffer = [0; 2048];
    while let Ok(length) = back.recv(&mut buffer).await {
        front.send_to(&buffer[..length], client).await.unwrap();
    }
}
