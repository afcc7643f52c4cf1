//! Commands of a shell in code of other languages that stands in the line: `awk 'BEGIN{system("…")}'`,
//! `sed '1e …'`, `make --eval`, `vim -c '!…'`, `ed <<< '!…'`. They are judged like the line; what cannot be
//! read is a question.

mod editors;
mod vim;

use editors::{commands_of_ed, commands_of_emacs, is_run_by_emacs};
use vim::{commands_of_keys, commands_of_vim};

use super::Walker;
use super::simple::ExpandedCommand;
use crate::catalog::{Word, sed_edits_only};
use crate::inspect::{Axis, Weight};
use crate::shell::ast::Span;
use crate::shell::parse;
use crate::shell::state::State;

const AWKS: [&str; 7] = ["awk", "bwk", "gawk", "goawk", "mawk", "nawk", "original-awk"];
const SEDS: [&str; 3] = ["gsed", "sed", "ssed"];
pub(super) const MAKES: [&str; 4] = ["bmake", "gmake", "make", "nmake"];
const VIMS: [&str; 14] = [
    "elvis", "evim", "ex", "gview", "gvim", "nvi", "nvim", "rview", "rvim", "vi", "view", "vile",
    "vim", "vimdiff",
];
const EDS: [&str; 2] = ["ed", "red"];
const EMACSES: [&str; 5] = ["emacs", "emacs-gtk", "emacs-lucid", "emacs-nox", "emacs-pgtk"];
/// Stands for what the code puts into a command in the run.
const HOLE: &str = "\"$UNKNOWN\"";
/// Words of commands that nobody takes back.
const DESTROYING: [&str; 10] =
    ["rm", "rmdir", "unlink", "shred", "truncate", "mv", "dd", "git", "find", "eval"];

/// A command in the text of another language.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    /// All of it, or with [`HOLE`] for what is put into it.
    Text(String),
    /// Nothing is known of it.
    Unknown,
}

impl Walker<'_> {
    /// Follows the commands in a text that a program of this name runs.
    pub(super) fn foreign_code(
        &mut self,
        names: &[String],
        text: &str,
        made: &ExpandedCommand<'_>,
        span: Span,
        state: &State,
    ) {
        let is = |known: &[&str]| is_one_of(names, known);
        let commands = if is(&AWKS) {
            commands_of_awk(text)
        } else if is(&SEDS) && !sed_edits_only(text) {
            commands_of_sed(text)
        } else if is(&MAKES) {
            commands_of_make(text)
        } else if is(&VIMS) {
            commands_of_vim(text)
        } else if is(&EMACSES) {
            commands_of_emacs(text)
        } else {
            return;
        };
        for command in commands {
            self.foreign_command(&command, made, span, state);
        }
    }

    /// Follows the commands in what an editor is given on standard input.
    pub(super) fn editor_script(
        &mut self,
        command: &EditorCommand<'_>,
        text: &str,
        made: &ExpandedCommand<'_>,
        state: &State,
    ) {
        let commands = match command.input() {
            EditorInput::Text => return,
            EditorInput::Keys => commands_of_keys(text),
            EditorInput::Script if is_one_of(command.names, &EDS) => commands_of_ed(text),
            EditorInput::Script => commands_of_vim(text),
        };
        for command in commands {
            self.foreign_command(&command, made, made.span, state);
        }
    }

    /// Marks code that is in words which are known only in the run, in files that are no files, and in
    /// functions that ask for it.
    pub(super) fn editor_words(
        &mut self,
        command: &EditorCommand<'_>,
        made: &ExpandedCommand<'_>,
        state: &State,
    ) {
        if command.has_unreadable_code() {
            self.foreign_command(&Command::Unknown, made, made.span, state);
        }
    }

    fn foreign_command(
        &mut self,
        command: &Command,
        made: &ExpandedCommand<'_>,
        span: Span,
        state: &State,
    ) {
        let is_read = match command {
            Command::Text(text) => {
                let is_word = |word: &str| DESTROYING.contains(&word);
                let mut words = text.split(|c: char| !c.is_alphanumeric());
                let is_destroying = text.contains(HOLE) && words.any(is_word);
                let faults = parse(text).faults;
                if faults.is_empty() {
                    let name = made
                        .fields
                        .first()
                        .map(stockade_shell::expand::Field::shown)
                        .unwrap_or_default();
                    self.via.push(name);
                    self.code(text, None, span, &mut state.clone());
                    self.via.pop();
                }
                faults.is_empty() && !is_destroying
            }
            Command::Unknown => false,
        };
        if !is_read {
            let text = "a program runs commands that are not known before the run".to_owned();
            let instead = "write the commands themselves";
            self.find(Axis::Shell, "unclear", text, instead, Weight::Ask, span);
        }
    }
}

