//! Who a program is: the file behind a name, the names behind that file, and where it lives.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::settings::Settings;
use super::view::{Identity, Landing, View, path_of, stat_of};

/// Programs that do what the name says by which they are called: their file has no identity.
const MULTI_CALL: [&str; 6] =
    ["busybox", "toybox", "coreutils", "systemctl", "sbase-box", "uutils"];
/// A larger file is not compared by content; no program of the lists comes near.
const COMPARED_BYTES_MAX: u64 = 256 << 20;
/// What the kernel reads of a script's first line (`BINPRM_BUF_SIZE`).
const SHEBANG_BYTES_MAX: u64 = 256;
/// Up to this many names are asked for one by one; more are sought in the folder's list.
const ASKED_ONE_BY_ONE_MAX: usize = 128;
/// Links from one name to the next that are followed for their names.
const HOPS_MAX: usize = 40;

/// A program that was found: a handle to the file, and by what names it is to be judged.
#[derive(Debug)]
pub struct Program {
    /// The file, opened once; what was judged is what runs.
    pub handle: OwnedFd,
    /// The path by which it was found.
    pub found_at: PathBuf,
    /// The real path of the file.
    pub real: PathBuf,
    /// Every name that it goes by: as written, through links, and by identity.
    pub names: Vec<String>,
    /// Those names that are its by identity: the same file as a well-known program, or a copy.
    pub identities: Vec<String>,
    /// Where it lives.
    pub place: Place,
    /// For a script, the words of its `#!` line; empty if that names nothing.
    pub script: Option<Vec<OsString>>,
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
    denied: OnceLock<HashMap<Identity, Vec<String>>>,
    digests: Mutex<HashMap<(Identity, i64), [u8; 32]>>,
}

/// The well-known programs of this machine, by file and by size.
#[derive(Debug, Default)]
struct Known {
    by_identity: HashMap<Identity, Vec<String>>,
    by_size: HashMap<u64, Vec<(PathBuf, String)>>,
}

impl Programs {
    /// Finds the program that the kernel would run for this word, and all its names.
    pub fn find<'n>(
        &self,
        spelled: &OsStr,
        view: &View<'_>,
        settings: &Settings,
        known_names: impl Iterator<Item = &'n str>,
    ) -> Result<Program, NoProgram> {
        let (handle, found_at) = open_program(spelled, view, settings)?;
        let stat = stat_of(handle.as_fd()).map_err(NoProgram::Unreadable)?;
        let real = path_of(handle.as_fd()).map_err(NoProgram::Unreadable)?;
        let place = place_of(&real, &stat, view, settings);
        let mut names = names_on_the_way(spelled, &found_at, &real, view);
        let identity = Identity::of(&stat);
        let mut identities = Vec::new();
        if place == Place::System {
            let denied = self.denied.get_or_init(|| system_files(settings, settings.deny.iter()));
            identities.extend(denied.get(&identity).into_iter().flatten().cloned());
        } else {
            let known = self.known.get_or_init(|| Known::gather(settings, known_names));
            identities.extend(known.by_identity.get(&identity).into_iter().flatten().cloned());
            identities.extend(self.names_by_content(known, handle.as_fd(), &stat));
        }
        names.extend(identities.iter().cloned());
        names.sort_unstable();
        names.dedup();
        let script = shebang(handle.as_fd());
        Ok(Program { handle, found_at, real, names, identities, place, script })
    }

    /// The names of well-known programs of which this file is a copy.
    fn names_by_content(&self, known: &Known, file: BorrowedFd<'_>, stat: &Stat) -> Vec<String> {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let Some(candidates) = known.by_size.get(&size) else { return Vec::new() };
        let Some(digest) = self.digest(file, stat) else { return Vec::new() };
        let same = |path: &Path| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let original = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
            let stat = stat_of(original.as_fd()).ok()?;
            (self.digest(original.as_fd(), &stat)? == digest).then_some(())
        };
        candidates
            .iter()
            .filter(|(path, _)| same(path).is_some())
            .map(|(_, name)| name.clone())
            .collect()
    }

    fn digest(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<[u8; 32]> {
        if u64::try_from(stat.st_size).ok()? > COMPARED_BYTES_MAX {
            return None;
        }
        let key = (Identity::of(stat), stat.st_ctime);
        let remembered =
            self.digests.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if remembered.is_some() {
            return remembered;
        }
        let mut reader = std::fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0_u8; 64 << 10];
        loop {
            let read = std::io::Read::read(&mut reader, &mut buffer).ok()?;
            match buffer.get(..read) {
                None | Some([]) => break,
                Some(bytes) => hasher.update(bytes),
            }
        }
        let digest: [u8; 32] = hasher.finalize().into();
        self.digests.lock().unwrap_or_else(PoisonError::into_inner).insert(key, digest);
        Some(digest)
    }
}

