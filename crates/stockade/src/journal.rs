//! The append-only, hash-chained record of every verdict and every outcome.

pub mod chain;
pub mod preview;
pub mod record;
