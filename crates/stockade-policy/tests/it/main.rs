//! Tests of the policy crate from outside.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

mod fingerprint;
mod fuzz;
