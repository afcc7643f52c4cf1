//! External tools, such as a coding agent's own. Rules judge their calls by the paths, hosts and
//! command lines in the input. Stockade does not run them.

mod globs;
mod hosts;
mod lines;
mod paths;
mod search;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::call::ExternalCall;
use crate::confine::Files;
use crate::gate::activity::{lands_in, protected};
use crate::gate::examiner::Examiner;
use crate::gate::judge::{Analysis, LazyFacts, NoWork, Preview, Scene, Subject, Terms};
use crate::gate::permit::Work;
use crate::gate::protected_paths::finding;
use crate::inspect::{Axis, CommandSummary, Finding, LineInspection, PathResolver, Weight};
use crate::policy::decide::CallKind;
use crate::policy::rules::{CommandFacts, Facts, HostFacts, PathFacts, Reach, Touch, is_reader};
use crate::policy::{Activity, Profile};
use crate::shell::{NoShellInput, ShellInput};
use crate::tier::Tier;
use hosts::{UrlHost, addresses, host_of};
use lines::ServerLine;
pub(in crate::gate) use paths::NamedPaths;
pub(super) use paths::placed;
use paths::{PATHS_MAX, fact, is_patch, meanings, too_many};
use search::{SearchFindings, is_search};

/// Fields of an input that name a file or a folder.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];

/// A call of a tool that another program runs.
pub(in crate::gate) struct ExternalSubject<'c>(pub(in crate::gate) &'c ExternalCall);

impl Subject for ExternalSubject<'_> {
    type Input<'c> = Self;

    fn analyse(scene: &Scene<'_>, subject: Self) -> Result<(Self, Analysis), Box<Finding>> {
        let Scene { examiner, call, resolver } = scene;
        let Self(foreign) = subject;
        let (commands, mut findings) = examiner.lines_of(foreign, resolver);
        let confinement = examiner.confinement(call);
        let named = NamedPaths::of(foreign, resolver, examiner.home());
        findings.extend(examiner.guarded(&named, &confinement.files));
        let searched = examiner.searched(foreign, &named, resolver, &confinement.files);
        let SearchFindings { findings: of_search, exclude } = searched;
        findings.extend(named.findings.into_iter().chain(of_search).chain(unclear_hosts(foreign)));
        // No sandbox of ours contains it.
        let terms = Terms::of(Tier::Process, Profile::Contained);
        Ok((subject, Analysis { commands, findings, confinement, exclude, terms }))
    }

    fn activity(&self, _: &Scene<'_>, analysis: &Analysis, facts: &LazyFacts<'_>) -> Activity {
        activity_of_input(&self.0.name, &facts.facts, &analysis.confinement.files)
    }

    fn changes_nothing(&self, _: &Scene<'_>, _: &Analysis, activity: &Activity) -> bool {
        activity.kind == CallKind::Reads
    }

    fn preview(&self, _: &Analysis) -> Preview {
        let name = OsString::from(&self.0.name);
        Preview {
            words: vec![name.clone(), self.0.input_text().into()],
            commands: vec![vec![name]],
            program: None,
        }
    }

    fn clear(self, _: &Scene<'_>) -> Result<Work, NoWork> {
        Err(NoWork::External)
    }
}

impl Examiner {
    /// The commands of an input that may be a shell line. Findings count only if the tool is known
    /// to run shell lines.
    fn lines_of(
        &self,
        foreign: &ExternalCall,
        resolver: &PathResolver<'_>,
    ) -> (Vec<CommandSummary>, Vec<Finding>) {
        let touch = Touch::of(&foreign.name);
        let nothing = || (Vec::new(), Vec::new());
        if is_patch(foreign) {
            return nothing();
        }
        if touch == Touch::Lines && is_of_server(&foreign.name) {
            return self.lines_of_server(foreign, resolver);
        }
        let shell = match touch {
            Touch::Lines | Touch::OtherLines => ShellInput::find(&foreign.input),
            // Other fields of other tools may hold anything.
            Touch::Reads | Touch::Writes | Touch::Hosts | Touch::Unknown => {
                ShellInput::find_in(&foreign.input, &["command"])
            }
        };
        let line = match (touch, shell) {
            (Touch::OtherLines, _) => return (Vec::new(), vec![of_other_shell(foreign)]),
            (_, Ok(shell)) => shell.line(&foreign.input),
            (Touch::Lines, Err(error @ (NoShellInput::NotText | NoShellInput::Several))) => {
                return (Vec::new(), vec![of_no_line(error.to_string())]);
            }
            (_, Err(_)) => return nothing(),
        };
        if line.contains('\0') {
            return nothing();
        }
        let LineInspection { commands, findings } =
            self.inspector().inspect_line(&line, &self.setting(), resolver);
        (commands, if touch == Touch::Lines { findings } else { Vec::new() })
    }

