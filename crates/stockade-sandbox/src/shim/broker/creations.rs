//! The light form of the broker: the program creates names by itself, and init hears of every
//! such call before. It refuses a call for a path that must not be created, and lets all others
//! through (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`).
//!
//! A second thread can change a path after it was read, and a second process can swap the folder that it
//! leads through, so that this does not prevent a creation. But init knows when no call is under way. A
//! path that appears while one is counts as the program's, whatever the call has named; any other was
//! created by somebody outside. The log says so to the host.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use super::super::sys::{self, AT_FDCWD, Errno, Fd, Pid, names, notices};
use super::caller::{Caller, Machine, PATH_MAX};
use super::create::PathArg;
use super::fds::{OwnedFd, kind};
use super::forbidden::{ForbiddenPaths, NamedThing};
use super::new_paths::{self, NewKind, NewPath, NewPaths};
use super::resolve::{LinkTarget, PathWalk};
use crate::protocol::plan::creation_log::{
    BY_OTHERS, BY_PROGRAM, BYTES, EPOCH, LET_THROUGH, MISSING, PATHS, PATHS_MAX, REFUSAL,
};

const WORDS: usize = BYTES / 8;
const PENDING_MAX: usize = 64;
/// How long after the last call it is first checked that all have returned. Until then a path that
/// somebody outside creates counts as the program's.
const SETTLE_NS: u64 = 500_000;
/// The longest time between two such checks.
const SETTLE_MAX_NS: u64 = 64_000_000;
/// As many links as the kernel follows, `MAXSYMLINKS` of `linux/namei.h`.
const LINKS_MAX: usize = 40;

const _: () = assert!(PATHS + PATHS_MAX <= WORDS);

/// Which calls were let through, and which paths have appeared.
pub(crate) struct CreationLog {
    log: &'static [AtomicU64; WORDS],
    /// Threads whose last call may still be under way, with the number of that call.
    pending: [Option<(Pid, i32)>; PENDING_MAX],
    /// More threads than that: nothing can be said of them.
    is_over: bool,
    /// How long to wait for another call before it is checked whether all have returned; none while
    /// nothing is under way.
    pause_ns: Option<u64>,
}

impl CreationLog {
    /// Writes to the log in this file.
    pub(super) fn with_log(file: Fd) -> sys::Result<Self> {
        let start = sys::map_shared(file, BYTES)?.cast::<[AtomicU64; WORDS]>();
        // SAFETY: the mapping is as long, aligned to a page, never unmapped, and only used by atomic
        // operations here. The host reads the file by system calls.
        let log = unsafe { &*start };
        let pending = [None; PENDING_MAX];
        Ok(Self { log, pending, is_over: false, pause_ns: None })
    }

    /// How long until something has to be checked.
    pub(super) const fn time_left_ns(&self) -> Option<u64> {
        self.pause_ns
    }

    /// Refuses a call for a forbidden path, and lets all others through.
    pub(super) fn answer(&mut self, caller: &Caller<'_>, forbidden: &ForbiddenPaths) {
        let notice = caller.notice;
        // What cannot be read or found is the kernel's to judge. It counts as under way all the same.
        if let Ok(Some(path)) = refused(caller, forbidden) {
            if caller.is_still_there().is_ok() {
                self.path(path).fetch_add(REFUSAL, Ordering::Relaxed);
            }
            let _gone = notices::answer(caller.listener(), notice.id, Err(Errno::PERM));
            return;
        }
        self.begin(forbidden);
        self.remember(caller.thread(), notice.number);
        self.word(LET_THROUGH).fetch_add(1, Ordering::Release);
        // A caller that is gone needs no answer.
        let _gone = notices::let_through(caller.listener(), notice.id);
    }

