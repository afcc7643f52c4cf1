//! The journal as its users meet it: appended to, torn, tampered with, filled up and read back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::arithmetic_side_effects, reason = "an overflow in a test fails it")]

#[macro_use]
#[path = "../shared/messages.rs"]
mod messages;
mod append;
mod audit;
mod child;
mod disk;
mod docs;
mod processes;
mod repair;
mod sample;
mod secrets;
mod tamper;
