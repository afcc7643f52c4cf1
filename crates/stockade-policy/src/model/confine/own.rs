//! Stockade's own places: scratch folders, sockets, state, images, and the program itself. A call that
//! could change one of them would decide for itself, or would run outside of its sandbox; so none is
//! visible in a sandbox, or can be written there, wherever the project, the home folder and the
//! variables put it. This is the one list of them.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use super::{Files, Keep};
use crate::bounded;
use crate::config::folders::real_folder;

/// What every sandbox shows of the system, to be read.
pub const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
];
/// Names in one folder that are looked at for other names of the program.
const NAMES_MAX: usize = 20_000;
/// Links that the kernel follows in one path, `path_resolution(7)`.
const LINKS_MAX: usize = 40;

/// A place of ours that a sandbox would show.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnPath {
    /// Where the sandbox would show it.
    pub path: PathBuf,
    /// Whether it is hidden there, or cannot be written.
    pub keep: Keep,
    /// Which kind of place it is.
    pub kind: OwnKind,
    /// The link in a writable folder that its path goes through, which no mount keeps in its place.
    pub link: Option<PathBuf>,
}

/// What is known of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OwnKind {
    /// A folder that is made before a sandboxed program could make it.
    Folder,
    /// A file or folder that is kept if it is there.
    Entry,
    /// The running program, all other names of which are in the list too.
    Program,
}

/// A place as it is named, links and all.
struct NamedPlace {
    path: PathBuf,
    keep: Keep,
    kind: OwnKind,
}

/// The folder of this user for state: the journal, what is trusted, and sockets.
pub fn state_folder() -> Option<PathBuf> {
    in_home("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("stockade"))
}

/// The folder of this user for images.
pub fn data_folder() -> Option<PathBuf> {
    in_home("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("stockade"))
}

/// The folder of this user for what is remembered.
pub fn cache_folder() -> Option<PathBuf> {
    in_home("XDG_CACHE_HOME", ".cache").map(|folder| folder.join("stockade"))
}

/// The folder of this user for the policy.
pub(super) fn config_folder() -> Option<PathBuf> {
    in_home("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("stockade"))
}

/// The folder that the session of this user has for sockets, if it has one.
pub fn runtime_folder() -> Option<PathBuf> {
    named_runtime_folder().filter(|path| path.is_dir())
}

fn named_runtime_folder() -> Option<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_absolute())
}

/// Shared folders of the machine that hold the folder of all scratch folders of a user.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Folders that rootless engines make in the folder for temporary files where they find no other.
const OF_ENGINES_IN_TEMPORARY: [&str; 3] = ["podman-run", "containers-user", "storage-run"];
/// Folders of engines and runtimes in the runtime folder of a user, or in `/run`. A runtime runs the hooks
/// that it finds in the state of a container.
const OF_ENGINES_IN_RUNTIME: [&str; 4] = ["containers", "libpod", "crun", "runc"];

/// Where the folder of all scratch folders can be, the best first: in places that every supervisor of
/// this user knows, and hides. Neither `TMPDIR` nor `XDG_RUNTIME_DIR` adds one, because a sandbox that
/// another process started without the variable would not know of the folder, and would show it.
pub fn scratch_bases() -> Vec<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let runtime = runtime_folder().map(|folder| real(&folder));
    let runtime = runtime.filter(|folder| is_known(folder, own) && is_private(folder, own));
    let name = format!("stockade-{own}");
    runtime.map(|folder| folder.join(name)).into_iter().chain(fixed_bases(own)).collect()
}

fn fixed_bases(own: u32) -> impl Iterator<Item = PathBuf> {
    SHARED.into_iter().map(move |folder| Path::new(folder).join(format!("stockade-{own}")))
}

/// The runtime folder of a user where systems with one have it, whatever the variables say.
fn usual_runtime_folder(own: u32) -> PathBuf {
    PathBuf::from(format!("/run/user/{own}"))
}

/// Whether every supervisor of this user hides what is ours in a folder.
fn is_known(folder: &Path, own: u32) -> bool {
    folder == real(&usual_runtime_folder(own))
        || fixed_bases(own).any(|base| folder.starts_with(real(&base)))
}

/// The runtime folder of this user for programs that must not keep their state where a sandbox could
/// change it: the usual one, if it is there.
pub fn fixed_runtime_folder() -> Option<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    Some(usual_runtime_folder(own)).filter(|folder| is_private(folder, own))
}

fn is_private(folder: &Path, own: u32) -> bool {
    std::fs::metadata(folder)
        .is_ok_and(|found| found.uid() == own && found.mode().trailing_zeros() >= 6)
}

