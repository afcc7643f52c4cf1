//! The hidden and protected paths of a box: which are there, which are not, and whether they are
//! still the same files when it has ended.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags};

use super::gaps::{Gaps, guarantee};
use super::root::files_failure;
use super::{names, sought};
use crate::confine::Files;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::inspect::real_folder;
use crate::outcome::Failure;

/// How deep the folders of submodules are looked for.
const MODULES_DEPTH_MAX: usize = 6;

/// What git runs or follows in a folder of its own.
const FOLLOWED: [&str; 5] = ["config", "config.worktree", "hooks", "commondir", "info/attributes"];

/// What is to be hidden and protected, as it is before the box starts.
#[derive(Debug)]
pub(in crate::launch) struct Cover {
    pub(in crate::launch) present: Vec<Covered>,
    /// Protected paths that are not there.
    pub(in crate::launch) absent: Vec<PathBuf>,
    /// Hidden paths that are not there.
    pub(super) absent_hidden: Vec<PathBuf>,
    /// What rules mean and the box does not keep.
    pub(in crate::launch) gaps: Gaps,
}

/// One path that is there and gets a mount of its own.
#[derive(Debug)]
pub(in crate::launch) struct Covered {
    pub(super) path: PathBuf,
    /// Hidden paths keep reads, protected ones the protection.
    pub(super) guarantee: Guarantee,
    pub(super) is_link: bool,
    pub(super) has_other_names: bool,
    identity: Identity,
    /// Why a mount on this path is not the whole protection.
    pub(super) weakness: Option<&'static str>,
}

/// Looks at every path; one that cannot be looked at could be anything, and ends the launch.
pub(in crate::launch) fn look(files: &Files) -> Result<Cover, Failure> {
    let git = git_paths(files);
    let hidden = files.hide.iter().map(|path| (path, Guarantee::Reads));
    let protected = files.protect.iter().chain(&git).map(|path| (path, Guarantee::Protected));
    let gaps = Gaps::default();
    let mut cover =
        Cover { present: Vec::new(), absent: Vec::new(), absent_hidden: Vec::new(), gaps };
    for (path, guarantee) in hidden.chain(protected) {
        match Covered::of(path.clone(), guarantee) {
            Ok(covered) => cover.present.push(covered),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                let is_hidden = guarantee == Guarantee::Reads;
                let list = if is_hidden { &mut cover.absent_hidden } else { &mut cover.absent };
                list.push(path.clone());
            }
            Err(error) => return Err(unseen(path, &error)),
        }
    }
    let searched = sought::search(files)?;
    for (path, at) in &searched.found {
        let Some(guarantee) = files.sought.get(*at).map(|one| guarantee(one.keep())) else {
            continue;
        };
        if cover.present.iter().any(|one| one.path == *path && one.guarantee == guarantee) {
            continue;
        }
        match Covered::of(path.clone(), guarantee) {
            Ok(covered) => cover.present.push(covered),
            // It has gone since.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unseen(path, &error)),
        }
    }
    cover.gaps = Gaps::of(files, &searched);
    names::add(&mut cover.present, files)?;
    Ok(cover)
}

fn unseen(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("could not look at {path:?}, which is to be kept: {error}");
    files_failure("look at protected paths", &message)
        .remedy("give yourself the right to enter the folder that holds it")
}

impl Cover {
    /// The paths that are there and are shown empty.
    pub(super) fn hidden(&self) -> impl Iterator<Item = &Path> {
        let hidden = self.present.iter().filter(|one| one.guarantee == Guarantee::Reads);
        hidden.map(Covered::path)
    }

    /// Which files are covered, and how: the same for the same ones only.
    pub(in crate::launch) fn stamp(&self) -> Vec<u8> {
        let mut stamp = Vec::new();
        for Covered { path, guarantee, identity, .. } in &self.present {
            stamp.extend_from_slice(path.as_os_str().as_bytes());
            stamp.extend([0, u8::from(*guarantee == Guarantee::Reads)]);
            stamp.extend(identity.0.into_iter().flat_map(u64::to_ne_bytes));
        }
        stamp
    }
}

impl Covered {
    /// What is at a path now.
    pub(super) fn of(path: PathBuf, guarantee: Guarantee) -> std::io::Result<Self> {
        let found = look_at(&path)?;
        let kind = FileType::from_raw_mode(found.stx_mode.into());
        Ok(Self {
            path,
            guarantee,
            is_link: kind == FileType::Symlink,
            has_other_names: kind == FileType::RegularFile && found.stx_nlink > 1,
            identity: Identity::of(&found),
            weakness: None,
        })
    }

