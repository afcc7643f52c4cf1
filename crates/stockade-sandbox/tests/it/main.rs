//! Runs real programs through the shim and looks at what is left.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attest;
mod beside;
mod boxes;
mod broker;
mod broker_calls;
mod broker_parity;
mod broker_races;
mod cgroup;
mod cost;
mod entered;
mod handoff;
mod jail;
mod limits;
mod locks;
mod locks_only;
mod made;
mod memfd;
mod probe;
mod refusal;
mod roles;
mod root;
mod faults;
mod sample;
mod scope;
mod script;
mod sessions;
mod sockets;
mod status;
mod step_trace;
mod streams;
mod supervisor;
mod support;
mod tree;
mod sched_slice;
mod unlocked;
mod pool;
