//! The other names of what a box covers: where a link leads, and hard links. A mount covers one name,
//! and the content is what is meant.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::masks::MaskedPath;
use super::patterns::shown;
use super::walk::FolderWalk;
use crate::confine::Files;
use crate::outcome::Failure;

/// Adds to what is covered every other name of it that the box would show. What cannot be told stays
/// said as a weakness of the path.
pub(super) fn add(
    present: &mut Vec<MaskedPath>,
    files: &Files,
    until: Option<Instant>,
) -> Result<(), Failure> {
    if !present.iter().any(|one| one.is_link || one.has_other_names) {
        return Ok(());
    }
    let shown = shown(files)?;
    targets(present, &shown, &files.root);
    hard_links(present, &shown, until);
    Ok(())
}

/// Covers the places where links lead, unless that is the system's or holds the project.
fn targets(present: &mut Vec<MaskedPath>, shown: &BTreeSet<PathBuf>, root: &Path) {
    let mut found = Vec::new();
    for one in present.iter_mut().filter(|one| one.is_link) {
        let target = match led_to(&one.path) {
            Ok(Some(target)) => target,
            Ok(None) => continue,
            Err(_) => {
                one.weakness = Some("is a link that cannot be followed to its end");
                continue;
            }
        };
        let is_shown = shown.iter().any(|place| target.starts_with(place));
        if !is_shown || root.starts_with(&target) {
            continue;
        }
        match MaskedPath::of(target, one.guarantee) {
            Ok(covered) => found.push(covered.like(one)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => one.weakness = Some("is a link to what cannot be looked at"),
        }
    }
    for one in found {
        if !present.iter().any(|known| known.path == one.path && known.guarantee == one.guarantee) {
            present.push(one);
        }
    }
}

/// Covers the other names of files, which takes a walk through all that is shown.
fn hard_links(present: &mut Vec<MaskedPath>, shown: &BTreeSet<PathBuf>, until: Option<Instant>) {
    let wanted: BTreeSet<u64> =
        present.iter().filter(|one| one.has_other_names).map(MaskedPath::inode).collect();
    if wanted.is_empty() {
        return;
    }
    let (mut walk, mut seen) = (FolderWalk::new(until), BTreeSet::new());
    for place in shown {
        walk.through(place.clone(), |entry| {
            if wanted.contains(&entry.inode) {
                seen.insert(entry.path());
            }
        });
    }
    let is_whole = walk.gap().is_none();
    let mut found = Vec::new();
    for one in present.iter_mut().filter(|one| one.has_other_names) {
        let is_shown = shown.iter().any(|place| one.path.starts_with(place));
        // Where folders list other numbers than files have, nothing would be found.
        if !is_whole || (is_shown && !seen.contains(&one.path)) {
            one.weakness = Some("has other names by hard links, and not all could be looked for");
        }
        for path in &seen {
            let other = MaskedPath::of(path.clone(), one.guarantee);
            let other = other.ok().filter(|other| other.is_same_file(one));
            found.extend(other.map(|other| other.like(one)));
        }
    }
    for one in found {
        if !present.iter().any(|known| known.path == one.path && known.guarantee == one.guarantee) {
            present.push(one);
        }
    }
}

/// The real path that a link leads to, if it leads anywhere.
fn led_to(link: &Path) -> Result<Option<PathBuf>, Errno> {
    let target = match rustix::fs::openat(CWD, link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    {
        Ok(target) => target,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let handle = format!("/proc/self/fd/{}", target.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, handle, Vec::new())?;
    Ok(Some(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes()))))
}
