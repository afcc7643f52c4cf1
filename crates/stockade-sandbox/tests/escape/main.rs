//! Attacks on a sandbox, one in a file: each succeeds without the sandbox, fails in it for a stated
//! reason, and succeeds again once its locks are left out.
//!
//! An attack is data: what is planted, what is tried, how the harness sees whether it was reached,
//! and which locks each stop it alone. `support/check.rs` is the test that all of them go through,
//! and `table.rs` writes into `THREAT_MODEL.md` which mechanism catches which attack.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(
    clippy::as_conversions,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "arguments of system calls are words of a 64-bit machine"
)]

mod files;
mod kernel;
mod resources;
mod services;
mod support;
mod table;

use support::Attack;

/// Every attack, by group.
const GROUPS: [&[&Attack]; 4] = [files::ALL, services::ALL, kernel::ALL, resources::ALL];
