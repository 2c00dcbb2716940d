//! What a person sees: one line for each event, with the time and who says it.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Widest line.
const WIDTH: usize = 100;

/// How long a line is held back, so that what happened earlier and is heard of later comes first.
const HOLD: SignedDuration = SignedDuration::from_millis(250);

/// Width of time and speaker.
const MARGIN: usize = 24;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Truth,
    Bmc,
    Kubernetes,
    Metal3,
    Mhc,
    Remediator,
    Demo,
}

impl Who {
    pub(crate) const ALL: [Self; 7] = [
        Self::Truth,
        Self::Bmc,
        Self::Kubernetes,
        Self::Metal3,
        Self::Mhc,
        Self::Remediator,
        Self::Demo,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Truth => "TRUTH",
            Self::Bmc => "BMC",
            Self::Kubernetes => "Kubernetes",
            Self::Metal3 => "metal3",
            Self::Mhc => "MHC (played)",
            Self::Remediator => "remediator",
            Self::Demo => "demo",
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Truth => "what the simulated host really does; nobody below can see this",
            Self::Bmc => "what its BMC is asked and what it answers, true or not",
            Self::Kubernetes => "what the API server knows of Nodes, pods and Machines",
            Self::Metal3 => "what baremetal-operator (played) tells a real Ironic, and says of its hosts",
            Self::Mhc => "what OpenShift's own MachineHealthCheck controller does in a real cluster",
            Self::Remediator => "the daemon, as `kubectl get pcr` tells it",
            Self::Demo => "stage directions",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Truth => "1;35",
            Self::Bmc => "36",
            Self::Kubernetes => "34",
            Self::Metal3 => "1;34",
            Self::Mhc => "33",
            Self::Remediator => "1;32",
            Self::Demo => "2",
        }
    }
}

/// Prints the story.
pub(crate) struct Narrator {
    started: Timestamp,
    /// Lines to be printed, with the time of what they tell.
    held: Mutex<Vec<(Timestamp, String)>>,
    colour: bool,
    quiet: AtomicBool,
    logs: Mutex<Vec<String>>,
}

impl Narrator {
    pub(crate) fn new() -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var("TERM").is_ok_and(|term| term == "dumb");
        Self {
            started: Timestamp::now(),
            held: Mutex::default(),
            colour: std::io::stdout().is_terminal() && !plain,
            quiet: AtomicBool::new(false),
            logs: Mutex::default(),
        }
    }

    /// One event, now.
    pub(crate) fn say(&self, who: Who, text: &str) {
        self.say_of(Timestamp::now(), who, text);
    }

    /// One event of some moments ago.
    pub(crate) fn say_of(&self, at: Timestamp, who: Who, text: &str) {
        self.line(at, who, text, None);
    }

    /// One event that contradicts the truth.
    pub(crate) fn alarm_of(&self, at: Timestamp, who: Who, text: &str) {
        self.line(at, who, text, Some("1;31"));
    }

    fn line(&self, at: Timestamp, who: Who, text: &str, colour: Option<&str>) {
        if self.quiet.load(Ordering::Relaxed) {
            return;
        }
        let elapsed = at.duration_since(self.started).as_secs_f64();
        let name = self.painted(&format!("{:<12}", who.name()), who.colour());
        let mut lines = wrap(text, WIDTH.saturating_sub(MARGIN)).into_iter();
        let paint = |line: &str| colour.map_or_else(|| line.to_owned(), |colour| self.painted(line, colour));
        let first = lines.next().unwrap_or_default();
        let mut all = format!("{elapsed:>7.1}s  {name}  {}", paint(&first));
        for line in lines {
            all.push('\n');
            all.push_str(&" ".repeat(MARGIN));
            all.push_str(&paint(&line));
        }
        self.held().push((at, all));
    }

    /// Prints what was held back for long enough, for ever.
    pub(crate) async fn print_on(self: std::sync::Arc<Self>) {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        loop {
            ticks.tick().await;
            self.flush(Timestamp::now().saturating_sub(HOLD).unwrap_or(Timestamp::MAX));
        }
    }

    /// Prints what happened until a time, in order.
    fn flush(&self, until: Timestamp) {
        let mut held = self.held();
        held.sort_by_key(|(at, _)| *at);
        let due = held.partition_point(|(at, _)| *at <= until);
        for (_, line) in held.drain(..due) {
            print(&line);
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<(Timestamp, String)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A heading of a part of the report.
    pub(crate) fn heading(&self, text: &str) {
        print(&format!("\n{}", self.painted(text, "1")));
    }

    /// A mark that should be seen: `ok` in green, anything else in red.
    pub(crate) fn mark(&self, ok: bool) -> String {
        if ok {
            self.painted("ok", "32")
        } else {
            self.painted("over", "1;31")
        }
    }

    /// Whether events are held back, so that a report stands in one piece.
    pub(crate) fn hush(&self, quiet: bool) {
        self.flush(Timestamp::MAX);
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    /// Remembers where a log is, for the case of a failure.
    pub(crate) fn log_is_at(&self, of: &str, path: &Path) {
        let line = format!("{of:<13}  {}", path.display());
        self.logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    /// The end of a story that did not go as it has to.
    pub(crate) fn failed(&self, error: &anyhow::Error) {
        self.hush(true);
        self.heading(&self.painted("THE DEMO FAILED", "1;31"));
        print(&format!("{error:#}"));
        let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if !logs.is_empty() {
            print(&format!("\nLogs:\n  {}", logs.join("\n  ")));
        }
    }

    fn painted(&self, text: &str, colour: &str) -> String {
        if self.colour {
            format!("\x1b[{colour}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A paragraph, broken into lines.
pub(crate) fn paragraph(text: &str) {
    print(&wrap(text, WIDTH).join("\n"));
}

/// Text without time and speaker, as it is; always printed.
pub(crate) fn print(text: &str) {
    // The reader may have gone, as with `| head`; the exit status still tells.
    writeln!(std::io::stdout(), "{text}").ok();
}

/// Breaks a text at its spaces.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let needed = line.chars().count().saturating_add(word.chars().count());
        if !line.is_empty() && needed >= width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}
