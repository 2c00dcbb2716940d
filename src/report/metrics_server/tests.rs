use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::report::listener::REQUEST_BYTES;
use crate::report::{Loops, Standing};

async fn start(deadline: Duration) -> (std::net::SocketAddr, Probes) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let probes = Probes::default();
    start_with(&probes, listener, deadline);
    (address, probes)
}

fn start_with(probes: &Probes, listener: TcpListener, deadline: Duration) {
    let served = (Metrics::default(), probes.clone());
    tokio::spawn(serve_within(listener, served, deadline));
}

async fn ask(address: std::net::SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: metrics\r\n\r\n")
}

#[tokio::test]
async fn metrics_and_probes_are_served_and_nothing_else() {
    let (address, probes) = start(DEADLINE).await;
    let metrics = ask(address, &get("/metrics")).await;
    assert!(metrics.starts_with("HTTP/1.1 200"), "{metrics}");
    assert!(
        metrics.contains(OPEN_METRICS) && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );
    for path in ["/livez", "/healthz"] {
        assert!(ask(address, &get(path)).await.ends_with("ok\n"), "{path}");
    }
    let not_ready = ask(address, &get("/readyz")).await;
    assert!(
        not_ready.starts_with("HTTP/1.1 503") && not_ready.contains("who leads"),
        "{not_ready}"
    );
    probes.stands(Standing::StandingBy);
    assert!(ask(address, &get("/readyz")).await.ends_with("ok\n"));
    for (request, status) in [
        (get("/"), "404"),
        (get("/metrics/../etc/passwd"), "404"),
        (
            "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "405",
        ),
        ("nonsense\r\n\r\n".to_owned(), "400"),
    ] {
        let answer = ask(address, &request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {answer}"
        );
    }
    let long = get(&format!("/{}", "x".repeat(2 * REQUEST_BYTES)));
    let answer = ask(address, &long).await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_loop_that_does_not_move_is_named_and_the_rest_is_served_on() {
    let probes = Probes::default();
    let mut loops = Loops::new(probes.clone());
    loops.spawn("remediation", std::future::pending::<()>());
    tokio::task::yield_now().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    start_with(&probes.later(Duration::from_mins(5)), listener, DEADLINE);
    for path in ["/livez", "/healthz"] {
        let answer = ask(address, &get(path)).await;
        assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
        assert!(
            answer.ends_with("the loop \"remediation\" has not moved for 300 s\n"),
            "{answer}"
        );
    }
    assert!(ask(address, &get("/metrics")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn readers_that_hang_are_let_go_and_others_are_served() {
    let (address, _) = start(Duration::from_millis(300)).await;
    let mut hanging = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
        hanging.push(stream);
    }
    let answer = ask(address, &get("/metrics")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for mut stream in hanging {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(
            !rest.starts_with(b"HTTP/1.1 200"),
            "it never finished its request"
        );
    }
}
