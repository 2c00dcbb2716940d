//! Serves the control API.

use std::future::IntoFuture as _;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long a control request in flight may hold up the end.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);

/// Serves the control API, without TLS, until the simulator stops.
pub(crate) async fn run_control(listener: TcpListener, router: axum::Router, stop: CancellationToken) {
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let patience = async {
        stop.cancelled().await;
        tokio::time::sleep(CONTROL_PATIENCE).await;
    };
    tokio::select! {
        _ = server.into_future() => {}
        () = patience => {}
    }
}
