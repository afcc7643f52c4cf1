//! Opens files for the caller and makes those that are missing.

use super::super::sys::mounts::{O_DIRECTORY, O_NOFOLLOW};
use super::super::sys::{self, Errno, names};
use super::caller::{Caller, PATH_MAX};
use super::calls::Reply;
use super::create::PathArg;
use super::deferred::{self, Retry};
use super::fds::{OwnedFd, kind};
use super::forbidden::{ForbiddenPaths, NamedThing};
use super::resolve::{LinkTarget, PathWalk};

const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_NOCTTY: usize = 0o400;
const O_CLOEXEC: usize = 0o2_000_000;
/// The bit of `O_TMPFILE` that is not `O_DIRECTORY`.
const TMPFILE: usize = 0o20_000_000;
/// The permissions that a file can be made with here; the filter refuses set-user-ID ones.
const MODES: usize = 0o1777;
/// How often a file may be there for one look and gone for the next.
const ROUNDS_MAX: usize = 128;

/// `open` with `O_CREAT`.
pub(super) fn open(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    at: PathArg,
    flags: usize,
    mode: usize,
) -> sys::Result<Reply> {
    if flags & (TMPFILE | O_DIRECTORY) != 0 || flags & O_CREAT == 0 {
        return Err(Errno::INVAL);
    }
    let mut buffer = [0; PATH_MAX];
    let path = caller.text(at.path, &mut buffer)?;
    let mut walk = PathWalk::new(caller, at.folder, path)?;
    for _ in 0..ROUNDS_MAX {
        let name = walk.last()?;
        if !name.is_proper() && flags & O_EXCL != 0 {
            return Err(Errno::EXIST);
        }
        if !name.is_proper() || name.is_folder {
            return Err(Errno::ISDIR);
        }
        let _hold = forbidden.may_get(walk.folder(), name.bytes(), &NamedThing::Other)?;
        let found = match names::look(walk.folder().number(), name.text()) {
            Err(Errno::NOENT) => match make(caller, walk.folder(), &name, flags, mode) {
                // Somebody else was faster.
                Err(Errno::EXIST) if flags & O_EXCL == 0 => continue,
                new => return new.map(|fd| Reply::Opened(fd, given(flags))),
            },
            found => OwnedFd::new(found?),
        };
        if flags & O_EXCL != 0 {
            return Err(Errno::EXIST);
        }
        let stat = found.stat()?;
        if stat.kind != kind::LINK {
            let is_allowed =
                !caller.machine.is_process_list(&found)? || caller.owns(walk.folder().number())?;
            return if is_allowed { open_found(caller, found, flags) } else { Err(Errno::ACCES) };
        }
        if flags & O_NOFOLLOW != 0 {
            return Err(Errno::LOOP);
        }
        match walk.follow(&name, &found)? {
            LinkTarget::On => {}
            LinkTarget::To(thing) if caller.machine.is_process_list(&thing)? => {
                return Err(Errno::ACCES);
            }
            LinkTarget::To(thing) => return open_found(caller, thing, flags),
        }
    }
    Err(Errno::LOOP)
}

/// Makes a file that is not there: nothing is followed and nothing that exists is opened.
fn make(
    caller: &Caller<'_>,
    folder: &OwnedFd,
    name: &super::resolve::LastName,
    flags: usize,
    mode: usize,
) -> sys::Result<OwnedFd> {
    caller.use_mask()?;
    caller.is_still_there()?;
    let flags = flags | O_EXCL | O_NOFOLLOW;
    names::open(folder.number(), name.text(), flags, mode & MODES).map(OwnedFd::new)
}

/// Opens what is there, whatever its name leads to by now.
fn open_found(caller: &Caller<'_>, found: OwnedFd, flags: usize) -> sys::Result<Reply> {
    let stat = found.stat()?;
    if stat.is_folder {
        return Err(Errno::ISDIR);
    }
    caller.is_still_there()?;
    let wanted = (flags & !(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY;
    if stat.kind == kind::PIPE {
        let id = caller.notice.id;
        return Ok(match deferred::open_pipe(caller.machine, id, found, wanted, given(flags))? {
            Retry::Open(fd) => Reply::Opened(fd, given(flags)),
            Retry::Waits(waiting) => Reply::Deferred(waiting),
        });
    }
    caller.machine.open_again(&found, wanted).map(|fd| Reply::Opened(fd, given(flags)))
}

/// The flags of the descriptor that the caller gets.
fn given(flags: usize) -> u32 {
    u32::try_from(flags & O_CLOEXEC).unwrap_or(0)
}
