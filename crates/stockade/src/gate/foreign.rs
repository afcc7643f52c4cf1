//! Tools that are not ours: rules decide about their calls by what the input names, and none is run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::act::{lands_in, protected};
use super::complaint;
use super::examine::{Examination, Examiner};
use super::facts::Shown;
use super::guarded::finding;
use super::named_paths::{self, Named, PATHS_MAX, fact, is_patch, too_many};
use super::path_text::{meanings, placed};
use super::search::{Searched, is_search};
use super::server_lines::{self, ServerLine};
use super::url_host::{UrlHost, addresses, host_of};
use crate::call::{Foreign, Tool, ToolCall};
use crate::confine::Files;
use crate::inspect::{Axis, Finding, Found, LineInspection, View, Weight};
use crate::policy::rule::{
    CommandFacts, Considered, Facts, HostFacts, PathFacts, Reach, Touch, is_reader,
};
use crate::policy::weigh::Kind;
use crate::policy::{Act, Profile};
use crate::shell::{NoShellInput, ShellInput};
use crate::tier::Tier;

/// Fields of an input that name a file or a folder.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];

impl Examiner {
    /// What the rules say to a call of a tool that is not ours.
    pub(super) fn examined_foreign(&self, call: &ToolCall, foreign: &Foreign) -> Examination {
        let view = match View::open(self.root(), call.cwd.as_deref()) {
            Ok(view) => view,
            Err(error) => return self.unprepared(call, complaint::bad_cwd(&error)).examination,
        };
        let (commands, mut findings) = self.lines_of(foreign, &view);
        let confinement = self.confinement(call);
        let named = Named::of(foreign, &view, self.home());
        findings.extend(self.guarded(&named, &confinement.files));
        let Searched { findings: of_search, exclude } =
            self.searched(foreign, (&named, &view), &confinement.files);
        findings.extend(named.findings.into_iter().chain(of_search).chain(unclear_hosts(foreign)));
        let found = self.policy().found(&findings, Profile::Contained);
        let shown = shown(call, &commands, &view, self.home()).with_findings(&findings);
        let rule = self.policy().rules.decide(&shown.facts);
        let rule = rule.map(|found| (found.clone(), shown.ruling(found, &findings)));
        let act = act(&foreign.name, &shown, &confinement.files);
        // No box of ours holds it.
        let judged = self.policy().judge_in(Tier::Process, found, rule, &act, Profile::Contained);
        let ruling = judged.ruling;
        let (changes_nothing, spared) = (act.kind == Kind::Reads, false);
        Examination { ruling, findings, commands, changes_nothing, confinement, spared, exclude }
    }

    /// The rules that are about a call, each with how it stands to what was found in it.
    pub fn consider(&self, call: &ToolCall, examination: &Examination) -> Vec<Considered<'_>> {
        let Ok(view) = View::open(self.root(), call.cwd.as_deref()) else { return Vec::new() };
        let shown = shown(call, &examination.commands, &view, self.home());
        let shown = shown.with_findings(&examination.findings);
        self.policy().rules.consider(&shown.facts)
    }

    /// The commands of an input that may be a shell line. What is wrong with it is found only where
    /// the tool is known to run such lines.
    fn lines_of(&self, foreign: &Foreign, view: &View<'_>) -> (Vec<Found>, Vec<Finding>) {
        let touch = Touch::of(&foreign.name);
        let nothing = || (Vec::new(), Vec::new());
        if is_patch(foreign) {
            return nothing();
        }
        if touch == Touch::Lines && is_of_server(&foreign.name) {
            return self.lines_of_server(foreign, view);
        }
        let shell = match touch {
            Touch::Lines | Touch::OtherLines => ShellInput::find(&foreign.input),
            // Other fields of other tools hold anything.
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
            self.inspector().inspect_line(&line, &self.setting(), view);
        (commands, if touch == Touch::Lines { findings } else { Vec::new() })
    }

    /// The commands of every text that a server's tool may run as a line.
    fn lines_of_server(&self, foreign: &Foreign, view: &View<'_>) -> (Vec<Found>, Vec<Finding>) {
        let lines = match server_lines::lines(&foreign.name, &foreign.input) {
            Ok(lines) => lines,
            Err(error) => return (Vec::new(), vec![of_no_line(error.text())]),
        };
        let (mut commands, mut findings) = (Vec::new(), Vec::new());
        for ServerLine { text, is_certain } in lines {
            if text.contains('\0') {
                findings.push(of_no_line("tool_input has a command with a NUL in it".to_owned()));
                continue;
            }
            let inspected = self.inspector().inspect_line(&text, &self.setting(), view);
            let counts = |one: &Finding| is_certain || one.axis != Axis::Shell;
            findings.extend(inspected.findings.into_iter().filter(counts));
            findings.extend(self.replacing_program(&inspected.commands, view));
            commands.extend(inspected.commands);
        }
        (commands, findings)
    }
}

/// Says of a call that its command line cannot be told.
fn of_no_line(why: String) -> Finding {
    let unread = finding("line", why, "send one command line as a text", Weight::Always);
    Finding { axis: Axis::Call, ..unread }
}

/// Says of a line in a shell that is not read here that no sandbox holds it.
fn of_other_shell(foreign: &Foreign) -> Finding {
    let text = format!("Stockade reads no lines of {} and has no sandbox for them", foreign.name);
    let found = finding("other", text, "use the tool Bash", Weight::Ask);
    Finding { axis: Axis::Shell, ..found }
}

