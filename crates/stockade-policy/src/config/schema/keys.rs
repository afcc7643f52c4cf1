//! What every key of a policy file means, in a line, and how its values look: one row for a key. A key
//! that a type has and this table lacks fails a test.

use crate::confine::{Network, Toolchain};
use crate::guarantee::{Guarantee, Kept};
use crate::tools::Risk;
use crate::{Mode, Require};

/// One key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// Where it stands; `[]` for the tables of a list.
    path: &'static str,
    pub(super) form: TextForm,
    pub(super) says: &'static str,
    /// Whether its table makes no sense without it.
    pub(super) required: bool,
    /// The least number.
    pub(super) least: u32,
}

/// How a text looks, or each text of a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextForm {
    Plain,
    /// This regular expression.
    Like(&'static str),
    /// One of these.
    OneOf(fn() -> Vec<String>),
    /// A rule: its text, or a table.
    Rule,
    /// A text, or a table with any keys.
    TextOrTable,
}

/// The row for a key. The limits of code and of tools are the limits.
pub(super) fn key(path: &str) -> Option<&'static Key> {
    let limit = ["code.limits.", "tool.*.limits."].iter().find_map(|of| path.strip_prefix(of));
    let same = limit.map(|limit| format!("limits.{limit}"));
    let path = same.as_deref().unwrap_or(path);
    KEYS.iter().find(|key| key.path == path)
}

const fn row(path: &'static str, form: TextForm, says: &'static str) -> Key {
    Key { path, form, says, required: false, least: 0 }
}

const fn needed(path: &'static str, form: TextForm, says: &'static str) -> Key {
    Key { required: true, ..row(path, form, says) }
}

const fn number(path: &'static str, least: u32, says: &'static str) -> Key {
    Key { least, ..row(path, TextForm::Plain, says) }
}

const TIME: TextForm = TextForm::Like(
    r"^\s*([0-9]+(\.[0-9]*)?|([0-9]+\s*(ns|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*)+)\s*$",
);
const TIME_OR_NONE: TextForm = TextForm::Like(
    r"^(none|\s*([0-9]+(\.[0-9]*)?|([0-9]+\s*(ns|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*)+)\s*)$",
);
const SIZE: TextForm = TextForm::Like(r"^\s*[0-9]+\s*([bB]|[kKmMgGtT]([iI]?[bB])?)?\s*$");
const SIZE_OR_NONE: TextForm =
    TextForm::Like(r"^(none|\s*[0-9]+\s*([bB]|[kKmMgGtT]([iI]?[bB])?)?\s*)$");
const PROCESSORS: TextForm = TextForm::Like(r"^(none|[0-9]+(\.[0-9]{1,3})?)$");
const ABSOLUTE: TextForm = TextForm::Like(r"^(/|~/)");
const BOX_PATH: TextForm = TextForm::Like(r"^(/|~/|[^/])");
const VARIABLE: TextForm = TextForm::Like(r"^[^=]+(=|$)");
const PROFILE: TextForm = TextForm::OneOf(|| names(&["strict", "contained"]));

