//! Builtins that change the state of the shell.

use std::path::{Path, PathBuf};

use super::super::command::CommandSummary;
use super::super::pattern;
use super::simple::ExpandedCommand;
use super::variables::base_name;
use super::{StateOnFailure, Walker};
use crate::catalog::EffectKind;
use crate::shell::expand::{Bit, Field};
use crate::shell::operands;
use crate::shell::printed::{self, PrintedText};
use crate::shell::state::{Attribute, Lookup, State, lexical};

impl Walker<'_> {
    /// Changes the state as the command does, if it is a builtin.
    pub(super) fn builtin(
        &mut self,
        made: &ExpandedCommand<'_>,
        state: &mut State,
    ) -> StateOnFailure {
        let (name, arguments) = without_prefixes(&made.fields).split_first()?;
        match name.known()?.as_str() {
            "cd" => return self.change_folder(arguments, state),
            "pushd" => return self.push_folder(arguments, state),
            "popd" if arguments.is_empty() => state.pop_folder(),
            "popd" => state.turn_folders(),
            "local" if self.calling.is_empty() => {
                // Outside a function it fails and sets nothing.
                let before = state.clone();
                self.declare(arguments, &[], made.span, state);
                state.join(&before);
            }
            "declare" | "typeset" | "local" => {
                self.begin_anew(arguments, made.span, state);
                self.declare(arguments, &[], made.span, state);
            }
            "export" => self.declare(arguments, &[], made.span, state),
            "readonly" => self.declare(arguments, &[Attribute::Unruly], made.span, state),
            "test" => self.tested(arguments, made.span, state),
            "[" => {
                let (_, words) = arguments.split_last()?;
                self.tested(words, made.span, state);
            }
            "source" | "." => {
                self.dynamic(made.span, "what the file holds is not looked at");
                state.forget();
            }
            "alias" => note_aliases(arguments, state),
            "hash" | "enable" => state.alter(&name.shown()),
            "set" => {
                let words = set_options(arguments, state);
                self.note_positional(words, state);
            }
            "shift" => {
                let count = match arguments.first() {
                    Some(count) => count.known().and_then(|count| count.parse().ok()),
                    None => Some(1),
                };
                state.shift(count);
            }
            "shopt" => {
                let is_it = |name: String| name == "lastpipe";
                if arguments.iter().any(|argument| argument.known().is_none_or(is_it)) {
                    state.pipe_last();
                }
            }
            name => {
                if let Some(builtin) = operands::builtin(name) {
                    self.operands(builtin, arguments, made.span, state);
                }
                if name == "printf" {
                    self.formatted(arguments, made.span, state);
                    self.note_formatted(arguments, state);
                }
                if name == "read" {
                    self.read_text(made, arguments, state);
                }
            }
        }
        None
    }

    /// `printf -v x`: the words and the text that the variable has then.
    fn note_formatted(&mut self, arguments: &[Field], state: &mut State) {
        let [option, variable, words @ ..] = arguments else { return };
        if option.known().as_deref() != Some("-v") {
            return;
        }
        let variable = variable.known().unwrap_or_default();
        self.note_variable_words(&variable, words, None, state);
        let texts: Option<Vec<String>> = words.iter().map(Field::known).collect();
        let texts = texts.unwrap_or_default();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if let Some(text) = printed::formatted(&texts) {
            Self::note_entries(base_name(&variable), &variable, &text, false, state);
        }
    }

    /// `read x` where the line holds the text that it reads, and that is one line.
    fn read_text(&mut self, made: &ExpandedCommand<'_>, arguments: &[Field], state: &mut State) {
        let own = printed::given(made.redirects, state);
        let piped = self.piped.clone().filter(|_| made.redirects.is_empty());
        let Some(PrintedText::Text(text)) = own.or(piped) else { return };
        let words: Option<Vec<String>> = arguments.iter().map(Field::known).collect();
        let words = words.unwrap_or_default();
        let name = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["-r", name] | [name] if !name.starts_with('-') => (*name).to_owned(),
            _ => return,
        };
        let text = text.trim_end_matches('\n');
        if !text.contains(['\n', '\\']) {
            self.note_variable_words(&name, &[Field::of(text, made.span)], None, state);
            Self::note_entries(base_name(&name), &name, text, false, state);
        }
    }

    /// `pushd`: changes to a folder, or back to the one on the stack.
    fn push_folder(&mut self, arguments: &[Field], state: &mut State) -> StateOnFailure {
        let turns = |field: &Field| match field.known() {
            Some(text) => text.len() > 1 && text.starts_with(['-', '+']),
            None => false,
        };
        if arguments.is_empty() {
            state.swap_folder();
            return None;
        }
        if arguments.iter().any(turns) {
            state.turn_folders();
            return None;
        }
        state.push_folder();
        self.change_folder(arguments, state)
    }

    /// `cd`: to an existing folder, or to one that may exist.
    fn change_folder(&mut self, arguments: &[Field], state: &mut State) -> StateOnFailure {
        let is_option = |field: &&Field| {
            field.known().is_some_and(|text| text.len() > 1 && text.starts_with('-'))
        };
        let mut targets = arguments.iter().filter(|field| !is_option(field));
        let (target, is_one) = (targets.next(), targets.next().is_none());
        let before = state.clone();
        if let Some(folders) = target.and_then(|field| self.folders_like(field, state)) {
            state.move_to(folders);
            return Some(before);
        }
        let of_variable = |name: &str| match state.lookup(name) {
            Lookup::Known(path) => Some(path.to_owned()),
            Lookup::Number | Lookup::Unknown | Lookup::Unassigned => None,
        };
        let path = match target {
            None => of_variable("HOME"),
            Some(field) => match field.known() {
                Some(back) if back == "-" => of_variable("OLDPWD").or(Some(back)),
                known => known,
            },
        };
        let Some(path) = path.filter(|_| state.lookup("CDPATH") == Lookup::Unassigned) else {
            state.move_to(Vec::new());
            return Some(before);
        };
        if path == "-" {
            state.move_to(before.before().to_vec());
            return None;
        }
        let mut folders: Vec<PathBuf> =
            before.folders().iter().map(|folder| lexical(folder, Path::new(&path))).collect();
        if folders.is_empty() && path.starts_with('/') {
            folders.push(PathBuf::from(&path));
        }
        let is_there = is_one && folders.iter().all(|folder| self.can_enter(folder));
        let is_known = !folders.is_empty();
        let is_physical = |field: &Field| field.known().is_some_and(|text| text.contains('P'));
        if state.goes_by_links() || arguments.iter().filter(is_option).any(is_physical) {
            let real = before
                .folders()
                .iter()
                .filter_map(|folder| self.resolver.real(folder.join(&path).as_os_str()));
            folders.extend(real);
        }
        state.move_to(folders);
        if is_there && is_known { None } else { Some(before) }
    }

    /// The folders that a pattern matches now.
    fn folders_like(&mut self, field: &Field, state: &State) -> Option<Vec<PathBuf>> {
        let mut found = Vec::new();
        for folder in state.folders().iter().filter(|_| field.is_pattern()) {
            let resolver = self.view_from(folder)?;
            let paths = pattern::paths(field, &resolver)?;
            found.extend(paths.iter().map(|path| lexical(folder, path)));
        }
        found.retain(|folder| self.can_enter(folder));
        Some(found).filter(|found| !found.is_empty())
    }

    /// Whether a folder exists and no command of the line removes it.
    fn can_enter(&self, folder: &Path) -> bool {
        let is_gone = |found: &CommandSummary| {
            let places = found.targets(EffectKind::Delete).flat_map(|one| found.places(one));
            places.into_iter().any(|place| folder.starts_with(place))
        };
        self.resolver.real(folder.as_os_str()).is_some_and(|real| real.is_dir())
            && !self.found.iter().any(is_gone)
    }
}

