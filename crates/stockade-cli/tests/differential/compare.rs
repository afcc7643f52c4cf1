//! Whether a program that ran was found by the gate before.

use stockade::gate::Examination;
use stockade::inspect::{Axis, CommandSummary, Finding, Target};

use crate::trace::Executed;

/// How the gate knew of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is a command of the line, with these words.
    Found,
    /// Something in the line is marked as known in the run alone.
    Marked,
    /// A program that was found has code of its own, a script or another language.
    ExternalCall,
    /// It is not.
    Not,
}

/// What the gate found in a line, as far as programs go.
pub(crate) struct Claim {
    commands: Vec<CommandSummary>,
    is_marked: bool,
    /// Whether a script is noted, which is a program of its own.
    has_script: bool,
    /// Why the gate does not understand the line, if it does not.
    pub(crate) fault: Option<String>,
}

/// The facts by which a line is refused because it is not understood.
const FAULTS: [&str; 5] = ["syntax", "too-long", "too-deep", "too-much", "unclear"];

impl Claim {
    pub(crate) fn of(examination: Examination) -> Self {
        let mut shell = examination.findings.iter().filter(|finding| finding.axis == Axis::Shell);
        let fault = shell.find(|finding| FAULTS.contains(&finding.rule));
        let fault = fault.map(|finding| format!("{}: {}", finding.rule, finding.text));
        let is_marked = examination
            .findings
            .iter()
            .any(|finding| finding.axis == Axis::Shell && finding.rule == "dynamic")
            || examination.commands.iter().any(stands_for_another);
        let is_script = |finding: &Finding| (finding.axis, finding.rule) == (Axis::Shell, "script");
        let has_script = examination.findings.iter().any(is_script);
        Self { commands: examination.commands, is_marked, has_script, fault }
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
        if is_hidden && self.is_marked {
            Known::Marked
        } else if is_hidden && (self.has_script || self.commands.iter().any(is_foreign)) {
            Known::ExternalCall
        } else {
            Known::Not
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
        let shown = |found: &CommandSummary| {
            format!("{:?}{}", found.words, if found.dynamic { "?" } else { "" })
        };
        self.commands.iter().map(shown).collect()
    }
}

/// Whether a command may be another program than its words say.
fn stands_for_another(found: &CommandSummary) -> bool {
    let is_known = !found.known.contains(&false) && !found.targets.iter().any(Target::is_open);
    found.dynamic && (found.known.first() == Some(&false) || is_known)
}

/// The programs with an `m` stand in lines as commands.
fn has_to_be_found(executed: &Executed) -> bool {
    let name = base(&executed.path);
    name.len() == 4 && name.starts_with('m') && name[1..].bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a program starts others by code or settings that are no shell's.
fn is_foreign(found: &CommandSummary) -> bool {
    let name = found.words.first().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(base(name), "awk" | "sed" | "perl" | "python3" | "git" | "tar")
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a found command has the name of the one that ran.
fn is_named(found: &CommandSummary, executed: &Executed) -> bool {
    let name = found.words.first().and_then(|name| name.to_str());
    let (Some(name), Some(true)) = (name, found.known.first()) else { return false };
    base(name) == base(&executed.path) || executed.argv.first().is_some_and(|first| first == name)
}

/// Whether a found command is the one that ran: its name, and its words as far as they are known.
fn is(found: &CommandSummary, executed: &Executed) -> bool {
    if !is_named(found, executed) {
        return false;
    }
    let words: Vec<&str> = found.words.iter().filter_map(|word| word.to_str()).collect();
    // What adds words may put them anywhere: `xargs -I{}`, `find -exec`.
    if found.open || stands_for_another(found) {
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
        Some((Some(word), rest)) => got.split_first().is_some_and(|(first, others)| {
            without_descriptors(word) == without_descriptors(first) && fits(rest, others)
        }),
        Some((None, rest)) => (0..=got.len()).any(|skipped| fits(rest, &got[skipped..])),
    }
}

/// A word without the numbers of descriptors, which are not known before.
fn without_descriptors(word: &str) -> String {
    let mut parts = word.split("/dev/fd/");
    let first = parts.next().unwrap_or_default().to_owned();
    let number = |c: char| c.is_ascii_digit();
    parts.fold(first, |text, part| text + "/dev/fd/" + part.trim_start_matches(number))
}
