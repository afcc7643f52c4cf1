//! What is known of a shell while its line is read: variables, functions, the folder it is in.

mod attributes;
mod later;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::ast::Statement;
use super::expand::Field;
use super::special::{NUMBERS, is_set_by_the_shell};
pub use attributes::Attribute;

/// Folders that a shell may be in before it could be anywhere.
const FOLDERS_MAX: usize = 4;

/// Bytes of a value that is kept: `x=$x$x` doubles it.
const VALUE_MAX: usize = 8 << 10;

/// The state of one shell; a copy is cheap, and is what a subshell has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    variables: Rc<BTreeMap<String, Value>>,
    functions: Rc<BTreeMap<String, Vec<Rc<Statement>>>>,
    aliases: Rc<BTreeMap<String, Option<String>>>,
    positional: Option<Rc<Vec<Field>>>,
    /// Where it is; empty where that is not known.
    folders: Vec<PathBuf>,
    before: Vec<PathBuf>,
    /// What `pushd` has put aside.
    aside: Vec<Vec<PathBuf>>,
    settled: Certainty,
    /// What changes which programs run: a variable, a builtin.
    altered: Option<String>,
    /// `set -e`: what comes after a statement runs only if that one succeeded.
    stops: bool,
    /// `shopt -s lastpipe`: the last part of a pipeline runs in this shell.
    last_pipes: bool,
    by_links: bool,
    attributes: Rc<BTreeSet<(String, Attribute)>>,
    /// The variables of the environment, as they were at first.
    inherited: Rc<BTreeMap<String, Value>>,
}

/// How much is known of what is not written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    /// What is not there is not set.
    Whole,
    /// Variables may be set that are not there.
    Apart,
    /// Anything may have been set, by code that nobody has read.
    Not,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Known(String),
    /// Not known, but a number, or nothing where the variable has been unset meanwhile.
    Number,
    Unknown,
}

impl Value {
    fn is_number(&self) -> bool {
        match self {
            Self::Known(text) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Number => true,
            Self::Unknown => false,
        }
    }
}

/// What is known of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<'s> {
    /// Its value.
    Known(&'s str),
    /// A number, or nothing.
    Number,
    /// It has been set, or may have been.
    Unknown,
    /// Nothing in the line sets it.
    Unassigned,
}

impl State {
    /// A shell that starts in a folder, with the variables that are known of its environment.
    pub fn new(folder: &Path, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut known: BTreeMap<String, Value> =
            variables.into_iter().map(|(name, value)| (name, Value::Known(value))).collect();
        known.insert("IFS".to_owned(), Value::Known(" \t\n".to_owned()));
        let variables = Rc::new(known);
        let mut state = Self {
            inherited: Rc::clone(&variables),
            variables,
            functions: Rc::default(),
            aliases: Rc::default(),
            positional: None,
            folders: Vec::new(),
            before: Vec::new(),
            aside: Vec::new(),
            settled: Certainty::Whole,
            altered: None,
            stops: false,
            last_pipes: false,
            by_links: false,
            attributes: Rc::default(),
        };
        state.move_to(vec![folder.to_owned()]);
        state
    }

