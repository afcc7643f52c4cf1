//! The tools that Stockade has of its own, as they are told to an agent: for programs, lines, source
//! and files.

use serde::Deserialize;
use serde_json::Value;

/// A tool of ours.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its input looks like, as JSON Schema.
    pub input: Value,
    /// What it does besides computing, by the names of [`Risk`](crate::policy::tool::Risk).
    pub risk: Vec<String>,
}

/// All of them.
pub fn typed() -> Vec<Typed> {
    serde_json::from_str(include_str!("typed.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::tool::{Risk, Schema};

    #[test]
    fn every_tool_of_ours_is_told_with_a_schema_and_known_risks() {
        let all = typed();
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["Exec", "Bash", "Code", "Read", "Write", "Edit", "Glob", "Grep"]);
        for tool in &all {
            let schema = Schema::compile(tool.input.clone()).unwrap();
            assert!(!schema.check(&json!({"nonsense": 1})).is_empty(), "{}", tool.name);
            assert!(tool.risk.iter().all(|risk| risk.parse::<Risk>().is_ok()), "{}", tool.name);
        }
    }
}
