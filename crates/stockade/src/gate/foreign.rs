//! Tools that are not ours: rules decide about their calls by what the input names, and none is run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::act::{lands_in, protected};
use super::complaint;
use super::examine::{Examination, Examiner};
use super::facts::Shown;
use crate::call::{Foreign, Tool, ToolCall};
use crate::confine::Files;
use crate::inspect::{Finding, Found, LineInspection, View};
use crate::policy::rule::{CommandFacts, Considered, Facts, HostFacts, PathFacts, Touch};
use crate::policy::weigh::Kind;
use crate::policy::{Act, Profile, Ruling, own};
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
        let (commands, findings) = self.lines_of(foreign, &view);
        let shown = shown(call, &commands, &view, self.home());
        let confinement = self.confinement(call);
        let found = self.policy().found(&findings, Profile::Contained);
        let rule = self.policy().rules.decide(&shown.facts);
        let rule = rule.map(|found| (found.clone(), Ruling::from(found)));
        let mut act = act(&foreign.name, &shown, &confinement.files);
        // Nor do the folders that a box can write bound it.
        act.protected = act.protected.or_else(|| self.own_met(&shown.facts));
        // No box of ours holds it.
        let judged = self.policy().judge_in(Tier::Process, found, rule, &act, Profile::Contained);
        let ruling = judged.ruling;
        let (changes_nothing, spared) = (act.kind == Kind::Reads, false);
        Examination { ruling, findings, commands, changes_nothing, confinement, spared }
    }

    /// The file of ours, or the settings, that a call writes wherever they are.
    fn own_met(&self, facts: &Facts) -> Option<PathBuf> {
        if facts.writes.is_empty() {
            return None;
        }
        let own: Vec<PathBuf> =
            self.own_files().all().iter().cloned().chain(own::settings()).collect();
        facts.writes.iter().find_map(|path| protected(path, &own))
    }

    /// The rules that are about a call, each with how it stands to what was found in it.
    pub fn consider(&self, call: &ToolCall, examination: &Examination) -> Vec<Considered<'_>> {
        let Ok(view) = View::open(self.root(), call.cwd.as_deref()) else { return Vec::new() };
        self.policy().rules.consider(&shown(call, &examination.commands, &view, self.home()).facts)
    }

    /// The commands of an input that may be a shell line. What is wrong with it is found only where
    /// the tool is known to run such lines.
    fn lines_of(&self, foreign: &Foreign, view: &View<'_>) -> (Vec<Found>, Vec<Finding>) {
        let touch = Touch::of(&foreign.name);
        match text(foreign, "command") {
            Some(line) if touch != Touch::OtherLines && !line.contains('\0') => {
                let inspector = self.inspector();
                let LineInspection { commands, findings } =
                    inspector.inspect_line(line, &self.setting(), view);
                let findings = if touch == Touch::Lines { findings } else { Vec::new() };
                (commands, findings)
            }
            Some(_) | None => (Vec::new(), Vec::new()),
        }
    }
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
    } else if touch == Touch::Reads && paths.is_empty() {
        // Without a path the search is in the folder of the session.
        paths.push(view.cwd_path().to_owned());
    }
    for path in paths {
        let one = || fact(&path, view);
        if touch != Touch::Writes {
            facts.reads.push(one());
        }
        if touch != Touch::Reads {
            // A tool that writes needs a rule in a folder of the work, too.
            facts.writes.push(PathFacts { free: false, ..one() });
        }
    }
    if let Some(url) = text(foreign, "url") {
        let host = host(url);
        let known = !host.is_empty();
        facts.hosts.push(HostFacts { name: host.to_owned(), known, command: None });
    }
}

/// A path that an input names.
fn fact(path: &Path, view: &View<'_>) -> PathFacts {
    let real = view.real(path.as_os_str());
    let free = real.as_ref().is_some_and(|real| real.starts_with(view.root().path()));
    PathFacts { real, free, ..PathFacts::new(path) }
}

/// A command of a shell whose grammar is not known here: rules that refuse see its words, and no
/// pattern allows it.
fn other_line(part: &str) -> CommandFacts {
    let words = part.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    CommandFacts { dynamic: true, ..CommandFacts::new(words) }
}

pub(super) fn placed(text: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if text == "~" => home.map_or_else(|| folder.join(text), Path::to_owned),
        _ => folder.join(OsStr::new(text)),
    }
}

/// The part of a pattern of paths before its first wildcard.
fn literal_beginning(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{']) {
        Some(at) => {
            let before = pattern.get(..at).unwrap_or_default();
            before.rfind('/').and_then(|end| pattern.get(..=end)).unwrap_or_default()
        }
        None => pattern,
    }
}

/// The host of an address.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.starts_with('[') {
        return host.find(']').and_then(|end| host.get(..=end)).unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::{host, literal_beginning};

    #[test]
    fn the_host_of_an_address_is_found_in_every_spelling() {
        for (url, expected) in [
            ("https://a.b/c", "a.b"),
            ("https://u:p@a.b:80/@x", "a.b"),
            ("a.b/c", "a.b"),
            ("http://[::1]:8/x", "[::1]"),
            ("https://a.b\\@c", "a.b"),
            ("https:///x", ""),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn a_pattern_begins_where_it_can_be_known() {
        for (pattern, expected) in
            [("src/**/*.rs", "src/"), ("*.rs", ""), (".env", ".env"), ("/etc/p*", "/etc/")]
        {
            assert_eq!(literal_beginning(pattern), expected, "{pattern}");
        }
    }
}
