//! Variables that change what programs run, from their own data file.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use super::BrokenEntry;
use super::glob;
use crate::pattern::Pattern;

/// The data, parsed when a variable is first asked about.
#[derive(Debug)]
pub(super) struct Variables {
    text: &'static str,
    parsed: OnceLock<Result<Vec<Variable>, BrokenEntry>>,
}

/// One or several variables that are dangerous for one reason.
#[derive(Debug)]
pub(super) struct Variable {
    names: Vec<Pattern>,
    pub(super) why: Arc<str>,
    pub(super) instead: Option<Arc<str>>,
    refused: Vec<String>,
    allowed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    variable: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    names: Vec<String>,
    why: String,
    instead: Option<String>,
    refused: Vec<String>,
    allowed: Vec<String>,
}

impl Variables {
    pub(super) fn new(text: &'static str) -> Self {
        Self { text, parsed: OnceLock::new() }
    }

    /// The entry for a variable of this name.
    pub(super) fn find(&self, name: &[u8]) -> Result<Option<&Variable>, BrokenEntry> {
        let variables = self.all()?;
        let of = |variable: &&Variable| glob::fit(&variable.names, name);
        Ok(variables.iter().find(of))
    }

    /// Checks the examples, and says how many entries there are.
    pub(super) fn check(&self) -> Result<usize, BrokenEntry> {
        for Variable { names, refused, allowed, .. } in self.all()? {
            let fits = |name: &&String| glob::fit(names, name.as_bytes());
            if refused.is_empty() || allowed.is_empty() {
                return Err(broken(format!("{names:?} lack examples")));
            }
            if let Some(name) = refused.iter().find(|name| !fits(name)) {
                return Err(broken(format!("{name} is not refused by {names:?}")));
            }
            if let Some(name) = allowed.iter().find(fits) {
                return Err(broken(format!("{name} is refused by {names:?}")));
            }
        }
        self.all().map(Vec::len)
    }

    fn all(&self) -> Result<&Vec<Variable>, BrokenEntry> {
        self.parsed.get_or_init(|| self.parse()).as_ref().map_err(Clone::clone)
    }

    fn parse(&self) -> Result<Vec<Variable>, BrokenEntry> {
        let file: File =
            serde_json::from_str(self.text).map_err(|error| broken(error.to_string()))?;
        let variable = |entry: Entry| Variable {
            names: glob::all(&entry.names),
            why: entry.why.into(),
            instead: entry.instead.map(Into::into),
            refused: entry.refused,
            allowed: entry.allowed,
        };
        Ok(file.variable.into_iter().map(variable).collect())
    }
}

fn broken(message: String) -> BrokenEntry {
    BrokenEntry { file: "programs/environment.toml", line: 1, message }
}
