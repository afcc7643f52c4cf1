//! Stockade's own places: scratch folders, sockets, state, images, and the program itself. A call that
//! could change one of them would decide for itself, or would run outside of its sandbox; so none is
//! visible in a sandbox, or can be written there, wherever the project, the home folder and the
//! variables put it. This is the one list of them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use super::{Files, Keep};
use crate::bounded;
use crate::inspect::real_folder;

/// What every sandbox shows of the system, to be read.
pub(crate) const SYSTEM: [&str; 12] = [
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPath {
    /// Where the sandbox would show it.
    pub(crate) path: PathBuf,
    /// Whether it is hidden there, or cannot be written.
    pub(crate) keep: Keep,
    /// Which kind of place it is.
    pub(crate) kind: Kind,
    /// The link in a writable folder that its path goes through, which no mount keeps in its place.
    pub(crate) link: Option<PathBuf>,
}

/// What is known of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A folder that is made before a sandboxed program could make it.
    Folder,
    /// A file or folder that is kept if it is there.
    Entry,
    /// The running program, all other names of which are in the list too.
    Program,
}

/// A place as it is named, links and all.
struct Named {
    path: PathBuf,
    keep: Keep,
    kind: Kind,
}

/// The folder of this user for state: the journal, what is trusted, and sockets.
pub fn state_folder() -> Option<PathBuf> {
    in_home("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("stockade"))
}

/// The folder of this user for images.
pub(crate) fn data_folder() -> Option<PathBuf> {
    in_home("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("stockade"))
}

/// The folder of this user for what is remembered.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    in_home("XDG_CACHE_HOME", ".cache").map(|folder| folder.join("stockade"))
}

/// The folder of this user for the policy.
pub(crate) fn config_folder() -> Option<PathBuf> {
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

/// Where the folder of all scratch folders can be, the best first. `TMPDIR` is not among them: a
/// sandbox that another process started without it could not know of the folder, and would show it.
pub(crate) fn scratch_bases() -> Vec<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let name = format!("stockade-{own}");
    let runtime = runtime_folder().filter(|folder| is_private(folder, own));
    let shared = ["/tmp", "/var/tmp"].map(PathBuf::from);
    runtime.into_iter().chain(shared).map(|folder| folder.join(&name)).collect()
}

/// Where it is if none of these can be used.
pub(crate) fn last_scratch_base() -> PathBuf {
    let own = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("stockade-{own}"))
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
pub(crate) fn all() -> Vec<PathBuf> {
    named().into_iter().map(|one| real(&one.path)).collect()
}

fn named() -> Vec<Named> {
    let own = rustix::process::geteuid().as_raw();
    let usual = PathBuf::from(format!("/run/user/{own}"));
    // One that is not there could be made by a sandboxed program, and would be used from then on.
    let runtime = named_runtime_folder().into_iter().chain([usual]);
    let runtime = runtime
        .flat_map(|folder| [folder.join("stockade"), folder.join(format!("stockade-{own}"))]);
    let hidden = scratch_bases().into_iter().chain(runtime);
    let hidden =
        hidden.chain([state_folder(), data_folder(), cache_folder()].into_iter().flatten());
    let hidden = hidden.map(|path| Named { path, keep: Keep::Hidden, kind: Kind::Folder });
    // Engines keep images there, and run what their configuration names.
    let beside = |folder: Option<PathBuf>| folder.map(|path| path.with_file_name("containers"));
    let others = [
        (beside(data_folder()), Keep::Hidden),
        (beside(config_folder()), Keep::Protected),
        (Some(last_scratch_base()), Keep::Hidden),
    ];
    let others = others
        .into_iter()
        .filter_map(|(path, keep)| Some(Named { path: path?, keep, kind: Kind::Entry }));
    let policy =
        config_folder().map(|path| Named { path, keep: Keep::Protected, kind: Kind::Folder });
    hidden.chain(others).chain(policy).collect()
}

impl Files {
    /// Adds Stockade's own places to what is hidden and protected.
    pub(crate) fn cover_own(&mut self) {
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
pub(crate) fn within(files: &Files) -> Vec<OwnPath> {
    let write: Vec<PathBuf> = files.write.iter().map(|path| real(path)).collect();
    let read = files.read.iter().chain([&files.root]).map(|path| real(path));
    let tools = files.toolchains.iter().map(|one| one.path.clone());
    let system = SYSTEM.iter().filter_map(|folder| real_folder(Path::new(folder)).ok());
    let shown: Vec<PathBuf> =
        write.iter().cloned().chain(read).chain(tools).chain(system).collect();
    let mut found = Vec::new();
    let mut add = |one: OwnPath| {
        let is_known = |known: &OwnPath| known.path == one.path && known.keep == one.keep;
        if !found.iter().any(is_known) {
            found.push(one);
        }
    };
    for Named { path, keep, kind } in named() {
        let folders = if keep == Keep::Hidden { &shown } else { &write };
        let link = link_within(&path, &write);
        let place = real(&path);
        for path in seen_as(&place, folders) {
            add(OwnPath { path, keep, kind, link: link.clone() });
        }
        // A folder of ours that holds what is shown would be shown with it.
        let holds = |folder: &&PathBuf| folder.starts_with(&place) && **folder != place;
        if let Some(folder) = folders.iter().find(holds) {
            add(OwnPath { path: folder.clone(), keep, kind: Kind::Entry, link: None });
        }
    }
    for (path, kind) in program_names(&write) {
        for path in seen_as(&path, &write) {
            add(OwnPath { path, keep: Keep::Protected, kind, link: None });
        }
    }
    found
}

/// The paths by which a place is in one of these folders: its own, and where a folder above it is
/// mounted at another path too.
fn seen_as(place: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if folders.iter().any(|folder| place.starts_with(folder)) {
        paths.push(place.to_owned());
    }
    let identity =
        |path: &Path| std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let above: Vec<_> =
        place.ancestors().filter_map(|path| Some((path, identity(path)?))).collect();
    for folder in folders.iter().filter(|folder| !place.starts_with(folder)) {
        let Some(found) = identity(folder) else { continue };
        let same = above.iter().find(|(_, one)| *one == found);
        let rest = same.and_then(|(path, _)| place.strip_prefix(path).ok());
        paths.extend(rest.map(|rest| folder.join(rest)));
    }
    paths
}

/// The running program, wherever it is: its paths, and the file.
#[derive(Debug)]
pub(crate) struct OwnProgram {
    /// Its own path, and the links by which it was started.
    pub(crate) paths: Vec<PathBuf>,
    /// Device and inode, by which its other names are known.
    identity: Option<(u64, u64)>,
}

impl OwnProgram {
    /// Looks for it.
    pub(crate) fn find() -> Self {
        let Some(program) = program() else { return Self { paths: Vec::new(), identity: None } };
        let linked = started_as(&program, &[PathBuf::from("/")]);
        let identity = identity_of(Path::new("/proc/self/exe"));
        let mut paths = vec![program];
        paths.extend(linked.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
        Self { paths, identity }
    }

    /// Whether a path leads to the file of the program.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
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
fn program_names(write: &[PathBuf]) -> Vec<(PathBuf, Kind)> {
    let Some(program) = program() else { return Vec::new() };
    let mut names = vec![program.clone()];
    names.extend(started_as(&program, write));
    let Ok(found) = std::fs::metadata(&program) else {
        return names.into_iter().map(|name| (name, Kind::Entry)).collect();
    };
    let is_near =
        |folder: &PathBuf| std::fs::metadata(folder).is_ok_and(|at| at.dev() == found.dev());
    if found.nlink() < 2 || !write.iter().any(is_near) {
        return names.into_iter().map(|name| (name, Kind::Program)).collect();
    }
    let links = links_beside(&program, (found.dev(), found.ino()));
    let is_all = u64::try_from(links.len()).is_ok_and(|known| known == found.nlink());
    names.extend(links.into_iter().filter(|name| *name != program));
    // Where not all names are known, the rest is looked for in what the sandbox shows.
    let kind = if is_all { Kind::Program } else { Kind::Entry };
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
    let candidates: Vec<PathBuf> = if is_path {
        std::path::absolute(&typed).into_iter().collect()
    } else {
        std::env::split_paths(&search)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&typed))
            .collect()
    };
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

/// The first link on the way to a path that lies in one of these folders.
fn link_within(path: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    above.into_iter().find_map(|path| {
        let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let place = real(path.parent().filter(|_| is_link)?).join(path.file_name()?);
        folders.iter().any(|folder| place.starts_with(folder)).then_some(place)
    })
}

/// The path behind links and without `..`, if it is a folder that is there; else its name in the folder
/// above it.
pub(crate) fn real(path: &Path) -> PathBuf {
    match (real_folder(path), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(above), Some(name)) => real(above).join(name),
        // It ends in `..`, and what is above that is not there.
        (Err(_), Some(above), None) => real(above).parent().unwrap_or(above).to_owned(),
        (Err(_), None, _) => path.to_owned(),
    }
}
