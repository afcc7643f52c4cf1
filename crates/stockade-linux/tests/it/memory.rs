//! The allocator of a static program for musl, which is that of this program there too: what several threads
//! ask for at once is theirs alone, and keeps what was written.

#![expect(clippy::arithmetic_side_effects, reason = "numbers of a few thousand")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Bytes that say whose they are.
fn filled(thread: usize, round: usize) -> Vec<u8> {
    let length = 1 + (round * 37 + thread * 11) % 5000;
    vec![u8::try_from((thread * 31 + round) % 251).unwrap(); length]
}

#[test]
fn several_threads_have_their_own() {
    const THREADS: usize = 8;
    const ROUNDS: usize = 4000;
    let handed = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, receive) = std::sync::mpsc::sync_channel::<(usize, usize, Vec<u8>)>(64);
        for thread in 0..THREADS {
            let send = send.clone();
            scope.spawn(move || {
                let mut kept: Vec<(usize, Vec<u8>)> = Vec::new();
                for round in 0..ROUNDS {
                    kept.push((round, filled(thread, round)));
                    if kept.len() > 50 {
                        let (round, bytes) = kept.swap_remove(round % kept.len());
                        // Another thread frees it.
                        send.send((thread, round, bytes)).unwrap();
                    }
                    if let Some((round, bytes)) = kept.last_mut() {
                        let before = bytes.clone();
                        bytes.resize(bytes.len() * 3, before[0]);
                        assert!(bytes.starts_with(&filled(thread, *round)));
                        bytes.truncate(before.len());
                        bytes.shrink_to_fit();
                    }
                }
                for (round, bytes) in kept {
                    assert_eq!(bytes, filled(thread, round));
                }
            });
        }
        drop(send);
        for (thread, round, bytes) in receive {
            assert_eq!(bytes, filled(thread, round));
            handed.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(handed.into_inner(), THREADS * (ROUNDS - 50));
}

#[test]
fn it_is_aligned_and_zeroed_as_asked() {
    #[repr(align(4096))]
    #[derive(Clone)]
    struct Page([u8; 4096]);
    for count in [1, 3, 40] {
        let pages = vec![Page([7; 4096]); count];
        assert_eq!(pages.as_ptr().addr() % 4096, 0);
        assert!(pages.iter().all(|page| page.0 == [7; 4096]));
        // What is used again is zeroed too.
        drop(pages);
        assert!(vec![0_u64; count * 512].iter().all(|word| *word == 0));
    }
}
