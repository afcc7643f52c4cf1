//! Runs real programs through the keeper and looks at what is left.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod status;
mod support;