    /// What is known of a variable.
    pub fn lookup(&self, name: &str) -> Lookup<'_> {
        match self.variables.get(name) {
            Some(Value::Known(text)) => Lookup::Known(text),
            Some(Value::Number) => Lookup::Number,
            Some(Value::Unknown) => Lookup::Unknown,
            None if NUMBERS.contains(&name) => Lookup::Number,
            None if self.settled > Certainty::Whole || is_set_by_the_shell(name) => Lookup::Unknown,
            None => Lookup::Unassigned,
        }
    }

    /// Whether a variable holds a number, or nothing since it is not set.
    fn is_number(&self, name: &str) -> bool {
        match self.variables.get(name) {
            Some(value) => value.is_number(),
            None => matches!(self.lookup(name), Lookup::Number | Lookup::Unassigned),
        }
    }

    /// Sets a variable; `None` for a value that is not known.
    pub fn set(&mut self, name: &str, value: Option<String>) {
        let value = value.filter(|text| text.len() <= VALUE_MAX);
        let value = value.map_or(Value::Unknown, Value::Known);
        let is_own = is_set_by_the_shell(name) && name != "0";
        let is_unruly = self.is(name, Attribute::Unruly) || is_own;
        let is_integer = self.is(name, Attribute::Integer);
        let is_kept = !is_unruly && (value.is_number() || !is_integer);
        let value = match value {
            value if is_kept => value,
            // Some of the shell's own count on from what they are given.
            value if is_integer && value.is_number() && !self.is(name, Attribute::Unruly) => {
                Value::Number
            }
            _ => Value::Unknown,
        };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Sets a variable to some number.
    pub fn set_number(&mut self, name: &str) {
        let is_unruly = self.is(name, Attribute::Unruly);
        let value = if is_unruly { Value::Unknown } else { Value::Number };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Takes a variable away.
    pub fn unset(&mut self, name: &str) {
        self.lose_keys(name);
        // `unset` may fail for a read-only one, so the value is not certain to be gone.
        self.set(name, None);
    }

    /// Variables may be set that the line does not set: a program put them into the environment.
    pub fn may_hold_more(&mut self) {
        self.settled = self.settled.max(Certainty::Apart);
    }

    /// Anything may be otherwise from now on: code ran that nobody has read.
    pub fn forget(&mut self) {
        let names: Vec<String> = self.variables.keys().cloned().collect();
        for name in names {
            self.set(&name, None);
        }
        self.settled = Certainty::Not;
        self.lose_all_keys();
        self.positional = None;
        self.move_to(Vec::new());
    }

    /// Notes what makes programs other than their names say.
    pub fn alter(&mut self, why: &str) {
        self.altered.get_or_insert_with(|| why.to_owned());
    }

    /// Why programs may be other than their names say.
    pub fn altered(&self) -> Option<&str> {
        match self.settled {
            Certainty::Not => Some("code that is not known"),
            Certainty::Whole | Certainty::Apart => self.altered.as_deref(),
        }
    }

    /// Whether unquoted values are split at blanks and line ends.
    pub fn splits_as_usual(&self) -> bool {
        self.lookup("IFS") == Lookup::Known(" \t\n")
    }

    /// The words after a function's name, or after `set --`.
    pub fn positional(&self) -> Option<&[Field]> {
        self.positional.as_ref().map(|fields| fields.as_slice())
    }

    /// Sets them; `None` where they are not known.
    pub fn set_positional(&mut self, fields: Option<Vec<Field>>) {
        self.positional = fields.map(Rc::new);
    }

    /// What a function's name may stand for.
    pub fn function(&self, name: &str) -> Vec<Rc<Statement>> {
        self.functions.get(name).cloned().unwrap_or_default()
    }

    /// Defines a function. What it was before is kept: the definition may not have been reached.
    pub fn define(&mut self, name: &str, body: Rc<Statement>) {
        let bodies = Rc::make_mut(&mut self.functions).entry(name.to_owned()).or_default();
        if !bodies.contains(&body) {
            bodies.push(body);
        }
    }

    /// What an alias may stand for: its text, where that is known.
    pub fn alias(&self, name: &str) -> Option<Option<&str>> {
        self.aliases.get(name).map(Option::as_deref)
    }

    /// Notes an alias.
    pub fn set_alias(&mut self, name: &str, text: Option<String>) {
        Rc::make_mut(&mut self.aliases).insert(name.to_owned(), text);
    }

    /// The folders that it may be in; empty where that is not known.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The folders that it may have been in before.
    pub fn before(&self) -> &[PathBuf] {
        &self.before
    }

    /// Enters one of these folders; none if it is not known which.
    pub fn move_to(&mut self, mut folders: Vec<PathBuf>) {
        folders.sort_unstable();
        folders.dedup();
        if folders.len() > FOLDERS_MAX {
            folders.clear();
        }
        self.before = std::mem::replace(&mut self.folders, folders);
        let name_of = |folders: &[PathBuf]| match folders {
            [one] => one.to_str().map(str::to_owned),
            _ => None,
        };
        let (now, old) = (name_of(&self.folders), name_of(&self.before));
        self.set("PWD", now);
        self.set("OLDPWD", old);
    }

    /// `pushd`: the folder is put aside.
    pub fn push_folder(&mut self) {
        self.aside.push(self.folders.clone());
    }

    /// `popd`: into the folder that was put aside last.
    pub fn pop_folder(&mut self) {
        let folders = self.aside.pop().unwrap_or_default();
        self.move_to(folders);
    }

    /// `pushd` without a word: this folder and the one that was put aside last change places.
    pub fn swap_folder(&mut self) {
        let here = self.folders.clone();
        let there = self.aside.pop().unwrap_or_default();
        self.aside.push(here);
        self.move_to(there);
    }

    /// `pushd +1`, `popd -n`: it may be in any of the folders that were put aside, or still here.
    pub fn turn_folders(&mut self) {
        let is_known = !self.folders.is_empty() && self.aside.iter().all(|one| !one.is_empty());
        let mut all = self.folders.clone();
        all.extend(self.aside.iter().flatten().cloned());
        if !is_known {
            all.clear();
        }
        self.aside = vec![all.clone(); self.aside.len()];
        self.move_to(all);
    }

    /// `set -P`: `cd` follows links before it takes `..` away.
    pub fn go_by_links(&mut self) {
        self.by_links = true;
    }

    /// Whether `cd` may follow links before it takes `..` away.
    pub fn goes_by_links(&self) -> bool {
        self.by_links
    }

    /// `shift`: so many words go, if it is known how many and which.
    pub fn shift(&mut self, count: Option<usize>) {
        let parts = count.and_then(|count| self.positional()?.split_at_checked(count));
        let rest = parts.filter(|(gone, _)| gone.iter().all(Field::is_one));
        let rest = rest.map(|(_, rest)| rest.to_vec());
        self.set_positional(rest);
    }

    /// `set -e`
    pub fn stop_at_failure(&mut self) {
        self.stops = true;
    }

    /// Whether a statement that fails ends the shell.
    pub fn stops_at_failure(&self) -> bool {
        self.stops
    }

    /// `shopt -s lastpipe`, or what may be that.
    pub fn pipe_last(&mut self) {
        self.last_pipes = true;
    }

    /// Whether the last part of a pipeline may run in this shell.
    pub fn pipes_last(&self) -> bool {
        self.last_pipes
    }

    /// What holds whichever of the two it is.
    pub fn join(&mut self, other: &Self) {
        if self == other {
            return;
        }
        let names: Vec<String> =
            self.variables.keys().chain(other.variables.keys()).cloned().collect();
        for name in names {
            match (self.variables.get(&name), other.variables.get(&name)) {
                (mine, theirs) if mine == theirs => {}
                (_, _) if self.is_number(&name) && other.is_number(&name) => {
                    self.set_number(&name);
                }
                (_, _) => self.set(&name, None),
            }
        }
        for (name, bodies) in other.functions.iter() {
            for body in bodies {
                self.define(name, Rc::clone(body));
            }
        }
        for (name, text) in other.aliases.iter() {
            let same = self.aliases.get(name).is_none_or(|known| known == text);
            self.set_alias(name, text.clone().filter(|_| same));
        }
        if self.positional != other.positional {
            self.positional = None;
        }
        if self.aside != other.aside {
            self.aside.clear();
        }
        let (before, known) = (self.before.clone(), !self.folders.is_empty());
        let folders: Vec<PathBuf> = self.folders.iter().chain(&other.folders).cloned().collect();
        if folders != self.folders {
            let known = known && !other.folders.is_empty();
            self.move_to(if known { folders } else { Vec::new() });
            self.before = before.into_iter().chain(other.before.iter().cloned()).collect();
            self.before.sort_unstable();
            self.before.dedup();
        }
        self.settled = self.settled.max(other.settled);
        if let Some(why) = &other.altered {
            self.alter(why);
        }
        self.join_attributes(other);
        self.stops &= other.stops;
        self.last_pipes |= other.last_pipes;
        self.by_links |= other.by_links;
    }
}

/// A path from a folder, with `.` and `..` taken away as `cd` does: by the text.
pub fn lexical(folder: &Path, path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                made.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                made.push(component);
            }
        }
    }
    made
}
