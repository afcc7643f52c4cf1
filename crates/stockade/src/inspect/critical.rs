//! Deletes that nobody takes back: the root of the machine, a home, the project itself, and what
//! is one of these when a variable is empty.

use std::path::{Path, PathBuf};

use super::finding::{Axis, Finding, Weight};
use super::found::{Found, Target};
use super::view::View;
use crate::knowledge::EffectKind;
use crate::shell::expand::{Bit, Field};
use crate::shell::state::lexical;

/// What is moved is still there.
const MOVES: [&str; 2] = ["mv", "gmv"];

/// The deletes of a command that are critical, whatever rule allows them.
pub(crate) fn deletes(found: &Found, view: &View<'_>, home: Option<&Path>) -> Vec<Finding> {
    let name = found.words.first().and_then(|word| Path::new(word).file_name());
    if found.remote || MOVES.iter().any(|moves| name == Some(moves.as_ref())) {
        return Vec::new();
    }
    let targets = found.targets(EffectKind::Delete);
    targets
        .filter_map(|target| {
            let why = why(found, target, view, home)?;
            let shown = target.text.to_string_lossy();
            Some(Finding {
                axis: Axis::Shell,
                rule: "critical-delete",
                text: format!("deletes {shown:?}, {why}"),
                argument: None,
                instead: Some("name what is to be deleted, beneath the project".to_owned()),
                listed: None,
                weight: Weight::Ask,
                span: target.span.or(found.span),
            })
        })
        .collect()
}

fn why(
    found: &Found,
    target: &Target,
    view: &View<'_>,
    home: Option<&Path>,
) -> Option<&'static str> {
    if target.field.as_ref().is_some_and(hangs_on_a_variable) {
        return Some("which is everything if the variable is empty");
    }
    if target.is_open() {
        return None;
    }
    // All that is in a folder is as good as the folder.
    let path = Path::new(without_all(target.text.to_str()?));
    let mut folders: Vec<&Path> =
        found.folders.iter().chain(&found.entered).map(PathBuf::as_path).collect();
    if folders.is_empty() {
        folders.push(view.cwd_path());
    }
    folders.into_iter().find_map(|folder| {
        let real = view.real(folder.join(path).as_os_str());
        let both = [Some(lexical(folder, path)), real];
        both.into_iter().flatten().find_map(|path| why_path(&path, view.root().path(), home))
    })
}

fn why_path(path: &Path, root: &Path, home: Option<&Path>) -> Option<&'static str> {
    if path == Path::new("/") {
        Some("the root of the machine")
    } else if path == root {
        Some("the project itself")
    } else if root.starts_with(path) {
        Some("a folder around the project")
    } else if home.is_some_and(|home| home.starts_with(path)) {
        Some("the home folder or one around it")
    } else if path.parent() == Some(Path::new("/")) {
        Some("a folder of the machine's root")
    } else {
        None
    }
}

/// `"$DIR"/`, `$DIR/*`: everything, where the variable is empty.
fn hangs_on_a_variable(field: &Field) -> bool {
    let known = field.bits.iter().skip_while(|bit| **bit == Bit::Unknown);
    let mut rest = String::new();
    for bit in known {
        match bit {
            Bit::Text(text) => rest.push_str(text),
            Bit::Glob(c) => rest.push(*c),
            Bit::Unknown => return false,
        }
    }
    field.bits.first() == Some(&Bit::Unknown) && rest.starts_with('/') && without_all(&rest) == "/"
}

/// A path without the patterns at its end that stand for all in a folder: `x/*`, `x/.*`, `x/{*,.*}`.
fn without_all(path: &str) -> &str {
    let mut path = path;
    while let Some(shorter) = ["*", ".*", ".[!.]*", ".??*", "?*"].iter().find_map(|all| {
        path.strip_suffix(all).filter(|rest| rest.is_empty() || rest.ends_with('/'))
    }) {
        path = match shorter.trim_end_matches('/') {
            "" if shorter.starts_with('/') => return "/",
            "" => return ".",
            trimmed => trimmed,
        };
    }
    match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/",
        trimmed => trimmed,
    }
}
