use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Context;

use futures::future::join_all;
use tokio::sync::mpsc;

use crate::single_flight::*;

/// What comes of a read that has begun.
type Ending = oneshot::Sender<Result<(), ShellError>>;

/// A server whose reads are ended by the test, which is told of each that begins: whose questions, and the means
/// to end it.
struct Server {
    shared: SingleFlight<u32, (usize, u32)>,
    reads: Arc<AtomicUsize>,
    begins: mpsc::UnboundedSender<(Vec<u32>, Ending)>,
    begun: mpsc::UnboundedReceiver<(Vec<u32>, Ending)>,
}

impl Server {
    fn new() -> Self {
        let (begins, begun) = mpsc::unbounded_channel();
        Self {
            shared: SingleFlight::new("reading"),
            reads: Arc::default(),
            begins,
            begun,
        }
    }

    /// Is answered with the number of the read and its own question.
    fn ask(&self, question: u32) -> impl Future<Output = Result<(usize, u32), ShellError>> + Send + use<> {
        let (shared, reads, begins) = (self.shared.clone(), self.reads.clone(), self.begins.clone());
        let read = move |questions: Vec<u32>| {
            let number = reads.fetch_add(1, Ordering::Relaxed);
            let (ending, ended) = oneshot::channel();
            begins.send((questions.clone(), ending)).unwrap();
            async move {
                ended.await.unwrap()?;
                Ok(questions.into_iter().map(|question| (number, question)).collect())
            }
        };
        async move { shared.ask(question, read).await }
    }

    /// The next read that begins.
    async fn next(&mut self) -> (Vec<u32>, Ending) {
        self.begun.recv().await.unwrap()
    }

    /// Whether no read begins, once everyone has done what they can.
    async fn is_idle(&mut self) -> bool {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.begun.try_recv().is_err()
    }
}

fn lost() -> ShellError {
    ShellError::Timeout { call: "reading" }
}

/// Asks, and waits until the answer is there; asked before it is polled again.
fn begin<A: Send + 'static>(
    asked: impl Future<Output = A> + Send + 'static,
) -> Pin<Box<dyn Future<Output = A> + Send>> {
    let mut asked = asked.boxed();
    let changes = futures::task::noop_waker();
    assert!(
        asked
            .as_mut()
            .poll(&mut Context::from_waker(&changes))
            .is_pending()
    );
    asked
}

#[tokio::test]
async fn forty_who_ask_at_once_are_answered_by_two_reads_at_most() {
    let mut server = Server::new();
    let asked = join_all((0..40).map(|question| server.ask(question)));
    let mut reads = 0;
    let serve = async {
        loop {
            let (_, ending) = server.next().await;
            reads += 1;
            ending.send(Ok(())).unwrap();
        }
    };
    let answers = tokio::select! {
        answers = asked => answers,
        () = serve => unreachable!(),
    };
    assert!((1..=2).contains(&reads), "{reads} reads");
    let own: Vec<u32> = answers.into_iter().map(|answer| answer.unwrap().1).collect();
    assert_eq!(own, (0..40).collect::<Vec<_>>(), "each has its own answer");
}

#[tokio::test]
async fn who_asks_during_a_read_is_answered_by_the_next_one() {
    let mut server = Server::new();
    let early = begin(server.ask(0));
    let (questions, first) = server.next().await;
    assert_eq!(questions, [0]);
    let late = [1, 2, 3].map(|question| begin(server.ask(question)));
    assert!(server.is_idle().await, "one at a time");
    first.send(Ok(())).unwrap();
    assert_eq!(early.await.unwrap(), (0, 0));
    let (questions, second) = server.next().await;
    assert_eq!(questions, [1, 2, 3]);
    second.send(Ok(())).unwrap();
    for (answer, question) in join_all(late).await.into_iter().zip(1..) {
        assert_eq!(answer.unwrap(), (1, question));
    }
    // Nobody waits: nothing is read until somebody asks.
    assert!(server.is_idle().await);
    let later = begin(server.ask(4));
    let (_, third) = server.next().await;
    third.send(Ok(())).unwrap();
    assert_eq!(later.await.unwrap(), (2, 4));
}

#[tokio::test]
async fn an_error_reaches_all_who_waited_for_that_read() {
    let mut server = Server::new();
    let first = begin(server.ask(0));
    let (_, ending) = server.next().await;
    let others = [1, 2].map(|question| begin(server.ask(question)));
    ending.send(Err(lost())).unwrap();
    assert!(matches!(first.await, Err(ShellError::Timeout { .. })));
    let (_, ending) = server.next().await;
    let last = begin(server.ask(3));
    ending.send(Err(lost())).unwrap();
    for answer in join_all(others).await {
        assert!(matches!(answer, Err(ShellError::Timeout { .. })));
    }
    let (_, ending) = server.next().await;
    ending.send(Ok(())).unwrap();
    assert_eq!(last.await.unwrap(), (2, 3));
}

#[tokio::test]
async fn who_goes_takes_the_read_of_the_others_not_along() {
    let mut server = Server::new();
    let first = begin(server.ask(0));
    let (_, ending) = server.next().await;
    let (stays, goes) = (begin(server.ask(1)), begin(server.ask(2)));
    drop((first, goes));
    ending.send(Ok(())).unwrap();
    let (questions, ending) = server.next().await;
    assert_eq!(questions, [1], "for who went before it began, nothing is read");
    ending.send(Ok(())).unwrap();
    assert_eq!(stays.await.unwrap(), (1, 1));
}

#[tokio::test]
async fn a_read_that_breaks_off_leaves_nobody_waiting() {
    let mut server = Server::new();
    let first = begin(server.ask(0));
    let (_, ending) = server.next().await;
    let next = begin(server.ask(1));
    // The read panics where it is not told how to end.
    drop(ending);
    assert!(matches!(
        first.await,
        Err(ShellError::Unanswered { call: "reading" })
    ));
    let (_, ending) = server.next().await;
    ending.send(Ok(())).unwrap();
    assert_eq!(next.await.unwrap(), (1, 1));
}

#[tokio::test]
async fn reads_begin_apart_and_those_who_come_too_early_share_the_next() {
    const SPACING: std::time::Duration = std::time::Duration::from_millis(300);
    let mut server = Server::new();
    server.shared = server.shared.spaced(SPACING);
    let start = Instant::now();
    let first = tokio::spawn(server.ask(1));
    let (_, ending) = server.next().await;
    assert!(start.elapsed() < SPACING, "the first does not wait");
    ending.send(Ok(())).unwrap();
    first.await.unwrap().unwrap();

    let early: Vec<_> = (2..5)
        .map(|question| tokio::spawn(server.ask(question)))
        .collect();
    let (questions, ending) = server.next().await;
    assert!(start.elapsed() >= SPACING, "{:?}", start.elapsed());
    assert_eq!(questions.len(), 3);
    ending.send(Ok(())).unwrap();
    for asked in early {
        assert_eq!(asked.await.unwrap().unwrap().0, 1);
    }
}