    pub(super) fn inode(&self) -> u64 {
        let [.., inode, _, _] = self.identity.0;
        inode
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// Where it is.
    pub(in crate::launch) fn path(&self) -> &Path {
        &self.path
    }

    /// What keeps it is about reads or about protection.
    pub(in crate::launch) fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Whether it is a link, whose target no mount on it would keep.
    pub(in crate::launch) fn is_link(&self) -> bool {
        self.is_link
    }

    /// Whether another file has taken the name: then the mount was gone for a while.
    fn was_replaced(&self) -> bool {
        // A rename takes the mount away first and the name a little later, and a program may have
        // looked in between and ended; who lists the folder waits for the rename.
        let listed = self.path.parent().map(std::fs::read_dir);
        let _waited = listed.and_then(Result::ok).and_then(|mut entries| entries.next());
        look_at(&self.path).map_or(true, |now| Identity::of(&now) != self.identity)
    }
}

/// Which file it is: the device's numbers, its own, and when it was made, for the number of a file that
/// was removed is given to the next. Not every file system knows the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity([u64; 5]);

impl Identity {
    fn of(found: &Statx) -> Self {
        let made = if found.stx_mask & StatxFlags::BTIME.bits() == 0 {
            [0, 0]
        } else {
            [found.stx_btime.tv_sec.cast_unsigned(), found.stx_btime.tv_nsec.into()]
        };
        let [major, minor] = [found.stx_dev_major, found.stx_dev_minor].map(u64::from);
        Self([major, minor, found.stx_ino, made[0], made[1]])
    }
}

/// Looks at what is at a path, and follows no link.
fn look_at(path: &Path) -> std::io::Result<Statx> {
    let asked = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    Ok(rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, asked)?)
}

/// Lowers what a mount on a path cannot keep, before the run.
pub(in crate::launch) fn admit_weaknesses(enforcement: &mut [Enforced], present: &[Covered]) {
    for one in present {
        let Some(weakness) = one.weakness else { continue };
        for line in enforcement.iter_mut().filter(|line| line.guarantee == one.guarantee) {
            line.kept = line.kept.min(Kept::Partial);
            line.note = Some(format!("{:?} {weakness}", one.path));
        }
    }
}

/// Says of what was replaced during the run that its guarantee was lost.
pub(in crate::launch) fn lose_replaced(enforcement: &mut [Enforced], present: &[Covered]) {
    for one in present.iter().filter(|one| one.was_replaced()) {
        for line in enforcement.iter_mut().filter(|line| line.guarantee == one.guarantee) {
            line.kept = Kept::Lost;
            line.note = Some(format!("{:?} was replaced from outside during the run", one.path));
        }
    }
}

/// What git runs or follows besides the listed paths: a `.git` that is a file and where it leads,
/// and the folders of submodules and worktrees. What is not there is watched for.
fn git_paths(files: &Files) -> Vec<PathBuf> {
    let git = files.root.join(".git");
    let mut found = Vec::new();
    if std::fs::symlink_metadata(&git).is_ok_and(|found| found.is_file()) {
        let own = std::fs::read_to_string(&git).ok();
        let own =
            own.as_deref().and_then(|text| led_to(&files.root, text.strip_prefix("gitdir:")?));
        let shared = own.as_ref().and_then(|own| {
            let text = std::fs::read_to_string(own.join("commondir")).ok()?;
            led_to(own, &text)
        });
        let folders = own.iter().chain(&shared);
        found.extend(folders.flat_map(|folder| FOLLOWED.map(|name| folder.join(name))));
        let granted = files.write.iter().filter_map(|path| real_folder(path).ok());
        let granted: Vec<PathBuf> = granted.chain([files.root.clone()]).collect();
        // What is shown to be read, or not at all, cannot be changed in the box.
        found.retain(|path| granted.iter().any(|folder| path.starts_with(folder)));
        found.push(git);
        return found;
    }
    modules(&git.join("modules"), MODULES_DEPTH_MAX, &mut found);
    for worktree in folders_in(&git.join("worktrees")) {
        found.extend(["commondir", "gitdir", "config.worktree"].map(|name| worktree.join(name)));
    }
    found
}

/// Where a file of git leads, links and all.
fn led_to(from: &Path, text: &str) -> Option<PathBuf> {
    real_folder(&from.join(text.trim())).ok()
}

fn modules(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Some(deeper) = depth.checked_sub(1) else { return };
    for inner in folders_in(folder) {
        if inner.join("config").exists() {
            found.extend(FOLLOWED.map(|name| inner.join(name)));
            modules(&inner.join("modules"), deeper, found);
        } else {
            modules(&inner, deeper, found);
        }
    }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.map_while(Result::ok).filter(is_folder).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::risky;

    #[test]
    fn a_file_that_got_the_number_of_one_that_was_removed_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let made = || {
            std::fs::write(&path, "").unwrap();
            Covered::of(path.clone(), Guarantee::Reads).unwrap()
        };
        let first = made();
        assert!(!first.was_replaced());
        std::fs::write(&path, "written").unwrap();
        assert!(!first.was_replaced(), "it is the same");
        for _ in 0..20 {
            std::fs::remove_file(&path).unwrap();
            // The kernel's clock for this may stand still for some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(15));
            let next = made();
            assert!(first.was_replaced() && !next.is_same_file(&first), "{first:?} {next:?}");
            if next.inode() == first.inode() {
                break;
            }
        }
    }

    #[test]
    fn what_is_protected_of_gits_own_is_known_to_run_code_too() {
        for name in FOLLOWED {
            let path = Path::new(".git/modules/a/b/c").join(name);
            let runs = |path: &Path| risky::why(path).is_some();
            assert!(runs(&path) || runs(&path.join("pre-commit")), "{name}");
        }
    }
}