fn in_home(variable: &str, usual: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| Some(std::env::home_dir()?.join(usual)))
}

/// All places, shown or not.
pub fn all() -> Vec<PathBuf> {
    named().into_iter().map(|one| real(&one.path)).collect()
}

fn named() -> Vec<NamedPlace> {
    let own = rustix::process::geteuid().as_raw();
    // One that is not there could be made by a sandboxed program, and would be used from then on.
    let runtime = || named_runtime_folder().into_iter().chain([usual_runtime_folder(own)]);
    let in_runtime = runtime()
        .flat_map(|folder| [folder.join("stockade"), folder.join(format!("stockade-{own}"))]);
    let hidden = scratch_bases().into_iter().chain(in_runtime);
    let hidden =
        hidden.chain([state_folder(), data_folder(), cache_folder()].into_iter().flatten());
    let hidden = hidden.map(|path| NamedPlace { path, keep: Keep::Hidden, kind: OwnKind::Folder });
    // Engines keep images there, and run what their configuration names.
    let beside = |folder: Option<PathBuf>| folder.map(|path| path.with_file_name("containers"));
    let others =
        [(beside(data_folder()), Keep::Hidden), (beside(config_folder()), Keep::Protected)];
    let others = others.into_iter().filter_map(|(path, keep)| Some((path?, keep)));
    let of_engines = of_engines(runtime(), own).into_iter().map(|path| (path, Keep::Hidden));
    let others = others.chain(of_engines).map(|(path, keep)| NamedPlace {
        path,
        keep,
        kind: OwnKind::Entry,
    });
    let policy = config_folder().map(|path| NamedPlace {
        path,
        keep: Keep::Protected,
        kind: OwnKind::Folder,
    });
    hidden.chain(others).chain(policy).collect()
}

/// What engines keep from one command to the next, in all places where they are known to.
fn of_engines(runtime: impl Iterator<Item = PathBuf>, own: u32) -> Vec<PathBuf> {
    let of_root = own == 0;
    let runtime = runtime.chain(of_root.then(|| PathBuf::from("/run")));
    let in_runtime = runtime.flat_map(|folder| OF_ENGINES_IN_RUNTIME.map(|name| folder.join(name)));
    let temporary = [std::env::temp_dir(), PathBuf::from("/tmp")].into_iter();
    let temporary = temporary.flat_map(|folder| {
        OF_ENGINES_IN_TEMPORARY.map(|name| folder.join(format!("{name}-{own}")))
    });
    let images = of_root.then(|| PathBuf::from("/var/lib/containers"));
    let mut all: Vec<PathBuf> = in_runtime.chain(temporary).chain(images).collect();
    all.sort();
    all.dedup();
    all
}

impl Files {
    /// Adds Stockade's own places to what is hidden and protected.
    pub fn cover_own(&mut self) {
        for OwnPath { path, keep, .. } in self.own.iter() {
            let list = match keep {
                Keep::Hidden => &mut self.hide,
                Keep::Protected => &mut self.protect,
            };
            if !list.contains(path) {
                list.push(path.clone());
            }
        }
    }
}

/// The places that a sandbox with these files would show, or would let be written.
pub fn within(files: &Files) -> Vec<OwnPath> {
    let mut entries = Entries::default();
    let write: Vec<PathBuf> = files.write.iter().map(|path| entries.real(path)).collect();
    let read = files.read.iter().chain([&files.root]);
    let read: Vec<PathBuf> = read.map(|path| entries.real(path)).collect();
    let tools = files.toolchains.iter().map(|one| one.path.clone());
    let system = SYSTEM.iter().filter_map(|folder| entries.real_folder(Path::new(folder)));
    let system: Vec<PathBuf> = system.collect();
    let shown = write.iter().cloned().chain(read).chain(tools).chain(system);
    let shown: Vec<FolderIdentity> = shown.map(|path| entries.folder(path)).collect();
    let writable = shown.get(..write.len()).unwrap_or_default();
    let mut found = Vec::new();
    let mut add = |one: OwnPath| {
        let is_known = |known: &OwnPath| known.path == one.path && known.keep == one.keep;
        if !found.iter().any(is_known) {
            found.push(one);
        }
    };
    for NamedPlace { path, keep, kind } in named() {
        let folders = if keep == Keep::Hidden { shown.as_slice() } else { writable };
        let link = entries.link_within(&path, &write);
        let place = entries.real(&path);
        for path in entries.seen_as(&place, folders) {
            add(OwnPath { path, keep, kind, link: link.clone() });
        }
        // A folder of ours that holds what is shown would be shown with it.
        let holds = |path: &&PathBuf| path.starts_with(&place) && **path != place;
        if let Some(folder) = folders.iter().map(|folder| &folder.path).find(holds) {
            add(OwnPath { path: folder.clone(), keep, kind: OwnKind::Entry, link: None });
        }
    }
    for (path, kind) in program_names(&write) {
        for path in entries.seen_as(&path, writable) {
            add(OwnPath { path, keep: Keep::Protected, kind, link: None });
        }
    }
    found
}

