//! JSON with places: every value knows the byte at which it begins, and every complaint its line
//! and column.

mod comments;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use comments::without_comments;

use crate::LoadError;
use crate::config::spot::Spot;
use crate::json;

/// A file that holds one JSON value.
pub(crate) struct Document<'t> {
    path: &'t Path,
    text: &'t str,
}

/// One value, not yet looked into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<'t> {
    raw: &'t str,
    offset: usize,
}

impl<'t> Document<'t> {
    pub(crate) fn new(path: &'t Path, text: &'t str) -> Self {
        Self { path, text: text.strip_prefix('\u{feff}').unwrap_or(text) }
    }

    /// The value that the file is.
    pub(crate) fn root(&self) -> Result<Json<'t>, LoadError> {
        let raw = json::raw_from_str(self.text).map_err(|error| {
            let hint = hint(self.text, &error);
            let (line, column) = (error.line().max(1), error.column().max(1));
            let said = error.to_string();
            let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
            LoadError::Place {
                path: self.path.to_owned(),
                line,
                column,
                message: format!("invalid JSON: {said}{hint}"),
            }
        })?;
        Ok(self.placed(raw))
    }

    /// The members of an object, in their order; one that is there twice is an error, because only
    /// one of them could be meant.
    pub(crate) fn object(
        &self,
        json: Json<'t>,
        name: &str,
    ) -> Result<Vec<(String, Json<'t>)>, LoadError> {
        let members: Members<'t> = self.take(json, name, "an object, as {\"key\": …}")?;
        let mut seen = BTreeSet::new();
        let mut read: Vec<(String, Json<'t>)> = Vec::new();
        for (key, raw) in members.0 {
            let json = self.placed(raw);
            if !seen.insert(key.clone()) {
                let message = format!("`{key}` is there twice; put what is meant into one of them");
                return Err(self.wrong(json, message));
            }
            read.push((key, json));
        }
        Ok(read)
    }

    /// The values of a list.
    pub(crate) fn list(&self, json: Json<'t>, name: &str) -> Result<Vec<Json<'t>>, LoadError> {
        let values: Vec<&'t RawValue> = self.take(json, name, "a list, as [\"…\"]")?;
        Ok(values.into_iter().map(|raw| self.placed(raw)).collect())
    }

    /// The texts of a list, each with its place.
    pub(crate) fn texts(
        &self,
        json: Json<'t>,
        name: &str,
    ) -> Result<Vec<(String, Json<'t>)>, LoadError> {
        let values = self.list(json, name)?;
        values.into_iter().map(|value| Ok((self.text(value, name)?, value))).collect()
    }

    /// A text.
    pub(crate) fn text(&self, json: Json<'t>, name: &str) -> Result<String, LoadError> {
        self.take(json, name, "text in quotes")
    }

    /// A boolean.
    pub(crate) fn flag(&self, json: Json<'t>, name: &str) -> Result<bool, LoadError> {
        self.take(json, name, "true or false")
    }

    /// Whatever it is, as data.
    pub(crate) fn data(&self, json: Json<'t>, name: &str) -> Result<serde_json::Value, LoadError> {
        self.take(json, name, "less deep")
    }

    /// The line on which a value begins.
    pub(crate) fn line(&self, json: Json<'t>) -> usize {
        Spot::of(self.text, json.offset).line
    }

    /// A complaint about a value.
    pub(crate) fn wrong(&self, json: Json<'t>, message: impl Into<String>) -> LoadError {
        let Spot { line, column } = Spot::of(self.text, json.offset);
        LoadError::Place { path: self.path.to_owned(), line, column, message: message.into() }
    }

    fn take<T: Deserialize<'t>>(
        &self,
        json: Json<'t>,
        name: &str,
        wanted: &str,
    ) -> Result<T, LoadError> {
        // The values were counted with the whole file.
        serde_json::from_str(json.raw).map_err(|_kind| {
            let is = json.kind();
            self.wrong(json, format!("`{name}` is {is} here; write {wanted}"))
        })
    }

    fn placed(&self, raw: &'t RawValue) -> Json<'t> {
        let raw = raw.get();
        // A raw value is a part of the text that it was read from, so this is its place there.
        let offset = raw.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        Json { raw, offset }
    }
}

impl Json<'_> {
    fn kind(self) -> &'static str {
        match self.raw.bytes().next() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "text",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}

/// What a mistake in the form of a file probably is.
fn hint(text: &str, error: &serde_json::Error) -> &'static str {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let said = error.to_string();
    if text.trim().is_empty() {
        "; write {} for no settings"
    } else if said.contains("trailing comma")
        || (said.contains("key must be a string") && line.trim_start().starts_with('}'))
    {
        "; leave out the comma before the bracket"
    } else if line.contains("/*") {
        "; a comment ends with */"
    } else if said.contains("expected `,`") {
        "; is there a comma missing?"
    } else if line.contains('\'') {
        "; texts are in double quotes"
    } else {
        ""
    }
}

/// The members of an object as they are written.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Members<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
