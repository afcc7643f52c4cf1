//! Keeps Stockade's own places out of a sandbox: makes those that a sandboxed program could make
//! first, and refuses where a place cannot be kept.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::confine::{Files, Keep, OwnKind, OwnPath};
use crate::guarantee::Guarantee;
use crate::outcome::{Failure, FailureKind};

/// Sees to it that every place of ours in these files can be hidden or protected by a mount. A name
/// that is not there has no mount, so that a folder that could be made later is made now.
pub(super) fn secure(files: &Files) -> Result<(), Failure> {
    for own in files.own.iter() {
        if let Some(link) = &own.link {
            let message = format!(
                "{:?} is one of Stockade's own places, and its path goes through the link {link:?}, \
                 which the sandbox could replace",
                own.path
            );
            return Err(failed(own, &message).with_remedy(
                "name the folder that the link leads to in the variable, or another root",
            ));
        }
        if files.root.starts_with(&own.path) || is_inside(own, files) {
            let message = format!("{:?} lies in one of Stockade's own folders", own.path);
            return Err(failed(own, &message).with_remedy(
                "use another folder as the project, and take it out of box.read and box.write",
            ));
        }
        if own.kind == OwnKind::Folder {
            let is_written = files.write.iter().any(|folder| own.path.starts_with(folder));
            match made(&own.path) {
                // Nor can anybody else make it here, who has no more rights.
                Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) if !is_written => {}
                Err(errno) => {
                    let message = format!("could not make sure of {:?}: {errno}", own.path);
                    return Err(failed(own, &message).with_remedy(
                        "a sandboxed program could make it otherwise: see what is at that path, or \
                         use a project that does not hold it",
                    ));
                }
                Ok(_) => {}
            }
        }
    }
    Ok(())
}

/// Whether what is shown lies in a place of ours, and not the other way round.
fn is_inside(own: &OwnPath, files: &Files) -> bool {
    let shown = files.write.iter().chain(&files.read);
    own.kind == OwnKind::Entry
        && own.keep == Keep::Hidden
        && shown.into_iter().any(|path| *path == own.path)
}

/// Refuses where the program was started by a link that the sandbox could replace: engines and `runsc` follow
/// a link, and mount what it leads to.
pub(super) fn no_links(files: &Files) -> Result<(), Failure> {
    let is_link = |own: &&OwnPath| own.path.is_symlink();
    let Some(own) = files.own.iter().find(is_link) else { return Ok(()) };
    let message = format!(
        "{:?} is a link by which Stockade was started, and the sandbox could replace it",
        own.path
    );
    Err(failed(own, &message).with_remedy(
        "start it by the path that the link leads to, or install it outside of the project, as with \
         `cargo install`",
    ))
}

/// Refuses where nothing can be hidden in a folder that is shown, nor protected in one that can be
/// written: without namespaces there are no mounts.
pub(super) fn none_exposed(files: &Files) -> Result<(), Failure> {
    let Some(own) = files.own.first() else { return Ok(()) };
    let message = format!(
        "the sandbox would have {:?} in reach, which is Stockade's own, and without namespaces \
         nothing in a folder can be kept from it",
        own.path
    );
    Err(failed(own, &message).with_remedy(
        "use a project that does not hold it (for the program: install it elsewhere, as with \
         `cargo install`), or a machine that allows user namespaces (see `stockade doctor`)",
    ))
}

fn failed(own: &OwnPath, message: &str) -> Failure {
    let guarantee = if own.keep == Keep::Hidden { Guarantee::Reads } else { Guarantee::Protected };
    Failure::new(FailureKind::ProtectOwnFiles, message).with_guarantee(guarantee)
}

/// Makes a folder and those above it, through no link, and opens it.
fn made(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let mut here = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        here = match rustix::fs::openat(here.as_fd(), name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(here.as_fd(), name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                rustix::fs::openat(here.as_fd(), name, flags, Mode::empty())?
            }
            other => other?,
        };
    }
    Ok(here)
}
