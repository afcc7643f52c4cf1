//! Shell lines that apply a patch of Codex, as `apply_patch <<'EOF'`: the patch, and where it applies.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use stockade::inspect::CommandSummary;

const NAMES: [&str; 2] = ["apply_patch", "applypatch"];
const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Whether a command is one that applies patches, by whichever path.
pub(super) fn applies_patch(found: &CommandSummary) -> bool {
    let name = found.words.first().and_then(|word| Path::new(word).file_name());
    name.and_then(OsStr::to_str).is_some_and(|name| NAMES.contains(&name))
}

/// The patch that a line applies, and the folder that its paths start from; none where either is not
/// certain, or the line does more than that.
pub(super) fn patch_of(line: &str, commands: &[CommandSummary]) -> Option<(String, PathBuf)> {
    let is_else = |found: &&CommandSummary| {
        let name = found.words.first().and_then(|word| word.to_str()).unwrap_or_default();
        // A shell that runs the line, or a change of the folder.
        !applies_patch(found) && !["cd", "bash", "sh", "zsh"].contains(&name)
    };
    let mut patches = commands.iter().filter(|found| applies_patch(found));
    let (command, second) = (patches.next()?, patches.next());
    if second.is_some() || commands.iter().any(|found| is_else(&found)) {
        return None;
    }
    let [folder] = command.folders.as_slice() else { return None };
    let patch = match (command.words.as_slice(), command.known.as_slice()) {
        ([_, text], [_, true]) if !command.dynamic && !command.open => text.to_str()?.to_owned(),
        ([_], _) => document_of(line)?,
        _ => return None,
    };
    Some((patch, folder.clone()))
}

/// The one patch that stands in a here-document of the line.
fn document_of(line: &str) -> Option<String> {
    let (before, rest) = line.split_once(BEGIN)?;
    let (inside, after) = rest.rsplit_once(END)?;
    let is_one = !inside.contains(BEGIN) && !after.contains(END);
    // What follows the patch is the word that ends the document, and what closes a quoted line.
    let is_end = |text: &str| {
        let word = text.trim().trim_matches(['\'', '"']).trim();
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    // The shell expands a document whose word is not quoted.
    let (_, word) = before.trim_end().rsplit_once("<<")?;
    let is_quoted = word.trim_start_matches('-').trim_start().starts_with(['\'', '"', '\\']);
    let is_plain = is_quoted || !inside.contains(['$', '`', '\\']);
    let patch = format!("{BEGIN}{inside}{END}");
    (is_one && is_end(after) && is_plain).then_some(patch)
}
