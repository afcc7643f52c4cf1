//! Symbolic links on the way to a path that a sandbox hides or protects, such as a `.git` that is a link: a
//! mount follows none, and a program could replace the link.

use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::inspect::real_folder;

/// Where a path leads, and the links on the way.
pub(super) struct Way {
    /// The path without a link on the way; none if a link leads nowhere.
    pub(super) place: Option<PathBuf>,
    /// The links on the way that lie in the project.
    pub(super) links: Vec<PathBuf>,
}

/// Follows the links between a project and a path in it. The last name is not followed.
pub(super) fn follow(root: &Path, path: &Path) -> Result<Way, Errno> {
    let mut way = Way { place: Some(path.to_owned()), links: Vec::new() };
    let (Ok(below), Some(name)) = (path.strip_prefix(root), path.file_name()) else {
        return Ok(way);
    };
    let mut folder = root.to_owned();
    for part in below.parent().into_iter().flat_map(Path::components) {
        // A path with `..` in it is not followed through a link.
        let Component::Normal(part) = part else { return Ok(way) };
        let next = folder.join(part);
        if !next.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            folder = next;
            continue;
        }
        if next.starts_with(root) {
            way.links.push(next.clone());
        }
        folder = match real_folder(&next) {
            Ok(real) => real,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                way.place = None;
                return Ok(way);
            }
            Err(errno) => return Err(errno),
        };
    }
    way.place = Some(folder.join(name));
    Ok(way)
}
