//! Tools that the host registers, put together step by step, and those that are shipped.

use std::ffi::OsString;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::inline::Closure;
use super::{Registered, Works, calc};
use crate::inspect::Seen;
use crate::limits::Limits;
use crate::policy::tool::{Attempts, BadTool, Declaration, Risk, Schema, ToolName};
use crate::tier::Tier;

/// A tool of the host in the making.
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
/// # fn main() -> Result<(), stockade::policy::tool::BadTool> {
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
    /// A tool of this name, which takes any object.
    pub fn new(name: &str) -> Result<Self, BadTool> {
        Ok(Self { declaration: Declaration::new(name.parse::<ToolName>()?) })
    }

    /// What it does, in words for the agent.
    #[must_use]
    pub fn describe(mut self, text: &str) -> Self {
        text.clone_into(&mut self.declaration.description);
        self
    }

    /// What its input looks like, as JSON Schema.
    pub fn input(mut self, schema: Value) -> Result<Self, BadTool> {
        self.declaration.input = Schema::compile(schema)?;
        Ok(self)
    }

    /// What it does besides computing.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.declaration.risks.insert(risk);
        self
    }

    /// Its limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.declaration.limits = limits;
        self
    }

    /// It may run twice, and is tried again where it comes too late or fails by chance.
    #[must_use]
    pub fn idempotent(mut self, attempts: Attempts) -> Self {
        self.declaration.attempts = attempts;
        self
    }

    /// A tool that is a closure, in this process. Its input is read into a type; what does not fit
    /// that is an error of the tool.
    pub fn inline<I, O, E, F>(mut self, run: F) -> Result<Registered, BadTool>
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
            serde_json::to_value(value).map_err(|error| format!("its value is no JSON: {error}"))
        });
        self.finish(Works::Inline(closure))
    }

    /// A tool that is a program, in this tier: JSON on standard input, one JSON value on standard
    /// output.
    pub fn program<W: Into<OsString>>(
        mut self,
        tier: Tier,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Registered, BadTool> {
        self.declaration.tier = tier;
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let seen = Seen::of(super::absolute(&words));
        self.finish(Works::Program { words, reads: Vec::new(), seen })
    }

    fn finish(self, works: Works) -> Result<Registered, BadTool> {
        self.declaration.check()?;
        Ok(Registered { declaration: self.declaration, works })
    }
}

/// The tools that are always there.
pub(super) fn shipped() -> Vec<Registered> {
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
    let works = Works::Inline(Closure::new(run));
    declaration.map(|declaration| Registered { declaration, works }).into_iter().collect()
}
