//! The hidden and protected paths of a box: which are there, which are not, and whether they are
//! still the same files when it has ended.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags};

use super::links::{self, Way};
use super::root::files_failure;
use super::unenforced::{UnenforcedRules, guarantee};
use super::{exceptions, git_files, other_names, patterns};
use crate::bounded;
use crate::confine::{Files, Origin, OwnKind, OwnPath, PathPattern};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::launch::own;
use crate::launch::setup::Setup;
use crate::outcome::{Failure, FailureKind};

/// What is to be hidden and protected, as it is before the box starts.
#[derive(Debug, Default)]
pub(in crate::launch) struct PathMasks {
    pub(in crate::launch) present: Vec<MaskedPath>,
    /// Folders in protected ones that stay writable.
    pub(in crate::launch) exceptions: Vec<MaskedPath>,
    /// Protected paths that are not there.
    pub(in crate::launch) absent: Vec<PathBuf>,
    /// Hidden paths that are not there.
    pub(super) absent_hidden: Vec<PathBuf>,
    /// What rules mean and the box does not keep.
    pub(in crate::launch) gaps: UnenforcedRules,
}

/// One path that is there and gets a mount of its own.
#[derive(Debug)]
pub(in crate::launch) struct MaskedPath {
    pub(super) path: PathBuf,
    /// Hidden paths keep reads, protected ones the protection.
    pub(super) guarantee: Guarantee,
    pub(super) is_link: bool,
    pub(super) has_other_names: bool,
    identity: Identity,
    /// The size, the modification time and the mode, which the cover of a hidden file shows.
    shape: [u64; 4],
    /// Who wrote the rule or the list that means it.
    pub(super) origin: Origin,
    /// The rule that means it, as it is written; none if a list of the policy does.
    rule: Option<String>,
    /// The name by which `rules.drop` removes that rule.
    rule_name: Option<String>,
    /// How many folders above it are pinned for it.
    pins: usize,
    /// Why a mount on this path is not the whole protection.
    pub(super) weakness: Option<&'static str>,
}

/// Looks at every path; one that cannot be looked at could be anything, and ends the launch. So does
/// the end of the call's time.
pub(in crate::launch) fn find(setup: &Setup, until: Instant) -> Result<PathMasks, Failure> {
    let cover = find_until(&setup.files, until);
    // What was cut short may have failed for that.
    if Instant::now() >= until {
        return Err(Failure::late());
    }
    let mut cover = cover?;
    cover.exceptions.retain(|one| setup.exceptions.contains(&one.path));
    Ok(cover)
}

fn find_until(files: &Files, until: Instant) -> Result<PathMasks, Failure> {
    own::secure(files)?;
    let (git, unread) = git_files::find(files);
    let mut cover = PathMasks::default();
    let links = add_listed(&mut cover, files, &git)?;
    for one in &mut cover.present {
        // All other names of the program are in the list.
        let is_it = |own: &OwnPath| own.kind == OwnKind::Program && own.path == one.path;
        one.has_other_names &= !files.own.iter().any(is_it);
    }
    let mut searched = patterns::search_for(files, &files.sought, Some(until))?;
    let mut unseen_shipped = Vec::new();
    for (path, at) in &searched.found {
        let Some(one) = files.sought.get(*at) else { continue };
        let (guarantee, origin) = (guarantee(one.keep()), one.origin());
        let is_same = |known: &&mut MaskedPath| known.path == *path && known.guarantee == guarantee;
        if let Some(known) = cover.present.iter_mut().find(is_same) {
            known.rule = Some(one.rule().to_owned());
            continue;
        }
        match MaskedPath::of(path.clone(), guarantee) {
            Ok(covered) => cover.present.push(covered.by_rule(one)),
            // It has gone since.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // A folder on the way was closed, perhaps since the search; a program could open it again.
            Err(_) if origin == Origin::Shipped => {
                match closed_folder(path, &files.root, guarantee) {
                    Some(folder) if cover.present.iter().any(|known| known.path == folder.path) => {
                    }
                    Some(folder) => cover.present.push(folder.by_rule(one)),
                    None => unseen_shipped.push(*at),
                }
            }
            Err(error) => return Err(unseen(path, &error)),
        }
    }
    searched.incomplete.extend(unseen_shipped);
    cover.gaps = UnenforcedRules::left(files, &searched);
    cover.gaps.add_of_git(unread);
    if let Some(git) = git_files::new_repository(&cover.absent, files) {
        cover.gaps.add_of_new_git(&git);
    }
    other_names::add(&mut cover.present, files, Some(until))?;
    links.add_to(&mut cover)?;
    cover.count_pins(files);
    cover.leave_out_hidden();
    cover.exceptions = exceptions::find(&cover.present, files);
    Ok(cover)
}

/// Symbolic links on the way to protected paths.
#[derive(Debug, Default)]
struct FoundLinks {
    on_the_way: BTreeSet<PathBuf>,
    nowhere: BTreeSet<PathBuf>,
}

