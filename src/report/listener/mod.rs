//! Answers HTTP. Whoever asks is not trusted: few connections at once, little time and memory for each.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The longest that a connection may take, from its first byte to its last, unless its answer is [`Lasting`].
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);
/// The most that is read of a request, in bytes; hyper takes no less.
pub(crate) const REQUEST_BYTES: usize = 8 * 1024;
/// Pause when no connection can be taken, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections served at once; further ones wait in the queue of the operating system.
    pub(crate) connections: usize,
    /// See [`DEADLINE`].
    pub(crate) deadline: Duration,
}

/// Extension of an answer whose body may take so long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lasting(pub(crate) Duration);

/// Serves for ever. `what` is served, for the log.
pub(crate) async fn serve<B, A>(listener: TcpListener, limits: Limits, what: &'static str, answer: A)
where
    A: Fn(&Request<Incoming>) -> Response<B> + Send + Sync + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: std::error::Error + Send + Sync,
{
    let free = Arc::new(Semaphore::new(limits.connections));
    let answer = Arc::new(answer);
    loop {
        let Ok(place) = Arc::clone(&free).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    connection(stream, (limits.deadline, what), answer.as_ref()).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection for {what} was not taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn connection<B, A>(stream: TcpStream, (deadline, what): (Duration, &str), answer: &A)
where
    A: Fn(&Request<Incoming>) -> Response<B>,
    B: Body + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    let lasting = Mutex::new(None);
    let service = service_fn(|request| {
        let answer = answer(&request);
        if let Some(Lasting(longer)) = answer.extensions().get() {
            *lasting.lock().unwrap_or_else(PoisonError::into_inner) = Some(*longer);
        }
        async move { Ok::<_, Infallible>(answer) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(deadline)
        .keep_alive(false)
        .max_buf_size(REQUEST_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    let mut ended = tokio::time::timeout(deadline, &mut serving).await;
    let longer = *lasting.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Err(_), Some(longer)) = (&ended, longer) {
        ended = tokio::time::timeout(longer, &mut serving).await;
    }
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a reader of {what} went away"),
        Err(_) => tracing::debug!("a reader of {what} took too long"),
    }
}
