//! Checks values against a JSON Schema, by the crate `jsonschema`.

use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value;

use super::Violation;

/// At most this many violations are reported.
const VIOLATIONS_MAX: usize = 8;
/// A message is cut here: it may quote the input.
const MESSAGE_CHARS_MAX: usize = 300;

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles a schema, or says why it is not one.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::meta::validate(schema).map_err(|error| message(&error))?;
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        options.build(schema).map(Self).map_err(|error| message(&error))
    }

    /// What is wrong with a value, as far as is reported.
    pub(super) fn violations(&self, value: &Value) -> Vec<Violation> {
        let violation = |error: ValidationError<'_>| Violation {
            pointer: error.instance_path().to_string(),
            message: message(&error),
        };
        self.0.iter_errors(value).take(VIOLATIONS_MAX).map(violation).collect()
    }
}

fn message(error: &ValidationError<'_>) -> String {
    error.to_string().chars().take(MESSAGE_CHARS_MAX).collect()
}
