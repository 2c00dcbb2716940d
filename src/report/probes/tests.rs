use std::sync::mpsc;

use super::*;

#[tokio::test]
async fn a_loop_that_waits_moves_and_one_that_does_not_come_back_is_named() {
    let probes = Probes::default();
    let mut loops = Loops::new(probes.clone());
    let (blocked, (tell, go_on)) = (tokio::sync::oneshot::channel(), mpsc::channel::<()>());
    loops.spawn("waiting", std::future::pending::<()>());
    tokio::task::yield_now().await;
    assert_eq!(probes.live(), Ok(()));
    // No beat of theirs has come for longer than may be.
    let stalled = probes.later(STILL + BEAT);
    assert!(
        stalled
            .live()
            .unwrap_err()
            .contains("\"waiting\" has not moved for 6")
    );

    // On a thread of its own: it blocks it, as one does that waits for a lock that nobody gives back.
    let watched = probes.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(watched.watched("blocked", async {
            blocked.0.send(()).unwrap();
            go_on.recv().unwrap();
        }));
    });
    blocked.1.await.unwrap();
    let names = |probes: &Probes| {
        probes
            .silence()
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&probes), ["waiting", "blocked"]);
    tell.send(()).unwrap();
    thread.join().unwrap();
    assert_eq!(names(&probes), ["waiting"], "one that has ended is not missed");
    loops.shutdown().await;
    assert_eq!(names(&probes), Vec::<&str>::new());
}

#[tokio::test]
async fn a_loop_that_only_waits_is_polled_again_and_again() {
    let probes = Probes::default();
    let (often, polled) = tokio::sync::oneshot::channel();
    let (mut often, mut times) = (Some(often), 0);
    let waiting = std::future::poll_fn(move |_| {
        times += 1;
        if times == 5 {
            often.take().unwrap().send(()).unwrap();
        }
        std::task::Poll::<()>::Pending
    });
    let beat = Duration::from_millis(5);
    let waiting = tokio::spawn(async move { probes.polled_every(beat, "waiting", waiting).await });
    polled.await.unwrap();
    waiting.abort();
}

#[tokio::test]
async fn a_standby_is_ready_and_who_has_not_listed_everything_is_not() {
    let probes = Probes::default();
    assert!(probes.ready().unwrap_err().contains("who leads"));
    for (standing, is_ready) in [
        (Standing::StandingBy, true),
        (Standing::Listing, false),
        (Standing::Leading, true),
        (Standing::Starting, false),
    ] {
        probes.stands(standing);
        assert_eq!(probes.ready().is_ok(), is_ready, "{standing:?}");
    }
}

#[tokio::test]
async fn a_loop_that_ends_or_panics_is_told() {
    let mut loops = Loops::default();
    loops.spawn("short", async {});
    assert_eq!(loops.ended().await, "short");
    loops.spawn("broken", async { assert!(std::hint::black_box(false), "broken") });
    assert!(loops.ended().await.contains("panicked"));
    assert_eq!(loops.ended().await, "last");
}
