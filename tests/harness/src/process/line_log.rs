//! What a process prints, kept in a file and readable line by line while it grows.

use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::sync::watch;

/// A place in a log: everything before it has been seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(u64);

/// A file of whole lines, with a signal when it grows.
#[derive(Debug, Clone)]
pub struct LineLog {
    path: PathBuf,
    /// Length of the file in whole lines; the sender is gone when the process closed its end.
    written: watch::Receiver<u64>,
}

impl LineLog {
    /// Copies a pipe to a file from a thread of its own, so that no runtime has to live for it.
    pub(crate) fn collect(source: PipeReader, path: &Path) -> anyhow::Result<Self> {
        let mut file = File::create(path)
            .with_context(|| format!("cannot create {}; make its folder writable", path.display()))?;
        let (sender, written) = watch::channel(0_u64);
        std::thread::Builder::new()
            .name("line-log".to_owned())
            .spawn(move || {
                let mut source = BufReader::new(source);
                let mut line = Vec::new();
                // A read or write that fails ends the log; waiters then learn that it has ended.
                while source.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                    if file.write_all(&line).is_err() {
                        return;
                    }
                    let count = u64::try_from(line.len()).unwrap_or(u64::MAX);
                    sender.send_modify(|length| *length = length.saturating_add(count));
                    line.clear();
                }
            })
            .context("cannot start a thread; lower the number of tests that run at once")?;
        Ok(Self {
            path: path.to_owned(),
            written,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of what has been written so far.
    pub fn end(&self) -> Cursor {
        Cursor(*self.written.borrow())
    }

    /// Whether nothing more can come: the process closed its end, and everything was read.
    pub fn has_ended(&self) -> bool {
        self.written.has_changed().is_err()
    }

    /// The lines after `from`, and where they end.
    pub fn lines_since(&self, from: Cursor) -> anyhow::Result<(Vec<String>, Cursor)> {
        let end = self.end();
        let mut bytes = Vec::new();
        let read = || {
            format!(
                "cannot read {}; it must stay until the test ends",
                self.path.display()
            )
        };
        let mut file = File::open(&self.path).with_context(read)?;
        file.seek(SeekFrom::Start(from.0)).with_context(read)?;
        file.take(end.0.saturating_sub(from.0))
            .read_to_end(&mut bytes)
            .with_context(read)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok((text.lines().map(str::to_owned).collect(), end))
    }

    /// The first line after `from` that matches, waiting for it as long as the process prints.
    pub async fn wait_for(&self, from: Cursor, matches: impl Fn(&str) -> bool) -> anyhow::Result<String> {
        let mut written = self.written.clone();
        let mut cursor = from;
        loop {
            // Marked as seen before reading, so that what comes during the read wakes us again.
            written.borrow_and_update();
            let (lines, end) = self.lines_since(cursor)?;
            if let Some(line) = lines.into_iter().find(|line| matches(line)) {
                return Ok(line);
            }
            cursor = end;
            if written.changed().await.is_err() && self.end() == cursor {
                bail!(
                    "the process closed its output before the line came; {}",
                    crate::folders::tail(&self.path)
                );
            }
        }
    }
}
