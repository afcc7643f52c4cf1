//! The way that a path leads: to the folder of its last name, links followed as the caller's.
//!
//! The kernel walks where there is no link. At a link the broker takes one step itself, because
//! `/proc/self` is not the same for it as for the caller.

use core::ffi::CStr;

use super::super::sys::{self, Errno, names};
use super::caller::{Caller, PATH_MAX};
use super::fds::{OwnedFd, kind};

/// As many links as the kernel follows, `MAXSYMLINKS` of `linux/namei.h`.
const LINKS_MAX: u32 = 40;
const ROOM: usize = PATH_MAX * 2;

/// A path that is being followed.
pub(super) struct PathWalk<'a> {
    caller: &'a Caller<'a>,
    folder: OwnedFd,
    /// The rest of the path, and a NUL.
    rest: [u8; ROOM],
    start: usize,
    end: usize,
    links: u32,
}

/// The last name of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastName {
    bytes: [u8; Self::ROOM],
    len: usize,
    /// A slash follows it: it has to be a folder.
    pub(super) is_folder: bool,
}

/// Where a link has led.
pub(super) enum LinkTarget {
    /// To a path, with which the way goes on.
    On,
    /// To a thing itself, as the links of `/proc` do.
    To(OwnedFd),
}

impl<'a> PathWalk<'a> {
    /// Starts at a descriptor of the caller, or at the root.
    pub(super) fn new(caller: &'a Caller<'a>, folder: u64, path: &[u8]) -> sys::Result<Self> {
        let folder = match path.first() {
            None => return Err(Errno::NOENT),
            Some(b'/') => root()?,
            Some(_) => caller.folder(folder)?,
        };
        let mut walk = Self { caller, folder, rest: [0; ROOM], start: 0, end: 0, links: 0 };
        walk.put(path, 0)?;
        Ok(walk)
    }

