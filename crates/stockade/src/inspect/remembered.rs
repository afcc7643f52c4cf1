//! Programs of the system that were looked up a moment ago.
//!
//! Only a shell's commands are looked up here: the shell finds them by name again, whenever it
//! gets there. What the gate itself starts is always found anew.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::program::{NoProgram, Place, Program};

/// How long a program is taken for what it was.
const MOMENT: Duration = Duration::from_secs(1);
/// More names than a person's lines have; beyond it all is forgotten.
const NAMES_MAX: usize = 512;

/// When it was looked up, and what was found.
type Entry = (Instant, Result<Arc<Program>, NoProgram>);

/// What was found, by the name that was looked up.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    names: Mutex<HashMap<OsString, Entry>>,
}

impl Remembered {
    /// What was found a moment ago, or is found now. Files of the project are always found anew.
    pub(super) fn get_or_find(
        &self,
        name: &OsStr,
        find: impl FnOnce() -> Result<Arc<Program>, NoProgram>,
    ) -> Result<Arc<Program>, NoProgram> {
        let names = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let known =
            names().get(name).filter(|(then, _)| now.duration_since(*then) < MOMENT).cloned();
        if let Some((_, found)) = known {
            return found;
        }
        let found = find();
        let lasts = match &found {
            Ok(program) => program.place == Place::System,
            Err(why) => *why == NoProgram::Missing,
        };
        if lasts {
            let mut names = names();
            if names.len() >= NAMES_MAX {
                names.clear();
            }
            names.insert(name.to_owned(), (now, found.clone()));
        }
        found
    }
}