/// Addresses of which it is not certain to which host they lead.
fn unclear_hosts(foreign: &Foreign) -> Option<Finding> {
    let fetches = Touch::of(&foreign.name) == Touch::Hosts;
    // The field of another tool may hold words.
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

/// The addresses that an input names. A tool that has no field for them takes them from its prompt.
fn urls(foreign: &Foreign) -> Vec<String> {
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

/// What a call shows to rules.
pub(super) fn shown(
    call: &ToolCall,
    commands: &[Found],
    view: &View<'_>,
    home: Option<&Path>,
) -> Shown {
    let mut shown = Shown::new(call.tool.name(), commands, view, home);
    match &call.tool {
        Tool::Unknown(foreign) => add_input(foreign, view, home, &mut shown),
        Tool::File(file) => {
            let foreign = Foreign { name: file.name().to_owned(), input: file.input() };
            add_input(&foreign, view, home, &mut shown);
        }
        Tool::Exec(_) | Tool::Line(_) | Tool::Code(_) | Tool::Malformed(_) => {}
    }
    shown
}

/// What a call does, as the mode sees it: reading and writing files of the work are known.
pub(super) fn act(tool: &str, shown: &Shown, files: &Files) -> Act {
    let Facts { reads, writes, hosts, .. } = &shown.facts;
    let kind = match Touch::of(tool) {
        Touch::Reads if !reads.is_empty() && reads.iter().all(|path| path.free) => Kind::Reads,
        Touch::Writes if !writes.is_empty() => {
            let is_ours = |path: &PathFacts| lands_in(path, &files.write);
            if writes.iter().all(is_ours) { Kind::Edits } else { Kind::Runs }
        }
        Touch::Lines
        | Touch::OtherLines
        | Touch::Reads
        | Touch::Writes
        | Touch::Hosts
        | Touch::Unknown => Kind::Runs,
    };
    let protected = writes.iter().find_map(|path| protected(path, &files.protect));
    Act { kind, protected, reaches_out: !hosts.is_empty() }
}

fn text<'f>(foreign: &'f Foreign, field: &str) -> Option<&'f str> {
    foreign.input.get(field)?.as_str()
}

/// Adds what the fields of an input name. What a tool does with a path that is not known to read or
/// to write may be either.
fn add_input(foreign: &Foreign, view: &View<'_>, home: Option<&Path>, shown: &mut Shown) {
    let touch = Touch::of(&foreign.name);
    let facts = &mut shown.facts;
    facts.set_parameters(&foreign.input);
    if let (Touch::OtherLines, Some(line)) = (touch, text(foreign, "command")) {
        facts
            .commands
            .extend(line.split([';', '|', '&', '\n', '(', ')', '{', '}']).map(other_line));
    }
    if is_patch(foreign) {
        facts.writes.extend(Named::of(foreign, view, home).writes);
        return;
    }
    let mut paths: Vec<PathBuf> = PATHS
        .iter()
        .filter_map(|field| text(foreign, field))
        .map(|path| placed(path, view.cwd_path(), home))
        .collect();
    if let Some(pattern) =
        text(foreign, "pattern").filter(|_| foreign.name.eq_ignore_ascii_case("glob"))
    {
        let folder = paths.pop().unwrap_or_else(|| view.cwd_path().to_owned());
        paths.push(placed(literal_beginning(pattern), &folder, home));
    } else if paths.is_empty() && reads_here(foreign) {
        // Without a path the search is in the folder of the session.
        paths.push(view.cwd_path().to_owned());
    }
    let mut urls = urls(foreign);
    urls.truncate(PATHS_MAX);
    let of_urls = urls.iter().filter(|url| url.trim().get(..5).is_some_and(is_file_scheme));
    let others = named_paths::paths(foreign, view, home).into_iter();
    for path in others.chain(of_urls.flat_map(|url| meanings(url, view.cwd_path(), home))) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    for path in paths {
        let one = || fact(&path, view, &foreign.name);
        if touch != Touch::Writes {
            facts.reads.push(searched(one(), &foreign.name));
        }
        if touch != Touch::Reads {
            // A tool that writes needs a rule in a folder of the work, too.
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

/// Whether a tool of the agent reads in the folder of the session where it names no other.
fn reads_here(foreign: &Foreign) -> bool {
    !is_of_server(&foreign.name) && (is_reader(&foreign.name) || is_search(foreign))
}

/// Whether a tool is one of a server, which has a folder of its own.
pub(super) fn is_of_server(tool: &str) -> bool {
    tool.starts_with("mcp__")
}

fn is_file_scheme(text: &str) -> bool {
    text.eq_ignore_ascii_case("file:")
}

/// A folder outside of the project that is searched, with all that is in it.
fn searched(fact: PathFacts, tool: &str) -> PathFacts {
    let is_search = ["grep", "search_file_content", "grep_search", "grep_files"];
    let is_search = is_search.contains(&tool.to_lowercase().as_str());
    if is_search && !fact.free { PathFacts { reach: Reach::Tree, ..fact } } else { fact }
}

/// A command of a shell whose grammar is not known here: rules that refuse see its words, and no
/// pattern allows it.
fn other_line(part: &str) -> CommandFacts {
    let words = part.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    CommandFacts { dynamic: true, ..CommandFacts::new(words) }
}

/// The part of a pattern of paths before its first wildcard.
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
