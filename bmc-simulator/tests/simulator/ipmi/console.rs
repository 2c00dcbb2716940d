//! A console: retries nothing, and shows what it gets.

use bmc_simulator::Host;
use tokio::net::UdpSocket;

use super::crypt::{algorithms, decrypt, encrypt, hmac, integrity};
use super::frames::{PING, answer, envelope, message, open_session, outside, rakp1};
use crate::client::soon;

/// Who logs in, and how.
#[derive(Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) username: &'a str,
    pub(super) password: &'a str,
    /// Requested privilege; 0x10 more for a look-up by name alone.
    pub(super) role: u8,
    pub(super) suite: u8,
    pub(super) kg: Option<&'a [u8]>,
}

/// A step of the handshake that the BMC refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    OpenSession(u8),
    Rakp2(u8),
    /// The BMC does not know the password or KG.
    Rakp2Code,
    Rakp4(u8),
    /// The same, where it shows for KG.
    Rakp4Code,
}

/// The response to a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) sequence: u32,
    pub(super) rq_seq: u8,
    pub(super) command: u8,
    pub(super) completion: u8,
    pub(super) data: Vec<u8>,
}

/// What both sides agreed upon.
#[derive(Clone)]
struct Session {
    console_id: u32,
    managed_id: u32,
    algorithms: [u8; 3],
    k1: Vec<u8>,
    k2: Vec<u8>,
    password: String,
}

pub(super) struct Console {
    socket: UdpSocket,
    session: Option<Session>,
    pub(super) sequence: u32,
    rq_seq: u8,
    /// The datagrams of the newest handshake, to be sent again.
    pub(super) sent: Vec<Vec<u8>>,
}