    /// Goes on to the folder of the last name, which [`Self::folder`] then is.
    pub(super) fn last(&mut self) -> sys::Result<LastName> {
        loop {
            while self.byte(self.start) == b'/' {
                self.start = self.start.wrapping_add(1);
            }
            let rest = self.rest.get(self.start..self.end).unwrap_or(&[]);
            let named =
                rest.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at.wrapping_add(1));
            let path = rest.get(..named).unwrap_or(&[]);
            let Some(slash) = path.iter().rposition(|byte| *byte == b'/') else {
                return LastName::new(path, named < rest.len());
            };
            match self.enter_up_to(slash) {
                Err(Errno::LOOP) => self.step()?,
                other => other?,
            }
        }
    }

    /// The folder in which the next name is.
    pub(super) const fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// The folder, when the way is no longer needed.
    pub(super) fn into_folder(self) -> OwnedFd {
        self.folder
    }

    /// Follows the last name, which is this link.
    pub(super) fn follow(&mut self, name: &LastName, link: &OwnedFd) -> sys::Result<LinkTarget> {
        self.start = self.end;
        self.expand(name.text(), link)
    }

    /// Lets the kernel walk the first part of the path, unless there is a link.
    fn enter_up_to(&mut self, len: usize) -> sys::Result<()> {
        let end = self.start.wrapping_add(len);
        let found = {
            let part = self.rest.get_mut(self.start..=end).ok_or(Errno::NAMETOOLONG)?;
            if let Some(last) = part.last_mut() {
                *last = 0;
            }
            let path = CStr::from_bytes_until_nul(part).map_err(|_no_nul| Errno::INVAL);
            path.and_then(|path| names::find_folder(self.folder.number(), path))
        };
        if let Some(slash) = self.rest.get_mut(end) {
            *slash = b'/';
        }
        self.folder = OwnedFd::new(found?);
        self.start = end;
        Ok(())
    }

    /// Takes one name of the path.
    fn step(&mut self) -> sys::Result<()> {
        let rest = self.rest.get(self.start..self.end).unwrap_or(&[]);
        let len = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let name = LastName::new(rest.get(..len).unwrap_or(&[]), false)?;
        self.start = self.start.wrapping_add(len);
        let found = OwnedFd::new(names::look(self.folder.number(), name.text())?);
        let stat = found.stat()?;
        if stat.is_folder {
            self.folder = found;
            return Ok(());
        }
        if stat.kind != kind::LINK {
            return Err(Errno::NOTDIR);
        }
        match self.expand(name.text(), &found)? {
            LinkTarget::On => Ok(()),
            LinkTarget::To(thing) if thing.stat()?.is_folder => {
                self.folder = thing;
                Ok(())
            }
            LinkTarget::To(_) => Err(Errno::NOTDIR),
        }
    }

    /// Puts what a link in the folder says before the rest of the path.
    fn expand(&mut self, name: &CStr, link: &OwnedFd) -> sys::Result<LinkTarget> {
        self.links = self.links.wrapping_add(1);
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
        if self.caller.machine.is_process_list(link)? {
            return self.expand_in_process_list(name, link);
        }
        let mut text = [0; PATH_MAX];
        let len = names::read_link(link.number(), &mut text)?;
        let text = text.get(..len).unwrap_or(&[]);
        match text.first() {
            None => return Err(Errno::NOENT),
            Some(b'/') => self.folder = root()?,
            Some(_) => {}
        }
        self.put(text, self.start)?;
        Ok(LinkTarget::On)
    }

    fn expand_in_process_list(&mut self, name: &CStr, link: &OwnedFd) -> sys::Result<LinkTarget> {
        let own = match name.to_bytes() {
            b"self" => Some(0),
            b"thread-self" => Some(1),
            _ => None,
        };
        if let (Some(which), true) = (own, self.caller.machine.is_own_list(link)?) {
            let folders = self.caller.own_folders()?;
            let path = folders.get(which).ok_or(Errno::NOENT)?;
            self.put(path.as_bytes(), self.start)?;
            return Ok(LinkTarget::On);
        }
        if !self.caller.owns(self.folder.number())? {
            return Err(Errno::ACCES);
        }
        names::follow(self.folder.number(), name).map(|thing| LinkTarget::To(OwnedFd::new(thing)))
    }

    /// Makes the path this text, and then what is left from `from` on.
    fn put(&mut self, text: &[u8], from: usize) -> sys::Result<()> {
        let kept = self.end.saturating_sub(from);
        let end = text.len().wrapping_add(kept);
        // One byte is left for a NUL.
        if end >= ROOM {
            return Err(Errno::NAMETOOLONG);
        }
        self.rest.copy_within(from..from.wrapping_add(kept), text.len());
        for (place, byte) in self.rest.iter_mut().zip(text) {
            *place = *byte;
        }
        (self.start, self.end) = (0, end);
        Ok(())
    }

    fn byte(&self, at: usize) -> u8 {
        self.rest.get(at).copied().filter(|_| at < self.end).unwrap_or(0)
    }
}

impl LastName {
    // NAME_MAX, a slash and a NUL.
    const ROOM: usize = 257;

    fn new(name: &[u8], is_folder: bool) -> sys::Result<Self> {
        let mut bytes = [0; Self::ROOM];
        if name.len() > Self::ROOM.wrapping_sub(2) {
            return Err(Errno::NAMETOOLONG);
        }
        let slash: &[u8] = if is_folder { b"/" } else { b"" };
        for (place, byte) in bytes.iter_mut().zip(name.iter().chain(slash)) {
            *place = *byte;
        }
        Ok(Self { bytes, len: name.len(), is_folder })
    }

    /// The name alone.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// The name for the kernel, with its slash.
    pub(super) fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }

    /// Returns whether something can have this name: the root and the two dots are names of what is there.
    pub(super) fn is_proper(&self) -> bool {
        !matches!(self.bytes(), b"" | b"." | b"..")
    }
}

fn root() -> sys::Result<OwnedFd> {
    sys::mounts::handle(c"/").map(OwnedFd::new)
}
