//! The configuration: policy files, settings of other agents, and what is trusted of them.

pub(crate) mod agent;
pub mod bounded;
pub(crate) mod box_table;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod entry;
pub(crate) mod file;
pub(crate) mod folders;
pub mod json;
pub(crate) mod jsonc;
pub(crate) mod load;
pub(crate) mod named;
pub(crate) mod nearest;
pub(crate) mod oci;
pub(crate) mod ports;
pub(crate) mod project;
pub(crate) mod replace;
pub(crate) mod require;
pub(crate) mod schema;
pub(crate) mod source;
pub(crate) mod sources;
pub(crate) mod spot;
pub(crate) mod trust;