const KEYS: &[Key] = &[
    row("", TextForm::Plain, "What is allowed, and in which box. Every key is optional."),
    row("mode", TextForm::OneOf(modes), "How much is done without a question."),
    row("questions", TextForm::Plain, "How people are asked."),
    row("questions.timeout", TIME, "How long a question waits; then it is a no."),
    row("project", TextForm::Plain, "What may be a project; not for a file of the project."),
    row("project.home", TextForm::Plain, "Whether the root may be or hold your home folder."),
    row("exec", TextForm::Plain, "What the gate looks for in calls of one program."),
    row("exec.profile", PROFILE, "Which of the built-in refusals apply."),
    row("exec.deny", TextForm::Plain, "Programs that never run, by identity."),
    row("exec.interpreters", TextForm::Plain, "Programs whose inline code is refused."),
    row("exec.folders", ABSOLUTE, "Where programs may live besides the root."),
    row("exec.search_path", ABSOLUTE, "Where bare names are looked up, in the run too."),
    row("exec.outside", ABSOLUTE, "Paths outside the root that a call may name."),
    row("exec.data", TextForm::Plain, "Programs whose arguments are plain data."),
    row("shell", TextForm::Plain, "Shell lines."),
    row("shell.profile", PROFILE, "Which of the built-in refusals apply to lines."),
    row("shell.only", TextForm::Plain, "The programs that a line may name, run without a shell."),
    row("box", TextForm::Plain, "The tier, and what it shows and keeps."),
    row("box.tier", TextForm::OneOf(tiers), "How strong the box is."),
    row("box.env", VARIABLE, "Variables besides PATH, HOME and TMPDIR: NAME or NAME=VALUE."),
    row("box.require", TextForm::OneOf(requirements), "Guarantees without which nothing runs."),
    row("box.write", BOX_PATH, "Folders that can be written."),
    row("box.read", BOX_PATH, "Files and folders that can be read besides the system's."),
    row("box.toolchains", TextForm::OneOf(toolchains), "Toolchains of the home folder to be read."),
    row("box.hide", BOX_PATH, "Paths that cannot be opened."),
    row("box.protect", BOX_PATH, "Paths that cannot be written, renamed or removed."),
    row(
        "box.changes",
        TextForm::OneOf(|| names(&["none", "risky", "bounded", "all"])),
        "Which changes are told.",
    ),
    row("box.net", TextForm::OneOf(|| names(&Network::ALL.map(Network::name))), "The network."),
    number("box.publish", 1, "Ports of the sandbox that this machine's loopback reaches."),
    number("box.host_ports", 1, "Ports of this machine's loopback that the sandbox reaches."),
    row("box.image", TextForm::Like(r"^([A-Za-z0-9][A-Za-z0-9_.:@+/-]*)?$"), "The image of a box."),
    row(
        "box.engine",
        TextForm::OneOf(|| names(&["", "podman", "docker"])),
        "Who makes containers.",
    ),
    row(
        "box.runtime",
        TextForm::Like(r"^([A-Za-z0-9_./][A-Za-z0-9_./-]*)?$"),
        "The engine's runtime.",
    ),
    row(
        "box.pull",
        TextForm::OneOf(|| names(&["never", "missing"])),
        "Whether images are fetched.",
    ),
    row("box.warm", TextForm::Plain, "Calls after which a warm container is replaced; 0 for none."),
    row("limits", TextForm::Plain, "Time, memory, processes and bytes of a run."),
    row("limits.wall", TIME_OR_NONE, "From start to end; then the whole tree is killed."),
    row("limits.wall_max", TIME_OR_NONE, "The longest time that a call can ask for."),
    row("limits.background_max", TIME_OR_NONE, "The time of a command in an agent's background."),
    row("limits.cpu", TIME_OR_NONE, "CPU time of one process."),
    row("limits.cpus", PROCESSORS, "How many processors the tree may keep busy."),
    row("limits.memory", SIZE_OR_NONE, "Memory of the tree, or address space of one process."),
    number("limits.processes", 1, "Processes of the tree at once."),
    row("limits.file_size", SIZE_OR_NONE, "The largest file that may be written."),
    row("limits.disk", SIZE_OR_NONE, "Room that a run may add in its writable folders."),
    number("limits.files", 0, "Files that a run may add there."),
    number("limits.open_files", 0, "Descriptors of one process."),
    row("limits.output", SIZE, "How much is kept of each output stream."),
    row("limits.flood", SIZE, "How much output ends the run."),
    row("code", TextForm::Plain, "Source for interpreters."),
    number("code.warm", 0, "How many interpreters of each language may wait, at most 16."),
    row("code.limits", TextForm::Plain, "Limits of code; a run has the stricter of both tables."),
    row("session", TextForm::Plain, "What calls of one session leave running, all together."),
    row("session.idle", TIME, "How long a session in which nothing runs is kept."),
    number("session.processes", 0, "Processes that its calls leave running."),
    row("session.memory", SIZE, "Memory that these hold."),
    row("journal", TextForm::Plain, "When the journal reaches the disk."),
    row(
        "journal.durability",
        TextForm::OneOf(|| names(&["each", "batched"])),
        "Each entry, or many.",
    ),
    row("journal.window", TIME, "The longest time until a batch is on the disk."),
    row(
        "rules",
        TextForm::Plain,
        "Deny, then ask, then allow: the first list that matches decides.",
    ),
    row("rules.deny", TextForm::Rule, "What is refused: Tool or Tool(pattern), or a table."),
    row("rules.ask", TextForm::Rule, "What a person has to allow."),
    row("rules.allow", TextForm::Rule, "What needs no question."),
    row("rules.named", TextForm::Plain, "Rules that belong together, under a name."),
    row("rules.named[]", TextForm::Plain, "One name: its decision and its rules."),
    needed(
        "rules.named[].name",
        TextForm::Like("^[A-Za-z0-9_-]+$"),
        "What rules.drop removes it by.",
    ),
    needed("rules.named[].decision", TextForm::OneOf(decisions), "The list of its rules."),
    needed(
        "rules.named[].rules",
        TextForm::Plain,
        "Rules, each Tool, Tool(pattern) or Finding(name).",
    ),
    row("rules.named[].reason", TextForm::Plain, "Shown to whoever is refused."),
    row("rules.named[].instead", TextForm::Plain, "What would be accepted, shown too."),
    row(
        "rules.named[].match",
        TextForm::Plain,
        "Shell lines that it must match: stockade rules test.",
    ),
    row("rules.named[].not_match", TextForm::Plain, "Shell lines that it must not match."),
    row("rules.drop", TextForm::Plain, "Names of rules that do not apply."),
    row("rule", TextForm::Plain, "A rule with its reason and examples, which are checked."),
    needed("rule.rule", TextForm::Plain, "The rule: Tool or Tool(pattern)."),
    row("rule.reason", TextForm::Plain, "Shown to whoever is refused."),
    row("rule.instead", TextForm::Plain, "What would be accepted, shown too."),
    row("rule.match", TextForm::Plain, "Examples that it must match."),
    row("rule.not_match", TextForm::Plain, "Examples that it must not match."),
    row("hook", TextForm::Plain, "Commands that are asked before calls and told after."),
    row("hook[]", TextForm::Plain, "One hook: its event, and command or shell."),
    row("hook[].name", TextForm::Plain, "Its name in reasons and reports."),
    needed("hook[].event", TextForm::OneOf(events), "Before calls, or after."),
    row("hook[].match", TextForm::Plain, "The tools that it is for."),
    row("hook[].if", TextForm::Plain, "A rule that calls have to match."),
    row("hook[].command", TextForm::Plain, "The program and its arguments."),
    row("hook[].shell", TextForm::Plain, "A shell line in place of a command."),
    row("hook[].timeout", TIME, "How long it may take, at most an hour."),
    row("hook[].env", VARIABLE, "Variables that it gets: NAME or NAME=VALUE."),
    row("tool", TextForm::Plain, "Tools by their names: JSON in, JSON out."),
    row("tool.*", TextForm::Plain, "One tool: what it is for, and command or python."),
    row("tool.*.description", TextForm::Plain, "What it does, for who chooses it."),
    row("tool.*.command", TextForm::Plain, "The program and its arguments."),
    row(
        "tool.*.python",
        TextForm::Like("^[^:]+:[^:]+$"),
        "A function, as package.module:function.",
    ),
    row("tool.*.input", TextForm::TextOrTable, "The schema of its input, or a file that holds it."),
    row("tool.*.tier", TextForm::OneOf(tiers_of_tools), "How strong its box is."),
    row("tool.*.limits", TextForm::Plain, "Its limits."),
    row("tool.*.timeout", TIME, "As limits.wall."),
    row("tool.*.risk", TextForm::OneOf(risks), "What it does to the world."),
    row("tool.*.idempotent", TextForm::Plain, "Whether it may be tried again."),
    number("tool.*.attempts", 1, "How often it is tried."),
];

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn decisions() -> Vec<String> {
    names(&["deny", "ask", "allow"])
}

