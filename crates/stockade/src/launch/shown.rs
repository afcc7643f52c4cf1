//! What a box of an OCI runtime shows of the machine: binds, in the order in which they are made.
//! Runtimes take paths and not handles, so that what is bound is looked at again afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Resource, getrlimit};

use super::disk::Disk;
use super::jail::{MaskedPath, PathMasks, not_whole_machine, placed};
use super::own;
use super::scratch::{Scratch, unscratched};
use super::setup::Setup;
use crate::confine::SYSTEM;
use crate::gate::ProgramWork;
use crate::guarantee::Guarantee;
use crate::limits::Limits;
use crate::outcome::{Failure, FailureKind};
use crate::plan::ops::{Access, Mount};

/// The folder in which a program starts that has none of the project.
const TEMPORARY: &str = "/tmp";
/// Who runs a program where the project is root's.
const NOBODY: u32 = 65534;

/// The size of a larger hidden file is not shown: not every file system could hold the cover.
const SIZE_SHOWN_MAX: u64 = 1 << 30;

/// One path of the machine in the box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
    pub(super) access: Access,
}

/// Whose system folders the box has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    /// This machine's, and its toolchains.
    OfMachine,
    /// Those of an image.
    OfImage,
}

/// Files and folders to be shown in place of what is hidden. They cannot be opened: an empty file would be
/// taken for the content.
#[derive(Debug)]
pub(super) struct EmptyOverlays {
    base: PathBuf,
    closed: PathBuf,
    empty: PathBuf,
}

impl EmptyOverlays {
    /// Creates them in the folder of a run.
    pub(super) fn create(scratch: &Scratch) -> Result<Self, Failure> {
        let [base, closed, empty] =
            ["covers", "closed", "empty"].map(|name| scratch.path().join(name));
        let created = fs::create_dir(&base)
            .and_then(|()| create_folder(&closed, 0))
            .and_then(|()| create_folder(&empty, 0o555));
        created.map_err(|error| unscratched(&error))?;
        Ok(Self { base, closed, empty })
    }

    /// What is shown in place of a path. The working directory has to be entered, and is empty.
    fn instead_of(&self, path: &Path, number: usize, cwd: &Path) -> Result<PathBuf, Failure> {
        let found = fs::symlink_metadata(path)
            .map_err(|error| Failure::new(FailureKind::HidePath, format!("{path:?}: {error}")))?;
        if found.is_dir() {
            return Ok(if path == cwd { self.empty.clone() } else { self.closed.clone() });
        }
        let file = self.base.join(number.to_string());
        create_file_like(&file, &found).map_err(|error| unscratched(&error))?;
        Ok(file)
    }
}

fn create_folder(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::create_dir(path).and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode)))
}

/// Creates a closed file with the size, the time and the executable bit of another. With
/// `core.checkStat=minimal`, git takes it for a file that has not changed and does not open it.
fn create_file_like(path: &Path, other: &fs::Metadata) -> std::io::Result<()> {
    let file = fs::File::create_new(path)?;
    let size_max = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX).min(SIZE_SHOWN_MAX);
    if other.is_file() && other.size() <= size_max {
        file.set_len(other.size())?;
        file.set_modified(other.modified()?)?;
    }
    file.set_permissions(Permissions::from_mode(other.mode() & 0o100))
}

/// The project and what the policy adds to it, with what is hidden and protected in it.
pub(super) fn binds(
    setup: &Setup,
    cover: &PathMasks,
    (covers, cwd): (&EmptyOverlays, &Path),
    system: System,
) -> Result<Vec<Bind>, Failure> {
    let files = &setup.files;
    not_whole_machine(files)?;
    own::no_links(files)?;
    let mut binds = Vec::new();
    for mount in &setup.mounts {
        match mount {
            Mount::Project(path, access) => binds.push(Bind::own(path, *access)),
            Mount::Path(path, access) => {
                binds.push(Bind::own(&placed(path, &files.root)?, *access));
            }
            // These are made by the engine or runsc, or follow below.
            Mount::System(_)
            | Mount::Devices { .. }
            | Mount::Proc
            | Mount::HideInProc(_)
            | Mount::Memory { .. }
            | Mount::Session { .. }
            | Mount::Home(_)
            | Mount::Exception(_)
            | Mount::Pins
            | Mount::Toolchain(_)
            | Mount::Agent(_) => {}
        }
    }
    let mut shown: Vec<PathBuf> = binds.iter().map(|bind| bind.target.clone()).collect();
    if system == System::OfMachine {
        shown.extend(SYSTEM.map(PathBuf::from));
        shown.extend(files.toolchains.iter().map(|one| one.path.clone()));
    }
    // A link has no mount of its own; what that weakens is in the enforcement.
    let kept: Vec<&MaskedPath> = cover.present.iter().filter(|one| is_shown(one, &shown)).collect();
    let outer = binds.len();
    binds.extend(cover.exceptions.iter().map(|one| Bind::own(one.path(), Access::Writable)));
    if setup.mounts.contains(&Mount::Pins) {
        let write = files.write.iter().map(|path| placed(path, &files.root));
        pin(&write.collect::<Result<Vec<_>, _>>()?, &kept, cover, &mut binds);
    }
    for (number, one) in kept.into_iter().enumerate() {
        let source = if one.guarantee() == Guarantee::Reads {
            covers.instead_of(one.path(), number, cwd)?
        } else {
            one.path().to_owned()
        };
        binds.push(Bind { source, target: one.path().to_owned(), access: Access::ReadOnly });
    }
    // A bind shows the machine's own folder, without what was bound in it before.
    let inner = binds.get_mut(outer..).unwrap_or_default();
    inner.sort_by_key(|bind| bind.target.components().count());
    Ok(binds)
}