impl Console {
    pub(super) async fn to(host: &Host) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(host.ipmi_address().unwrap()).await.unwrap();
        Self {
            socket,
            session: None,
            sequence: 0,
            rq_seq: 0,
            sent: Vec::new(),
        }
    }

    /// A console with an open session.
    pub(super) async fn logged_in(host: &Host, login: Login<'_>) -> Self {
        let mut console = Self::to(host).await;
        console.open(login).await.unwrap();
        console
    }

    pub(super) async fn send(&self, datagram: &[u8]) {
        self.socket.send(datagram).await.unwrap();
    }

    pub(super) async fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 1024];
        let length = soon(self.socket.recv(&mut buffer)).await.unwrap();
        buffer[..length].to_vec()
    }

    /// The BMC's id of the session, as the journal writes it.
    pub(super) fn session_name(&self) -> String {
        format!("{:08x}", self.managed_id())
    }

    pub(super) fn managed_id(&self) -> u32 {
        self.session.as_ref().unwrap().managed_id
    }

    /// Sends a handshake payload and returns the answer's payload.
    pub(super) async fn exchange(&mut self, kind: u8, payload: &[u8]) -> Vec<u8> {
        let datagram = outside(kind, payload);
        self.sent.push(datagram.clone());
        self.send(&datagram).await;
        let reply = self.receive().await;
        assert_eq!(reply[..6], [6, 0, 0xff, 7, 6, kind + 1], "{reply:02x?}");
        assert_eq!(reply[6..14], [0; 8], "no session, no sequence");
        let payload = reply[16..].to_vec();
        assert_eq!(usize::from(reply[14]), payload.len());
        payload
    }

    /// Opens a session, and checks every code that the BMC sends.
    pub(super) async fn open(&mut self, login: Login<'_>) -> Result<(), Refused> {
        let console_id = 0xa0a1_a2a3;
        let [authentication, integrity, confidentiality] = algorithms(login.suite);
        let reply = self
            .exchange(0x10, &open_session(0, console_id, login.suite))
            .await;
        if reply[1] != 0 {
            assert_eq!(reply.len(), 8, "{reply:02x?}");
            return Err(Refused::OpenSession(reply[1]));
        }
        assert_eq!(reply[4..8], console_id.to_le_bytes());
        assert_eq!(
            [reply[16], reply[24], reply[32]],
            [authentication, integrity, confidentiality]
        );
        let managed_id: [u8; 4] = reply[8..12].try_into().unwrap();

        let random = [0x77; 16];
        let name = login.username.as_bytes();
        let role = [&[login.role, u8::try_from(name.len()).unwrap()], name].concat();
        let reply = self
            .exchange(0x12, &rakp1(managed_id, random, login.role, name))
            .await;
        if reply[1] != 0 {
            return Err(Refused::Rakp2(reply[1]));
        }
        let (managed_random, guid) = (&reply[8..24], &reply[24..40]);
        let console = console_id.to_le_bytes();
        let key = login.password.as_bytes();
        let said = [
            &console,
            &managed_id,
            random.as_slice(),
            managed_random,
            guid,
            &role,
        ]
        .concat();
        if reply[40..] != hmac(authentication, key, &said) {
            return Err(Refused::Rakp2Code);
        }

        let code = hmac(authentication, key, &[managed_random, &console, &role].concat());
        let rakp3 = [&[0, 0, 0, 0], managed_id.as_slice(), &code].concat();
        let reply = self.exchange(0x14, &rakp3).await;
        if reply[1] != 0 {
            return Err(Refused::Rakp4(reply[1]));
        }
        let said = [random.as_slice(), managed_random, &role].concat();
        let sik = hmac(authentication, login.kg.unwrap_or(key), &said);
        let mut value = hmac(
            authentication,
            &sik,
            &[random.as_slice(), &managed_id, guid].concat(),
        );
        value.truncate(if authentication == 1 { 12 } else { 16 });
        if reply[8..] != value {
            return Err(Refused::Rakp4Code);
        }
        self.sequence = 0;
        self.session = Some(Session {
            console_id,
            managed_id: u32::from_le_bytes(managed_id),
            algorithms: [authentication, integrity, confidentiality],
            k1: hmac(authentication, &sik, &[1; 20]),
            k2: hmac(authentication, &sik, &[2; 20]),
            password: login.password.to_owned(),
        });
        Ok(())
    }

    /// The datagram of a request, with the next sequence number.
    pub(super) fn request(&mut self, net_fn: u8, command: u8, data: &[u8]) -> Vec<u8> {
        self.sequence += 1;
        self.rq_seq = (self.rq_seq + 1) & 0x3f;
        let payload = message(net_fn, self.rq_seq, command, data);
        self.seal(&payload)
    }

    /// Wraps a payload as the session's next packet.
    pub(super) fn seal(&self, payload: &[u8]) -> Vec<u8> {
        let session = self.session.as_ref().unwrap();
        let [_, integrity_algorithm, confidentiality] = session.algorithms;
        let sealed = match confidentiality {
            0 => payload.to_vec(),
            _ => encrypt(&session.k2, payload),
        };
        let kind = (confidentiality << 7) | (u8::from(integrity_algorithm != 0) << 6);
        let mut packet = envelope(kind, session.managed_id, self.sequence, &sealed);
        if integrity_algorithm != 0 {
            let mut pad = 0;
            while !(packet.len() - 4 + 2).is_multiple_of(4) {
                packet.push(0xff);
                pad += 1;
            }
            packet.extend([pad, 7]);
            let code = integrity(integrity_algorithm, &session.k1, &session.password, &packet[4..]);
            packet.extend(code);
        }
        packet
    }

    /// Reads a response, and checks everything that a careful console checks.
    pub(super) fn read(&self, packet: &[u8]) -> Option<Answer> {
        let (sequence, message) = self.unseal(packet)?;
        Some(answer(sequence, &message))
    }

    /// The number of a packet that is the session's, and the message in it.
    pub(super) fn unseal(&self, packet: &[u8]) -> Option<(u32, Vec<u8>)> {
        let session = self.session.as_ref().unwrap();
        let [_, integrity_algorithm, confidentiality] = session.algorithms;
        let kind = (confidentiality << 7) | (u8::from(integrity_algorithm != 0) << 6);
        let code_length = integrity(integrity_algorithm, &session.k1, &session.password, &[]).len();
        let (covered, code) = packet.split_at(packet.len() - code_length);
        let right = integrity(integrity_algorithm, &session.k1, &session.password, &covered[4..]);
        if packet[4..6] != [6, kind] || packet[6..10] != session.console_id.to_le_bytes() || code != right {
            return None;
        }
        let sequence = u32::from_le_bytes(packet[10..14].try_into().unwrap());
        let length = usize::from(packet[14]);
        let payload = &packet[16..16 + length];
        let payload = match confidentiality {
            0 => payload.to_vec(),
            _ => decrypt(&session.k2, payload),
        };
        Some((sequence, payload))
    }

    pub(super) async fn ask(&mut self, net_fn: u8, command: u8, data: &[u8]) -> Answer {
        let request = self.request(net_fn, command, data);
        self.send(&request).await;
        let answer = self.read(&self.receive().await).expect("the session's");
        assert_eq!((answer.rq_seq, answer.command), (self.rq_seq, command));
        answer
    }

    /// The completion code of a command.
    pub(super) async fn code(&mut self, net_fn: u8, command: u8, data: &[u8]) -> u8 {
        self.ask(net_fn, command, data).await.completion
    }

    /// Asks outside of any session, in the header of IPMI 1.5 or of RMCP+.
    pub(super) async fn ask_outside(&self, rmcp_plus: bool, net_fn: u8, command: u8, data: &[u8]) -> Answer {
        let message = message(net_fn, 9, command, data);
        let datagram = if rmcp_plus {
            outside(0, &message)
        } else {
            let length = u8::try_from(message.len()).unwrap();
            [
                &[6, 0, 0xff, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, length],
                message.as_slice(),
            ]
            .concat()
        };
        self.send(&datagram).await;
        let reply = self.receive().await;
        let payload = &reply[if rmcp_plus { 16 } else { 14 }..];
        answer(0, payload)
    }

    /// Waits until all that was sent before has been dealt with: answers come in order.
    pub(super) async fn settle(&self) {
        self.send(&PING).await;
        while self.receive().await[3] != 6 {}
    }
}