fn modes() -> Vec<String> {
    Mode::ALL.into_iter().flat_map(|mode| names(mode.names())).collect()
}

fn tiers() -> Vec<String> {
    tiers_of_tools().into_iter().chain(["inline".to_owned()]).collect()
}

fn tiers_of_tools() -> Vec<String> {
    names(&["jail", "process", "container", "gvisor", "microvm", "cluster"])
}

fn risks() -> Vec<String> {
    Risk::ALL.into_iter().map(|risk| risk.to_string()).collect()
}

fn toolchains() -> Vec<String> {
    Toolchain::ALL.into_iter().map(|one| one.to_string()).collect()
}

fn events() -> Vec<String> {
    names(&["pre", "post", "PreToolUse", "PostToolUse"])
}

/// What may be required: all that the tier is for, a guarantee, or less of it.
fn requirements() -> Vec<String> {
    let levels = [Kept::Full, Kept::Partial, Kept::Detected];
    let of = |guarantee: Guarantee| {
        let lower = levels.map(|kept| format!("{guarantee}:{}", kept.name()));
        std::iter::once(guarantee.to_string()).chain(lower)
    };
    let all = Guarantee::ALL.into_iter().flat_map(of);
    std::iter::once(Require::OF_TIER.to_owned()).chain(all).collect()
}