    /// The commands of every text that an MCP server's tool may run as a shell line.
    fn lines_of_server(
        &self,
        foreign: &ExternalCall,
        resolver: &PathResolver<'_>,
    ) -> (Vec<CommandSummary>, Vec<Finding>) {
        let lines = match lines::lines(&foreign.name, &foreign.input) {
            Ok(lines) => lines,
            Err(error) => return (Vec::new(), vec![of_no_line(error.text())]),
        };
        let (mut commands, mut findings) = (Vec::new(), Vec::new());
        for ServerLine { text, is_certain } in lines {
            if text.contains('\0') {
                findings.push(of_no_line("tool_input has a command with a NUL in it".to_owned()));
                continue;
            }
            let inspected = self.inspector().inspect_line(&text, &self.setting(), resolver);
            let counts = |one: &Finding| is_certain || one.axis != Axis::Shell;
            findings.extend(inspected.findings.into_iter().filter(counts));
            findings.extend(self.replacing_program(&inspected.commands, resolver));
            commands.extend(inspected.commands);
        }
        (commands, findings)
    }
}

/// Finding for a call whose command line is missing or ambiguous.
fn of_no_line(why: String) -> Finding {
    let unread = finding("line", why, "send one command line as a text", Weight::Always);
    Finding { axis: Axis::Call, ..unread }
}

/// Finding for a line of a shell that Stockade cannot parse and does not sandbox.
fn of_other_shell(foreign: &ExternalCall) -> Finding {
    let text = format!("Stockade reads no lines of {} and has no sandbox for them", foreign.name);
    let found = finding("other", text, "use the tool Bash", Weight::Ask);
    Finding { axis: Axis::Shell, ..found }
}

/// Finding for an address whose host is not certain.
fn unclear_hosts(foreign: &ExternalCall) -> Option<Finding> {
    let fetches = Touch::of(&foreign.name) == Touch::Hosts;
    // The same field of another tool may hold plain words.
    let is_address = |url: &str| fetches || !addresses(url).is_empty();
    let is_unclear = |url: &String| host_of(url) == UrlHost::Unclear && is_address(url);
    let urls = urls(foreign);
    if urls.len() > PATHS_MAX {
        return Some(too_many());
    }
    let url = urls.into_iter().find(is_unclear)?;
    let text = format!("Stockade cannot tell to which host {url:?} leads");
    let found = finding("address", text, "write the host in plain letters and digits", Weight::Ask);
    Some(Finding { axis: Axis::Call, ..found })
}