impl Known {
    fn gather<'n>(settings: &Settings, names: impl Iterator<Item = &'n str>) -> Self {
        let listed = settings.deny.iter().chain(&settings.interpreters);
        let names: BTreeSet<&str> =
            names.map(|name: &str| name).chain(listed.map(String::as_str)).collect();
        let mut known = Self::default();
        each_system_file(settings, names.into_iter(), |path, name, stat| {
            if let Ok(size) = u64::try_from(stat.st_size) {
                known.by_size.entry(size).or_default().push((path, name.to_owned()));
            }
            known.by_identity.entry(Identity::of(stat)).or_default().push(name.to_owned());
        });
        known
    }
}

fn system_files<'n>(
    settings: &Settings,
    names: impl Iterator<Item = &'n String>,
) -> HashMap<Identity, Vec<String>> {
    let mut files: HashMap<Identity, Vec<String>> = HashMap::new();
    each_system_file(settings, names.map(String::as_str), |_, name, stat| {
        files.entry(Identity::of(stat)).or_default().push(name.to_owned());
    });
    files
}

/// Calls back for each of the names that is a file of its own in a system folder.
fn each_system_file<'n>(
    settings: &Settings,
    names: impl Iterator<Item = &'n str>,
    mut found: impl FnMut(PathBuf, &str, &Stat),
) {
    let names: Vec<&str> = names.collect();
    let mut seen = Vec::new();
    for folder in settings.search_path.iter().filter(|folder| folder.is_absolute()) {
        let Ok(stat) = rustix::fs::stat(folder) else { continue };
        if seen.contains(&Identity::of(&stat)) {
            continue;
        }
        seen.push(Identity::of(&stat));
        let present = present_in(folder, &names);
        for name in present.as_ref().unwrap_or(&names) {
            let path = folder.join(name);
            let Ok(stat) = rustix::fs::stat(&path) else { continue };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && !is_multi_call(&path)
            {
                found(path, name, &stat);
            }
        }
    }
}

/// Those of many names that a folder has, in one reading of it; `None` where asking for each of a
/// few is quicker, or the folder cannot be listed.
fn present_in<'n>(folder: &Path, names: &[&'n str]) -> Option<Vec<&'n str>> {
    if names.len() <= ASKED_ONE_BY_ONE_MAX {
        return None;
    }
    let entries = std::fs::read_dir(folder).ok()?.map_while(Result::ok);
    let found: Vec<OsString> = entries.map(|entry| entry.file_name()).collect();
    let present: HashSet<&str> = found.iter().filter_map(|name| name.to_str()).collect();
    Some(names.iter().filter(|name| present.contains(**name)).copied().collect())
}

/// Whether a name is only one of the many of a multi-call program.
fn is_multi_call(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..HOPS_MAX {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| MULTI_CALL.contains(&name))
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

fn place_of(real: &Path, stat: &Stat, view: &View<'_>, settings: &Settings) -> Place {
    if matches!(view.land(real.as_os_str()), Landing::Inside { exists: true, .. }) {
        // A root of `/` holds the system folders too; there the stricter word is the truer one.
        let is_system = settings.folders.iter().any(|folder| real.starts_with(folder));
        if !is_system || writable(real, stat) {
            return Place::Root;
        }
        return Place::System;
    }
    if !settings.folders.iter().any(|folder| real.starts_with(folder)) {
        return Place::Elsewhere;
    }
    if writable(real, stat) { Place::Writable } else { Place::System }
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

/// The interpreter and the one argument that the kernel takes from a script's first line, if the
/// file is a script.
fn shebang(file: BorrowedFd<'_>) -> Option<Vec<OsString>> {
    let reader = std::fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let mut start = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(reader, SHEBANG_BYTES_MAX), &mut start)
        .ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at(end);
    let words = [interpreter, argument.trim_ascii_start()];
    let words = words.into_iter().filter(|word| !word.is_empty() && !word.contains(&0));
    Some(words.map(|word| OsStr::from_bytes(word).to_owned()).collect())
}
