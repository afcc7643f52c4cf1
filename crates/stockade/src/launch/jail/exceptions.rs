//! Folders in protected ones that stay writable: an agent keeps its working trees there.

use std::path::Path;

use super::masks::MaskedPath;
use crate::confine::{Files, writable_in_protected};
use crate::guarantee::Guarantee;

/// Those that exist as folders, where nothing but the protected folder itself keeps a sandbox from
/// writing them. No symbolic link is followed.
pub(super) fn find(present: &[MaskedPath], files: &Files) -> Vec<MaskedPath> {
    let found = writable_in_protected(&files.root).filter_map(|(folder, inner)| {
        let is_folder = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        let is_protected = |one: &MaskedPath| {
            one.path == folder && one.guarantee == Guarantee::Protected && one.rule().is_none()
        };
        let covers = |one: &MaskedPath| inner.starts_with(&one.path) && !is_protected(one);
        let is_excepted = present.iter().any(is_protected)
            && !present.iter().any(covers)
            && is_writable(&inner, files)
            && is_folder(&folder)
            && is_folder(&inner);
        is_excepted.then(|| MaskedPath::of(inner, Guarantee::Protected).ok()).flatten()
    });
    found.collect()
}

/// Whether a path lies in a folder that can be written, and in none that is shown to be read.
fn is_writable(path: &Path, files: &Files) -> bool {
    let mut read = files.read.iter().chain(files.toolchains.iter().map(|one| &one.path));
    files.write.iter().any(|folder| path.starts_with(folder))
        && !read.any(|folder| path.starts_with(folder))
}
