//! What a box of an OCI runtime shows of the machine: binds, in the order in which they are made.
//! Runtimes take paths and not handles, so that what is bound is looked at again afterwards.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::jail::{Cover, Covered, not_whole_machine, placed};
use super::scratch::{Scratch, unscratched};
use crate::confine::Confinement;
use crate::gate::Cleared;
use crate::guarantee::Guarantee;
use crate::outcome::Failure;

/// The folder for temporary files in the box, and its home.
pub(super) const TEMPORARY: &str = "/tmp";
/// How large that may become, in memory that counts as the box's.
pub(super) const TEMPORARY_BYTES: u64 = 1 << 30;
/// Who runs a program where the project is root's.
const NOBODY: u32 = 65534;

/// One path of the machine in the box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) source: PathBuf,
    pub(super) target: PathBuf,
    pub(super) access: Access,
}

/// Whether it can be written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    ReadOnly,
    Writable,
}

/// Two things with nothing in them, to be shown in place of what is hidden.
#[derive(Debug)]
pub(super) struct Nothing {
    file: PathBuf,
    folder: PathBuf,
}

impl Nothing {
    /// Makes them in the folder of a run.
    pub(super) fn make(scratch: &Scratch) -> Result<Self, Failure> {
        let (file, folder) = (scratch.path().join("nothing"), scratch.path().join("empty"));
        let made = fs::write(&file, b"")
            .and_then(|()| fs::create_dir(&folder))
            .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o444)))
            .and_then(|()| fs::set_permissions(&folder, Permissions::from_mode(0o555)));
        made.map_err(|error| unscratched(&error))?;
        Ok(Self { file, folder })
    }
}

/// The project and what the policy adds to it, with what is hidden and protected in it.
pub(super) fn binds(
    confinement: &Confinement,
    cover: &Cover,
    nothing: &Nothing,
) -> Result<Vec<Bind>, Failure> {
    let files = &confinement.files;
    not_whole_machine(files)?;
    let place = |paths: &[PathBuf]| {
        paths.iter().map(|path| placed(path, &files.root)).collect::<Result<Vec<_>, _>>()
    };
    let (read, write) = (place(&files.read)?, place(&files.write)?);
    let mut binds = Vec::new();
    if !write.contains(&files.root) {
        binds.push(Bind::own(&files.root, Access::ReadOnly));
    }
    binds.extend(write.iter().map(|path| Bind::own(path, Access::Writable)));
    binds.extend(read.iter().map(|path| Bind::own(path, Access::ReadOnly)));
    let shown = binds.clone();
    // A link has no mount of its own; what that weakens is in the enforcement.
    let kept: Vec<&Covered> = cover.present.iter().filter(|one| is_shown(one, &shown)).collect();
    pin(&write, &kept, &mut binds);
    binds.extend(kept.into_iter().map(|one| covering(one, nothing)));
    Ok(binds)
}

impl Bind {
    /// A path at its own place.
    pub(super) fn own(path: &Path, access: Access) -> Self {
        Self { source: path.to_owned(), target: path.to_owned(), access }
    }
}

fn is_shown(one: &Covered, shown: &[Bind]) -> bool {
    !one.is_link() && shown.iter().any(|bind| one.path().starts_with(&bind.target))
}

/// Pins every folder on the way down to what is kept, so that none can be moved aside with it.
fn pin(write: &[PathBuf], kept: &[&Covered], binds: &mut Vec<Bind>) {
    for one in kept {
        for folder in write.iter().filter(|folder| one.path().starts_with(folder)) {
            let above = one.path().ancestors().skip(1).take_while(|above| above != folder);
            for above in above.collect::<Vec<_>>().into_iter().rev() {
                if !binds.iter().any(|bind| bind.target == above) {
                    binds.push(Bind::own(above, Access::Writable));
                }
            }
        }
    }
}

fn covering(one: &Covered, nothing: &Nothing) -> Bind {
    let is_hidden = one.guarantee() == Guarantee::Reads;
    let source = match (is_hidden, one.path().is_dir()) {
        (true, true) => nothing.folder.clone(),
        (true, false) => nothing.file.clone(),
        (false, _) => one.path().to_owned(),
    };
    Bind { source, target: one.path().to_owned(), access: Access::ReadOnly }
}

/// That a program of the project is still the file that was judged, for a runtime finds it by name.
/// Programs of the system are found by name too, where only root can change them.
pub(super) fn still_the_same(cleared: &Cleared, root: &Path) -> Result<(), Failure> {
    let Some(program) = cleared.program.as_ref().filter(|one| one.path.starts_with(root)) else {
        return Ok(());
    };
    let judged = rustix::fs::fstat(&program.handle).map(|stat| (stat.st_dev, stat.st_ino));
    let now = fs::metadata(&program.found_at).map(|found| (found.dev(), found.ino()));
    match (judged, now) {
        (Ok(judged), Ok(now)) if judged == now => Ok(()),
        _ => Err(Failure::new(
            "find the program",
            format!("{:?} is not the file any more that was judged", program.found_at),
        )),
    }
}

/// Where the program starts, by its path in the box.
pub(super) fn folder(cleared: &Cleared) -> &Path {
    cleared.folder.path().unwrap_or(Path::new(TEMPORARY))
}

/// How full the disk is that the box can write.
pub(super) fn disk(binds: &[Bind], confinement: &Confinement) -> Result<Option<Disk>, Failure> {
    use std::os::fd::AsFd as _;
    let unwatched = |error: std::io::Error| {
        let mut failure = Failure::new("watch the disk", error.to_string());
        failure.guarantee = Some(Guarantee::Disk.to_string());
        failure
    };
    let writable = binds.iter().filter(|bind| bind.access == Access::Writable);
    let open = |bind: &Bind| Ok((bind.target.clone(), fs::File::open(&bind.source)?));
    let opened: Vec<_> = writable.map(open).collect::<Result<_, _>>().map_err(unwatched)?;
    let folders = opened.iter().map(|(path, file)| (path.clone(), file.as_fd()));
    Disk::before(folders, &confinement.limits).map_err(unwatched)
}

/// Who runs the program: the owner of the project, or nobody in particular where that is root.
pub(super) fn user(confinement: &Confinement) -> Result<(u32, u32), Failure> {
    let root = &confinement.files.root;
    let owner = fs::metadata(root)
        .map_err(|error| Failure::new("look at the project", format!("{root:?}: {error}")))?;
    Ok(if owner.uid() == 0 {
        (NOBODY, NOBODY)
    } else if owner.gid() == 0 {
        (owner.uid(), NOBODY)
    } else {
        (owner.uid(), owner.gid())
    })
}
