//! Calls in containers and on a kernel of their own, by the engines of this machine: what they are
//! given, what ends them, and that nothing of them is left.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::arithmetic_side_effects, reason = "an overflow in a test fails it")]
#![expect(clippy::indexing_slicing, reason = "a field that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "the tests start programs, and control halves")]

#[macro_use]
#[path = "../../../stockade/tests/shared/messages.rs"]
mod messages;
mod calls;
mod container;
mod doctor;
mod faults;
mod golden;
mod gvisor;
mod image;
mod matrix;
mod own_places;
mod protected;
mod running;
mod support;
mod tools;
mod warm;