/// Whether a program is one of these, also in another version: `vim.basic`, `emacs-30`.
fn is_one_of(names: &[String], known: &[&str]) -> bool {
    names.iter().any(|name| {
        let stem = name.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        known.contains(&name.as_str()) || known.contains(&stem)
    })
}

/// Whether a program of this name is an editor that takes commands from standard input.
pub(super) fn takes_commands(names: &[String]) -> bool {
    is_one_of(names, &VIMS) || is_one_of(names, &EDS)
}

/// What an editor makes of its standard input.
#[derive(Debug, PartialEq, Eq)]
enum EditorInput {
    Script,
    /// As if it were typed.
    Keys,
    /// A text to edit.
    Text,
}

/// The call of an editor.
pub(super) struct EditorCommand<'c> {
    pub(super) names: &'c [String],
    pub(super) words: &'c [Word<'static>],
}

impl EditorCommand<'_> {
    fn input(&self) -> EditorInput {
        let own = || self.words.iter().skip(1).map(|word| word.text.to_string_lossy());
        let is_ex = |word: &str| {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            letters.is_some_and(|letters| {
                letters.chars().take_while(char::is_ascii_alphabetic).any(|c| c == 'e' || c == 'E')
            })
        };
        if is_one_of(self.names, &["ed", "red", "ex"]) || own().any(|word| is_ex(&word)) {
            EditorInput::Script
        } else if own().any(|word| word == "-") {
            EditorInput::Text
        } else {
            EditorInput::Keys
        }
    }

    fn has_unreadable_code(&self) -> bool {
        let is_vim = is_one_of(self.names, &VIMS);
        if !is_vim && !is_one_of(self.names, &EMACSES) {
            return false;
        }
        let mut words = self.words.iter().skip(1).peekable();
        while let Some(word) = words.next() {
            let text = word.text.to_string_lossy();
            // A word that is known only in the run is as it is written.
            let unquoted = text.trim_start_matches(['"', '\'']);
            let (option, value) = match text.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                _ => (&*text, None),
            };
            if option == "--" {
                return false;
            }
            let next = words.peek().map(|next| (next.text.to_string_lossy(), next.is_known()));
            let (value, is_known) = match (value, &next) {
                (Some(value), _) => (value, word.is_known()),
                (None, Some((next, is_known))) => (&**next, *is_known),
                (None, None) => ("", true),
            };
            let is_device = ["/dev/", "/proc/"].iter().any(|start| value.starts_with(start));
            let is_unreadable = if is_vim {
                match option {
                    "-c" | "--cmd" => !is_known,
                    "-S" | "-u" | "-U" => is_device && value != "/dev/null" || !is_known,
                    "--remote-send" | "--remote-expr" => true,
                    _ => {
                        let starts =
                            ["+", "-c", "--cmd"].iter().any(|start| unquoted.starts_with(start));
                        starts && !word.is_known()
                    }
                }
            } else {
                match option.trim_start_matches('-') {
                    "eval" | "execute" if option.starts_with('-') => !is_known,
                    "f" | "funcall" if option.starts_with('-') => {
                        !is_known || is_run_by_emacs(value)
                    }
                    "l" | "load" | "script" | "x" if option.starts_with('-') => {
                        is_device || !is_known
                    }
                    _ => false,
                }
            };
            if is_unreadable {
                return true;
            }
        }
        false
    }
}

