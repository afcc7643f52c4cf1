//! Whether code may run from a file, told by its name and those of its folders: cheap enough to be
//! asked of every file of a project. It says yes to all of the list, and to little else.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};
use std::sync::OnceLock;

use super::data;

/// The folders that a path of the list has above its last name, from the last one up; none where
/// any name will do.
type Above = Vec<Option<&'static [u8]>>;

/// The names that the list is made of.
#[derive(Debug, Default)]
struct Names {
    /// Last names of files.
    files: HashMap<&'static [u8], Vec<Above>>,
    /// How the names of files end, for those that begin with a star.
    ends: Vec<&'static [u8]>,
    /// Folders of which all that is in them is on the list.
    whole: HashMap<&'static [u8], Vec<Above>>,
    /// Folders on the way to something of the list, and those.
    folders: HashSet<&'static [u8]>,
    /// The list cannot be read, or has a pattern that names do not tell.
    is_any: bool,
}

/// Whether a file of this name in this folder may be on the list by its own name.
pub(in crate::files) fn may_be_file(folder: &Path, name: &[u8]) -> bool {
    let names = names();
    names.is_any
        || names.files.get(name).is_some_and(|all| fits(all, folder))
        || names.ends.iter().any(|end| name.ends_with(end))
}

/// Whether all that is in this folder, however deep, may be on the list.
pub(in crate::files) fn may_be_whole(folder: &Path) -> bool {
    let names = names();
    let last = folder.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    let above = folder.parent().unwrap_or(Path::new(""));
    names.is_any || names.whole.get(last).is_some_and(|all| fits(all, above))
}

/// Whether something of the list may be in a folder of this name, or below it.
pub(in crate::files) fn may_be_above(name: &[u8]) -> bool {
    let names = names();
    names.is_any || names.folders.contains(name)
}

/// Whether a file of this path may be on the list.
pub(super) fn may_be(path: &Path) -> bool {
    let name = path.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    let mut above = path.ancestors().skip(1);
    may_be_file(path.parent().unwrap_or(Path::new("")), name) || above.any(may_be_whole)
}

/// Whether a folder ends as one of these want it.
fn fits(all: &[Above], folder: &Path) -> bool {
    all.iter().any(|above| {
        let mut names = folder.components().rev();
        above.iter().all(|wanted| match (names.next(), wanted) {
            (Some(Component::Normal(name)), Some(wanted)) => name.as_encoded_bytes() == *wanted,
            (Some(Component::Normal(_)), None) => true,
            (_, _) => false,
        })
    })
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = Names { is_any: data().is_none(), ..Names::default() };
        for path in data().unwrap_or_default().iter().flat_map(|entry| &entry.paths) {
            names.add(path);
        }
        names
    })
}

impl Names {
    fn add(&mut self, path: &'static str) {
        let (path, is_whole) = match path.strip_suffix("/**") {
            Some(folder) => (folder, true),
            None => (path, false),
        };
        let mut parts = path.rsplit('/');
        let last = parts.next().unwrap_or_default();
        let above: Above = parts.map(|part| is_plain(part).then_some(part.as_bytes())).collect();
        self.folders.extend(above.iter().flatten());
        self.folders.extend(is_whole.then_some(last.as_bytes()));
        let end = last.strip_prefix('*').filter(|end| is_plain(end) && above.is_empty());
        match (is_plain(last), end) {
            (true, _) if is_whole => self.whole.entry(last.as_bytes()).or_default().push(above),
            (true, _) => self.files.entry(last.as_bytes()).or_default().push(above),
            (false, Some(end)) if !is_whole => self.ends.push(end.as_bytes()),
            (false, _) => self.is_any = true,
        }
    }
}

/// Whether a pattern, or a part of one, stands for itself.
pub(super) fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_on_the_list_is_told_by_its_names() {
        for entry in data().unwrap() {
            for path in &entry.r#match {
                assert!(may_be(Path::new(path)), "{path}");
                assert!(may_be(&Path::new("/home/x").join(path)), "{path}");
            }
        }
        assert!(!names().is_any);
    }

    #[test]
    fn ordinary_files_are_not() {
        let ordinary = [
            "src/main.rs",
            "src/hooks/use.ts",
            "app/config",
            ".git/HEAD",
            "actions/x.ts",
            "tasks.json",
            "/",
            "",
        ];
        for path in ordinary {
            assert!(!may_be(Path::new(path)), "{path}");
        }
        assert!(may_be_above(b".git") && may_be_above(b".claude") && !may_be_above(b"src"));
        assert!(may_be_whole(Path::new("a/.claude")) && !may_be_whole(Path::new(".git")));
        assert!(may_be_whole(Path::new(".git/modules/m/hooks")));
    }
}
