//! What is never answered, or never to its end, is given up.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::hostile::plain;
use super::*;
use crate::Until;

/// What a read comes to under deadlines of which one passes. The error names the one that passed.
async fn silence_within(target: BmcTarget, deadlines: Deadlines) -> BmcError {
    let mut bmc = Bmc::connect_within(target, deadlines).await.unwrap();
    bmc.read().await.unwrap_err()
}

fn short_request() -> Deadlines {
    Deadlines {
        request: SHORT,
        ..generous()
    }
}

#[tokio::test]
async fn deadlines_are_met() {
    // Never answers a request.
    let fake = Fake::start(|_| None).await;
    let error = silence_within(of(&fake), short_request()).await;
    let cause = "nothing came within 400ms".to_owned();
    assert_eq!(error, BmcError::NoAnswer(cause));
    // Accepts, and never says a word of TLS.
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = mute.local_addr().unwrap();
    let short_connect = Deadlines {
        connect: SHORT,
        ..generous()
    };
    let error = silence_within(target(address, &fake.authority, PATH), short_connect).await;
    let cause = format!("no connection to {address} within 400ms");
    assert_eq!(error, BmcError::Unreachable(cause));
    // Takes the command and hangs.
    let inner = well_behaved();
    let fake = Fake::start(move |seen: Seen| if seen.method == "POST" { None } else { inner(seen) }).await;
    let mut bmc = connect(of(&fake)).await;
    bmc.read().await.unwrap();
    redfish(&mut bmc).wire.deadlines = short_request();
    assert!(
        bmc.command(Verb::PowerOff, soon())
            .await
            .unwrap_err()
            .may_have_been_executed()
    );
}

/// A machine that was frozen while a connection was made: the timer may have stood still, and only the caller's clock
/// knows.
#[tokio::test]
async fn a_command_whose_time_is_over_when_the_connection_stands_at_last_is_not_sent() {
    for is_frozen in [true, false] {
        let inner = well_behaved();
        // Every request needs a connection of its own.
        let fake = Fake::start(move |seen: Seen| {
            let mut response = inner(seen)?;
            let close = axum::http::HeaderValue::from_static("close");
            response.headers_mut().insert("connection", close);
            Some(response)
        })
        .await;
        let relay = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, behind) = (relay.local_addr().unwrap(), fake.address);
        let (armed, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (is_armed, ends) = (Arc::clone(&armed), Arc::clone(&is_over));
        let relaying = tokio::spawn(async move {
            loop {
                let (mut stream, _) = relay.accept().await.unwrap();
                ends.store(is_frozen && is_armed.load(Ordering::SeqCst), Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut onwards = TcpStream::connect(behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut onwards).await;
                });
            }
        });
        let mut bmc = connect(target(address, &fake.authority, PATH)).await;
        bmc.read().await.unwrap();
        armed.store(true, Ordering::SeqCst);
        let over = Arc::clone(&is_over);
        let until = Until::unless(soon(), move || over.load(Ordering::SeqCst));
        let answer = bmc.command(Verb::PowerOff, until).await;
        assert_eq!(matches!(answer, Err(BmcError::TooLate)), is_frozen, "{answer:?}");
        let sent = fake.log().iter().any(|line| line.contains(RESET));
        assert_eq!(sent, !is_frozen, "{:?}", fake.log());
        relaying.abort();
    }
}

#[tokio::test]
async fn a_trickling_body_meets_the_deadline() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{".to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let drip = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 8192]).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let error = silence_within(plain(address), short_request()).await;
    assert_eq!(error.reason(), "BmcUnreachable");
    // That of the request, which the body does not prolong.
    assert!(error.to_string().contains("within 400ms"), "{error}");
    drip.abort();
}
