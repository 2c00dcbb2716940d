//! A TCP stream that takes only so much for one request.
//!
//! Limits of heads and bodies do not bound interim responses without end, sizes of chunks with any number of
//! zeros, or TLS records that carry nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Most bytes that are read for one request, with everything that TLS and HTTP add.
pub(in crate::redfish) const MAX_READ: usize = 4 * super::MAX_BODY;

/// How much was read for the request that is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter(Arc<AtomicUsize>);

impl Meter {
    /// The next request begins.
    pub(super) fn restart(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

pub(super) struct Metered {
    pub(super) stream: TcpStream,
    pub(super) meter: Meter,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len().saturating_sub(before);
        let all = self
            .meter
            .0
            .fetch_add(read, Ordering::Relaxed)
            .saturating_add(read);
        Poll::Ready(if all > MAX_READ {
            Err(io::Error::other(format!(
                "it sent more than {MAX_READ} bytes for one request"
            )))
        } else {
            Ok(())
        })
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
