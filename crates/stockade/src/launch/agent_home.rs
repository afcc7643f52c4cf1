//! What a coding agent that runs in the sandbox as a whole has of the home folder.
//!
//! At the place of the agent's folder the sandbox shows one of its own, which goes with the call. In it the
//! parts of the machine's folder are mounted, most of them read-only; and it has copies of files that an
//! agent replaces. So nothing that the agent adds reaches the machine, whatever its name is.
//!
//! The folders of the machine are opened once, and everything is made and read from these handles.

mod files;
mod leftover_links;
mod program;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde_json::Value;

use self::files::{create, replace, write_new};
use self::leftover_links::{LinkSweep, SweepBounds, is_unchecked};
pub use self::program::installed_program;
use super::scratch::{Room, Scratch};
use crate::bounded;
use crate::confine::{AgentFolder, AgentPart, SYSTEM, own_places};
use crate::json;
use crate::policy::agents::{AgentProfile, CopiedFile};
use crate::policy::{Policy, Variable, path_of};

/// The most names in the agent's folder.
const NAMES_MAX: usize = 10_000;
/// The most of them that are shown: each takes a descriptor in the message to the sandbox.
const PARTS_MAX: usize = 150;
/// The largest file that is copied, or put into the machine's folder.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// How many keys are named that were not put back.
const DROPPED_MAX: usize = 20;

/// The home of an agent, until its call has ended.
#[derive(Debug)]
pub struct AgentHome {
    profile: AgentProfile,
    folder: AgentFolder,
    /// The machine's folder.
    machine: OwnedFd,
    /// The one that the sandbox shows.
    private: OwnedFd,
    copies: Vec<FileCopy>,
    /// Names of the profile that the machine's folder did not have.
    absent: Vec<String>,
    /// How many names of the machine's folder are not shown for want of room.
    unshown: usize,
    /// The project, as a copied file names it.
    project: String,
    started: SystemTime,
    /// Removed when the call has ended.
    _scratch: Scratch,
}

/// A file of which the agent has a copy.
#[derive(Debug)]
struct FileCopy {
    file: CopiedFile,
    /// The folder of the machine that it is in.
    folder: OwnedFd,
    /// What was copied; `None` if that is no JSON.
    base: Option<Value>,
}

