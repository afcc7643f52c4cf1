//! Files that a policy comes from besides its own: settings and rules of coding agents, and trust.

mod claude;
mod codex;
mod foreign;
mod management;
mod place;
mod trust;