    /// If nothing was under way until now, what has appeared was created by others.
    fn begin(&mut self, forbidden: &ForbiddenPaths) {
        if self.pause_ns.replace(SETTLE_NS).is_none() {
            self.check(forbidden, BY_OTHERS);
            self.word(EPOCH).fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes a call that goes on from here. The one before of the same thread has returned.
    fn remember(&mut self, thread: Pid, number: i32) {
        let is_it =
            |place: &&mut Option<(Pid, i32)>| place.is_some_and(|(known, _)| known == thread);
        let place = match self.pending.iter_mut().find(is_it) {
            Some(place) => Some(place),
            None => self.pending.iter_mut().find(|place| place.is_none()),
        };
        match place {
            Some(place) => *place = Some((thread, number)),
            None => self.is_over = true,
        }
    }

    /// Nothing has been asked for a while: checks whether all calls have returned.
    pub(super) fn settle(&mut self, machine: &Machine, forbidden: &ForbiddenPaths) {
        let Some(pause_ns) = self.pause_ns else { return };
        for place in &mut self.pending {
            *place = place.filter(|(thread, number)| !machine.has_left(*thread, *number));
        }
        if self.is_over || self.pending.iter().any(Option::is_some) {
            self.pause_ns = Some(pause_ns.saturating_mul(2).min(SETTLE_MAX_NS));
            return;
        }
        self.end(forbidden);
    }

    /// All processes of the program are dead, and so no call is under way.
    pub(super) fn finish(&mut self, forbidden: &ForbiddenPaths) {
        if self.pause_ns.is_some() {
            self.end(forbidden);
        }
    }

    /// All calls have returned. A path that has appeared meanwhile may be the program's.
    fn end(&mut self, forbidden: &ForbiddenPaths) {
        self.check(forbidden, BY_PROGRAM);
        self.pause_ns = None;
        self.word(EPOCH).fetch_add(1, Ordering::SeqCst);
    }

    /// Writes down which paths exist. One that did not at the last check was created by this maker.
    fn check(&self, forbidden: &ForbiddenPaths, maker: u8) {
        for path in 0..forbidden.len() {
            let word = self.path(path);
            let [state, ..] = word.load(Ordering::Relaxed).to_le_bytes();
            let now = match (forbidden.is_there(path), state) {
                (_, BY_PROGRAM) => BY_PROGRAM,
                (false, _) => MISSING,
                (true, MISSING) => maker,
                (true, known) => known,
            };
            let change = u64::from(now).wrapping_sub(u64::from(state));
            word.fetch_add(change, Ordering::SeqCst);
        }
    }

    fn path(&self, number: usize) -> &AtomicU64 {
        self.word(PATHS.saturating_add(number).min(WORDS - 1))
    }

    fn word(&self, number: usize) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        self.log.get(number).unwrap_or(&NONE)
    }
}

/// The refused path that the call would create. Calls that the kernel refuses anyway are not
/// checked.
fn refused(caller: &Caller<'_>, forbidden: &ForbiddenPaths) -> sys::Result<Option<usize>> {
    let NewPaths { paths, socket } = new_paths::of(caller)?;
    if let Some(bytes) = socket {
        let at = PathArg { folder: descriptor(AT_FDCWD), path: 0 };
        return refused_at(caller, forbidden, &NewPath { at, how: NewKind::Other }, bytes.path());
    }
    for new_path in paths.iter().flatten() {
        let mut buffer = [0; PATH_MAX];
        let path = caller.text(new_path.at.path, &mut buffer)?;
        if let Some(refused) = refused_at(caller, forbidden, new_path, path)? {
            return Ok(Some(refused));
        }
    }
    Ok(None)
}

#[expect(clippy::as_conversions, clippy::cast_sign_loss, reason = "a descriptor argument")]
const fn descriptor(fd: Fd) -> u64 {
    fd as u64
}

fn refused_at(
    caller: &Caller<'_>,
    forbidden: &ForbiddenPaths,
    new_path: &NewPath,
    path: &[u8],
) -> sys::Result<Option<usize>> {
    let follows = matches!(new_path.how, NewKind::Opened { follows: true });
    let is_about = last_name(path).is_some_and(|name| name.is_ascii() && forbidden.is_about(name));
    // Nearly all calls end here.
    let may_be = is_about || (follows && caller.leads_to_link(new_path.at.folder, path));
    if !may_be {
        return Ok(None);
    }
    let mut walk = PathWalk::new(caller, new_path.at.folder, path)?;
    for _ in 0..LINKS_MAX {
        let name = walk.last()?;
        if !name.is_proper() {
            return Ok(None);
        }
        let moved = match new_path.how {
            NewKind::Moved(from) => Some(moved(caller, from)?),
            NewKind::Opened { .. } | NewKind::Folder | NewKind::Other => None,
        };
        let thing = match (&moved, new_path.how) {
            (Some(moved), _) => NamedThing::of(moved)?,
            (None, NewKind::Folder) => NamedThing::NewFolder,
            (None, _) => NamedThing::Other,
        };
        let refused = forbidden.refused(walk.folder(), name.bytes(), &thing)?;
        if refused.is_some() || !follows {
            return Ok(refused);
        }
        let found = OwnedFd::new(names::look(walk.folder().number(), name.text())?);
        if found.stat()?.kind != kind::LINK {
            return Ok(None);
        }
        match walk.follow(&name, &found)? {
            LinkTarget::On => {}
            LinkTarget::To(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// The thing that is about to get another name.
fn moved(caller: &Caller<'_>, from: PathArg) -> sys::Result<OwnedFd> {
    let mut buffer = [0; PATH_MAX];
    let path = caller.text(from.path, &mut buffer)?;
    let mut walk = PathWalk::new(caller, from.folder, path)?;
    let name = walk.last()?;
    names::look(walk.folder().number(), name.text()).map(OwnedFd::new)
}

/// The last name of a path, whatever slashes are behind it.
fn last_name(path: &[u8]) -> Option<&[u8]> {
    path.rsplit(|byte| *byte == b'/').find(|name| !name.is_empty())
}

impl Caller<'_> {
    /// Returns whether a path of the caller ends in a symbolic link, in one call to the kernel.
    fn leads_to_link(&self, folder: u64, path: &[u8]) -> bool {
        let mut text = [0; PATH_MAX + 64];
        let start = self.start_of(folder, path);
        let whole = start.as_bytes().iter().chain(path);
        // The last byte stays NUL.
        for (place, byte) in text.iter_mut().take(PATH_MAX + 63).zip(whole) {
            *place = *byte;
        }
        let found = CStr::from_bytes_until_nul(&text);
        found.is_ok_and(|path| names::is_link(self.machine.list(), path))
    }
}

#[cfg(test)]
mod tests {
    use super::last_name;

    #[test]
    fn the_last_name_is_found_behind_slashes_and_before() {
        for (path, name) in
            [("a", "a"), ("/a/b", "b"), ("a/b//", "b"), (".mcp.json/", ".mcp.json"), ("a/.", ".")]
        {
            assert_eq!(last_name(path.as_bytes()), Some(name.as_bytes()), "{path}");
        }
        assert_eq!((last_name(b""), last_name(b"//")), (None, None));
    }
}
