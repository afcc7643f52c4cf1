//! Runs real programs through the keeper and looks at what is left.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attest;
mod beside;
mod boxes;
mod broker;
mod broker_calls;
mod broker_parity;
mod broker_races;
mod cgroup;
mod copies;
mod cost;
mod early;
mod entered;
mod foreseen;
mod handed;
mod hasten;
mod jail;
mod limits;
mod locks;
mod locks_only;
mod memfd;
mod memory;
mod probe;
mod refusal;
mod roles;
mod root;
mod sabotage;
mod sample;
mod scope;
mod script;
mod status;
mod streams;
mod supervisor;
mod support;
mod tree;
mod turns;
mod unlocked;
mod whereabouts;
mod yard;

#[cfg(all(feature = "static", target_env = "musl"))]
#[global_allocator]
static MEMORY: stockade_linux::Memory = stockade_linux::Memory::new();
