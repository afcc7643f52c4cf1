//! Files from which code runs, before and after: a fixed list of places, no walk.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;

use super::after::shown;
use super::listing::Start;
use super::{size_of, why};
use crate::files::changes::exact;
use crate::files::digest::{Moment, remembered};
use crate::files::open::beneath;
use crate::files::risky::{Place, places};
use crate::files::{Change, Kind};
use crate::inspect::stat_of;

/// Files of one folder that are looked at, and how deep.
const FILES_MAX: usize = 256;
const DEPTH_MAX: usize = 3;
/// And of all of them.
const ALL_FILES_MAX: usize = 2000;
/// Names at the top of a folder beyond which each place is looked for by itself.
const TOP_NAMES_MAX: usize = 2000;
/// Larger ones, and all beyond so much together, are told by what the system says about them, and not
/// by a hash.
pub(super) const HASHED_BYTES_MAX: u64 = 1 << 20;
pub(super) const ALL_HASHED_BYTES_MAX: u64 = 8 << 20;

/// The files of the list in all folders that can be written.
#[derive(Debug)]
pub(super) struct Placed(Vec<Seen>);

impl Placed {
    pub(super) fn look(starts: &[Start]) -> Self {
        Self(starts.iter().flat_map(|start| look(start.handle.as_fd(), &start.told).seen).collect())
    }

    /// What has changed since, and in words what was not looked at.
    pub(super) fn compare(&self, starts: &[Start]) -> (Vec<Change>, Vec<String>) {
        let (mut now, mut unseen) = (Vec::new(), Vec::new());
        for start in starts {
            let Looked { seen, cut, unread } = look(start.handle.as_fd(), &start.told);
            let more = |name| format!("not all was looked at in {name}: there are too many files");
            unseen.extend(cut.into_iter().map(more));
            unseen.extend(unread.into_iter().map(|name| format!("could not be read: {name}")));
            now.extend(seen);
        }
        let then: HashMap<&Path, &Seen> =
            self.0.iter().map(|seen| (seen.path.as_path(), seen)).collect();
        let there: HashSet<&Path> = now.iter().map(|seen| seen.path.as_path()).collect();
        let is_gone = |before: &&Seen| !there.contains(before.path.as_path());
        let changed =
            now.iter().filter_map(|now| changed(then.get(now.path.as_path()).copied(), now));
        let gone = self.0.iter().filter(is_gone).map(|seen| Change {
            path: shown(&seen.path),
            path_base64: exact(&seen.path),
            kind: Kind::Deleted,
            size: None,
            before: seen.hash.clone(),
            after: None,
            runs_code: why(&seen.path, seen.is_link()),
        });
        (changed.chain(gone).collect(), unseen)
    }
}

fn changed(before: Option<&Seen>, now: &Seen) -> Option<Change> {
    let kind = match before {
        None => Kind::Created,
        Some(before) if before.is_same(now) => return None,
        Some(_) => Kind::Modified,
    };
    Some(Change {
        path: shown(&now.path),
        path_base64: exact(&now.path),
        kind,
        size: Some(now.size),
        before: before.and_then(|before| before.hash.clone()),
        after: now.hash.clone(),
        runs_code: why(&now.path, now.is_link()),
    })
}

/// A file at one moment. Its path is the one that is told.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    moment: Moment,
    mode: u32,
    size: u64,
    hash: Option<String>,
}

impl Seen {
    /// Whether nothing that matters has changed: what is in it, and its mode.
    fn is_same(&self, other: &Self) -> bool {
        let is_same_content = match (&self.hash, &other.hash) {
            (Some(one), Some(other)) => one == other,
            _ => self.moment == other.moment,
        };
        self.mode == other.mode && is_same_content
    }

    fn is_link(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Symlink
    }
}

/// What a look at a folder shows.
#[derive(Debug, Default)]
struct Looked {
    seen: Vec<Seen>,
    /// The places in which there is more than was looked at.
    cut: Vec<&'static str>,
    /// Those that cannot be read.
    unread: Vec<&'static str>,
}

