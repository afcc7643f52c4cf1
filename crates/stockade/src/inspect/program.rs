//! Identifies programs: the file behind a name, the names behind that file, and its location.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::known::{KnownPrograms, SystemFiles};
use super::resolver::{Identity, PathResolver, Resolution, stat_of};
use crate::bounded;
use crate::catalog::Catalog;
use crate::inspect::{Settings, path_of};

/// The most bytes that are compared. No listed program is close to this size.
const COMPARED_BYTES_MAX: u64 = 256 << 20;
/// The most links that are followed for their names.
const HOPS_MAX: usize = 40;

/// A program, with the names by which it is judged.
#[derive(Debug)]
pub struct Program {
    /// The path at which it was found.
    pub found_at: PathBuf,
    /// The real path of the file.
    pub real: PathBuf,
    /// All its names: as written, through links, and by identity.
    pub names: Vec<String>,
    /// The names by identity: the same file as a well-known program, or a copy.
    pub identities: Vec<String>,
    /// Whether its content could be compared with that of well-known programs, if needed.
    pub is_known: bool,
    /// Its location.
    pub place: ProgramLocation,
    /// Whether the file is a script with a `#!` line.
    pub is_script: bool,
    /// The words of its `#!` line: the interpreter and at most one argument.
    pub shebang: Vec<OsString>,
    /// The identity of the file and its last change.
    pub version: FileStamp,
}

/// The location of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramLocation {
    /// Beneath the project root.
    Root,
    /// In a system folder that the caller cannot write.
    System,
    /// In a trusted folder that the caller can write, so the file may have been replaced.
    Writable,
    /// Anywhere else.
    Elsewhere,
}

/// Why a name is not a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramError {
    /// No such file.
    Missing,
    /// It is a folder.
    Folder,
    /// Neither a file nor a folder.
    NotAFile,
    /// The file is not executable.
    NotExecutable,
    /// It cannot be opened.
    Unreadable(Errno),
}

/// Looks up programs, and caches facts about well-known ones.
#[derive(Debug, Default)]
pub struct Programs {
    known: OnceLock<KnownPrograms>,
    denied: OnceLock<SystemFiles>,
    digests: Mutex<HashMap<FileStamp, [u8; 32]>>,
    remembered: LookupCache,
}

/// A version of a file: identity, size and last change.
pub(super) type FileStamp = (Identity, i64, i64, u64);

impl Programs {
    /// The program that a shell would find for this word. The answer may be cached for a moment.
    pub fn look_up(
        &self,
        spelled: &OsStr,
        resolver: &PathResolver<'_>,
        settings: &Settings,
        knowledge: &Catalog,
    ) -> Result<Arc<Program>, ProgramError> {
        if spelled.as_bytes().contains(&b'/') {
            return self
                .find(spelled, resolver, settings, knowledge)
                .map(|found| Arc::new(found.1));
        }
        self.remembered.get_or_find(spelled, || {
            self.find(spelled, resolver, settings, knowledge).map(|found| Arc::new(found.1))
        })
    }

    /// Like [`Programs::look_up`], but also opens the file. If the file has changed since it was
    /// cached, it is looked up again.
    pub fn open(
        &self,
        spelled: &OsStr,
        resolver: &PathResolver<'_>,
        settings: &Settings,
        knowledge: &Catalog,
    ) -> Result<(OwnedFd, Arc<Program>), ProgramError> {
        let program = self.look_up(spelled, resolver, settings, knowledge)?;
        let handle = open_executable(&program.found_at, resolver)?;
        let stat = stat_of(handle.as_fd()).map_err(ProgramError::Unreadable)?;
        if version(&stat) == program.version {
            return Ok((handle, program));
        }
        let (handle, program) = self.find(spelled, resolver, settings, knowledge)?;
        Ok((handle, Arc::new(program)))
    }

    /// Finds the program that the kernel would run for this word, with all its names. The file is
    /// opened once, so what was judged is what runs.
    pub fn find(
        &self,
        spelled: &OsStr,
        resolver: &PathResolver<'_>,
        settings: &Settings,
        knowledge: &Catalog,
    ) -> Result<(OwnedFd, Program), ProgramError> {
        let (handle, found_at) = open_program(spelled, resolver, settings)?;
        let stat = stat_of(handle.as_fd()).map_err(ProgramError::Unreadable)?;
        let real = path_of(handle.as_fd()).map_err(ProgramError::Unreadable)?;
        let place = place_of(&real, &stat, resolver, settings)?;
        let mut names = names_on_the_way(spelled, &found_at, &real, resolver);
        let identity = Identity::of(&stat);
        let (identities, is_known) = if place == ProgramLocation::System {
            let denied = || SystemFiles::named(settings, settings.deny.iter());
            (self.denied.get_or_init(denied).names_of(&identity), true)
        } else {
            let known =
                self.known.get_or_init(|| KnownPrograms::gather(settings, knowledge.names()));
            let mut found = known.by_identity.get(&identity).cloned().unwrap_or_default();
            let copies = self.names_by_content(known, handle.as_fd(), &stat);
            let is_known = copies.is_some();
            found.extend(copies.unwrap_or_default());
            (found, is_known)
        };
        names.extend(identities.iter().cloned());
        names.extend(names.iter().find_map(|name| box_of(name)).map(str::to_owned));
        names.sort_unstable();
        names.dedup();
        let shebang = shebang(handle.as_fd());
        let is_script = shebang.is_some();
        let shebang = shebang.unwrap_or_default();
        let program = Program {
            found_at,
            real,
            names,
            identities,
            is_known,
            place,
            is_script,
            shebang,
            version: version(&stat),
        };
        Ok((handle, program))
    }

