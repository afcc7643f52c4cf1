//! Rules: the tables in `cases/rules/`, what holds for any of them, and what they cost.

mod call;
mod cost;
mod files;
mod properties;
mod propose;
pub(crate) mod table;
