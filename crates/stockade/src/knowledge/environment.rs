//! Variables that change what programs run, from their own data file.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use super::Broken;
use super::glob::Glob;

/// The data, parsed when a variable is first asked about.
#[derive(Debug)]
pub(super) struct Variables {
    file: &'static str,
    text: &'static str,
    parsed: OnceLock<Result<Vec<Variable>, Broken>>,
}

/// One or several variables that are dangerous for one reason.
#[derive(Debug)]
pub(super) struct Variable {
    names: Vec<Glob>,
    pub(super) why: Arc<str>,
    pub(super) instead: Option<Arc<str>>,
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
    pub(super) fn new(file: &'static str, text: &'static str) -> Self {
        Self { file, text, parsed: OnceLock::new() }
    }

    /// The entry for a variable of this name.
    pub(super) fn find(&self, name: &[u8]) -> Result<Option<&Variable>, Broken> {
        let variables = self.all()?;
        let of = |variable: &&Variable| variable.names.iter().any(|glob| glob.fits(name));
        Ok(variables.iter().find(of))
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> Result<usize, Broken> {
        self.all().map(Vec::len)
    }

    fn all(&self) -> Result<&Vec<Variable>, Broken> {
        self.parsed.get_or_init(|| self.parse()).as_ref().map_err(Clone::clone)
    }

    fn parse(&self) -> Result<Vec<Variable>, Broken> {
        let broken = |message: String| Broken::new(self.file, 1, message);
        let file: File = toml::from_str(self.text).map_err(|error| broken(error.to_string()))?;
        let mut variables = Vec::with_capacity(file.variable.len());
        for entry in &file.variable {
            let names = Glob::all(&entry.names);
            let fits = |name: &String| names.iter().any(|glob| glob.fits(name.as_bytes()));
            if entry.refused.is_empty() || entry.allowed.is_empty() {
                return Err(broken(format!("{:?} lack examples", entry.names)));
            }
            if let Some(name) = entry.refused.iter().find(|name| !fits(name)) {
                return Err(broken(format!("{name} is not refused by {:?}", entry.names)));
            }
            if let Some(name) = entry.allowed.iter().find(|name| fits(name)) {
                return Err(broken(format!("{name} is refused by {:?}", entry.names)));
            }
            variables.push(Variable {
                names,
                why: entry.why.as_str().into(),
                instead: entry.instead.as_deref().map(Into::into),
            });
        }
        Ok(variables)
    }
}