/// Why an agent cannot have its home.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentHomeError {
    /// There is none on the machine.
    #[error("find the home folder")]
    NoHome,
    /// The folder of the agent, or one in it, cannot be opened or made.
    #[error("use {path:?} as a folder of the agent")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It belongs to somebody else.
    #[error("use {0:?} as the folder of the agent: it belongs to another user")]
    Owner(PathBuf),
    /// It is, holds or lies in what a sandbox shows otherwise.
    #[error("use {0:?} as the folder of the agent: it is, holds or lies in {1}")]
    Place(PathBuf, &'static str),
    /// Its path is not UTF-8, which a variable needs.
    #[error("use {0:?} as the folder of the agent: its path is not UTF-8")]
    NotText(PathBuf),
    /// A file cannot be copied.
    #[error("copy {path:?} for the agent")]
    Copy {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no place for the agent's own folder.
    #[error("make a folder for the agent")]
    Scratch(#[source] io::Error),
}

impl AgentHome {
    /// Makes the home of an agent that works in this project. Folders that the profile lists are made if
    /// they are not there.
    pub fn prepare(profile: AgentProfile, root: &Path) -> Result<Self, AgentHomeError> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let home = home.ok_or(AgentHomeError::NoHome)?;
        let home_handle = open_folder(CWD, home.as_os_str()).map_err(at(&home))?;
        let home = path_of(home_handle.as_fd()).map_err(at(&home))?;
        let (machine, moved) = machine_folder(&profile, (home_handle.as_fd(), &home))?;
        let path = path_of(machine.as_fd()).map_err(at(&home))?;
        refuse_place(&path, &home, root)?;
        let scratch = Scratch::make(Room::Much, &[root.to_owned()]);
        let scratch = scratch.map_err(AgentHomeError::Scratch)?;
        let private = scratch.path().join("agent");
        let private_handle = made(CWD, private.as_os_str()).map_err(at(&private))?;
        let name = profile.folder.clone();
        let folder = AgentFolder { path, name, private, parts: Vec::new() };
        let mut new = Self {
            profile,
            folder,
            machine,
            private: private_handle,
            copies: Vec::new(),
            absent: Vec::new(),
            unshown: 0,
            project: root.to_string_lossy().into_owned(),
            started: SystemTime::now(),
            _scratch: scratch,
        };
        new.make_written()?;
        new.add_parts()?;
        let beside = if moved { None } else { Some((home_handle.as_fd(), home.as_path())) };
        new.copy_files(beside)?;
        Ok(new)
    }

    /// Lets calls under this policy have it.
    pub fn add_to(&self, policy: &mut Policy) -> Result<(), AgentHomeError> {
        policy.files.agent = Some(self.folder.clone());
        policy.environment.extend(self.profile.environment.iter().cloned());
        if let Some(variable) = &self.profile.variable {
            let path = &self.folder.path;
            let text = path.to_str().ok_or_else(|| AgentHomeError::NotText(path.clone()))?;
            policy.environment.push(Variable::Set(variable.clone(), text.to_owned()));
        }
        Ok(())
    }

    /// What the agent writes on the machine, in words.
    pub fn written(&self) -> String {
        let written = self.folder.parts.iter().filter(|part| part.is_written);
        let names: Vec<String> = written
            .filter_map(|part| part.path.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        let path = &self.folder.path;
        let written = if names.is_empty() {
            format!("it writes nothing of {path:?} on this machine")
        } else {
            format!("of {path:?} it writes {} on this machine, and nothing else", names.join(", "))
        };
        match self.unshown {
            0 => written,
            more => format!("{written}; {more} names in it are not shown, which are too many"),
        }
    }

    /// Makes the folders that the agent writes, and notes what is not there.
    fn make_written(&mut self) -> Result<(), AgentHomeError> {
        for name in &self.profile.write {
            let failed = at(&self.folder.path.join(name));
            open_or_make(self.machine.as_fd(), OsStr::new(name)).map_err(failed)?;
        }
        for name in self.profile.protect.iter().chain(&self.profile.write_files) {
            if !is_there(self.machine.as_fd(), OsStr::new(name)) {
                self.absent.push(name.clone());
            }
        }
        Ok(())
    }

    /// The parts of the machine's folder, each with a place in the private one.
    fn add_parts(&mut self) -> Result<(), AgentHomeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.machine, ".", flags, Mode::empty());
        let opened = opened.map_err(at(&self.folder.path))?;
        let names = bounded::names_in(&opened, NAMES_MAX);
        let mut names = names.map_err(|error| folder_error(&self.folder.path, error))?;
        let profile = &self.profile;
        let is_in = |name: &OsStr, list: &[String]| list.iter().any(|known| name == known.as_str());
        // What is listed comes first, if not all can be shown.
        let is_listed = |name: &OsStr| {
            let lists = [&profile.write, &profile.write_files, &profile.protect];
            lists.into_iter().any(|list| is_in(name, list))
        };
        names.sort_by_cached_key(|(name, _)| (!is_listed(name), name.clone()));
        let own = own_places();
        for (name, _) in names {
            let is_copied = profile.copied.iter().any(|one| name == one.name.as_str());
            if is_copied || profile.is_private(&name) || is_unchecked(&name) {
                continue;
            }
            if self.folder.parts.len() >= PARTS_MAX {
                self.unshown = self.unshown.saturating_add(1);
                continue;
            }
            let path = self.folder.path.join(&name);
            // A link in this folder is the person's. One that leads nowhere shows nothing.
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let found = rustix::fs::openat(&self.machine, &name, flags, Mode::empty());
            let Ok(found) = found else { continue };
            let stat = rustix::fs::fstat(&found).map_err(at(&path))?;
            let source = path_of(found.as_fd()).map_err(at(&path))?;
            // What holds the folder would show all that is beside it.
            let is_own = |own: &PathBuf| own.starts_with(&source) || source.starts_with(own);
            if self.folder.path.starts_with(&source) || own.iter().any(is_own) {
                continue;
            }
            let is_written = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    rustix::fs::mkdirat(&self.private, &name, Mode::RWXU).map_err(at(&path))?;
                    is_in(&name, &profile.write)
                }
                FileType::RegularFile => {
                    create(self.private.as_fd(), &name).map_err(at(&path))?;
                    is_in(&name, &profile.write_files)
                }
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => continue,
            };
            self.folder.parts.push(AgentPart { path, source, is_written });
        }
        Ok(())
    }

    /// Copies the files that the agent replaces.
    fn copy_files(
        &mut self,
        beside: Option<(BorrowedFd<'_>, &Path)>,
    ) -> Result<(), AgentHomeError> {
        for file in self.profile.copied.clone() {
            let machine = (self.machine.as_fd(), self.folder.path.as_path());
            let (folder, path) = beside.filter(|_| file.is_beside).unwrap_or(machine);
            let path = path.join(&file.name);
            let failed = |source: io::Error| AgentHomeError::Copy { path: path.clone(), source };
            let name = Path::new(&file.name);
            let bytes =
                match bounded::read_at(folder, name, bounded::Links::Followed, FILE_BYTES_MAX) {
                    Ok(bytes) => Some(bytes),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    Err(error) => return Err(failed(error)),
                };
            let base = match &bytes {
                Some(bytes) => {
                    write_new(self.private.as_fd(), name.as_os_str(), bytes).map_err(failed)?;
                    json::from_slice(bytes).ok()
                }
                None => Some(Value::Object(serde_json::Map::new())),
            };
            let folder = folder.try_clone_to_owned().map_err(failed)?;
            self.copies.push(FileCopy { file, folder, base });
        }
        Ok(())
    }

    /// Puts back what is kept, once the agent and all that it started have ended. What is not is told, in words for the person.
    pub fn finish(self) -> Vec<String> {
        let mut notes: Vec<String> = self.sweep().notes().collect();
        for copy in &self.copies {
            if let Some(note) = self.put_back(copy) {
                notes.push(note);
            }
        }
        for name in &self.absent {
            if !is_there(self.private.as_fd(), OsStr::new(name)) {
                continue;
            }
            let path = self.folder.path.join(name);
            let is_kept = self.profile.write_files.contains(name);
            let put = if is_kept { self.put_new(name) } else { Ok(()) };
            match (is_kept, put) {
                (true, Ok(())) => {}
                (true, Err(error)) => notes.push(format!(
                    "{path:?}, which the agent has made, could not be kept: {error}"
                )),
                (false, _) => notes.push(format!(
                    "the agent has made {path:?}, which is not kept: an agent on this machine would go \
                     by it"
                )),
            }
        }
        notes
    }

    /// Removes links that the agent has left where it may write.
    fn sweep(&self) -> LinkSweep {
        let mut sweep = LinkSweep::since(self.started, SweepBounds::default());
        for name in &self.profile.write {
            sweep.written(&self.machine, &self.folder.path, OsStr::new(name));
        }
        sweep
    }

    /// Puts kept values of a copy into the machine's file. Returns what a person should know.
    fn put_back(&self, copy: &FileCopy) -> Option<String> {
        let FileCopy { file, folder, base } = copy;
        let name = Path::new(&file.name);
        let path = path_of(folder.as_fd()).map_or_else(|_| name.to_owned(), |path| path.join(name));
        let unread = |why: &dyn std::fmt::Display| {
            Some(format!("nothing is kept of what the agent has changed in its {path:?}: {why}"))
        };
        let refused = bounded::Links::Refused;
        let new = match bounded::read_at(&self.private, name, refused, FILE_BYTES_MAX) {
            Ok(new) => new,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return unread(&error),
        };
        let new: Value = match json::from_slice(&new) {
            Ok(new) => new,
            Err(error) => return unread(&error),
        };
        let Some(base) = base else { return unread(&"the file on this machine is no JSON") };
        let put = replace(folder.as_fd(), name, FILE_BYTES_MAX, |now| {
            file.merged(base, &new, now, &self.project)
        });
        if let Err(error) = put {
            return unread(&error);
        }
        let dropped = file.dropped(base, &new, &self.project);
        (!dropped.is_empty()).then(|| {
            let shown = dropped.iter().take(DROPPED_MAX).cloned().collect::<Vec<_>>().join(", ");
            let more = dropped.len().saturating_sub(DROPPED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("not kept in {path:?} of what the agent has changed: {shown}{more}")
        })
    }

    /// Keeps a file that the agent may write and that was not there.
    fn put_new(&self, name: &str) -> io::Result<()> {
        let refused = bounded::Links::Refused;
        let bytes = bounded::read_at(&self.private, Path::new(name), refused, FILE_BYTES_MAX)?;
        write_new(self.machine.as_fd(), OsStr::new(name), &bytes)
    }
}

/// The agent's folder on the machine, which is made in the home folder if it is not there; and whether a
/// variable moves it.
fn machine_folder(
    profile: &AgentProfile,
    (home, home_path): (BorrowedFd<'_>, &Path),
) -> Result<(OwnedFd, bool), AgentHomeError> {
    let moved = profile.variable.as_ref().and_then(std::env::var_os).map(PathBuf::from);
    let moved = moved.filter(|path| path.is_absolute());
    let (opened, path) = match &moved {
        Some(path) => (open_folder(CWD, path.as_os_str()), path.clone()),
        None => {
            let name = OsStr::new(&profile.folder);
            (open_or_make(home, name), home_path.join(name))
        }
    };
    let opened = opened.map_err(at(&path))?;
    let stat = rustix::fs::fstat(&opened).map_err(at(&path))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(AgentHomeError::Owner(path));
    }
    Ok((opened, moved.is_some()))
}

/// Refuses a folder in whose place nothing else may be shown.
fn refuse_place(path: &Path, home: &Path, root: &Path) -> Result<(), AgentHomeError> {
    let meets = |other: &Path| path.starts_with(other) || other.starts_with(path);
    let refused = |what| Err(AgentHomeError::Place(path.to_owned(), what));
    if home.starts_with(path) {
        return refused("the home folder");
    }
    if meets(root) {
        return refused("the project");
    }
    if own_places().iter().any(|own| meets(own)) {
        return refused("a place of Stockade's own");
    }
    let machine = ["/dev", "/proc", "/sys", "/run"];
    if SYSTEM.iter().chain(&machine).any(|folder| path.starts_with(folder)) {
        return refused("a folder of the system");
    }
    Ok(())
}

/// Opens a folder; links on the way are the person's.
fn open_folder(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Opens a folder, or makes it for this user alone. It is never made where a link leads.
fn open_or_make(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match open_folder(at, name) {
        Err(Errno::NOENT) => made(at, name),
        other => other,
    }
}

fn made(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(at, name, Mode::RWXU)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

fn is_there(folder: BorrowedFd<'_>, name: &OsStr) -> bool {
    look_at(folder, name).is_ok()
}

/// What has a name in a folder, and no link followed.
fn look_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Stat, Errno> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn at(path: &Path) -> impl FnOnce(Errno) -> AgentHomeError + use<> {
    let path = path.to_owned();
    move |errno| folder_error(&path, errno.into())
}

fn folder_error(path: &Path, source: io::Error) -> AgentHomeError {
    AgentHomeError::Folder { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