/// `system("…")`, `"…" | getline` and `print | "…"`.
fn commands_of_awk(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let tokens = tokens_of_awk(text);
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens.get(at.saturating_add(1)..).unwrap_or_default();
        match token {
            Token::Name("system") => {
                let inside = rest.iter().skip(1).take_while(|one| **one != Token::Sign(')'));
                found.push(command_of_awk(&inside.collect::<Vec<_>>()));
            }
            Token::Pipe if matches!(rest.first(), Some(Token::Name("getline"))) => {
                let before = tokens.get(..at).unwrap_or_default();
                let starts = |one: &&Token<'_>| !matches!(one, Token::Sign('{' | ';' | '(' | '}'));
                let mut command: Vec<&Token<'_>> = before.iter().rev().take_while(starts).collect();
                command.reverse();
                found.push(command_of_awk(&command));
            }
            Token::Pipe => {
                let goes_on = |one: &&Token<'_>| !matches!(one, Token::Sign('}' | ';' | '\n'));
                found.push(command_of_awk(&rest.iter().take_while(goes_on).collect::<Vec<_>>()));
            }
            Token::Name(_) | Token::Text(_) | Token::Sign(_) => {}
        }
    }
    found
}

fn command_of_awk(tokens: &[&Token<'_>]) -> Command {
    let mut text = String::new();
    let mut is_hole = false;
    for token in tokens {
        match token {
            Token::Text(literal) => text.push_str(literal),
            Token::Name(_) | Token::Pipe | Token::Sign(_) if !is_hole => text.push_str(HOLE),
            Token::Name(_) | Token::Pipe | Token::Sign(_) => {}
        }
        is_hole = !matches!(token, Token::Text(_));
    }
    if text.is_empty() || text.starts_with(HOLE) { Command::Unknown } else { Command::Text(text) }
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Text(String),
    Pipe,
    Sign(char),
}

/// The tokens of awk, as far as commands need them.
fn tokens_of_awk(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            '"' => {
                let mut literal = String::new();
                let mut length = 1_usize;
                let mut letters = rest.chars().skip(1);
                while let Some(letter) = letters.next() {
                    length = length.saturating_add(letter.len_utf8());
                    match letter {
                        '"' => break,
                        '\\' => {
                            let next = letters.next().unwrap_or_default();
                            length = length.saturating_add(next.len_utf8());
                            literal.push(match next {
                                'n' => '\n',
                                't' => '\t',
                                other => other,
                            });
                        }
                        letter => literal.push(letter),
                    }
                }
                tokens.push(Token::Text(literal));
                length
            }
            '/' if !tokens.last().is_some_and(ends_operand) => {
                let inside = rest.get(1..).unwrap_or_default().replace("\\/", "..");
                inside.find('/').map_or(rest.len(), |end| end.saturating_add(2))
            }
            '|' if rest.starts_with("||") => 2,
            '|' => {
                tokens.push(Token::Pipe);
                if rest.starts_with("|&") { 2 } else { 1 }
            }
            first if is_name(first) => {
                let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                tokens.push(Token::Name(rest.get(..length).unwrap_or_default()));
                length
            }
            ' ' | '\t' | '\r' => 1,
            sign => {
                tokens.push(Token::Sign(sign));
                sign.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

/// Whether a slash behind this divides, and does not begin a pattern.
fn ends_operand(token: &Token<'_>) -> bool {
    match token {
        Token::Name(name) => {
            !matches!(*name, "print" | "printf" | "return" | "in" | "exit" | "else")
        }
        Token::Text(_) => true,
        Token::Sign(sign) => matches!(sign, ')' | ']' | '$'),
        Token::Pipe => false,
    }
}

/// The command `e`, and the flag `e` of `s`.
fn commands_of_sed(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for line in text.split('\n') {
        let mut rest = line;
        loop {
            let command = rest.trim_start_matches(|c: char| "0123456789,$~+!{} \t".contains(c));
            let command = behind_pattern(command);
            if let Some(code) = command.strip_prefix('e')
                && code.chars().next().is_none_or(|c| " \t;}".contains(c))
            {
                let code = code.trim_start();
                let is_code = !code.is_empty() && !code.starts_with([';', '}']);
                found.push(if is_code { Command::Text(code.to_owned()) } else { Command::Unknown });
                break;
            }
            if runs_what_it_replaces(command) {
                found.push(Command::Unknown);
            }
            let Some((_, after)) = rest.split_once(';') else { break };
            rest = after;
        }
    }
    found
}

/// What stands behind `/…/` and the signs after it.
fn behind_pattern(command: &str) -> &str {
    let mut rest = command;
    while let Some(inside) = rest.strip_prefix('/') {
        let Some((_, after)) = inside.split_once('/') else { return rest };
        rest = after.trim_start_matches(|c: char| "IM0123456789,$~+!{ \t".contains(c));
    }
    rest
}

/// `s/a/b/e`
fn runs_what_it_replaces(command: &str) -> bool {
    let Some(whole) = command.strip_prefix('s') else { return false };
    let Some(mark) = whole.chars().next().filter(|c| !c.is_alphanumeric()) else { return false };
    let plain = whole.replace(&format!("\\{mark}"), "");
    let flags = plain.split(mark).nth(3).unwrap_or_default();
    let flags = flags.split([';', '}', ' ', 'w']).next().unwrap_or_default();
    flags.contains('e')
}

/// The recipes of a makefile, and what it runs while it is read.
fn commands_of_make(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let text = text.replace("\\\n", " ");
    for line in text.split('\n') {
        let recipe = line.strip_prefix('\t').or_else(|| {
            let (target, rest) = line.split_once(':')?;
            let (_, recipe) = rest.split_once(';')?;
            (!target.contains('=')).then_some(recipe)
        });
        let assigned = line.split_once("!=").map(|(_, code)| code);
        for code in recipe.into_iter().chain(assigned) {
            let code = code.trim_start_matches(['@', '-', '+', ' ', '\t']);
            found.push(Command::Text(shell_of_make(code)));
        }
        for code in line.split("$(shell ").skip(1) {
            let end = code.rfind(')').unwrap_or(code.len());
            found.push(Command::Text(shell_of_make(code.get(..end).unwrap_or_default())));
        }
    }
    found
}

/// A recipe as a shell gets it, with [`HOLE`] for the variables of make.
fn shell_of_make(code: &str) -> String {
    let mut made = String::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once('$') {
        made.push_str(before);
        let (text, length) = match after.chars().next() {
            Some('$') => ("$", 1),
            Some('(') => (HOLE, after.find(')').map_or(after.len(), |end| end.saturating_add(1))),
            Some('{') => (HOLE, after.find('}').map_or(after.len(), |end| end.saturating_add(1))),
            Some(sign) => (HOLE, sign.len_utf8()),
            None => ("$", 0),
        };
        made.push_str(text);
        rest = after.get(length..).unwrap_or_default();
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::{Command, commands_of_awk, commands_of_make, commands_of_sed};

    fn text(text: &str) -> Command {
        Command::Text(text.to_owned())
    }

    #[test]
    fn commands_are_found_in_other_languages() {
        assert_eq!(commands_of_awk("BEGIN{system(\"rm -rf .git\")}"), [text("rm -rf .git")]);
        assert_eq!(commands_of_awk("{print $1 | \"sort\"}"), [text("sort")]);
        assert_eq!(commands_of_awk("BEGIN{\"date\" | getline d; print d}"), [text("date")]);
        assert_eq!(commands_of_awk("{system(\"rm \" $1)}"), [text("rm \"$UNKNOWN\"")]);
        assert_eq!(commands_of_awk("{system($0)}"), [Command::Unknown]);
        assert_eq!(commands_of_awk("/a|b/ || $1 / 2 > 2 {print}"), []);
        assert_eq!(commands_of_sed("1e rm -rf .git"), [text("rm -rf .git")]);
        assert_eq!(commands_of_sed("/x/ e rm x"), [text("rm x")]);
        assert_eq!(commands_of_sed("s/a/b/;e"), [Command::Unknown]);
        assert_eq!(commands_of_sed("s/.*/rm &/e"), [Command::Unknown]);
        assert_eq!(commands_of_sed("s/e/e/g;w out"), []);
        assert_eq!(commands_of_make("all:; rm -rf .git"), [text("rm -rf .git")]);
        assert_eq!(
            commands_of_make("all:\n\t@cc -o $@ $<"),
            [text("cc -o \"$UNKNOWN\" \"$UNKNOWN\"")]
        );
        assert_eq!(commands_of_make("X=$(shell rm x)"), [text("rm x")]);
    }
}
