//! The programs that wait in the boxes.

/// Forks a child in advance of every call; its argument is what the child runs.
pub(super) const PYTHON: &str = include_str!("python.py");
/// Keeps a namespace between calls.
pub(super) const PYTHON_SESSION: &str = include_str!("session.py");
/// Keeps a context between calls.
pub(super) const NODE_SESSION: &str = include_str!("session.js");
