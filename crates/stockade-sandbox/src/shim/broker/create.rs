//! Makes folders, links, sockets and the like for the caller, and renames.

use super::super::sys::{self, AT_FDCWD, Errno, mounts, names};
use super::caller::{Caller, PATH_MAX, descriptor_number};
use super::calls::Reply;
use super::fds::{OwnedFd, kind};
use super::forbidden::{ForbiddenPaths, NamedThing};
use super::resolve::{LastName, LinkTarget, PathWalk};

const AT_EMPTY_PATH: usize = 0x1000;
/// `S_ISVTX` and the permissions; the filter refuses set-user-ID modes.
const MODES: usize = 0o1777;
const KINDS: usize = 0o170_000;

/// Where a path of the caller starts, and its address in the caller's memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathArg {
    /// The descriptor.
    pub(super) folder: u64,
    /// The address.
    pub(super) path: u64,
}

impl PathArg {
    fn walk<'a>(self, caller: &'a Caller<'a>) -> sys::Result<PathWalk<'a>> {
        let mut buffer = [0; PATH_MAX];
        let path = caller.text(self.path, &mut buffer)?;
        PathWalk::new(caller, self.folder, path)
    }
}

/// The name that is to be made, which must be one.
fn new_name(walk: &mut PathWalk<'_>) -> sys::Result<LastName> {
    let name = walk.last()?;
    if name.is_proper() { Ok(name) } else { Err(Errno::EXIST) }
}

/// `mkdir`.
pub(super) fn folder(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    at: PathArg,
    mode: usize,
) -> sys::Result<Reply> {
    let mut walk = at.walk(caller)?;
    let name = new_name(&mut walk)?;
    let _hold = forbidden.may_get(walk.folder(), name.bytes(), &NamedThing::NewFolder)?;
    caller.use_mask()?;
    caller.is_still_there()?;
    let mode = u32::try_from(mode & MODES).unwrap_or(0);
    mounts::make_folder(walk.folder().number(), name.text(), mode)?;
    Ok(Reply::Done)
}

/// `mknod`.
pub(super) fn node(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    at: PathArg,
    mode: usize,
    device: usize,
) -> sys::Result<Reply> {
    let mut walk = at.walk(caller)?;
    let name = new_name(&mut walk)?;
    let _hold = forbidden.may_get(walk.folder(), name.bytes(), &NamedThing::Other)?;
    caller.use_mask()?;
    caller.is_still_there()?;
    let mode = mode & (MODES | KINDS);
    names::make_node(walk.folder().number(), name.text(), mode, device)?;
    Ok(Reply::Done)
}

/// `symlink`.
pub(super) fn symbolic_link(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    target: u64,
    at: PathArg,
) -> sys::Result<Reply> {
    let mut buffer = [0; PATH_MAX];
    let len = caller.text(target, &mut buffer)?.len();
    let mut walk = at.walk(caller)?;
    let name = new_name(&mut walk)?;
    let _hold = forbidden.may_get(walk.folder(), name.bytes(), &NamedThing::Other)?;
    caller.is_still_there()?;
    let target =
        buffer.get(..=len).and_then(|text| core::ffi::CStr::from_bytes_until_nul(text).ok());
    mounts::make_link(walk.folder().number(), name.text(), target.ok_or(Errno::INVAL)?)?;
    Ok(Reply::Done)
}

/// `link`.
pub(super) fn link(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    [from, to]: [PathArg; 2],
    flags: usize,
) -> sys::Result<Reply> {
    if flags & !(names::FOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let source = Source::find(caller, from, flags)?;
    let mut walk = to.walk(caller)?;
    let name = new_name(&mut walk)?;
    let _hold = forbidden.may_get(walk.folder(), name.bytes(), &NamedThing::of(&source.thing)?)?;
    caller.is_still_there()?;
    let new = (walk.folder().number(), name.text());
    if let Some((folder, name)) = &source.named {
        names::link((folder.number(), name.text()), new, 0)?;
    } else {
        let (folder, path) = caller.machine.name_of(&source.thing);
        names::link((folder, path.as_c_str()?), new, names::FOLLOW)?;
    }
    Ok(Reply::Done)
}

/// The file or folder that gets another name.
struct Source {
    thing: OwnedFd,
    /// Its folder and its name, unless it was found by a descriptor or by a link of `/proc`.
    named: Option<(OwnedFd, LastName)>,
}

impl Source {
    fn find(caller: &Caller<'_>, from: PathArg, flags: usize) -> sys::Result<Self> {
        let mut buffer = [0; PATH_MAX];
        let path = caller.text(from.path, &mut buffer)?;
        if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
            return match descriptor_number(from.folder) {
                // The working folder is a folder, which can have one name only.
                AT_FDCWD => Err(Errno::PERM),
                number => caller.opened(number).map(|thing| Self { thing, named: None }),
            };
        }
        let mut walk = PathWalk::new(caller, from.folder, path)?;
        loop {
            let name = walk.last()?;
            if !name.is_proper() {
                return Err(Errno::PERM);
            }
            let thing = OwnedFd::new(names::look(walk.folder().number(), name.text())?);
            if flags & names::FOLLOW == 0 || thing.stat()?.kind != kind::LINK {
                return Ok(Self { thing, named: Some((walk.into_folder(), name)) });
            }
            match walk.follow(&name, &thing)? {
                LinkTarget::On => {}
                LinkTarget::To(thing) => return Ok(Self { thing, named: None }),
            }
        }
    }
}

