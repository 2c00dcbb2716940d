//! An address at which connections neither open nor fail: the SYN is dropped, as behind a firewall
//! that says nothing.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections of ours that fill the queue; the kernel takes one or two more than it is told.
const FILLERS: usize = 8;
/// A connection on loopback that takes longer is not coming.
const FILLED: Duration = Duration::from_millis(100);

/// A listener whose queue is full and never emptied: Linux drops every further SYN
/// (`net.ipv4.tcp_abort_on_overflow` is 0 unless somebody changed it).
#[derive(Debug)]
pub(super) struct Blackhole {
    _listener: TcpListener,
    _fillers: Vec<TcpStream>,
}

impl Blackhole {
    pub(super) async fn open(address: SocketAddr) -> std::io::Result<Self> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(0)?;
        let mut fillers = Vec::new();
        while fillers.len() < FILLERS {
            match tokio::time::timeout(FILLED, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => fillers.push(stream),
                Ok(Err(_)) | Err(_) => break,
            }
        }
        Ok(Self {
            _listener: listener,
            _fillers: fillers,
        })
    }
}
