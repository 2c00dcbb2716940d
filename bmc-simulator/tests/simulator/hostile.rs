//! Peers that mean harm: what they send to one BMC costs the others nothing, and that one not for long.

use std::time::Duration;

use bmc_simulator::{Fault, Host, HostSpec, IpmiSpec, RedfishSpec, Simulator};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use crate::client::{Client, soon, status};
use crate::service::pass;

/// More than any patience of the BMC's.
const LONG: Duration = Duration::from_secs(61);

/// A victim that has so many connections, and a neighbour of the same process.
async fn two(connections: u16) -> (Simulator, Host, Host) {
    let few = RedfishSpec {
        connection_limit: connections,
        ..RedfishSpec::default()
    };
    let victim = HostSpec::new("victim").ipmi(IpmiSpec::new()).redfish(few);
    let sim = Simulator::builder()
        .hosts([victim, HostSpec::new("neighbour").ipmi(IpmiSpec::new())])
        .start()
        .await
        .unwrap();
    let (victim, neighbour) = (sim.hosts()[0].clone(), sim.hosts()[1].clone());
    (sim, victim, neighbour)
}

async fn serves(host: &Host) {
    assert_eq!(status(Client::of(host).get(&host.system_path())).await, 200);
}

/// Waits for the end of a connection, whichever it is: all that was read.
async fn ends(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = soon(stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Lets time pass until something is so; in no test that is right does it take so many turns.
async fn passing(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        pass(LONG).await;
    }
    panic!("it never came");
}

/// A connection without TLS, over which any bytes can be sent.
async fn plain(host: &Host) -> TcpStream {
    host.set_faults(vec![Fault::PlaintextOnTls.times(1)]).unwrap();
    let stream = soon(TcpStream::connect(host.address())).await.unwrap();
    soon(host.wait_for(|now| now.faults.is_empty())).await.unwrap();
    stream
}

#[tokio::test]
async fn one_who_takes_all_connections_of_a_bmc_takes_no_others() {
    let (_sim, victim, neighbour) = two(16).await;
    let mut held = Vec::new();
    for _ in 0..64 {
        // What is reset at once may already fail to open.
        held.extend(soon(TcpStream::connect(victim.address())).await);
    }
    let mut kept = Vec::new();
    for mut stream in held {
        // Those beyond the limit are at their end at once; of the others nothing comes.
        let ended = tokio::select! {
            biased;
            _ = stream.read_u8() => true,
            () = serves(&neighbour) => false,
        };
        if !ended {
            kept.push(stream);
        }
    }
    assert_eq!((kept.len(), victim.counters().tcp_connections), (16, 16));
    assert!(Client::of(&victim).get("/redfish/v1").send().await.is_err());

    drop(kept);
    soon(async {
        while Client::of(&victim).get("/redfish/v1").send().await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn who_says_nothing_is_cut_off() {
    let (_sim, victim, _) = two(16).await;
    let mut silent = soon(TcpStream::connect(victim.address())).await.unwrap();
    let accepted = |event: &bmc_simulator::Event| *event == bmc_simulator::Event::TcpAccepted;
    soon(victim.wait_for_entry(0, accepted)).await.unwrap();
    tokio::task::yield_now().await;
    pass(LONG).await;
    assert_eq!(ends(&mut silent).await, "", "no ClientHello");
    assert_eq!(victim.counters().tls_failures, 1);

    let mut idle = plain(&victim).await;
    idle.write_all(b"GET /redfish HTTP/1.1\r\nHost: a\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let cut_off = passing(async || {
        let read = idle.read_buf(&mut answer);
        // A moment in which what is due can happen: there is nothing to wait for until it does.
        tokio::select! {
            read = read => read.is_ok_and(|read| read == 0),
            () = serves(&victim) => false,
        }
    });
    cut_off.await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(!answer.contains(" 200 "), "half a head: {answer}");
    serves(&victim).await;
}

#[tokio::test]
async fn half_a_body_is_waited_for_a_minute() {
    let (_sim, victim, _) = two(16).await;
    let mut stream = plain(&victim).await;
    let seen = victim.counters().session_create;
    stream
        .write_all(
            b"POST /redfish/v1/SessionService/Sessions HTTP/1.1\r\nHost: a\r\n\
              Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        )
        .await
        .unwrap();
    soon(async {
        while victim.counters().session_create == seen {
            tokio::task::yield_now().await;
        }
    })
    .await;
    pass(LONG).await;
    let answer = ends(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    serves(&victim).await;
}

#[tokio::test]
async fn who_takes_nothing_of_the_answer_is_cut_off() {
    let (_sim, victim, _) = two(1).await;
    let mut stream = plain(&victim).await;
    victim.set_faults(vec![Fault::EndlessBody.times(1)]).unwrap();
    stream
        .write_all(b"GET /redfish HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .unwrap();
    soon(victim.wait_for(|now| now.faults.is_empty())).await.unwrap();
    // The only place is taken until the system's buffers are full and the BMC has waited long enough.
    passing(async || Client::of(&victim).get("/redfish/v1").send().await.is_ok()).await;
}

#[tokio::test]
async fn malformed_requests_end_their_connection_and_nothing_else() {
    let (_sim, victim, neighbour) = two(16).await;
    let long = format!(
        "GET /redfish HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    // `GET /redfish HTTP/1.1`, `X: ...` and the empty line, to the byte.
    let head = |bytes: usize| format!("GET /redfish HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(bytes - 30));
    let lines = |lines: usize| format!("GET /redfish HTTP/1.1\r\n{}\r\n", "X: a\r\n".repeat(lines));
    let uri = |bytes: usize| format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(bytes - 1));
    let post =
        "POST /redfish/v1/SessionService/Sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n");
    let large = format!("{post}Content-Length: 100000\r\n\r\n{}", " ".repeat(100_000));
    for (bytes, statuses) in [
        (long, &["431"][..]),
        (head(64 * 1024), &["200"]),
        (head(64 * 1024 + 1), &["431"]),
        (head(100_000), &["431"]),
        (lines(100), &["200"]),
        (lines(101), &["431"]),
        (lines(5_000), &["431"]),
        (uri(65_000), &["404"]),
        (uri(65_534), &["431"]),
        (uri(65_535), &["414"]),
        (large, &["413"]),
        (format!("{post}Content-Length: -1\r\n\r\n"), &["400"]),
        (
            format!("{post}Content-Length: 99999999999999999999999\r\n\r\n"),
            &["400"],
        ),
        (
            format!("{post}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{{}}"),
            &["400"],
        ),
        (format!("{chunked}ZZZ\r\n{{}}\r\n0\r\n\r\n"), &["400"]),
        (format!("{chunked}FFFFFFFFFFFFFFFFFF\r\n"), &["400"]),
        (format!("{chunked}2\r\n{{}}garbage"), &["400"]),
        ("GET /redfish HTTP/9.9\r\n\r\n".to_owned(), &["400", "505", ""]),
        ("G\0T / HTTP/1.1\r\n\r\n".to_owned(), &["400"]),
        ("\r\n\r\n\r\n\0\0\0\0".to_owned(), &["400"]),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), &["400", ""]),
    ] {
        let shown: String = bytes.chars().take(120).collect();
        let mut stream = plain(&victim).await;
        let (mut reading, mut writing) = stream.split();
        let mut answer = Vec::new();
        // It may answer and close before it has read all.
        let (_, _) = soon(async {
            tokio::join!(
                async {
                    let _ = writing.write_all(bytes.as_bytes()).await;
                    writing.shutdown().await
                },
                reading.read_to_end(&mut answer)
            )
        })
        .await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).unwrap_or_default();
        // A reset may overtake the answer to what was not read to its end.
        let fits = statuses.contains(&status) || answer.is_empty();
        assert!(fits, "{shown}: {answer}");
        serves(&neighbour).await;
    }
    serves(&victim).await;
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_a_row() {
    const REQUESTS: usize = 2_000;
    let (_sim, victim, neighbour) = two(16).await;
    let mut stream = plain(&victim).await;
    let (mut reading, mut writing) = stream.split();
    let one = "GET /redfish HTTP/1.1\r\nHost: a\r\n\r\n";
    let last = "GET /redfish HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let all = format!("{}{last}", one.repeat(REQUESTS - 1));
    let mut answers = Vec::new();
    let (written, read, ()) = soon(async {
        tokio::join!(
            writing.write_all(all.as_bytes()),
            reading.read_to_end(&mut answers),
            serves(&neighbour)
        )
    })
    .await;
    written.unwrap();
    read.unwrap();
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), REQUESTS);
}

#[tokio::test]
async fn datagrams_of_any_kind_leave_both_in_service() {
    const PING: [u8; 12] = [6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0x42, 0, 0];
    let (_sim, victim, neighbour) = two(16).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let to = victim.ipmi_address().unwrap();
    let mut state = 0x9e37_79b9_u32;
    for length in (0..1_500).chain(0..1_500) {
        // Any bytes, behind what makes half of them look like IPMI.
        let mut bytes: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_le_bytes()[3]
            })
            .collect();
        let head = [6, 0, 0xff, 7, 6];
        if length % 2 == 0 {
            for (byte, known) in bytes.iter_mut().zip(head) {
                *byte = known;
            }
        }
        let _ = socket.send_to(&bytes, to).await;
        if length % 16 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for host in [&victim, &neighbour] {
        let asking = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        asking.connect(host.ipmi_address().unwrap()).await.unwrap();
        let mut pong = [0; 64];
        soon(async {
            asking.send(&PING).await.unwrap();
            asking.recv(&mut pong).await.unwrap();
        })
        .await;
        assert_eq!((pong[3], pong[8]), (6, 0x40), "a pong of {}", host.name());
        serves(host).await;
    }
    assert!(victim.counters().ipmi.malformed > 1_000);
    assert_eq!(neighbour.counters().ipmi.datagrams, 1);
}
