use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

async fn start(deadline: Duration) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_within(listener, Metrics::default(), deadline));
    address
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
async fn two_paths_are_served_and_nothing_else() {
    let address = start(DEADLINE).await;
    let metrics = ask(address, &get("/metrics")).await;
    assert!(metrics.starts_with("HTTP/1.1 200"), "{metrics}");
    assert!(
        metrics.contains(OPEN_METRICS) && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );
    assert!(ask(address, &get("/healthz")).await.ends_with("ok\n"));
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
async fn readers_that_hang_are_let_go_and_others_are_served() {
    let address = start(Duration::from_millis(300)).await;
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