impl FoundLinks {
    /// Keeps the links in their places. What they lead to is not protected as a whole.
    fn add_to(self, cover: &mut PathMasks) -> Result<(), Failure> {
        for link in self.on_the_way {
            let covered = MaskedPath::of(link.clone(), Guarantee::Protected);
            cover.present.push(covered.map_err(|error| unseen(&link, &error))?);
        }
        for link in self.nowhere {
            let said = format!(
                "{link:?} is a link that leads nowhere, and what it leads to is not protected until \
                 the next call"
            );
            cover.gaps.add_of_git(Some(said));
        }
        Ok(())
    }
}

/// Adds the paths that the policy lists and those that git follows. Returns the links on the way there.
fn add_listed(
    cover: &mut PathMasks,
    files: &Files,
    git: &[PathBuf],
) -> Result<FoundLinks, Failure> {
    let hidden = files.hide.iter().map(|path| (path, Guarantee::Reads));
    let protected = files.protect.iter().chain(git).map(|path| (path, Guarantee::Protected));
    let mut found = FoundLinks::default();
    for (path, guarantee) in hidden.chain(protected) {
        let Way { place, links } =
            links::follow(&files.root, path).map_err(|errno| unseen(path, &errno.into()))?;
        let nearest = links.last().cloned();
        let is_through_link = nearest.is_some();
        if guarantee == Guarantee::Protected {
            found.on_the_way.extend(links);
        }
        let Some(place) = place else {
            found.nowhere.extend(nearest.filter(|_| guarantee == Guarantee::Protected));
            continue;
        };
        match MaskedPath::of(place.clone(), guarantee) {
            Ok(covered) => cover.present.push(covered),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                let is_hidden = guarantee == Guarantee::Reads;
                let list = if is_hidden { &mut cover.absent_hidden } else { &mut cover.absent };
                // What only an untrusted file names is not watched for behind a link.
                if !is_through_link || files.origin_of(path) != Origin::Project {
                    list.push(place);
                }
            }
            Err(error) => return Err(unseen(path, &error)),
        }
    }
    Ok(found)
}

/// The nearest folder above a path that can be looked at, within the project.
fn closed_folder(path: &Path, root: &Path, guarantee: Guarantee) -> Option<MaskedPath> {
    let is_within = |above: &&Path| above.starts_with(root) && *above != root;
    let above = path.ancestors().skip(1).take_while(is_within);
    above.into_iter().find_map(|above| MaskedPath::of(above.to_owned(), guarantee).ok())
}

fn unseen(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("could not look at {path:?}, which is to be kept: {error}");
    files_failure(FailureKind::InspectProtected, &message)
        .with_remedy("give yourself the right to enter the folder that holds it")
}

impl PathMasks {
    /// Counts the folders above each path that are pinned for it.
    fn count_pins(&mut self, files: &Files) {
        for one in &mut self.present {
            let is_inside = |above: &&Path| {
                files.write.iter().any(|folder| above.starts_with(folder) && above != folder)
            };
            one.pins = one.path.ancestors().skip(1).take_while(is_inside).count();
        }
    }

    /// What lies in a hidden folder is not there in the box, so that nothing else can cover it, and
    /// would be shown again if it were bound.
    fn leave_out_hidden(&mut self) {
        let hidden: Vec<PathBuf> = self.hidden().map(Path::to_owned).collect();
        let is_below =
            |path: &Path| hidden.iter().any(|folder| path != folder && path.starts_with(folder));
        self.present.retain(|one| {
            let is_hidden_too = one.guarantee == Guarantee::Protected && hidden.contains(&one.path);
            !is_below(&one.path) && !is_hidden_too
        });
        self.absent.retain(|path| !is_below(path));
    }

    /// Leaves out what a runtime cannot name, because its descriptions are text, and says so. A program
    /// can create such a name anywhere, so that only a rule of the user ends the launch.
    pub(in crate::launch) fn leave_out_unnamed(&mut self, files: &Files) {
        let git = files.root.join(".git");
        let is_unnamed = |one: &mut MaskedPath| {
            let is_minor = one.origin == Origin::Shipped || one.path.starts_with(&git);
            is_minor && one.path.to_str().is_none()
        };
        for one in self.present.extract_if(.., is_unnamed) {
            self.gaps.add_unnamed(&one.path, one.guarantee);
        }
    }

    /// The paths that are there and are hidden.
    pub(in crate::launch) fn hidden(&self) -> impl Iterator<Item = &Path> {
        let hidden = self.present.iter().filter(|one| one.guarantee == Guarantee::Reads);
        hidden.map(MaskedPath::path)
    }

    /// The protected paths that do not exist and that nothing keeps from being created. A folder
    /// that is there gets a read-only mount, which keeps everything in it.
    pub(in crate::launch) fn unenforced(&self) -> Vec<PathBuf> {
        self.absent.iter().filter(|path| !self.is_in_covered(path)).cloned().collect()
    }

