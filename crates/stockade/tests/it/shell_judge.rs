//! What the gate sees in a shell line and says to it, in the words of `check --json`.
//!
//! The corpora know the gate through this file alone.

use std::ffi::OsString;
use std::path::Path;

use stockade::call::ToolCall;
use stockade::catalog::EffectKind;
use stockade::gate::{Examination, Examiner};
use stockade::inspect::{CommandSummary, Finding, PathResolver, Root};
use stockade::policy::{Decision, Policy};

/// One command as it was found.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// None where its words cannot be known before the run.
    pub(crate) argv: Option<Vec<String>>,
    /// The first word, where that is known.
    pub(crate) program: Option<String>,
    pub(crate) dynamic: bool,
    /// Beneath the folder of the call, or absolute.
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) deletes: Vec<String>,
    pub(crate) hosts: Vec<String>,
}

/// What came out for one line.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) decision: Decision,
    pub(crate) rule: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) findings: Vec<String>,
    pub(crate) commands: Vec<Seen>,
    /// Whether it was shown to change nothing; none where nobody said.
    pub(crate) read_only: Option<bool>,
}

/// Examines one line; nothing runs.
pub(crate) fn examine(examiner: &Examiner, cwd: Option<&Path>, line: &str) -> Examination {
    let mut call = ToolCall::line(line);
    call.cwd = cwd.map(Path::to_owned);
    examiner.examine(&call)
}

/// Judges one line in a project; nothing runs.
pub(crate) fn judge(root: &Path, policy: Policy, cwd: Option<&Path>, line: &str) -> Judged {
    let examiner = Examiner::new(Root::open(root).unwrap(), policy);
    let examination = examine(&examiner, cwd, line);
    Judged {
        decision: examination.ruling.decision,
        rule: examination.ruling.rule.clone(),
        reason: examination.ruling.reason.clone(),
        findings: examination.findings.iter().map(Finding::rule_id).collect(),
        commands: seen(&examination, examiner.root()),
        read_only: Some(examination.changes_nothing),
    }
}

/// The commands of an examination.
fn seen(examination: &Examination, root: &Root) -> Vec<Seen> {
    let view = PathResolver::open(root, None).unwrap();
    let command = |found: &CommandSummary| {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let of = |kind| {
            let hosts = kind == EffectKind::Host;
            let targets = found.targets(kind);
            let all = targets.flat_map(|target| {
                if hosts {
                    return vec![text(&target.text)];
                }
                let places = found.places(target).into_iter();
                let both = places.flat_map(|path| [view.real(path.as_os_str()), Some(path)]);
                both.flatten().map(|path| path.display().to_string()).collect()
            });
            all.collect::<Vec<String>>()
        };
        let is_known = found.known.first() == Some(&true);
        Seen {
            program: found.words.first().filter(|_| is_known).map(text),
            argv: found.argv().map(|words| words.iter().map(text).collect()),
            dynamic: found.dynamic,
            reads: [EffectKind::Read, EffectKind::List, EffectKind::Execute]
                .into_iter()
                .flat_map(of)
                .collect(),
            writes: of(EffectKind::Write),
            deletes: of(EffectKind::Delete),
            hosts: of(EffectKind::Host),
        }
    };
    examination.commands.iter().map(command).collect()
}