/// A folder, and its device and inode if it exists.
struct FolderIdentity {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

/// What is at a path.
#[derive(Clone, Copy)]
struct PathEntry {
    identity: (u64, u64),
    is_link: bool,
    is_folder: bool,
}

/// What is at paths. Each is looked up once, because the places share most of the folders above them.
#[derive(Default)]
struct Entries(HashMap<PathBuf, Option<PathEntry>>);

impl Entries {
    fn at(&mut self, path: &Path) -> Option<PathEntry> {
        if let Some(known) = self.0.get(path) {
            return *known;
        }
        let found = std::fs::symlink_metadata(path).ok().map(|found| PathEntry {
            identity: (found.dev(), found.ino()),
            is_link: found.is_symlink(),
            is_folder: found.is_dir(),
        });
        self.0.insert(path.to_owned(), found);
        found
    }

    /// Whether the kernel would follow no link and no `..` on the way to a path, so that it is its own real
    /// path.
    fn is_real(&mut self, path: &Path) -> bool {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        path.is_absolute()
            && path.components().all(is_plain)
            && !path.ancestors().any(|above| self.at(above).is_some_and(|entry| entry.is_link))
    }

    /// As [`real`] does, for a path without links by what is known already.
    fn real(&mut self, path: &Path) -> PathBuf {
        if self.is_real(path) { path.components().collect() } else { real(path) }
    }

    /// The same for a folder that has to be there.
    fn real_folder(&mut self, path: &Path) -> Option<PathBuf> {
        if self.is_real(path) {
            let is_there = self.at(path).is_some_and(|entry| entry.is_folder);
            is_there.then(|| path.components().collect())
        } else {
            real_folder(path).ok()
        }
    }

    fn folder(&mut self, path: PathBuf) -> FolderIdentity {
        let identity = self.at(&path).map(|entry| entry.identity);
        FolderIdentity { path, identity }
    }

    /// The paths by which a place is in one of these folders: its own, and where a folder above it is
    /// mounted at another path too.
    fn seen_as(&mut self, place: &Path, folders: &[FolderIdentity]) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        if folders.iter().any(|folder| place.starts_with(&folder.path)) {
            paths.push(place.to_owned());
        }
        let above: Vec<_> = place.ancestors().map(|path| (path, self.at(path))).collect();
        for folder in folders.iter().filter(|folder| !place.starts_with(&folder.path)) {
            let Some(found) = folder.identity else { continue };
            let is_it =
                |entry: &Option<PathEntry>| entry.is_some_and(|entry| entry.identity == found);
            let same = above.iter().find(|(_, entry)| is_it(entry));
            let rest = same.and_then(|(path, _)| place.strip_prefix(path).ok());
            paths.extend(rest.map(|rest| folder.path.join(rest)));
        }
        paths
    }

    /// The first link on the way to a path that lies in one of these folders.
    fn link_within(&mut self, path: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        above.into_iter().find_map(|path| {
            let is_link = self.at(path).is_some_and(|entry| entry.is_link);
            let place = real(path.parent().filter(|_| is_link)?).join(path.file_name()?);
            folders.iter().any(|folder| place.starts_with(folder)).then_some(place)
        })
    }
}

/// The running program, wherever it is: its paths, and the file.
#[derive(Debug)]
pub struct OwnProgram {
    /// Its own path, and the links by which it was started.
    pub paths: Vec<PathBuf>,
    /// Device and inode, by which its other names are known.
    pub identity: Option<(u64, u64)>,
}

impl OwnProgram {
    /// Looks for it.
    pub fn find() -> Self {
        let Some(program) = program() else { return Self { paths: Vec::new(), identity: None } };
        let linked = started_as(&program, &[PathBuf::from("/")]);
        let identity = identity_of(Path::new("/proc/self/exe"));
        let mut paths = vec![program];
        paths.extend(linked.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
        Self { paths, identity }
    }

    /// Whether a path leads to the file of the program.
    pub fn is_at(&self, path: &Path) -> bool {
        self.identity.is_some() && identity_of(path) == self.identity
    }
}

/// The path of the running program.
fn program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    // One that was replaced since it started is the next to be started by its name.
    Some(match program.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(name) if !program.exists() => PathBuf::from(OsStr::from_bytes(name)),
        _ => program,
    })
}