impl Bind {
    /// A path at its own place.
    pub(super) fn own(path: &Path, access: Access) -> Self {
        Self { source: path.to_owned(), target: path.to_owned(), access }
    }
}

fn is_shown(one: &MaskedPath, shown: &[PathBuf]) -> bool {
    !one.is_link() && shown.iter().any(|folder| one.path().starts_with(folder))
}

/// Pins every folder on the way down to what is kept, so that none can be moved aside with it. What lies
/// in a protected folder cannot be moved anyway, and a pin would make it writable.
fn pin(write: &[PathBuf], kept: &[&MaskedPath], cover: &PathMasks, binds: &mut Vec<Bind>) {
    for one in kept {
        for folder in write.iter().filter(|folder| one.path().starts_with(folder)) {
            let above = one.path().ancestors().skip(1).take_while(|above| above != folder);
            for above in above.collect::<Vec<_>>().into_iter().rev() {
                let is_known = binds.iter().any(|bind| bind.target == above);
                if !is_known && !cover.is_in_covered(above) {
                    binds.push(Bind::own(above, Access::Writable));
                }
            }
        }
    }
}

/// That a program of the project is still the file that was judged, for a runtime finds it by name.
/// Programs of the system are found by name too, where only root can change them.
pub(super) fn still_the_same(cleared: &ProgramWork, root: &Path) -> Result<(), Failure> {
    let Some(program) = cleared.program.as_ref().filter(|one| one.path.starts_with(root)) else {
        return Ok(());
    };
    let judged = rustix::fs::fstat(&program.handle).map(|stat| (stat.st_dev, stat.st_ino));
    let now = fs::metadata(&program.found_at).map(|found| (found.dev(), found.ino()));
    match (judged, now) {
        (Ok(judged), Ok(now)) if judged == now => Ok(()),
        _ => Err(Failure::new(
            FailureKind::FindProgram,
            format!("{:?} is not the file any more that was judged", program.found_at),
        )),
    }
}

/// Where the program starts, by its path in the box.
pub(super) fn folder(cleared: &ProgramWork) -> &Path {
    cleared.folder.path().unwrap_or(Path::new(TEMPORARY))
}

/// How full the disk is that the box can write.
pub(super) fn disk(binds: &[Bind], limits: &Limits) -> Result<Option<Disk>, Failure> {
    use std::os::fd::AsFd as _;
    let unwatched = |error: std::io::Error| {
        Failure::new(FailureKind::WatchDisk, error.to_string()).with_guarantee(Guarantee::Disk)
    };
    let writable = binds.iter().filter(|bind| bind.access == Access::Writable);
    // A call may have laid a pipe there, which is looked at and never opened to be read.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open = |bind: &Bind| {
        let handle = rustix::fs::openat(CWD, &bind.source, flags, Mode::empty())?;
        Ok::<_, std::io::Error>((bind.target.clone(), handle))
    };
    let opened: Vec<_> = writable.map(open).collect::<Result<_, _>>().map_err(unwatched)?;
    let folders = opened.iter().map(|(path, handle)| (path.clone(), handle.as_fd()));
    Disk::before(folders, limits).map_err(unwatched)
}

/// Who runs the program: the owner of the project, or nobody in particular where that is root.
pub(super) fn user(root: &Path) -> Result<(u32, u32), Failure> {
    let owner = fs::metadata(root)
        .map_err(|error| Failure::new(FailureKind::ReadProject, format!("{root:?}: {error}")))?;
    Ok(if owner.uid() == 0 {
        (NOBODY, NOBODY)
    } else if owner.gid() == 0 {
        (owner.uid(), NOBODY)
    } else {
        (owner.uid(), owner.gid())
    })
}
