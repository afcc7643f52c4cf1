//! A shell line as one that runs in the box: this program with the same policy, and the line as one
//! word. What was wrapped before is seen through, whoever wrote it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stockade::call::SessionName;
use stockade::limits::Limits;
use stockade::policy::Mode;
use stockade::shell::quoted;

use crate::args::{Agent, Dialect, HookOptions, PersonAnswer};

/// How a line is put into the box.
#[derive(Debug)]
pub(super) struct Wrapping<'a> {
    /// This program.
    pub(super) program: &'a str,
    pub(super) root: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) mode: Mode,
    pub(super) options: &'a HookOptions,
    /// The deadline that the agent gives the line, if it gives one.
    pub(super) deadline: Option<Duration>,
    /// The session of the agent; none where the line shares nothing with others.
    pub(super) session: Option<&'a SessionName>,
    pub(super) folder: FolderCarry,
}

/// How the directory in which a line ends is carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderCarry {
    /// The agent's own shell enters it, too: the agent asks that shell where it is.
    ToShell,
    /// The next line of the session begins there, unless the agent names a directory.
    InSession,
    /// Not at all: the line runs beside others.
    None,
}

/// Around the command of a line, so that the shell of the agent ends in its directory and with its status.
/// The command writes the directory to descriptor 9, with `/.` behind it: what `$(…)` cuts off the end is
/// never part of the name.
///
/// Processes of the line may still run, and may have put a symbolic link in the place of the directory. The
/// shell therefore opens it, compares the kernel's path of what it has opened, and enters that; else it stays
/// where it is. The shell's own `pwd -P` may be a path from before the link was there.
const BEFORE: &str = "{ stockade_dir=$(";
const AFTER: &str = " 9>&1 1>&8 8>&-); } 8>&1; stockade_status=$?; [ -z \"$stockade_dir\" ] || \
     { [ \"$(readlink -n /proc/self/fd/7; echo /.)\" = \"$stockade_dir\" ] && cd -P /proc/self/fd/7; } \
     7<\"$stockade_dir\"; (exit $stockade_status)";
/// The descriptor for the directory.
const FOLDER_FD: &str = "9";

/// A line that is wrapped is one argument, of which Linux takes 128 KiB (execve(2)).
const WRAPPED_BYTES_MAX: usize = 120 << 10;
/// More layers than this are no accident; what is left is judged as it is.
const LAYERS_MAX: usize = 8;
/// What could make two commands of one, or run another before it.
const SPECIAL: [char; 11] = [';', '|', '&', '<', '>', '(', ')', '$', '`', '\n', '\\'];

impl Wrapping<'_> {
    /// The command that runs this line in the box; none if a path cannot be written into a line, or
    /// if it is longer than an argument can be.
    pub(super) fn of(&self, line: &str, answered: PersonAnswer) -> Option<String> {
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
        match self.deadline {
            None => {}
            Some(Limits::NO_DEADLINE) => option("timeout", "none"),
            Some(deadline) => option("timeout", &format!("{}ms", deadline.as_millis())),
        }
        option("answered", answered_name(answered));
        let carries = self.session.is_some() && self.folder == FolderCarry::ToShell;
        if let Some(session) = self.session {
            option("session", session.as_str());
            match self.folder {
                FolderCarry::ToShell => option("folder-fd", FOLDER_FD),
                FolderCarry::InSession => {}
                FolderCarry::None => words.push("--background".to_owned()),
            }
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = quoted(line);
        let is_short = line.len() < WRAPPED_BYTES_MAX;
        let command = is_short.then(|| format!("{} -- {line}", words.join(" ")))?;
        Some(if carries { format!("{BEFORE}{command}{AFTER}") } else { command })
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
    let carried = line.strip_prefix(BEFORE).and_then(|line| line.strip_suffix(AFTER));
    let line = carried.unwrap_or(line);
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

fn answered_name(answered: PersonAnswer) -> &'static str {
    match answered {
        PersonAnswer::Yes => "yes",
        PersonAnswer::None => "none",
    }
}

fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

#[cfg(test)]
mod tests;
