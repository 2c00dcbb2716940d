//! The status page: what runs, what waits and why, what the limits leave, which BMCs are ready, and what has ended.
//!
//! It only reads what the caches hold, and only while somebody looks. [`document`] is what is known, [`server`] gives it
//! away.

mod document;
mod latest;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;

pub(crate) use self::latest::StatusPage;
use crate::report::Loops;

/// Serves the page, if that is asked for.
///
/// # Errors
/// The address cannot be had.
pub(crate) async fn serve(
    address: Option<SocketAddr>,
    page: &Arc<StatusPage>,
    tasks: &mut Loops,
) -> anyhow::Result<()> {
    let Some(address) = address else {
        return Ok(());
    };
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot serve the status page on {address}; choose another --status-address")
    })?;
    let address = listener.local_addr().unwrap_or(address);
    tracing::info!(%address, "serving the status page");
    tasks.spawn("status page", server::serve(listener, Arc::clone(page)));
    Ok(())
}