/// `rename`, with the flags of `renameat2`.
pub(super) fn rename(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    [from, to]: [PathArg; 2],
    flags: usize,
) -> sys::Result<Reply> {
    const NOREPLACE: usize = 1;
    const EXCHANGE: usize = 2;
    // A whiteout is a device, which a sandbox cannot create.
    if flags & !(NOREPLACE | EXCHANGE) != 0 || flags == NOREPLACE | EXCHANGE {
        return Err(Errno::INVAL);
    }
    let (mut old, mut new) = (from.walk(caller)?, to.walk(caller)?);
    let (old_name, new_name) = (old.last()?, new.last()?);
    if !old_name.is_proper() {
        return Err(Errno::BUSY);
    }
    if !new_name.is_proper() {
        return Err(if flags & NOREPLACE == 0 { Errno::BUSY } else { Errno::EXIST });
    }
    let mut directions = [Some((&old, &old_name, &new, &new_name)), None];
    if flags & EXCHANGE != 0 {
        directions[1] = Some((&new, &new_name, &old, &old_name));
    }
    let mut holds = [None, None];
    for ((from, name, to, to_name), hold) in directions.into_iter().flatten().zip(&mut holds) {
        if forbidden.is_about(to_name.bytes()) {
            let moved = OwnedFd::new(names::look(from.folder().number(), name.text())?);
            *hold =
                Some(forbidden.may_get(to.folder(), to_name.bytes(), &NamedThing::of(&moved)?)?);
        }
    }
    caller.is_still_there()?;
    let (from, to) = (old.folder().number(), new.folder().number());
    names::rename((from, old_name.text()), (to, new_name.text()), flags)?;
    Ok(Reply::Done)
}

/// `bind`, which makes a name if the address is a path.
pub(super) fn socket(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    [socket, address, len]: [u64; 3],
) -> sys::Result<Reply> {
    const UNIX: [u8; 2] = 1_u16.to_ne_bytes();
    // struct sockaddr_storage.
    let mut bytes = [0; 128];
    let len = usize::try_from(descriptor_number(len)).map_err(|_negative| Errno::INVAL)?;
    let bytes = bytes.get_mut(..len).ok_or(Errno::INVAL)?;
    if caller.memory(address, bytes)? != len {
        return Err(Errno::FAULT);
    }
    let socket = caller.descriptor(socket)?;
    let path = match bytes.strip_prefix(&UNIX) {
        Some([0, ..] | []) | None => {
            // Abstract, chosen by the kernel, or of another family: no file gets a name.
            caller.is_still_there()?;
            return names::bind(socket.number(), bytes).map(|()| Reply::Done);
        }
        Some(path) => path.split(|byte| *byte == 0).next().unwrap_or(path),
    };
    #[expect(clippy::as_conversions, clippy::cast_sign_loss, reason = "a descriptor argument")]
    let mut walk = PathWalk::new(caller, AT_FDCWD as u64, path)?;
    let name = walk.last()?;
    if !name.is_proper() {
        return Err(IN_USE);
    }
    let _hold = forbidden.may_get(walk.folder(), name.bytes(), &NamedThing::Other)?;
    caller.use_mask()?;
    caller.is_still_there()?;
    bind_in(&walk, &name, &socket)
}

/// `EADDRINUSE`.
const IN_USE: Errno = Errno(98);

/// There is no call that binds beneath a folder, so the folder becomes the working folder.
fn bind_in(walk: &PathWalk<'_>, name: &LastName, socket: &OwnedFd) -> sys::Result<Reply> {
    // A family, 108 bytes, and one more than the kernel takes.
    let mut address = [0; 111];
    let text = name.text().to_bytes();
    let len = text.len().wrapping_add(2);
    if len > 110 {
        return Err(Errno::INVAL);
    }
    for (place, byte) in address.iter_mut().zip(1_u16.to_ne_bytes().iter().chain(text)) {
        *place = *byte;
    }
    sys::fchdir(walk.folder().number())?;
    let bound = names::bind(socket.number(), address.get(..len).unwrap_or(&[]));
    mounts::chdir(c"/")?;
    bound.map(|()| Reply::Done)
}
