//! The JSON Schema of policy files: keys and types are those of the types that a file is read into,
//! words and forms of values come from one table.

mod keys;
mod trace;

use serde_json::{Map, Value, json};

use self::keys::{Key, TextForm, key};
use self::trace::{Shape, TraceError, shape};
use crate::config::entry::Table;
use crate::config::file::PolicyFile;

/// The schema, for editors and for whoever writes policies by program.
///
/// ```
/// let schema = stockade_policy::schema()?;
/// assert!(schema["properties"]["rules"]["properties"]["deny"]["description"].is_string());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn schema() -> Result<Value, TraceError> {
    let rule = shape::<Table>()?;
    let mut schema = Writer { rule: &rule }.of("", &shape::<PolicyFile>()?);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
        schema.insert("title".to_owned(), "A policy of Stockade (stockade.toml)".into());
    }
    Ok(schema)
}

struct Writer<'s> {
    /// The long form of a rule.
    rule: &'s Shape,
}

impl Writer<'_> {
    /// The schema of what is at a path, with its words.
    fn of(&self, path: &str, shape: &Shape) -> Value {
        let key = key(path);
        let mut schema = self.bare(path, shape, key);
        if let (Value::Object(schema), Some(key)) = (&mut schema, key) {
            schema.insert("description".to_owned(), key.says.into());
        }
        schema
    }

    fn bare(&self, path: &str, shape: &Shape, key: Option<&Key>) -> Value {
        match shape {
            Shape::Text => text(key.map_or(TextForm::Plain, |key| key.form)),
            Shape::Number => json!({"type": "integer", "minimum": key.map_or(0, |key| key.least)}),
            Shape::Truth => json!({"type": "boolean"}),
            Shape::List(inner) => {
                let inner = if matches!(**inner, Shape::Table(_)) {
                    self.of(&format!("{path}[]"), inner)
                } else {
                    self.bare(path, inner, key)
                };
                json!({"type": "array", "items": inner})
            }
            Shape::Named(inner) => {
                let inner = self.of(&format!("{path}.*"), inner);
                json!({"type": "object", "additionalProperties": inner})
            }
            Shape::Table(fields) => self.table(path, fields),
            Shape::Either => match key.map(|key| key.form) {
                Some(TextForm::Rule) => {
                    json!({"anyOf": [{"type": "string"}, self.of("rule", self.rule)]})
                }
                Some(TextForm::TextOrTable) => json!({"type": ["string", "object"]}),
                Some(TextForm::Plain | TextForm::Like(_) | TextForm::OneOf(_)) | None => json!({}),
            },
        }
    }

    fn table(&self, path: &str, fields: &[(&'static str, Shape)]) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, shape) in fields {
            let below = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
            if key(&below).is_some_and(|key| key.required) {
                required.push(*name);
            }
            properties.insert((*name).to_owned(), self.of(&below, shape));
        }
        let mut table =
            json!({"type": "object", "properties": properties, "additionalProperties": false});
        if let (Value::Object(table), false) = (&mut table, required.is_empty()) {
            table.insert("required".to_owned(), required.into());
        }
        table
    }
}

fn text(form: TextForm) -> Value {
    match form {
        TextForm::Plain | TextForm::Rule | TextForm::TextOrTable => json!({"type": "string"}),
        TextForm::Like(pattern) => json!({"type": "string", "pattern": pattern}),
        TextForm::OneOf(values) => json!({"type": "string", "enum": values()}),
    }
}
