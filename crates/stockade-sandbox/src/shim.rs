//! The files of the shim, which is a program of its own.
//!
//! The build script compiles them, from `shim/main.rs`. Here they are only checked and tested.

mod apply;
mod broker;
mod cgroups;
mod cloning;
mod counter;
mod exec;
mod exec_channel;
pub(crate) mod exec_request;
mod fault;
mod hold_sandbox;
mod ids;
mod init;
mod proclist;
mod program;
mod raw;
pub(crate) mod received_plan;
mod restrict;
mod root;
#[expect(dead_code, reason = "the program starts in main.rs")]
mod run;
mod sched_slice;
mod session;
mod sockets;
mod sources;
pub(crate) mod sys;
mod template;
mod tree;
mod vfork;

#[cfg(test)]
mod tests;
