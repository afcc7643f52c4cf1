//! Who a program is: the file behind a name, the names behind that file, and where it lives.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::known::{Known, SystemFiles};
use super::remembered::Remembered;
use super::settings::Settings;
use super::shebang::shebang;
use super::view::{Identity, Landing, View, path_of, stat_of};
use crate::bounded;
use crate::knowledge::Knowledge;

/// A larger file is not compared by content; no program of the lists comes near.
const COMPARED_BYTES_MAX: u64 = 256 << 20;
/// Links from one name to the next that are followed for their names.
const HOPS_MAX: usize = 40;

/// A program that was found, and by what names it is to be judged.
#[derive(Debug)]
pub struct Program {
    /// The path by which it was found.
    pub found_at: PathBuf,
    /// The real path of the file.
    pub real: PathBuf,
    /// Every name that it goes by: as written, through links, and by identity.
    pub names: Vec<String>,
    /// Those names that are its by identity: the same file as a well-known program, or a copy.
    pub identities: Vec<String>,
    /// Whether its content could be compared with that of well-known programs, where it has to be.
    pub is_known: bool,
    /// Where it lives.
    pub place: Place,
    /// Whether the file is a script with a `#!` line.
    pub is_script: bool,
    /// The words of that line: the interpreter and at most one argument.
    pub shebang: Vec<OsString>,
    /// Which file it was, and when it last changed.
    pub version: Version,
}

/// Where a program lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Beneath the project root.
    Root,
    /// In a system folder that the caller cannot write.
    System,
    /// In a trusted folder that the caller can write, so that it may have been swapped.
    Writable,
    /// Anywhere else.
    Elsewhere,
}

/// Why there is no program behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoProgram {
    /// Nothing of that name.
    Missing,
    /// A folder.
    Folder,
    /// Neither a file nor a folder.
    NotAFile,
    /// A file that may not be executed.
    NotExecutable,
    /// It cannot be opened.
    Unreadable(Errno),
}

/// Looks up programs, and remembers what the well-known ones look like.
#[derive(Debug, Default)]
pub struct Programs {
    known: OnceLock<Known>,
    denied: OnceLock<SystemFiles>,
    digests: Mutex<HashMap<Version, [u8; 32]>>,
    remembered: Remembered,
}

/// A file at one time: identity, size, and when it last changed.
pub(super) type Version = (Identity, i64, i64, u64);

impl Programs {
    /// The program that a shell would find for this word, which may be a moment old.
    pub fn look_up(
        &self,
        spelled: &OsStr,
        view: &View<'_>,
        settings: &Settings,
        knowledge: &Knowledge,
    ) -> Result<Arc<Program>, NoProgram> {
        if spelled.as_bytes().contains(&b'/') {
            return self.find(spelled, view, settings, knowledge).map(|found| Arc::new(found.1));
        }
        self.remembered.get_or_find(spelled, || {
            self.find(spelled, view, settings, knowledge).map(|found| Arc::new(found.1))
        })
    }

    /// The same, opened: the file that was judged, or all is found anew.
    pub fn open(
        &self,
        spelled: &OsStr,
        view: &View<'_>,
        settings: &Settings,
        knowledge: &Knowledge,
    ) -> Result<(OwnedFd, Arc<Program>), NoProgram> {
        let program = self.look_up(spelled, view, settings, knowledge)?;
        let handle = open_executable(&program.found_at, view)?;
        let stat = stat_of(handle.as_fd()).map_err(NoProgram::Unreadable)?;
        if version(&stat) == program.version {
            return Ok((handle, program));
        }
        let (handle, program) = self.find(spelled, view, settings, knowledge)?;
        Ok((handle, Arc::new(program)))
    }