    /// The names of well-known programs of which this file is a copy; `None` if it has the size of
    /// one and cannot be read.
    fn names_by_content(
        &self,
        known: &KnownPrograms,
        file: BorrowedFd<'_>,
        stat: &Stat,
    ) -> Option<Vec<String>> {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let Some(candidates) = known.by_size.get(&size) else { return Some(Vec::new()) };
        // Never cached: the project can change its files at any time.
        let digest = digest(file, stat)?;
        let is_same = |path: &Path| self.digest_of(path).is_none_or(|original| original == digest);
        let same = candidates.iter().filter(|(path, _)| is_same(path));
        Some(same.map(|(_, name)| name.clone()).collect())
    }

    /// The digest of a system file, cached until the file changes.
    fn digest_of(&self, path: &Path) -> Option<[u8; 32]> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
        let stat = stat_of(file.as_fd()).ok()?;
        let key = version(&stat);
        let digests = || self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = digests().get(&key).copied();
        if remembered.is_some() {
            return remembered;
        }
        let digest = digest(file.as_fd(), &stat)?;
        digests().insert(key, digest);
        Some(digest)
    }
}

fn version(stat: &Stat) -> FileStamp {
    (Identity::of(stat), stat.st_size, stat.st_ctime, stat.st_ctime_nsec)
}

/// The digest of a file; `None` if it cannot be read or is too large.
fn digest(file: BorrowedFd<'_>, stat: &Stat) -> Option<[u8; 32]> {
    if u64::try_from(stat.st_size).ok()? > COMPARED_BYTES_MAX {
        return None;
    }
    let (file, _) = bounded::open_again(file).ok()?;
    // The file may have grown since `fstat`.
    let mut reader = std::io::Read::take(file, COMPARED_BYTES_MAX.saturating_add(1));
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 64 << 10];
    loop {
        let read = std::io::Read::read(&mut reader, &mut buffer).ok()?;
        match buffer.get(..read) {
            None | Some([]) => break,
            Some(bytes) => hasher.update(bytes),
        }
    }
    Some(hasher.finalize().into())
}

fn open_program(
    spelled: &OsStr,
    resolver: &PathResolver<'_>,
    settings: &Settings,
) -> Result<(OwnedFd, PathBuf), ProgramError> {
    if spelled.as_bytes().contains(&b'/') {
        let path = PathBuf::from(spelled);
        return Ok((open_executable(&path, resolver)?, path));
    }
    let mut why = ProgramError::Missing;
    for folder in &settings.search_path {
        let path = folder.join(spelled);
        match open_executable(&path, resolver) {
            Ok(handle) => return Ok((handle, path)),
            Err(ProgramError::Missing) => {}
            Err(other) => why = other,
        }
    }
    Err(why)
}

fn open_executable(path: &Path, resolver: &PathResolver<'_>) -> Result<OwnedFd, ProgramError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = match rustix::fs::openat(resolver.cwd(), path, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
            return Err(ProgramError::Missing);
        }
        Err(errno) => return Err(ProgramError::Unreadable(errno)),
    };
    let stat = stat_of(handle.as_fd()).map_err(ProgramError::Unreadable)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if may_execute(handle.as_fd(), &stat) => Ok(handle),
        FileType::RegularFile => Err(ProgramError::NotExecutable),
        FileType::Directory => Err(ProgramError::Folder),
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(ProgramError::NotAFile),
    }
}

fn may_execute(file: BorrowedFd<'_>, stat: &Stat) -> bool {
    match rustix::fs::accessat(file, "", Access::EXEC_OK, AtFlags::EMPTY_PATH | AtFlags::EACCESS) {
        Ok(()) => true,
        Err(Errno::NOSYS | Errno::INVAL) => stat.st_mode & 0o111 != 0,
        Err(_) => false,
    }
}

