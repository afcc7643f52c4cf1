//! JSON Schema of a tool's input: compiled once, checked before every call, nothing coerced.

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

/// No more of what is wrong is told.
const VIOLATIONS_MAX: usize = 8;
/// A message is no longer than this: it may quote the input.
const MESSAGE_CHARS_MAX: usize = 300;

/// What the input of a tool looks like.
#[derive(Clone)]
pub struct Schema {
    written: Arc<Value>,
    /// None where any object will do.
    validator: Option<Arc<Validator>>,
}

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// What.
    pub message: String,
}

impl Schema {
    /// Compiles a schema. Patterns are matched in linear time, and no reference leaves the schema.
    pub fn compile(written: Value) -> Result<Self, BadSchema> {
        if !written.is_object() {
            return Err(BadSchema("it is no object".to_owned()));
        }
        if let Err(error) = jsonschema::meta::validate(&written) {
            return Err(BadSchema(told(&error)));
        }
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options.build(&written).map_err(|error| BadSchema(told(&error)))?;
        Ok(Self { written: Arc::new(written), validator: Some(Arc::new(validator)) })
    }

    /// Any object.
    pub fn any_object() -> Self {
        Self { written: Arc::new(json!({"type": "object"})), validator: None }
    }

    /// The schema as it was written.
    pub fn written(&self) -> &Value {
        &self.written
    }

    /// What is wrong with an input, as far as is told; nothing if it fits.
    pub fn check(&self, input: &Value) -> Vec<Violation> {
        let violation = |error: jsonschema::ValidationError<'_>| Violation {
            pointer: error.instance_path().to_string(),
            message: told(&error),
        };
        match &self.validator {
            Some(validator) => {
                validator.iter_errors(input).take(VIOLATIONS_MAX).map(violation).collect()
            }
            None if input.is_object() => Vec::new(),
            None => vec![Violation {
                pointer: String::new(),
                message: "the input is no object".to_owned(),
            }],
        }
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.written).finish()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// Why a schema is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSchema(String);

fn told(error: &jsonschema::ValidationError<'_>) -> String {
    error.to_string().chars().take(MESSAGE_CHARS_MAX).collect()
}