    /// Finds the program that the kernel would run for this word, and all its names. The file is
    /// opened once: what was judged is what runs.
    pub fn find(
        &self,
        spelled: &OsStr,
        view: &View<'_>,
        settings: &Settings,
        knowledge: &Knowledge,
    ) -> Result<(OwnedFd, Program), NoProgram> {
        let (handle, found_at) = open_program(spelled, view, settings)?;
        let stat = stat_of(handle.as_fd()).map_err(NoProgram::Unreadable)?;
        let real = path_of(handle.as_fd()).map_err(NoProgram::Unreadable)?;
        let place = place_of(&real, &stat, view, settings)?;
        let mut names = names_on_the_way(spelled, &found_at, &real, view);
        let identity = Identity::of(&stat);
        let (identities, is_known) = if place == Place::System {
            let denied = || SystemFiles::named(settings, settings.deny.iter());
            (self.denied.get_or_init(denied).names_of(&identity), true)
        } else {
            let known = self.known.get_or_init(|| Known::gather(settings, knowledge.names()));
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
        known: &Known,
        file: BorrowedFd<'_>,
        stat: &Stat,
    ) -> Option<Vec<String>> {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let Some(candidates) = known.by_size.get(&size) else { return Some(Vec::new()) };
        // Never remembered: the project can change its files between two looks.
        let digest = digest(file, stat)?;
        let is_same = |path: &Path| self.digest_of(path).is_none_or(|original| original == digest);
        let same = candidates.iter().filter(|(path, _)| is_same(path));
        Some(same.map(|(_, name)| name.clone()).collect())
    }

    /// The digest of a system's file, computed once while it does not change.
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

fn version(stat: &Stat) -> Version {
    (Identity::of(stat), stat.st_size, stat.st_ctime, stat.st_ctime_nsec)
}

/// What a file holds, as a hash; `None` if it cannot be read or is too large to be compared.
fn digest(file: BorrowedFd<'_>, stat: &Stat) -> Option<[u8; 32]> {
    if u64::try_from(stat.st_size).ok()? > COMPARED_BYTES_MAX {
        return None;
    }
    let (file, _) = bounded::open_again(file).ok()?;
    // It may have grown since it was looked at.
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
    view: &View<'_>,
    settings: &Settings,
) -> Result<(OwnedFd, PathBuf), NoProgram> {
    if spelled.as_bytes().contains(&b'/') {
        let path = PathBuf::from(spelled);
        return Ok((open_executable(&path, view)?, path));
    }
    let mut why = NoProgram::Missing;
    for folder in &settings.search_path {
        let path = folder.join(spelled);
        match open_executable(&path, view) {
            Ok(handle) => return Ok((handle, path)),
            Err(NoProgram::Missing) => {}
            Err(other) => why = other,
        }
    }
    Err(why)
}

fn open_executable(path: &Path, view: &View<'_>) -> Result<OwnedFd, NoProgram> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = match rustix::fs::openat(view.cwd(), path, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => return Err(NoProgram::Missing),
        Err(errno) => return Err(NoProgram::Unreadable(errno)),
    };
    let stat = stat_of(handle.as_fd()).map_err(NoProgram::Unreadable)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if may_execute(handle.as_fd(), &stat) => Ok(handle),
        FileType::RegularFile => Err(NoProgram::NotExecutable),
        FileType::Directory => Err(NoProgram::Folder),
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Err(NoProgram::NotAFile),
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
    view: &View<'_>,
    settings: &Settings,
) -> Result<Place, NoProgram> {
    let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| real.starts_with(folder));
    match view.land(real.as_os_str()) {
        Landing::Inside { exists: true, .. } => {
            // A root of `/` holds the system folders too; there the stricter word is the truer one.
            let is_system = is_in(&settings.folders) && !writable(real, stat);
            return Ok(if is_system { Place::System } else { Place::Root });
        }
        // That says nothing about the program.
        Landing::Unknowable(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
            return Err(NoProgram::Unreadable(errno));
        }
        Landing::Inside { .. } | Landing::Outside { .. } | Landing::Unknowable(_) => {}
    }
    Ok(match (is_in(&settings.toolchains), is_in(&settings.folders)) {
        (true, _) => Place::System,
        (false, false) => Place::Elsewhere,
        (false, true) if writable(real, stat) => Place::Writable,
        (false, true) => Place::System,
    })
}

/// Whether the caller, or anyone at all, could have put another file there. Root could, always:
/// for it the owner and the mode have to do.
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

/// The base names of the word, of each link on the way, and of the file at its end.
fn names_on_the_way(spelled: &OsStr, found_at: &Path, real: &Path, view: &View<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |path: &Path| {
        names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
    };
    add(Path::new(spelled));
    add(real);
    let mut path = found_at.to_owned();
    for _ in 0..HOPS_MAX {
        let Ok(target) = rustix::fs::readlinkat(view.cwd(), &path, Vec::new()) else { break };
        let target = OsString::from(OsStr::from_bytes(target.as_bytes()));
        path = path.parent().unwrap_or(Path::new("")).join(target);
        add(&path);
    }
    names
}

/// The box that a name begins with: any `busybox-x` takes the name of a program as its first word.
fn box_of(name: &str) -> Option<&'static str> {
    ["busybox", "toybox"].into_iter().find(|known| name.starts_with(known) && name != *known)
}