/// The words after `command`, `builtin` and their options; none after `command -v`.
fn without_prefixes(fields: &[Field]) -> &[Field] {
    let mut words = fields;
    while let Some((first, rest)) = words.split_first()
        && matches!(first.known().as_deref(), Some("command" | "builtin"))
    {
        words = rest;
        while let Some((option, rest)) = words.split_first()
            && let Some(letters) = option.known().as_deref().and_then(|text| text.strip_prefix('-'))
        {
            if letters.contains(['v', 'V']) {
                return &[];
            }
            words = rest;
        }
    }
    words
}

/// `A=b` in a declaration: the name, and the value if known.
fn assignment(field: &Field) -> Option<(String, Option<String>)> {
    let Some(Bit::Text(text)) = field.bits.first() else { return None };
    let (name, _) = text.split_once('=')?;
    let plain = name.strip_suffix('+');
    let name = plain.unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name).to_owned();
    let value = field.known().filter(|_| plain.is_none());
    let value = value.and_then(|text| text.split_once('=').map(|(_, value)| value.to_owned()));
    Some((name, value))
}

/// Keywords that an alias may replace as well.
const RESERVED: [&str; 21] = [
    "!", "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "in", "select", "function", "time", "coproc", "[[",
];

fn note_aliases(arguments: &[Field], state: &mut State) {
    for argument in arguments {
        match argument.known() {
            Some(text) => {
                if let Some((name, code)) = text.split_once('=') {
                    state.set_alias(name, Some(code.to_owned()));
                    // An alias for `if` or `{` is expanded where the parser sees no command.
                    if RESERVED.contains(&name) {
                        state.alter("alias");
                    }
                }
            }
            None => match assignment(argument) {
                Some((name, _)) if !RESERVED.contains(&name.as_str()) => {
                    state.set_alias(&name, None);
                }
                Some(_) | None => state.alter("alias"),
            },
        }
    }
}

/// Applies the options of `set`; the remaining words are the new positional parameters.
fn set_options<'f>(arguments: &'f [Field], state: &mut State) -> &'f [Field] {
    let mut words = arguments.iter();
    loop {
        let rest = words.as_slice();
        let Some(word) = words.next() else { return &[] };
        match word.known().as_deref() {
            Some("-o") => match words.next().and_then(Field::known).as_deref() {
                Some("errexit") => state.stop_at_failure(),
                Some("keyword") | None => state.alter("set -k"),
                Some("physical") => state.go_by_links(),
                Some(_) => {}
            },
            Some("--") => {
                let words = words.as_slice();
                state.set_positional(Some(words.to_vec()));
                return words;
            }
            Some(text) if text.starts_with('-') || text.starts_with('+') => {
                if text.starts_with('-') && text.contains('e') {
                    state.stop_at_failure();
                }
                if text.starts_with('-') && text.contains('k') {
                    // Words like `a=b` are read from the arguments of a program.
                    state.alter("set -k");
                }
                if text.starts_with('-') && text.contains('P') {
                    state.go_by_links();
                }
                if text.contains('o') {
                    words.next();
                }
            }
            Some(_) | None => {
                state.set_positional(None);
                return rest;
            }
        }
    }
}
