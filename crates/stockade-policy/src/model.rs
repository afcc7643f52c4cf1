//! The words of a policy, as data.

pub mod confine;
pub mod decision;
pub(crate) mod durability;
pub(crate) mod finding;
pub mod guarantee;
pub mod limits;
pub mod mode;
pub mod own;
pub(crate) mod settings;
pub(crate) mod tier;
