//! Words of the shell that change what later words mean.

use std::path::{Path, PathBuf};

use super::super::found::Found;
use super::super::pattern;
use super::simple::Made;
use super::{Failed, Walker};
use crate::knowledge::EffectKind;
use crate::shell::expand::{Bit, Field};
use crate::shell::state::{Attribute, Lookup, State, lexical};
use crate::shell::tree::Span;

impl Walker<'_> {
    /// Changes the state as the command does, where it is one of the shell's own.
    pub(super) fn builtin(&mut self, made: &Made<'_>, state: &mut State) -> Failed {
        let (name, arguments) = without_prefixes(&made.fields).split_first()?;
        match name.known()?.as_str() {
            "cd" => return self.change_folder(arguments, state),
            "pushd" => return self.push_folder(arguments, state),
            "popd" if arguments.is_empty() => state.pop_folder(),
            "popd" => state.turn_folders(),
            "local" if self.calling.is_empty() => {
                // Outside of a function it fails, and sets nothing.
                let before = state.clone();
                self.declare(arguments, &[], made.span, state);
                state.join(&before);
            }
            "export" | "declare" | "typeset" | "local" => {
                self.declare(arguments, &[], made.span, state);
            }
            "readonly" => self.declare(arguments, &[Attribute::Unruly], made.span, state),
            "read" | "mapfile" | "readarray" | "getopts" | "printf" | "wait" | "test" | "[" => {
                self.name_variables(arguments, made.span, state);
            }
            "let" => self.let_words(arguments, made.span, state),
            "unset" => {
                for argument in arguments {
                    match argument.known() {
                        Some(name) => state.unset(&name),
                        None => state.forget(),
                    }
                }
                self.evaluated(arguments, made.span);
            }
            "source" | "." => {
                self.dynamic(made.span, "what the file holds is not looked at");
                state.forget();
            }
            "alias" => note_aliases(arguments, state),
            "hash" | "enable" => state.alter(&name.shown()),
            "set" => set_options(arguments, state),
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
            "trap" | "eval" | "exec" => {}
            _ => {}
        }
        None
    }

    /// `pushd`: into a folder, and back into the one that was put aside where none is named.
    fn push_folder(&mut self, arguments: &[Field], state: &mut State) -> Failed {
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

    /// `cd`: into a folder that is there, or into one that may be.
    fn change_folder(&mut self, arguments: &[Field], state: &mut State) -> Failed {
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
                .filter_map(|folder| self.view.real(folder.join(&path).as_os_str()));
            folders.extend(real);
        }
        state.move_to(folders);
        if is_there && is_known { None } else { Some(before) }
    }

    /// The folders that a pattern stands for now.
    fn folders_like(&mut self, field: &Field, state: &State) -> Option<Vec<PathBuf>> {
        let mut found = Vec::new();
        for folder in state.folders().iter().filter(|_| field.is_pattern()) {
            let view = self.view_from(folder)?;
            let paths = pattern::paths(field, &view)?;
            found.extend(paths.iter().map(|path| lexical(folder, path)));
        }
        found.retain(|folder| self.can_enter(folder));
        Some(found).filter(|found| !found.is_empty())
    }

    /// Whether a folder is there, and nothing in the line takes it away.
    fn can_enter(&self, folder: &Path) -> bool {
        let is_gone = |found: &Found| {
            let places = found.targets(EffectKind::Delete).flat_map(|one| found.places(one));
            places.into_iter().any(|place| folder.starts_with(place))
        };
        self.view.real(folder.as_os_str()).is_some_and(|real| real.is_dir())
            && !self.found.iter().any(is_gone)
    }

    /// `export A=b`
    fn declare(
        &mut self,
        arguments: &[Field],
        attributes: &[Attribute],
        span: Span,
        state: &mut State,
    ) {
        let options: String = arguments
            .iter()
            .filter_map(Field::known)
            .filter(|text| text.starts_with('-'))
            .collect();
        if options.contains('n') {
            // A name for another variable: nothing that is set later is what it seems.
            self.references(arguments, span);
            state.forget();
            return;
        }
        let attributes: Vec<Attribute> =
            attributes.iter().copied().chain(options.chars().filter_map(attribute)).collect();
        for argument in arguments {
            let Some((name, value)) = assignment(argument) else {
                match argument.known() {
                    Some(name) => attributes.iter().for_each(|one| state.give(&name, *one)),
                    None => state.forget(),
                }
                continue;
            };
            if self.is_hazard(&name) {
                self.note_variable(&name, argument.span);
                state.alter(&name);
            }
            if attributes.contains(&Attribute::Integer) {
                state.give(&name, Attribute::Integer);
            }
            self.given(&name, value.as_deref(), argument.span, state);
            state.set(&name, value);
            for one in &attributes {
                state.give(&name, *one);
            }
        }
        self.evaluated(arguments, span);
    }

    /// `declare -n a=b`: a subscript in the name is evaluated where it is used.
    fn references(&mut self, arguments: &[Field], span: Span) {
        let is_plain = |field: &Field| field.known().is_some_and(|text| !text.contains('['));
        if !arguments.iter().all(is_plain) {
            self.dynamic(span, "what this is a name for is not known before the run");
        }
    }

    /// Builtins that set the variables which their words name.
    fn name_variables(&mut self, arguments: &[Field], span: Span, state: &mut State) {
        for argument in arguments {
            match argument.known() {
                Some(text) => {
                    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    // `-vx`, `-rax`: the name may be glued to letters of options.
                    let glued = text.strip_prefix('-').unwrap_or_default().char_indices();
                    let glued = glued.filter_map(|(at, _)| text.get(at.saturating_add(2)..));
                    let split = text.split(|c| !is_name(c)).filter(|name| !name.is_empty());
                    for name in split.chain(glued.filter(|name| name.chars().all(is_name))) {
                        if !matches!(state.lookup(name), Lookup::Unassigned) || is_variable(name) {
                            self.set_unless_read_only(name, state);
                        }
                    }
                }
                // Values are words of these builtins too, and most of the words are.
                None if argument.single => {}
                None => state.forget(),
            }
        }
        self.evaluated(arguments, span);
    }

    fn set_unless_read_only(&mut self, name: &str, state: &mut State) {
        state.set(name, None);
        if self.is_hazard(name) {
            state.alter(name);
        }
    }

    /// Subscripts in the words of a builtin are evaluated, quotes or not.
    fn evaluated(&mut self, arguments: &[Field], span: Span) {
        let holds_code = |field: &Field| {
            field.known().is_some_and(|text| text.contains("$(") || text.contains('`'))
        };
        if arguments.iter().any(holds_code) {
            self.dynamic(span, "the shell evaluates what stands in a subscript here");
        }
    }
}

