//! 88: makes more threads than the box may have.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use stockade_sandbox::Mechanism::{Cgroup, Rlimits};

use crate::support::{Attack, Reason, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 88,
    attempt: |_| {
        let over = Arc::new(AtomicBool::new(false));
        let mut made = Vec::new();
        let result = (0..64).try_for_each(|_| {
            let over = Arc::clone(&over);
            let wait = move || {
                while !over.load(Ordering::Relaxed) {
                    thread::park_timeout(Duration::from_millis(5));
                }
            };
            let thread = thread::Builder::new().stack_size(64 << 10).spawn(wait);
            thread.map(|thread| made.push(thread))
        });
        over.store(true, Ordering::Relaxed);
        for thread in made {
            thread.join().unwrap();
        }
        done(result)
    },
    refused: &[Reason::Errno(libc::EAGAIN)],
    locks: &[&[Rlimits], &[Cgroup]],
    ..Attack::CALL
};
