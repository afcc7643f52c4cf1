//! Whether code may run from a file, told by its name and those of its folders: cheap enough to be
//! asked of every file of a project. It says yes to all of the list, and to little else.

use std::path::{Component, Path};

use super::table::{ENDS, FILES, FOLDERS, WHOLE};

/// Whether a file of this name in this folder may be on the list by its own name.
pub(in crate::files) fn may_be_file(folder: &Path, name: &[u8]) -> bool {
    is_in(FILES, folder, name) || ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Whether all that is in this folder, however deep, may be on the list.
pub(in crate::files) fn may_be_whole(folder: &Path) -> bool {
    let last = folder.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    is_in(WHOLE, folder.parent().unwrap_or(Path::new("")), last)
}

/// Whether something of the list may be in a folder of this name, or below it.
pub(in crate::files) fn may_be_above(name: &[u8]) -> bool {
    FOLDERS.binary_search_by(|folder| folder.as_bytes().cmp(name)).is_ok()
}

/// Whether a file of this path may be on the list.
pub(super) fn may_be(path: &Path) -> bool {
    let name = path.file_name().map(std::ffi::OsStr::as_encoded_bytes).unwrap_or_default();
    let mut above = path.ancestors().skip(1);
    may_be_file(path.parent().unwrap_or(Path::new("")), name) || above.any(may_be_whole)
}

/// Whether a table has this name with folders above it as this one ends.
fn is_in(table: &[(&str, &str)], folder: &Path, name: &[u8]) -> bool {
    let from = table.partition_point(|(last, _)| last.as_bytes() < name);
    let same = table.iter().skip(from).take_while(|(last, _)| last.as_bytes() == name);
    let mut above = same.map(|(_, above)| *above);
    above.any(|above| ends_with(folder, above))
}

/// Whether a folder ends with these names, of which a star is any, and two stars are any number.
fn ends_with(folder: &Path, above: &str) -> bool {
    let Some((rest, last)) = above.rsplit_once('/').or((!above.is_empty()).then_some(("", above)))
    else {
        return true;
    };
    if last == "**" {
        return folder.ancestors().any(|folder| ends_with(folder, rest));
    }
    let is_it = match folder.components().next_back() {
        Some(Component::Normal(name)) => last == "*" || name.as_encoded_bytes() == last.as_bytes(),
        Some(_) | None => false,
    };
    is_it && folder.parent().is_some_and(|above| ends_with(above, rest))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{DATA, Data};
    use super::*;

    #[test]
    fn whatever_is_on_the_list_is_told_by_its_names() {
        let Data { file } = toml::from_str(DATA).unwrap();
        for entry in file {
            for path in &entry.r#match {
                assert!(may_be(Path::new(path)), "{path}");
                assert!(may_be(&Path::new("/home/x").join(path)), "{path}");
            }
        }
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
        assert!(
            may_be_whole(Path::new(".git/modules/m/n/hooks")) && !may_be_whole(Path::new("hooks"))
        );
    }
}