/// The words behind `command`, `builtin` and their options; none behind `command -v`.
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

/// `A=b` in the words of a declaration: the name, and the value where it is known.
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

/// Words of the grammar for which an alias may stand too.
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
                    // One for `if` or `{` is taken where no command is seen.
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

fn set_options(arguments: &[Field], state: &mut State) {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.known().as_deref() {
            Some("-o") => match words.next().and_then(Field::known).as_deref() {
                Some("errexit") => state.stop_at_failure(),
                Some("keyword") | None => state.alter("set -k"),
                Some("physical") => state.go_by_links(),
                Some(_) => {}
            },
            Some("--") => {
                state.set_positional(Some(words.cloned().collect()));
                return;
            }
            Some(text) if text.starts_with('-') || text.starts_with('+') => {
                if text.starts_with('-') && text.contains('e') {
                    state.stop_at_failure();
                }
                if text.starts_with('-') && text.contains('k') {
                    // Words like `a=b` are taken from what follows a program.
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
                return;
            }
        }
    }
}

fn attribute(option: char) -> Option<Attribute> {
    match option {
        'r' | 'l' | 'u' | 'c' => Some(Attribute::Unruly),
        'i' => Some(Attribute::Integer),
        'A' => Some(Attribute::Keyed),
        _ => None,
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
