//! What a call shows to rules, as plain data that the caller fills.
//!
//! Nothing here is looked up: whoever makes the facts has parsed the line, resolved the paths and
//! followed the links. What could not be found out is said to be unknown, and then no rule allows.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// One call as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The tool's name or one of its aliases.
    pub tool: String,
    /// The top-level fields of the input that are text, numbers or booleans, as they came.
    pub parameters: BTreeMap<String, String>,
    /// Every simple command of a shell line or an argv, those inside wrappers and substitutions
    /// too. A part of a line that cannot be understood is a dynamic command.
    pub commands: Vec<CommandFacts>,
    /// What is read.
    pub reads: Vec<PathFacts>,
    /// What is made, changed, moved or removed.
    pub writes: Vec<PathFacts>,
    /// What is talked to.
    pub hosts: Vec<HostFacts>,
    /// The names of findings about which rules decide.
    pub findings: Vec<String>,
    /// The folder that rules without an anchor are relative to: the session's, whatever `cd` a
    /// line begins with.
    pub cwd: Place,
    /// The home folder of the person, for paths of rules that begin with `~/`: without it they match
    /// nothing.
    pub home: Option<Place>,
}

impl Facts {
    /// A call of this tool in this folder that shows nothing yet.
    pub fn new(tool: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            tool: tool.into(),
            parameters: BTreeMap::new(),
            commands: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
            findings: Vec::new(),
            cwd: Place::new(cwd),
            home: None,
        }
    }

    /// Takes the fields that rules can ask for out of a tool's input.
    pub fn set_parameters(&mut self, input: &serde_json::Map<String, serde_json::Value>) {
        use serde_json::Value::{Array, Bool, Null, Number, Object, String};
        for (name, value) in input {
            let text = match value {
                String(text) => text.clone(),
                Number(number) => number.to_string(),
                Bool(flag) => flag.to_string(),
                Null | Array(_) | Object(_) => continue,
            };
            self.parameters.insert(name.clone(), text);
        }
    }
}

/// A folder by name, and where it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As it is called; absolute.
    pub named: PathBuf,
    /// Where it lands through links; the same if there are none.
    pub real: PathBuf,
}

impl Place {
    /// A folder to which no link leads.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let named = path.into();
        Self { real: named.clone(), named }
    }
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandFacts {
    /// The program and its arguments without quotes; empty if there are only assignments. Where a
    /// wrapper adds words in the run (`xargs`), the last one is unknown.
    pub words: Vec<WordFacts>,
    /// The same command in other words that mean the same: `rm` for a link to it, `git push` for
    /// `git -C x push`. Rules that refuse see these too; those that allow do not.
    pub spellings: Vec<Vec<WordFacts>>,
    /// The assignments before it, or those that `env` makes for it.
    pub assignments: Vec<AssignmentFacts>,
    /// The wrapper that starts it.
    pub wrapper: Option<WrapperFacts>,
    /// Whether what runs cannot be known before the run.
    pub dynamic: bool,
    /// Whether it can be shown to change nothing, so that no rule has to allow it.
    pub read_only: bool,
}

impl CommandFacts {
    /// A command of known words.
    pub fn new<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| WordFacts::known(word)).collect();
        Self { words, ..Self::default() }
    }
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordFacts {
    /// What the program gets; as it is written where that is not known.
    pub text: OsString,
    /// Whether the text is what the program gets, one word and no other.
    pub known: bool,
}

impl WordFacts {
    /// A word that the program gets as it is here.
    pub fn known(text: impl Into<OsString>) -> Self {
        Self { text: text.into(), known: true }
    }

    /// A word, or several, or none, that only the run will show.
    pub fn unknown(written: impl Into<OsString>) -> Self {
        Self { text: written.into(), known: false }
    }
}

/// `name=value` before a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentFacts {
    /// The variable.
    pub name: String,
    /// What it becomes, where that is known.
    pub value: Option<OsString>,
}

/// What starts a command from inside another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapperFacts {
    /// The plain name: `timeout`, `xargs`, `bash`.
    pub name: String,
    /// The wrapper's own command, by its place in [`Facts::commands`]; it stands before those that
    /// it starts.
    pub command: usize,
}

/// One path that a call reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// As it is named, made absolute by its text alone.
    pub named: PathBuf,
    /// Where it lands through links; for a file that is not there yet, where it would be made.
    /// None where that cannot be said, and then no rule allows it.
    pub real: Option<PathBuf>,
    /// Whether this is the path that the run will use.
    pub known: bool,
    /// How much of it is meant.
    pub reach: Reach,
    /// The command whose words name it; none for a redirection and for a tool's own path.
    pub command: Option<usize>,
    /// Whether it needs no rule: `/dev/null`, or a read in a folder of the work.
    pub free: bool,
    /// Whether a call that writes it learns nothing of what was there: nothing was, or the file is
    /// replaced or deleted as a whole.
    pub unread: bool,
}

impl PathFacts {
    /// A path to which no link leads, itself alone.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let named = path.into();
        let real = Some(named.clone());
        Self {
            named,
            real,
            known: true,
            reach: Reach::Itself,
            command: None,
            free: false,
            unread: false,
        }
    }
}

/// How much of a path an effect is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The file, or the folder as a list of names.
    Itself,
    /// A folder with all that is in it: it is removed, moved or copied as a whole.
    Tree,
}

/// One host that a call talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// Its name or address, without a port.
    pub name: String,
    /// Whether this is the host that the run will use.
    pub known: bool,
    /// The command whose words name it.
    pub command: Option<usize>,
}

impl HostFacts {
    /// A host that is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), known: true, command: None }
    }
}
