//! Things that come to be in a while.

use std::time::{Duration, Instant};

/// Waits until something is so, and says whether it came to be.
pub(crate) fn eventually(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
