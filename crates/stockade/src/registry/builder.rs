//! Builds tools of the host, and the built-in ones.

use std::ffi::OsString;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::inline::Closure;
use super::{RegisteredTool, ToolWork, calc};
use crate::inspect::FileSnapshot;
use crate::limits::Limits;
use crate::policy::tools::{Attempts, BadTool, Declaration, Risk, Schema, ToolName};
use crate::tier::Tier;

/// Builds a tool of the host.
///
/// ```
/// use serde::Deserialize;
/// use serde_json::json;
/// use stockade::registry::ToolBuilder;
///
/// #[derive(Deserialize)]
/// struct Pair {
///     a: i64,
///     b: i64,
/// }
///
/// # fn main() -> Result<(), stockade::policy::tools::BadTool> {
/// let add = ToolBuilder::new("add")?
///     .describe("Adds two whole numbers.")
///     .input(json!({
///         "type": "object",
///         "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
///         "required": ["a", "b"],
///         "additionalProperties": false
///     }))?
///     .inline(|pair: Pair| pair.a.checked_add(pair.b).ok_or("too large"))?;
/// assert_eq!(add.declaration.name.as_str(), "add");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ToolBuilder {
    declaration: Declaration,
}

impl ToolBuilder {
    /// A tool with this name, which takes any object.
    pub fn new(name: &str) -> Result<Self, BadTool> {
        Ok(Self { declaration: Declaration::new(name.parse::<ToolName>()?) })
    }

    /// Sets the description for the agent.
    #[must_use]
    pub fn describe(mut self, text: &str) -> Self {
        text.clone_into(&mut self.declaration.description);
        self
    }

    /// Sets the JSON Schema of the input.
    pub fn input(mut self, schema: Value) -> Result<Self, BadTool> {
        self.declaration.input = Schema::compile(schema)?;
        Ok(self)
    }

    /// Declares a risk: what the tool does beside computing.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.declaration.risks.insert(risk);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.declaration.limits = limits;
        self
    }

    /// The tool may run more than once, and is tried again after a timeout or a temporary failure.
    #[must_use]
    pub fn idempotent(mut self, attempts: Attempts) -> Self {
        self.declaration.attempts = attempts;
        self
    }

    /// A tool that is a closure in this process. Input that does not fit its type is an error of
    /// the tool.
    pub fn inline<I, O, E, F>(mut self, run: F) -> Result<RegisteredTool, BadTool>
    where
        I: DeserializeOwned,
        O: Serialize,
        E: ToString,
        F: Fn(I) -> Result<O, E> + Send + Sync + 'static,
    {
        self.declaration.tier = Tier::Inline;
        let closure = Closure::new(move |input: Map<String, Value>| {
            let input = serde_json::from_value(Value::Object(input));
            let input = input.map_err(|error| format!("its input does not fit: {error}"))?;
            let value = run(input).map_err(|error| error.to_string())?;
            serde_json::to_value(value).map_err(|error| format!("its value is not JSON: {error}"))
        });
        self.finish(ToolWork::Inline(closure))
    }

    /// A tool that is a program in this tier: JSON on standard input, one JSON value on standard
    /// output.
    pub fn program<W: Into<OsString>>(
        mut self,
        tier: Tier,
        words: impl IntoIterator<Item = W>,
    ) -> Result<RegisteredTool, BadTool> {
        self.declaration.tier = tier;
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let seen = FileSnapshot::of(super::absolute(&words));
        self.finish(ToolWork::Program { words, reads: Vec::new(), seen })
    }

    fn finish(self, works: ToolWork) -> Result<RegisteredTool, BadTool> {
        self.declaration.check()?;
        Ok(RegisteredTool { declaration: self.declaration, works })
    }
}

/// The built-in tools.
pub(super) fn shipped() -> Vec<RegisteredTool> {
    let run = |input: Map<String, Value>| {
        let text = input.get("expression").and_then(Value::as_str).unwrap_or_default();
        let number = calc::evaluate(text).map_err(|error| error.to_string())?;
        Ok(json!({ "value": number.to_json() }))
    };
    let input = Schema::compile(json!({
        "type": "object",
        "properties": {"expression": {"type": "string", "maxLength": 4096}},
        "required": ["expression"],
        "additionalProperties": false
    }));
    let declaration = ToolName::shipped("Calc").zip(input.ok()).map(|(name, input)| Declaration {
        tier: Tier::Inline,
        input,
        description: "Evaluates arithmetic: + - * / // % **, parentheses, pi, e, and abs, ceil, \
                      cos, exp, floor, ln, log, max, min, round, sin, sqrt, tan. Nothing is \
                      executed."
            .to_owned(),
        attempts: Attempts::IDEMPOTENT,
        ..Declaration::new(name)
    });
    let works = ToolWork::Inline(Closure::new(run));
    declaration.map(|declaration| RegisteredTool { declaration, works }).into_iter().collect()
}