    /// Whether a path is covered, or lies in a folder that is. A folder above an exception does not
    /// cover what is in that.
    pub(in crate::launch) fn is_in_covered(&self, path: &Path) -> bool {
        let exception = self.exceptions.iter().find(|one| path.starts_with(&one.path));
        let is_above =
            |one: &MaskedPath| exception.is_some_and(|it| it.path.starts_with(&one.path));
        let covers = |one: &MaskedPath| path.starts_with(&one.path) && !is_above(one);
        self.present.iter().any(|one| !one.is_link && covers(one))
    }

    /// Which files are covered, and how: the same for the same ones only.
    pub(in crate::launch) fn stamp(&self) -> Vec<u8> {
        let mut stamp = Vec::new();
        for MaskedPath { path, guarantee, identity, shape, .. } in &self.present {
            let is_hidden = *guarantee == Guarantee::Reads;
            stamp.extend_from_slice(path.as_os_str().as_bytes());
            stamp.extend([0, u8::from(is_hidden)]);
            stamp.extend(identity.0.into_iter().flat_map(u64::to_ne_bytes));
            let shape = shape.iter().filter(|_| is_hidden);
            stamp.extend(shape.flat_map(|part| part.to_ne_bytes()));
        }
        for MaskedPath { path, identity, .. } in &self.exceptions {
            stamp.extend_from_slice(path.as_os_str().as_bytes());
            stamp.extend([0, 2]);
            stamp.extend(identity.0.into_iter().flat_map(u64::to_ne_bytes));
        }
        stamp
    }
}

impl MaskedPath {
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
            shape: [
                found.stx_size,
                found.stx_mtime.tv_sec.cast_unsigned(),
                found.stx_mtime.tv_nsec.into(),
                found.stx_mode.into(),
            ],
            origin: Origin::Trusted,
            rule: None,
            rule_name: None,
            pins: 0,
            weakness: None,
        })
    }

    /// The same, meant by a rule.
    fn by_rule(self, rule: &PathPattern) -> Self {
        let name = rule.name().map(str::to_owned);
        Self { origin: rule.origin(), rule: Some(rule.rule().to_owned()), rule_name: name, ..self }
    }

    /// The same, meant by what means another path.
    pub(super) fn like(self, other: &Self) -> Self {
        let (rule, rule_name) = (other.rule.clone(), other.rule_name.clone());
        Self { origin: other.origin, rule, rule_name, ..self }
    }

    pub(super) fn inode(&self) -> u64 {
        let [.., inode, _, _] = self.identity.0;
        inode
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// The rule that means it, as it is written; none if a list of the policy does.
    pub(in crate::launch) fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// The name of that rule, if it has one.
    pub(in crate::launch) fn rule_name(&self) -> Option<&str> {
        self.rule_name.as_deref()
    }

    /// It and the folders above it that can be neither deleted nor moved because of it.
    pub(in crate::launch) fn pinned(&self) -> impl Iterator<Item = &Path> {
        self.path.ancestors().take(self.pins.saturating_add(1))
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
        let _waited = self.path.parent().map(|folder| bounded::names(folder, 0));
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
pub(in crate::launch) fn admit_weaknesses(enforcement: &mut [Enforced], present: &[MaskedPath]) {
    admit_weaknesses_of(enforcement, present.iter().filter(|one| one.origin != Origin::Shipped));
}

/// Lowers what is not kept of shipped rules. It comes after the check of what is required: these rules must
/// not stop a project that they do not fit.
pub(in crate::launch) fn admit_shipped(
    enforcement: &mut [Enforced],
    present: &[MaskedPath],
    gaps: &UnenforcedRules,
) {
    gaps.record_shipped(enforcement);
    admit_weaknesses_of(enforcement, present.iter().filter(|one| one.origin == Origin::Shipped));
}

fn admit_weaknesses_of<'a>(
    enforcement: &mut [Enforced],
    covered: impl Iterator<Item = &'a MaskedPath>,
) {
    for one in covered {
        let Some(weakness) = one.weakness else { continue };
        for line in enforcement.iter_mut().filter(|line| line.guarantee == one.guarantee) {
            line.kept = line.kept.min(Kept::Partial);
            line.note = Some(format!("{:?} {weakness}", one.path));
        }
    }
}

/// Says of what was replaced during the run that its guarantee was lost: which paths these are.
pub(in crate::launch) fn lose_replaced<'a>(
    enforcement: &mut [Enforced],
    present: &'a [MaskedPath],
) -> Vec<&'a Path> {
    let replaced: Vec<&MaskedPath> = present.iter().filter(|one| one.was_replaced()).collect();
    for one in &replaced {
        for line in enforcement.iter_mut().filter(|line| line.guarantee == one.guarantee) {
            line.kept = Kept::Lost;
            line.note = Some(format!("{:?} was replaced from outside during the run", one.path));
        }
    }
    replaced.into_iter().map(MaskedPath::path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_got_the_number_of_one_that_was_removed_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let made = || {
            std::fs::write(&path, "").unwrap();
            MaskedPath::of(path.clone(), Guarantee::Reads).unwrap()
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
}
