//! Deletes that nobody takes back: the root of the machine, a home, the project itself, and what
//! is one of these when a variable is empty.

use std::path::Path;

use super::super::finding::{Axis, Weight};
use super::super::found::{Found, Target};
use super::super::view::{Landing, path_of};
use super::Walker;
use crate::knowledge::EffectKind;
use crate::shell::expand::{Bit, Field};
use crate::shell::state::lexical;
use crate::shell::tree::Span;
use std::os::fd::AsFd;

impl Walker<'_> {
    /// Says which deletes of a command are critical.
    pub(super) fn critical_deletes(&mut self, found: &Found) {
        if found.remote {
            return;
        }
        for target in found.targets(EffectKind::Delete) {
            let Some(why) = self.why_critical(found, target) else { continue };
            let shown = target.text.to_string_lossy();
            let text = format!("deletes {shown:?}, {why}");
            let instead = "name what is to be deleted, beneath the project";
            let span = target.span.or(found.span).unwrap_or_default();
            self.placed(Axis::Shell, "critical-delete", text, instead, Weight::Ask, span);
        }
    }

    fn why_critical(&mut self, found: &Found, target: &Target) -> Option<String> {
        if target.field.as_ref().is_some_and(hangs_on_a_variable) {
            return Some("which is everything if the variable is empty".to_owned());
        }
        let text = target.text.to_str()?;
        if !target.known && target.field.as_ref().is_none_or(|field| !field.is_pattern()) {
            return None;
        }
        // All that is in a folder is as good as the folder.
        let path = without_all(text);
        let mut folders = found.folders.clone();
        if folders.is_empty() {
            folders.push(self.view.cwd_path().to_owned());
        }
        folders.iter().find_map(|folder| self.why_folder(folder, path))
    }

    fn why_folder(&mut self, folder: &Path, path: &str) -> Option<String> {
        let named = lexical(folder, Path::new(path));
        let real = self.view_from(folder).and_then(|view| match view.land(path.as_ref()) {
            Landing::Inside { exists: true, handle } => path_of(handle.as_fd()).ok(),
            Landing::Outside { real, exists: true } => Some(real),
            Landing::Inside { .. } | Landing::Outside { .. } | Landing::Unknowable(_) => None,
        });
        [Some(named), real].into_iter().flatten().find_map(|path| self.why_path(&path))
    }

    fn why_path(&self, path: &Path) -> Option<String> {
        let root = self.view.root().path();
        if path == Path::new("/") {
            return Some("the root of the machine".to_owned());
        }
        if root.starts_with(path) {
            let is_root = root == path;
            let what = if is_root { "the project itself" } else { "a folder around the project" };
            return Some(what.to_owned());
        }
        if self.home.is_some_and(|home| home.starts_with(path)) {
            return Some("the home folder or one around it".to_owned());
        }
        if path.parent() == Some(Path::new("/")) {
            return Some("a folder of the machine's root".to_owned());
        }
        None
    }

    /// A file that may be any.
    pub(super) fn unknown_file(&mut self, span: Span) {
        let text = "which file this is is not known before the run".to_owned();
        let instead = "name the file in the line";
        self.placed(Axis::Path, "unknown", text, instead, Weight::Boxed, span);
    }

    fn placed(
        &mut self,
        axis: Axis,
        rule: &'static str,
        text: String,
        instead: &str,
        weight: Weight,
        span: Span,
    ) {
        let source = std::mem::replace(&mut self.source, super::Source::whole());
        self.find(axis, rule, text, instead, weight, span);
        self.source = source;
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
