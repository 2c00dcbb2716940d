//! An API server of a unit test's own making.

use axum::Router;
use kube::Config;

/// How to reach a server with these routes, on a port of its own. It serves for as long as the test runs.
pub(crate) async fn served(router: Router) -> Config {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Config::new(format!("http://{address}").parse().unwrap())
}