/// The files of the list that are in this folder.
fn look(folder: BorrowedFd<'_>, path: &Path) -> Looked {
    // One list of names saves a look for each of those that are not there.
    let mut left = TOP_NAMES_MAX;
    let top = names(folder, Path::new("."), &mut left).ok().filter(|_| left > 0);
    let top: Option<HashSet<OsString>> =
        top.map(|names| names.into_iter().map(|(name, _)| name).collect());
    let may_be = |place: &Place| {
        let (Place::File(name) | Place::Folder(name)) = *place;
        let first = name.split('/').next().unwrap_or_default();
        top.as_ref().is_none_or(|top| top.contains(OsStr::new(first)))
    };
    let mut look = Look {
        folder,
        path,
        bytes_left: ALL_HASHED_BYTES_MAX,
        seen: Vec::new(),
        is_too_deep: false,
    };
    let (mut cut, mut unread) = (Vec::new(), Vec::new());
    for place in places().filter(may_be) {
        match place {
            Place::File(name) => look.one(Path::new(name)),
            Place::Folder(name) => {
                let mut left = FILES_MAX.min(ALL_FILES_MAX.saturating_sub(look.seen.len()));
                let is_read = look.all_in(Path::new(name), DEPTH_MAX, &mut left);
                let is_cut = left == 0 || std::mem::take(&mut look.is_too_deep);
                cut.extend(is_cut.then_some(name));
                unread.extend((!is_read).then_some(name));
            }
        }
    }
    Looked { seen: look.seen, cut, unread }
}

/// A look at one folder.
struct Look<'l> {
    folder: BorrowedFd<'l>,
    path: &'l Path,
    bytes_left: u64,
    seen: Vec<Seen>,
    /// There was a folder further down than is looked.
    is_too_deep: bool,
}

impl Look<'_> {
    fn one(&mut self, name: &Path) {
        match seen(self.folder, name, self.path, &mut self.bytes_left) {
            Ok(seen) => self.seen.extend(seen),
            Err(Errno::LOOP | Errno::NOTDIR) => self.link_above(name),
            Err(_) => {}
        }
    }

    /// Takes the link on the way to a place: whoever follows it finds there what is in its target.
    fn link_above(&mut self, name: &Path) {
        let above: Vec<&Path> = name.ancestors().filter(|one| *one != Path::new("")).collect();
        for above in above.into_iter().rev() {
            let Ok(Some(seen)) = seen(self.folder, above, self.path, &mut self.bytes_left) else {
                continue;
            };
            let is_known = self.seen.iter().any(|known| known.path == seen.path);
            self.seen.extend((seen.is_link() && !is_known).then_some(seen));
            return;
        }
    }

    /// Looks at all that is there; whether it could be read.
    fn all_in(&mut self, name: &Path, depth: usize, left: &mut usize) -> bool {
        let names = match names(self.folder, name, left) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                self.link_above(name);
                return true;
            }
            Err(errno) => return errno == Errno::NOENT,
            Ok(names) => names,
        };
        let mut is_read = true;
        for (inner, kind) in names {
            let inner = name.join(inner);
            match (kind == FileType::Directory, depth.checked_sub(1)) {
                (true, Some(depth)) => is_read &= self.all_in(&inner, depth, left),
                (true, None) => self.is_too_deep = true,
                (false, _) => self.one(&inner),
            }
        }
        is_read
    }
}

/// A file or a link as it is; none if it is a folder.
fn seen(
    folder: BorrowedFd<'_>,
    name: &Path,
    path: &Path,
    bytes_left: &mut u64,
) -> Result<Option<Seen>, Errno> {
    let handle = beneath(folder, name, OFlags::PATH)?;
    let stat = stat_of(handle.as_fd())?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Directory {
        return Ok(None);
    }
    let path = path.join(name);
    let size = size_of(&stat);
    let is_hashed = kind == FileType::RegularFile && size <= HASHED_BYTES_MAX.min(*bytes_left);
    if is_hashed {
        *bytes_left = bytes_left.saturating_sub(size);
    }
    let hash = is_hashed.then(|| remembered(handle.as_fd(), &stat, &path).ok()).flatten().flatten();
    Ok(Some(Seen { path, moment: Moment::of(&stat), mode: stat.st_mode, size, hash }))
}

fn names(
    folder: BorrowedFd<'_>,
    name: &Path,
    left: &mut usize,
) -> Result<Vec<(OsString, FileType)>, Errno> {
    let handle = beneath(folder, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&handle)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { break };
        *left = fewer;
        names.push((name.to_owned(), entry.file_type()));
    }
    Ok(names)
}
