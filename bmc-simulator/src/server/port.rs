//! The TCP port of one BMC: it stays the BMC's as long as the simulator runs, whether somebody listens or not.
//! A BMC that is dead and comes back must find its port, and nobody else may be found there meanwhile.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

/// Connections that may wait to be taken.
const BACKLOG: i32 = 1024;
/// How often a free port is looked for: between two calls somebody else may take it.
const TRIES: usize = 16;
/// Connections of ours that fill the queue of a black hole; the kernel takes one or two more than it is told.
const FILLERS: usize = 8;
/// A connection on loopback that takes longer is not coming.
const FILLED: Duration = Duration::from_millis(100);

/// An address and port, and what is done with it now.
#[derive(Debug)]
pub(crate) struct Port {
    address: SocketAddr,
    state: State,
}

#[derive(Debug)]
enum State {
    Listening(TcpListener),
    /// Bound, so that nobody else can listen here, and refusing connections.
    Resting(std::net::TcpListener),
    /// Something failed that must not fail, such as the system's memory: it is to be bound anew.
    Lost,
}

/// A black hole as long as it lives: connections that keep the queue full.
#[derive(Debug)]
pub(super) struct Hole {
    _fillers: Vec<TcpStream>,
}

impl Port {
    /// Listens at an address; port 0 = any free one.
    ///
    /// # Errors
    /// Of the system, as of `bind` and `listen`.
    pub(crate) fn open(address: SocketAddr) -> std::io::Result<Self> {
        let bound = if address.port() == 0 {
            bind_free(address)?
        } else {
            bind(address)?
        };
        let address = local_address(&bound)?;
        let mut port = Self {
            address,
            state: State::Resting(bound.into()),
        };
        port.listen()?;
        Ok(port)
    }

    /// The address, with the port that it has.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes connections, or goes on to.
    pub(super) fn listen(&mut self) -> std::io::Result<&TcpListener> {
        self.listen_to(BACKLOG)
    }

    /// Refuses connections. What waited in the queue is reset, whoever asked for it before.
    pub(super) fn rest(&mut self) {
        let listener = match std::mem::replace(&mut self.state, State::Lost) {
            State::Listening(listener) => listener,
            other @ (State::Resting(_) | State::Lost) => {
                self.state = other;
                return;
            }
        };
        // Off tokio's hands first: it takes the end of a socket for final.
        if let Ok(listener) = listener.into_std() {
            let socket = SockRef::from(&listener);
            // While it does not listen Linux lets others have the port who say SO_REUSEADDR, if we say so, too.
            let ours = socket.set_reuse_address(false);
            // Linux: a listening socket that is shut down stays bound, and can listen again.
            if ours
                .and_then(|()| socket.shutdown(std::net::Shutdown::Both))
                .is_ok()
            {
                self.state = State::Resting(listener);
            }
        }
    }

    /// Lets connections neither open nor fail: the queue is full and never emptied, so that Linux drops every
    /// further SYN (`net.ipv4.tcp_abort_on_overflow` is 0 unless somebody changed it).
    pub(super) async fn swallow(&mut self) -> std::io::Result<Hole> {
        self.rest();
        self.listen_to(0)?;
        let mut fillers = Vec::new();
        while fillers.len() < FILLERS {
            match tokio::time::timeout(FILLED, TcpStream::connect(self.address)).await {
                Ok(Ok(stream)) => fillers.push(stream),
                Ok(Err(_)) | Err(_) => break,
            }
        }
        Ok(Hole { _fillers: fillers })
    }

    fn listen_to(&mut self, backlog: i32) -> std::io::Result<&TcpListener> {
        let bound = match std::mem::replace(&mut self.state, State::Lost) {
            State::Listening(listener) => {
                self.state = State::Listening(listener);
                return self.listener();
            }
            State::Resting(bound) => bound,
            State::Lost => bind(self.address)?.into(),
        };
        let socket = SockRef::from(&bound);
        // Else connections of before that linger in TIME_WAIT keep it from listening.
        let listening = socket
            .set_reuse_address(true)
            .and_then(|()| socket.listen(backlog));
        if let Err(error) = listening {
            self.state = State::Resting(bound);
            return Err(error);
        }
        self.state = State::Listening(TcpListener::from_std(bound)?);
        self.listener()
    }

    fn listener(&self) -> std::io::Result<&TcpListener> {
        match &self.state {
            State::Listening(listener) => Ok(listener),
            State::Resting(_) | State::Lost => Err(std::io::ErrorKind::NotConnected.into()),
        }
    }
}

/// A socket that owns an address. The port has to be named: one that the system chose is given back as soon as
/// nobody listens.
fn bind(address: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// The same, at a port that is free.
fn bind_free(address: SocketAddr) -> std::io::Result<Socket> {
    let mut tries = 0;
    loop {
        let chosen = bind(address)?;
        // Both say SO_REUSEADDR and neither listens, so both can have it for a moment.
        match bind(local_address(&chosen)?) {
            Ok(named) => return Ok(named),
            Err(error) if tries >= TRIES => return Err(error),
            Err(_) => tries = tries.saturating_add(1),
        }
    }
}

fn local_address(socket: &Socket) -> std::io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::SocketAddr;

    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::Port;

    async fn connects(port: &Port) -> Result<TcpStream, ErrorKind> {
        TcpStream::connect(port.address())
            .await
            .map_err(|error| error.kind())
    }

    /// What somebody else is told who wants to listen here; tokio says SO_REUSEADDR, the library does not.
    async fn taken(port: &Port) -> [Option<ErrorKind>; 2] {
        let kind = |error: std::io::Error| error.kind();
        [
            TcpListener::bind(port.address()).await.err().map(kind),
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)
                .and_then(|socket| socket.bind(&port.address().into()))
                .err()
                .map(kind),
        ]
    }

    #[tokio::test]
    async fn a_port_is_nobody_elses_whether_it_listens_or_not() {
        let in_use = [Some(ErrorKind::AddrInUse); 2];
        let mut port = Port::open(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = port.address();
        for _ in 0..3 {
            assert_eq!(taken(&port).await, in_use, "while it listens");
            let mut served = connects(&port).await.unwrap();
            let (accepted, _) = port.listen().unwrap().accept().await.unwrap();
            let mut waiting = connects(&port).await.unwrap();
            drop(accepted);
            assert_eq!(served.read(&mut [0; 1]).await.unwrap(), 0);

            port.rest();
            port.rest();
            let reset = waiting.read(&mut [0; 1]).await.unwrap_err();
            assert_eq!(reset.kind(), ErrorKind::ConnectionReset, "it waited in the queue");
            assert_eq!(connects(&port).await.unwrap_err(), ErrorKind::ConnectionRefused);
            assert_eq!(taken(&port).await, in_use, "while it rests");

            let hole = port.swallow().await.unwrap();
            assert_eq!(taken(&port).await, in_use, "while it swallows");
            drop(hole);
            port.rest();
            port.listen().unwrap();
            assert_eq!(port.address(), address);
        }
    }
}
