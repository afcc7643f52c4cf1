//! The append-only, hash-chained record of every verdict and every outcome.

pub mod audit;
pub mod chain;
mod lines;
mod lock;
pub mod preview;
pub mod record;
