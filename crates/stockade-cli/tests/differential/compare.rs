//! Whether a program that ran was found by the gate before.

use stockade::gate::Examination;
use stockade::inspect::{Axis, Found};

use crate::trace::Executed;

/// How the gate knew of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is a command of the line, with these words.
    Found,
    /// Something in the line is marked as known in the run alone.
    Marked,
    /// A program that was found has code of its own language, which is nobody's shell.
    Foreign,
    /// It is not.
    Not,
}

/// What the gate found in a line, as far as programs go.
pub(crate) struct Claim {
    commands: Vec<Found>,
    is_marked: bool,
    /// Why the gate does not understand the line, if it does not.
    pub(crate) fault: Option<String>,
}

/// The facts by which a line is refused because it is not understood.
const FAULTS: [&str; 5] = ["syntax", "too-long", "too-deep", "too-much", "unclear"];

/// The facts that say that another program than those found may run.
const MARKS: [&str; 2] = ["dynamic", "script"];

impl Claim {
    pub(crate) fn of(examination: Examination) -> Self {
        let mut shell = examination.findings.iter().filter(|finding| finding.axis == Axis::Shell);
        let fault = shell.find(|finding| FAULTS.contains(&finding.rule));
        let fault = fault.map(|finding| format!("{}: {}", finding.rule, finding.text));
        let is_marked = examination
            .findings
            .iter()
            .any(|finding| finding.axis == Axis::Shell && MARKS.contains(&finding.rule))
            || examination.commands.iter().any(stands_for_another);
        Self { commands: examination.commands, is_marked, fault }
    }

    /// The claim of a gate that does not look into what such a part of the line holds.
    pub(crate) fn blind_to(mut self, via: &str) -> Self {
        self.commands.retain(|found| found.via.iter().all(|by| by != via));
        self
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// How a program that ran was known.
    pub(crate) fn knows(&self, executed: &Executed) -> Known {
        if self.commands.iter().any(|found| is(found, executed)) || self.is_shell_of_code(executed)
        {
            return Known::Found;
        }
        // Nothing hides a program that stands in the line as a command; its words may be hidden.
        let is_hidden = !has_to_be_found(executed)
            || self.commands.iter().any(|found| is_named(found, executed));
        match is_hidden {
            true if self.is_marked => Known::Marked,
            true if self.commands.iter().any(is_foreign) => Known::Foreign,
            true | false => Known::Not,
        }
    }

    /// Whether this is the shell that a program starts for code which is one of its words.
    fn is_shell_of_code(&self, executed: &Executed) -> bool {
        let [shell, option, code] = executed.argv.as_slice() else { return false };
        matches!(base(shell), "sh" | "bash")
            && option == "-c"
            && self
                .commands
                .iter()
                .any(|found| found.words.iter().any(|word| word == code.as_str()))
    }

    /// The commands, for a message.
    pub(crate) fn shown(&self) -> Vec<String> {
        let shown =
            |found: &Found| format!("{:?}{}", found.words, if found.dynamic { "?" } else { "" });
        self.commands.iter().map(shown).collect()
    }
}

/// Whether a command may be another program than its words say.
fn stands_for_another(found: &Found) -> bool {
    found.dynamic && (found.known.first() == Some(&false) || !found.known.contains(&false))
}

/// The programs with an `m` stand in lines as commands.
fn has_to_be_found(executed: &Executed) -> bool {
    let name = base(&executed.path);
    name.len() == 4 && name.starts_with('m') && name[1..].bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a program starts others by code or settings that are no shell line.
fn is_foreign(found: &Found) -> bool {
    let name = found.words.first().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(base(name), "awk" | "sed" | "perl" | "python3" | "git" | "tar")
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a found command has the name of the one that ran.
fn is_named(found: &Found, executed: &Executed) -> bool {
    let name = found.words.first().and_then(|name| name.to_str());
    let (Some(name), Some(true)) = (name, found.known.first()) else { return false };
    base(name) == base(&executed.path) || executed.argv.first().is_some_and(|first| first == name)
}

/// Whether a found command is the one that ran: its name, and its words as far as they are known.
fn is(found: &Found, executed: &Executed) -> bool {
    if !is_named(found, executed) {
        return false;
    }
    let words: Vec<&str> = found.words.iter().filter_map(|word| word.to_str()).collect();
    // What adds words may put them anywhere: `xargs -I{}`, `find -exec`.
    if stands_for_another(found) {
        return true;
    }
    let known = words.iter().zip(&found.known).map(|(word, known)| known.then(|| in_the_box(word)));
    let pattern: Vec<Option<String>> = known.skip(1).collect();
    let got: Vec<&str> = executed.argv.iter().skip(1).map(String::as_str).collect();
    fits(&pattern, &got)
}

/// The box has a home of its own; the gate judges by the person's.
fn in_the_box(word: &str) -> String {
    let home = std::env::home_dir().unwrap();
    match word.strip_prefix(home.to_str().unwrap()) {
        Some(rest) => format!("/tmp/home{rest}"),
        None => word.to_owned(),
    }
}

/// Whether words are as they were found; one that is not known may be any number of them.
fn fits(pattern: &[Option<String>], got: &[&str]) -> bool {
    match pattern.split_first() {
        None => got.is_empty(),
        // The number of a descriptor is not known before.
        Some((Some(word), rest)) => got.split_first().is_some_and(|(first, others)| {
            let is_it =
                word == first || word.starts_with("/dev/fd/") && first.starts_with("/dev/fd/");
            is_it && fits(rest, others)
        }),
        Some((None, rest)) => (0..=got.len()).any(|skipped| fits(rest, &got[skipped..])),
    }
}
