//! A shell line as one that runs in the box: this program with the same policy, and the line as one
//! word. What was wrapped before is seen through, whoever wrote it.

use std::path::{Path, PathBuf};

use stockade::policy::Mode;
use stockade::shell::quoted;

use crate::args::{Agent, Answered, Dialect, HookOptions};

/// How a line is put into the box.
#[derive(Debug)]
pub(super) struct Wrapping<'a> {
    /// This program.
    pub(super) program: &'a str,
    pub(super) root: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) mode: Mode,
    pub(super) options: &'a HookOptions,
}

/// A line that is wrapped is one argument, of which Linux takes 128 KiB (execve(2)).
const WRAPPED_BYTES_MAX: usize = 120 << 10;
/// More layers than this are no accident; what is left is judged as it is.
const LAYERS_MAX: usize = 8;
/// What could make two commands of one, or run another before it.
const SPECIAL: [char; 11] = [';', '|', '&', '<', '>', '(', ')', '$', '`', '\n', '\\'];

impl Wrapping<'_> {
    /// The command that runs this line in the box; none if a path cannot be written into a line, or
    /// if it is longer than an argument can be.
    pub(super) fn of(&self, line: &str, answered: Answered) -> Option<String> {
        let mut words: Vec<String> = vec![self.program.to_owned(), "shell".to_owned()];
        let mut option = |name: &str, value: &str| words.push(format!("--{name}={value}"));
        option("root", self.root.to_str()?);
        option("cwd", self.cwd.to_str()?);
        let options = self.options;
        for (name, paths) in [
            ("policy", options.policy.as_slice()),
            ("settings", &options.settings),
            ("rules", &options.rules),
            ("journal", options.journal.as_slice()),
        ] {
            for path in paths {
                option(name, absolute(path)?.to_str()?);
            }
        }
        for dialect in dialects(options) {
            option("dialect", dialect);
        }
        option("mode", self.mode.name());
        if let Some(tier) = options.tier {
            option("tier", tier.name());
        }
        option("answered", answered_name(answered));
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = quoted(line);
        let is_short = line.len() < WRAPPED_BYTES_MAX;
        is_short.then(|| format!("{} -- {line}", words.join(" ")))
    }
}

/// The line inside of a wrapped one, as often as it is wrapped; the line itself if it is not.
///
/// Options are not looked at: what is inside is judged anew and wrapped by our own, so that nothing
/// is gained by writing such a line.
pub(super) fn unwrapped(line: String, program: &str) -> String {
    let mut inner = line;
    for _ in 0..LAYERS_MAX {
        match layer(inner.trim(), program).and_then(|word| unquoted(word.trim())) {
            Some(word) => inner = word,
            None => break,
        }
    }
    inner
}

/// The last word of a line that is a call of this program, by whichever of its names.
fn layer<'l>(line: &'l str, program: &str) -> Option<&'l str> {
    let own = format!("{} ", quoted(program));
    let rest = line.strip_prefix(&own).or_else(|| {
        let (first, rest) = line.split_once(' ')?;
        let is_plain = quoted(first) == first;
        (is_plain && first.rsplit('/').next() == Some("stockade")).then_some(rest)
    })?;
    let (options, word) = rest.trim_start().strip_prefix("shell ")?.split_once("-- ")?;
    (!options.contains(SPECIAL)).then_some(word)
}

/// What one quoted word stands for; none if it is anything but one word as we would quote it.
fn unquoted(text: &str) -> Option<String> {
    let word = match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(inside) => inside.replace(r"'\''", "'"),
        None => text.to_owned(),
    };
    (quoted(&word) == text).then_some(word)
}

/// The agents whose files are read: the one that is spoken to, and those that were named.
pub(super) fn dialects(options: &HookOptions) -> Vec<&'static str> {
    let own = options.format.name();
    let named = options.dialect.iter().map(|dialect| match dialect {
        Dialect::Claude => Agent::Claude.name(),
        Dialect::Codex => Agent::Codex.name(),
    });
    let mut all: Vec<&str> = std::iter::once(own).chain(named).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn answered_name(answered: Answered) -> &'static str {
    match answered {
        Answered::Yes => "yes",
        Answered::None => "none",
    }
}

fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

#[cfg(test)]
mod tests;