/// The device and the inode that a path leads to.
fn identity_of(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// The names of the running program that matter to these folders: its own, the one by which it was
/// started, and other names of the same file.
fn program_names(write: &[PathBuf]) -> Vec<(PathBuf, OwnKind)> {
    let Some(program) = program() else { return Vec::new() };
    let mut names = vec![program.clone()];
    names.extend(started_as(&program, write));
    let Ok(found) = std::fs::metadata(&program) else {
        return names.into_iter().map(|name| (name, OwnKind::Entry)).collect();
    };
    let is_near =
        |folder: &PathBuf| std::fs::metadata(folder).is_ok_and(|at| at.dev() == found.dev());
    if found.nlink() < 2 || !write.iter().any(is_near) {
        return names.into_iter().map(|name| (name, OwnKind::Program)).collect();
    }
    let links = links_beside(&program, (found.dev(), found.ino()));
    let is_all = u64::try_from(links.len()).is_ok_and(|known| known == found.nlink());
    names.extend(links.into_iter().filter(|name| *name != program));
    // Where not all names are known, the rest is looked for in what the sandbox shows.
    let kind = if is_all { OwnKind::Program } else { OwnKind::Entry };
    names.into_iter().map(|name| (name, kind)).collect()
}

/// The names of a file in its folder, and in `deps` where cargo links what it builds.
fn links_beside(program: &Path, identity: (u64, u64)) -> Vec<PathBuf> {
    let Some((folder, name)) = program.parent().zip(program.file_name()) else { return Vec::new() };
    let stem = name.as_bytes().split(|byte| matches!(byte, b'-' | b'.')).next().unwrap_or_default();
    let mut folders = vec![folder.to_owned(), folder.join("deps")];
    folders.extend(folder.parent().filter(|_| folder.ends_with("deps")).map(Path::to_owned));
    let mut links = Vec::new();
    for folder in folders {
        let names = bounded::names(&folder, NAMES_MAX).unwrap_or_default();
        let like = names.into_iter().filter(|(name, kind)| {
            *kind == FileType::RegularFile && name.as_bytes().starts_with(stem)
        });
        let paths = like.map(|(name, _)| folder.join(name));
        links.extend(paths.filter(|path| {
            let found = std::fs::symlink_metadata(path);
            found.is_ok_and(|found| (found.dev(), found.ino()) == identity)
        }));
    }
    links
}

/// The links in writable folders by which a shell would start the program again: each one on the way to
/// it, whether it is the last part of a path, a folder, or the target of another link.
fn started_as(program: &Path, write: &[PathBuf]) -> Vec<PathBuf> {
    let Some(typed) = std::env::args_os().next().map(PathBuf::from) else { return Vec::new() };
    let is_path = typed.as_os_str().as_bytes().contains(&b'/');
    let search = std::env::var_os("PATH").unwrap_or_default();
    // A shell looks in relative folders of the search path too, an empty one among them.
    let candidates: Vec<PathBuf> = if is_path {
        vec![typed]
    } else {
        std::env::split_paths(&search).map(|folder| folder.join(&typed)).collect()
    };
    let candidates: Vec<PathBuf> =
        candidates.iter().filter_map(|path| std::path::absolute(path).ok()).collect();
    let known = identity_of(program);
    let is_it = |path: &&PathBuf| known.is_some() && identity_of(path) == known;
    let is_written = |path: &PathBuf| write.iter().any(|folder| path.starts_with(folder));
    candidates.iter().filter(is_it).flat_map(|path| links_on_way(path)).filter(is_written).collect()
}

/// The real paths of all links that the kernel follows on the way to a path.
fn links_on_way(path: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    let mut here = PathBuf::from("/");
    let mut todo: Vec<OsString> = parts(path);
    while let Some(part) = todo.pop() {
        if part == ".." {
            here.pop();
            continue;
        }
        let place = here.join(&part);
        match std::fs::read_link(&place) {
            Ok(target) if links.len() < LINKS_MAX => {
                links.push(place);
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                todo.extend(parts(&target));
            }
            Ok(_) | Err(_) => here = place,
        }
    }
    links
}

/// The names in a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// The path behind links and without `..`, if it is a folder that is there; else its name in the folder
/// above it.
pub fn real(path: &Path) -> PathBuf {
    match (real_folder(path), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(above), Some(name)) => real(above).join(name),
        // It ends in `..`, and what is above that is not there.
        (Err(_), Some(above), None) => real(above).parent().unwrap_or(above).to_owned(),
        (Err(_), None, _) => path.to_owned(),
    }
}
