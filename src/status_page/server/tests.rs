use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::*;
use crate::report::{Probes, Standing};

const PATIENCE: Duration = Duration::from_secs(30);

async fn start(deadline: Duration, heartbeat: Duration) -> (SocketAddr, Probes) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let probes = Probes::default();
    let page = StatusPage::new("one".to_owned(), probes.clone());
    let limits = Limits {
        connections: CONNECTIONS,
        deadline,
    };
    tokio::spawn(serve_within(listener, Arc::new(page), (limits, heartbeat)));
    (address, probes)
}

async fn begin(address: SocketAddr, request: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    BufReader::new(stream)
}

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = begin(address, request).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost:8081\r\n\r\n")
}

/// The first line that begins so.
async fn line(stream: &mut BufReader<TcpStream>, begin: &str) -> String {
    let mut line = String::new();
    let reading = async {
        loop {
            line.clear();
            let read = stream.read_line(&mut line).await.unwrap();
            assert!(read > 0, "it ended before a line began with {begin}");
            if line.starts_with(begin) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect(begin);
    line
}

async fn told(stream: &mut BufReader<TcpStream>) -> Value {
    let line = line(stream, "data: ").await;
    serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap()
}

#[tokio::test]
async fn the_page_may_do_nothing_but_run_what_is_in_it_and_ask_where_it_is_from() {
    let (address, _) = start(DEADLINE, events::HEARTBEAT).await;
    for path in ["/", "/api/status", "/nowhere"] {
        let answer = ask(address, &get(path)).await;
        let (headers, body) = answer.split_once("\r\n\r\n").unwrap();
        for header in [
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'; script-src 'sha256-",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "cache-control: no-store",
        ] {
            assert!(headers.contains(header), "{path}: {header} is not in {headers}");
        }
        assert!(
            !headers.contains("unsafe") && !headers.contains("access-control"),
            "{headers}"
        );
        if path == "/" {
            assert_eq!(body, PAGE);
            let script = STANDARD.encode(Sha256::digest(inside("script")));
            assert!(
                headers.contains(&format!("script-src 'sha256-{script}'")),
                "{headers}"
            );
        }
    }
    assert!(inside("script").contains("EventSource") && inside("style").contains("prefers-color-scheme"));
}

/// A policy allows one script and one style, and what is written into the page as text stays text.
#[test]
fn the_page_asks_for_nothing_else_and_never_writes_markup() {
    for forbidden in [
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "http://",
        "https://",
    ] {
        assert!(!PAGE.contains(forbidden), "{forbidden}");
    }
    for once in ["<script", "<style"] {
        assert_eq!(PAGE.matches(once).count(), 1, "{once}");
    }
    assert!(
        !PAGE.contains(" style=") && !PAGE.contains(" onclick="),
        "no attribute of theirs works"
    );
    assert!(PAGE.lines().count() < 500);
}

#[tokio::test]
async fn only_reading_is_served_and_only_three_paths() {
    let (address, _) = start(DEADLINE, events::HEARTBEAT).await;
    let post = |path: &str| format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    for (request, status) in [
        (get("/"), "200"),
        (get("/api/status"), "200"),
        (get("/metrics"), "404"),
        (get("/../etc/passwd"), "404"),
        (post("/"), "405"),
        (post("/events"), "405"),
        (post("/api/status"), "405"),
        (format!("HEAD{}", get("/").strip_prefix("GET").unwrap()), "405"),
    ] {
        let answer = ask(address, &request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {answer}"
        );
    }
}

/// The name of somebody else's page may be made to lead here; then it is in the Host.
#[tokio::test]
async fn on_loopback_it_answers_to_addresses_and_localhost() {
    let (address, _) = start(DEADLINE, events::HEARTBEAT).await;
    for (hosts, allowed) in [
        (&["localhost"][..], true),
        (&["LOCALHOST:8081"], true),
        (&["127.0.0.1:8081"], true),
        (&["[::1]:8081"], true),
        (&["rebound.example"], false),
        (&["rebound.example:8081"], false),
        (&["localhost.rebound.example"], false),
        (&["127.0.0.1.rebound.example"], false),
        (&["localhost", "rebound.example"], false),
        (&[], false),
        (&[""], false),
    ] {
        let hosts: Vec<String> = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        let hosts = hosts.concat();
        for path in ["/", "/api/status", "/events"] {
            let mut stream = begin(address, &format!("GET {path} HTTP/1.1\r\n{hosts}\r\n")).await;
            let status = line(&mut stream, "HTTP/1.1").await;
            let refused = status.contains(" 403") || status.contains(" 400");
            assert_eq!(refused, !allowed, "{hosts:?} {path}: {status}");
        }
    }
}

#[tokio::test]
async fn who_stands_by_says_who_leads_and_what_changes_is_pushed() {
    let (address, probes) = start(DEADLINE, events::HEARTBEAT).await;
    let mut stream = begin(address, &get("/events")).await;
    assert!(
        line(&mut stream, "content-type")
            .await
            .contains("text/event-stream")
    );
    let first = told(&mut stream).await;
    assert_eq!(
        (&first["stands"], &first["leader"]),
        (&"Starting".into(), &Value::Null)
    );
    assert_eq!(first["instance"], "one");
    assert!(first["now"].is_string(), "{first}");

    probes.stands_by(Some("two_0000abcd".to_owned()));
    let next = told(&mut stream).await;
    assert_eq!(
        (&next["stands"], &next["leader"]),
        (&"StandingBy".into(), &"two_0000abcd".into())
    );

    probes.stands(Standing::Listing);
    let next = told(&mut stream).await;
    assert_eq!(
        (&next["stands"], &next["leader"]),
        (&"Listing".into(), &Value::Null)
    );
    assert_eq!(next["running"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn without_a_change_a_stream_says_that_somebody_is_there() {
    let (address, _) = start(DEADLINE, Duration::from_millis(10)).await;
    let mut stream = begin(address, &get("/events")).await;
    told(&mut stream).await;
    for _ in 0..2 {
        let mut next = String::new();
        while next.trim().is_empty()
            || next
                .chars()
                .all(|one| one.is_ascii_hexdigit() || one.is_whitespace())
        {
            next.clear();
            stream.read_line(&mut next).await.unwrap();
        }
        assert_eq!(next, ": nothing has changed\n", "a comment, and no event");
    }
}

/// A stream outlives the deadline of other answers; streams leave room for who asks; a place is given back.
#[tokio::test]
async fn streams_are_few_and_last() {
    let (address, probes) = start(Duration::from_millis(200), events::HEARTBEAT).await;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = begin(address, &get("/events")).await;
        told(&mut stream).await;
        streams.push(stream);
    }
    let refused = ask(address, &get("/events")).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        ask(address, &get("/api/status"))
            .await
            .starts_with("HTTP/1.1 200")
    );

    probes.stands_by(Some("two".to_owned()));
    for stream in &mut streams {
        assert_eq!(told(stream).await["leader"], "two");
    }
    streams.clear();
    let again = async {
        loop {
            let mut stream = begin(address, &get("/events")).await;
            if line(&mut stream, "HTTP/1.1").await.contains(" 200") {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, again)
        .await
        .expect("places are given back");
}

#[tokio::test]
async fn readers_that_hang_are_let_go_and_others_are_served() {
    let (address, _) = start(Duration::from_millis(300), events::HEARTBEAT).await;
    let mut hanging = Vec::new();
    for _ in 0..CONNECTIONS {
        hanging.push(begin(address, "GET / HTTP/1.1\r\n").await);
    }
    assert!(ask(address, &get("/")).await.starts_with("HTTP/1.1 200"));
    for mut stream in hanging {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(
            !rest.starts_with(b"HTTP/1.1 200"),
            "it never finished its request"
        );
    }
}
