//! Descriptions of Stockade's own tools, for agents.

use serde::Deserialize;
use serde_json::Value;

/// A tool of Stockade.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltinTool {
    /// Its name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of its input.
    pub input: Value,
    /// Its risks, by the names of [`Risk`](crate::policy::tools::Risk).
    pub risk: Vec<String>,
}

/// All of Stockade's own tools.
pub fn builtin_tools() -> Vec<BuiltinTool> {
    serde_json::from_str(include_str!("builtin.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::tools::{Risk, Schema};

    #[test]
    fn every_tool_of_ours_is_told_with_a_schema_and_known_risks() {
        let all = builtin_tools();
        let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["Exec", "Bash", "Code", "Read", "Write", "Edit", "Glob", "Grep"]);
        for tool in &all {
            let schema = Schema::compile(tool.input.clone()).unwrap();
            assert!(!schema.check(&json!({"nonsense": 1})).is_empty(), "{}", tool.name);
            assert!(tool.risk.iter().all(|risk| risk.parse::<Risk>().is_ok()), "{}", tool.name);
        }
    }
}
