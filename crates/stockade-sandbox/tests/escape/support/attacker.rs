//! This test binary as the attacker: `attacks_when_asked` does nothing, unless a variable names an
//! attack.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::PathBuf;

/// Names the attack.
pub(crate) const ATTACK: &str = "STOCKADE_ESCAPE_ATTACK";
/// Names the scene's folder.
pub(crate) const PLACE: &str = "STOCKADE_ESCAPE_PLACE";
/// Goes before what else the harness tells.
pub(crate) const FACT: &str = "STOCKADE_ESCAPE_FACT_";
/// Goes before the attacker's answer.
pub(crate) const ANSWER: &str = "escape-answer:";
/// The arguments that make this test binary the attacker.
pub(crate) const ARGS: [&str; 4] =
    ["--exact", "support::attacker::attacks_when_asked", "--nocapture", "--test-threads=1"];

/// What the attacker knows.
#[derive(Debug)]
pub(crate) struct Aim {
    place: PathBuf,
    facts: BTreeMap<String, String>,
}

impl Aim {
    /// A file outside the sandbox.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.place.join("outside").join(name)
    }

    /// A file in the folder that can only be read.
    pub(crate) fn shown(&self, name: &str) -> PathBuf {
        self.place.join("shown").join(name)
    }

    /// A file in the project, which is the working directory too.
    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.place.join("project").join(name)
    }

    /// A file in the folder of tools, which can only be read, and only as everybody may.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.place.join("tools").join(name)
    }

    /// What the harness told besides.
    pub(crate) fn fact(&self, name: &str) -> String {
        self.facts.get(name).unwrap().clone()
    }

    /// A number that the harness told.
    pub(crate) fn number(&self, name: &str) -> usize {
        self.fact(name).parse().unwrap()
    }
}

#[test]
fn attacks_when_asked() {
    let Ok(name) = env::var(ATTACK) else { return };
    let facts = env::vars().filter_map(|(name, value)| {
        let name = name.strip_prefix(FACT)?;
        Some((name.to_owned(), value))
    });
    let aim = Aim { place: env::var_os(PLACE).unwrap().into(), facts: facts.collect() };
    let mut all = crate::GROUPS.into_iter().flatten();
    let attack = all.find(|attack| attack.name() == name).unwrap();
    let answer = match (attack.attempt)(&aim) {
        Ok(loot) => format!("reached {loot}"),
        Err(error) => match error.raw_os_error() {
            Some(errno) => format!("errno {errno}"),
            None => format!("nothing {error}"),
        },
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{ANSWER}{answer}").unwrap();
}