/// The addresses in an input. A tool without a field for them takes them from its prompt.
fn urls(foreign: &ExternalCall) -> Vec<String> {
    let is_field =
        |name: &str| ["url", "urls", "href", "link"].contains(&name.to_lowercase().as_str());
    let mut all = Vec::new();
    for (_, value) in foreign.input.iter().filter(|(name, _)| is_field(name)) {
        match value {
            Value::String(url) => all.push(url.clone()),
            Value::Array(urls) => {
                all.extend(urls.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    if all.is_empty() && Touch::of(&foreign.name) == Touch::Hosts {
        let texts = foreign.input.values().filter_map(Value::as_str);
        all.extend(texts.flat_map(addresses).map(str::to_owned));
    }
    all
}

/// What a call does, as far as the mode is concerned: it reads, edits files of the project, or does
/// anything else.
pub(super) fn activity_of_input(tool: &str, facts: &Facts, files: &Files) -> Activity {
    let Facts { reads, writes, hosts, .. } = facts;
    let kind = match Touch::of(tool) {
        Touch::Reads if !reads.is_empty() && reads.iter().all(|path| path.free) => CallKind::Reads,
        Touch::Writes if !writes.is_empty() => {
            let is_ours = |path: &PathFacts| lands_in(path, &files.write);
            if writes.iter().all(is_ours) { CallKind::Edits } else { CallKind::Runs }
        }
        Touch::Lines
        | Touch::OtherLines
        | Touch::Reads
        | Touch::Writes
        | Touch::Hosts
        | Touch::Unknown => CallKind::Runs,
    };
    let protected = writes.iter().find_map(|path| protected(path, &files.protect));
    Activity { kind, protected, reaches_out: !hosts.is_empty() }
}

fn text<'f>(foreign: &'f ExternalCall, field: &str) -> Option<&'f str> {
    foreign.input.get(field)?.as_str()
}

/// Adds the paths, hosts and commands of an input. A path of a tool that is not known to read or to
/// write counts as both.
pub(in crate::gate) fn add_input(
    foreign: &ExternalCall,
    resolver: &PathResolver<'_>,
    home: Option<&Path>,
    facts: &mut Facts,
) {
    let touch = Touch::of(&foreign.name);
    facts.set_parameters(&foreign.input);
    if let (Touch::OtherLines, Some(line)) = (touch, text(foreign, "command")) {
        facts
            .commands
            .extend(line.split([';', '|', '&', '\n', '(', ')', '{', '}']).map(other_line));
    }
    if is_patch(foreign) {
        facts.writes.extend(NamedPaths::of(foreign, resolver, home).writes);
        return;
    }
    let mut paths: Vec<PathBuf> = PATHS
        .iter()
        .filter_map(|field| text(foreign, field))
        .map(|path| placed(path, resolver.cwd_path(), home))
        .collect();
    if let Some(pattern) =
        text(foreign, "pattern").filter(|_| foreign.name.eq_ignore_ascii_case("glob"))
    {
        let folder = paths.pop().unwrap_or_else(|| resolver.cwd_path().to_owned());
        paths.push(placed(literal_beginning(pattern), &folder, home));
    } else if paths.is_empty() && reads_here(foreign) {
        // Without a path, a search starts in the folder of the session.
        paths.push(resolver.cwd_path().to_owned());
    }
    let mut urls = urls(foreign);
    urls.truncate(PATHS_MAX);
    let of_urls = urls.iter().filter(|url| url.trim().get(..5).is_some_and(is_file_scheme));
    let others = paths::paths(foreign, resolver, home).into_iter();
    for path in others.chain(of_urls.flat_map(|url| meanings(url, resolver.cwd_path(), home))) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    for path in paths {
        let one = || fact(&path, resolver, &foreign.name);
        if touch != Touch::Writes {
            facts.reads.push(searched(one(), &foreign.name));
        }
        if touch != Touch::Reads {
            // A tool that writes needs a rule even inside the project.
            facts.writes.push(PathFacts { free: false, ..one() });
        }
    }
    for url in &urls {
        let (name, known) = match host_of(url) {
            UrlHost::Plain(name) => (name, true),
            UrlHost::None | UrlHost::Unclear => (String::new(), false),
        };
        facts.hosts.push(HostFacts { name, known, command: None });
    }
}

/// Whether a tool of the agent reads in the folder of the session if it names no other.
fn reads_here(foreign: &ExternalCall) -> bool {
    !is_of_server(&foreign.name) && (is_reader(&foreign.name) || is_search(foreign))
}

/// Whether a tool belongs to an MCP server, which has a working directory of its own.
pub(super) fn is_of_server(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

fn is_file_scheme(text: &str) -> bool {
    text.eq_ignore_ascii_case("file:")
}

/// A searched folder outside the project counts with everything in it.
fn searched(fact: PathFacts, tool: &str) -> PathFacts {
    let is_search = ["grep", "search_file_content", "grep_search", "grep_files"];
    let is_search = is_search.contains(&tool.to_lowercase().as_str());
    if is_search && !fact.free { PathFacts { reach: Reach::Tree, ..fact } } else { fact }
}

/// A command of a shell whose grammar is unknown: deny rules see its words, and no pattern allows
/// it.
fn other_line(part: &str) -> CommandFacts {
    let words = part.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    CommandFacts { dynamic: true, ..CommandFacts::new(words) }
}

/// The part of a path pattern before its first wildcard.
pub(super) fn literal_beginning(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{']) {
        Some(at) => {
            let before = pattern.get(..at).unwrap_or_default();
            before.rfind('/').and_then(|end| pattern.get(..=end)).unwrap_or_default()
        }
        None => pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::literal_beginning;

    #[test]
    fn a_pattern_begins_where_it_can_be_known() {
        for (pattern, expected) in
            [("src/**/*.rs", "src/"), ("*.rs", ""), (".env", ".env"), ("/etc/p*", "/etc/")]
        {
            assert_eq!(literal_beginning(pattern), expected, "{pattern}");
        }
    }
}
