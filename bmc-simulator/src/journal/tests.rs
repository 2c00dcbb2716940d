use std::sync::Arc;
use std::time::Duration;

use super::{AT_ONCE, Event, Journal, Most, Page, Salt};

fn journal(capacity: usize) -> Journal {
    Journal::new(jiff::Timestamp::UNIX_EPOCH, capacity, Salt::new().unwrap())
}

fn write(journal: &Journal, host: &str) {
    journal.append(host, Duration::from_secs(1), Event::TcpAccepted);
}

fn seqs(page: &Page) -> Vec<u64> {
    page.entries.iter().map(|entry| entry.seq).collect()
}

#[test]
fn numbers_filters_and_admits_what_it_dropped() {
    let journal = journal(3);
    for host in ["a", "b", "a", "b", "a"] {
        write(&journal, host);
    }
    let all = |host, after| seqs(&journal.page(host, after, Most::ALL));
    assert_eq!(all(None, 0), [3, 4, 5]);
    assert_eq!(all(Some("a"), 3), [5]);
    assert_eq!(all(None, 5), [0_u64; 0]);
    assert_eq!(all(None, 9), [0_u64; 0]);
    let page = journal.page(None, 0, Most::ALL);
    assert_eq!((page.last_seq, page.dropped, page.more), (5, 2, false));
    assert_eq!(page.entries[0].wall.to_string(), "1970-01-01T00:00:01Z");
}

#[test]
fn pages_follow_each_other_without_gaps_however_short_they_are() {
    let journal = journal(100_000);
    let written = AT_ONCE.saturating_mul(3);
    for number in 0..written {
        write(&journal, if number % 5 == 0 { "a" } else { "b" });
    }
    let whole = seqs(&journal.page(Some("a"), 0, Most::ALL));
    for (entries, looked_at) in [(7, usize::MAX), (usize::MAX, 100), (1, 1), (100, AT_ONCE)] {
        let (mut after, mut together) = (0, Vec::new());
        loop {
            let page = journal.page(Some("a"), after, Most { entries, looked_at });
            assert!(page.entries.len() <= entries);
            assert!(page.more || usize::try_from(page.last_seq) == Ok(written));
            together.extend(seqs(&page));
            after = page.last_seq;
            if !page.more {
                break;
            }
        }
        assert_eq!(together, whole, "{entries} {looked_at}");
    }
}

#[test]
fn who_reads_all_of_it_lets_others_write_and_gets_no_gap() {
    let journal = Arc::new(journal(AT_ONCE.saturating_mul(2)));
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let journal = Arc::clone(&journal);
            std::thread::spawn(move || (0..20_000).for_each(|_| write(&journal, "a")))
        })
        .collect();
    let mut after = 0;
    while after < 40_000 {
        let page = journal.page(None, after, Most::ALL);
        let seqs = seqs(&page);
        assert!(
            seqs.windows(2)
                .all(|pair| pair[0].checked_add(1) == Some(pair[1])),
            "a page has a gap"
        );
        assert!(page.last_seq >= after);
        after = page.last_seq;
    }
    for writer in writers {
        writer.join().unwrap();
    }
}