fn place_of(
    real: &Path,
    stat: &Stat,
    resolver: &PathResolver<'_>,
    settings: &Settings,
) -> Result<ProgramLocation, ProgramError> {
    let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| real.starts_with(folder));
    match resolver.resolve(real.as_os_str()) {
        Resolution::Inside { exists: true, .. } => {
            // If the root is `/`, it contains the system folders; the stricter location applies.
            let is_system = is_in(&settings.folders) && !writable(real, stat);
            return Ok(if is_system { ProgramLocation::System } else { ProgramLocation::Root });
        }
        // This says nothing about the program.
        Resolution::Unknowable(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
            return Err(ProgramError::Unreadable(errno));
        }
        Resolution::Inside { .. } | Resolution::Outside { .. } | Resolution::Unknowable(_) => {}
    }
    Ok(match (is_in(&settings.toolchains), is_in(&settings.folders)) {
        (true, _) => ProgramLocation::System,
        (false, false) => ProgramLocation::Elsewhere,
        (false, true) if writable(real, stat) => ProgramLocation::Writable,
        (false, true) => ProgramLocation::System,
    })
}

/// Whether the caller or other users could have replaced the file. Root always could, so for root
/// the owner and the mode decide.
fn writable(real: &Path, stat: &Stat) -> bool {
    let Some(folder) = real.parent() else { return true };
    let Ok(folder_stat) = rustix::fs::stat(folder) else { return true };
    if (stat.st_mode | folder_stat.st_mode) & 0o002 != 0 {
        return true;
    }
    if rustix::process::geteuid().is_root() {
        return stat.st_uid != 0 || folder_stat.st_uid != 0;
    }
    let can_write = |path: &Path| {
        rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) != Err(Errno::ACCESS)
            && rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)
                != Err(Errno::ROFS)
    };
    let own = rustix::process::geteuid().as_raw();
    stat.st_uid == own || folder_stat.st_uid == own || can_write(folder) || can_write(real)
}

/// The base names of the word, of each link that is followed, and of the file.
fn names_on_the_way(
    spelled: &OsStr,
    found_at: &Path,
    real: &Path,
    resolver: &PathResolver<'_>,
) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |path: &Path| {
        names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
    };
    add(Path::new(spelled));
    add(real);
    let mut path = found_at.to_owned();
    for _ in 0..HOPS_MAX {
        let Ok(target) = rustix::fs::readlinkat(resolver.cwd(), &path, Vec::new()) else { break };
        let target = OsString::from(OsStr::from_bytes(target.as_bytes()));
        path = path.parent().unwrap_or(Path::new("")).join(target);
        add(&path);
    }
    names
}

/// The multi-call program that a name starts with: `busybox-x` takes its first word as the applet.
fn box_of(name: &str) -> Option<&'static str> {
    ["busybox", "toybox"].into_iter().find(|known| name.starts_with(known) && name != *known)
}

/// How long a lookup is cached.
const MOMENT: Duration = Duration::from_secs(1);
/// The most cached names; the cache is cleared beyond that.
const NAMES_MAX: usize = 512;

/// The time of the lookup, and its result.
type CacheEntry = (Instant, Result<Arc<Program>, ProgramError>);

/// Cached lookups of system programs, by name.
#[derive(Debug, Default)]
pub(super) struct LookupCache {
    names: Mutex<HashMap<OsString, CacheEntry>>,
}

impl LookupCache {
    /// Returns the cached result, or looks the program up. Files of the project are never cached.
    pub(super) fn get_or_find(
        &self,
        name: &OsStr,
        find: impl FnOnce() -> Result<Arc<Program>, ProgramError>,
    ) -> Result<Arc<Program>, ProgramError> {
        let names = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let known =
            names().get(name).filter(|(then, _)| now.duration_since(*then) < MOMENT).cloned();
        if let Some((_, found)) = known {
            return found;
        }
        let found = find();
        let lasts = match &found {
            Ok(program) => program.place == ProgramLocation::System,
            Err(why) => *why == ProgramError::Missing,
        };
        if lasts {
            let mut names = names();
            if names.len() >= NAMES_MAX {
                names.clear();
            }
            names.insert(name.to_owned(), (now, found.clone()));
        }
        found
    }
}

/// The bytes of a script that the kernel reads to find the interpreter (`BINPRM_BUF_SIZE`).
const SHEBANG_BYTES: u64 = 256;

/// The words of a `#!` line as the kernel splits it: everything after the first is one argument.
pub(super) fn shebang(file: BorrowedFd<'_>) -> Option<Vec<OsString>> {
    let head = bounded::read_head(file, SHEBANG_BYTES).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| matches!(byte, b'\n' | 0)).next()?;
    let line = without_blanks(line);
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let (program, rest) = line.split_at_checked(end)?;
    let words = [program, without_blanks(rest)].into_iter().filter(|word| !word.is_empty());
    Some(words.map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

/// Trims spaces and tabs. For the kernel, a carriage return is part of the name.
fn without_blanks(mut line: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = line {
        line = rest;
    }
    line
}
