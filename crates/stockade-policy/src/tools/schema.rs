//! JSON Schema of a tool's input: compiled once, checked before every call, nothing coerced.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::validator::Validator;

/// What the input of a tool looks like.
#[derive(Clone)]
pub struct Schema {
    written: Arc<Value>,
    /// None where any object will do.
    validator: Option<Arc<Validator>>,
}

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
        let validator = Validator::compile(&written).map_err(BadSchema)?;
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
        match &self.validator {
            Some(validator) => validator.violations(input),
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

impl std::hash::Hash for Schema {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.written.hash(state);
    }
}

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
