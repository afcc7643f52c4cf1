//! The root of a box: what it shows, what can be written, what is hidden and protected.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use stockade_sandbox::{Access, Landlock, Mount, ProcView, Rule, rights};

use super::masks::{MaskedPath, PathMasks};
pub(in crate::launch) use crate::confine::SYSTEM;
use crate::confine::{AgentFolder, Files, ToolchainPath};
use crate::guarantee::Guarantee;
use crate::inspect::real_folder;
use crate::launch::setup::Setup;
use crate::outcome::{Failure, FailureKind};
use crate::plan::describe::PRIVATE_HOME;
use crate::plan::ops::{self, Mount as Planned};

/// The root of the sandbox, in the order in which it was planned.
pub(super) fn mounts(setup: &Setup, covered: &PathMasks) -> Result<Vec<Mount>, Failure> {
    let files = &setup.files;
    not_whole_machine(files)?;
    let mut mounts = Vec::new();
    let (mut home, mut is_covered) = (None, false);
    for planned in &setup.mounts {
        match planned {
            Planned::System(folders) => system(folders, &mut mounts)?,
            Planned::Devices { shared_memory_bytes } => {
                let devices = Mount::devices(*shared_memory_bytes);
                mounts.extend(devices.map_err(|error| unshown(Path::new("/dev"), &error))?);
            }
            Planned::Proc => {
                mounts.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
            }
            Planned::HideInProc(path) if Path::new(path).exists() => {
                mounts.push(Mount::Hide { target: c_path(Path::new(path))? });
            }
            Planned::HideInProc(_) => {}
            Planned::Memory { path, bytes, files } => mounts.push(Mount::Memory {
                target: c_path(Path::new(path))?,
                bytes_max: *bytes,
                files_max: *files,
                mode: 0o1777,
            }),
            Planned::Session { path } => {
                cover(covered.present.iter(), &mut mounts)?;
                is_covered = true;
                mounts.push(Mount::Session { target: c_path(Path::new(path))? });
            }
            Planned::Project(path, access) => mounts.push(bind(path, of(*access))?),
            Planned::Path(path, access) => {
                mounts.push(bind(&placed(path, &files.root)?, of(*access))?);
            }
            Planned::Home(path) => {
                home = Some(Path::new(path));
                let target = c_path(Path::new(path))?;
                let is_shared = mounts.iter().any(|mount| matches!(mount, Mount::Session { .. }));
                mounts.push(Mount::Folder { target: target.clone(), mode: 0o1777 });
                // No call of a session can put anything in its place for the next.
                mounts.extend(is_shared.then_some(Mount::Pin { target }));
            }
            Planned::Exception(path) => except(path, covered, &mut mounts)?,
            Planned::Pins => pins(files, covered, &mut mounts)?,
            Planned::Toolchain(shown) => toolchain(shown, home, &mut mounts)?,
            // It is planned after everything that is covered.
            Planned::Agent(_) => {}
        }
    }
    if !is_covered {
        cover(covered.present.iter(), &mut mounts)?;
    }
    if let (Some(folder), Some(home)) = (&files.agent, home) {
        agent(folder, home, &covered.present, &mut mounts)?;
    }
    Ok(mounts)
}

fn of(access: ops::Access) -> Access {
    match access {
        ops::Access::ReadOnly => Access::ReadOnlyAsOwner,
        ops::Access::Writable => Access::Writable,
    }
}

/// The directories of the system, without those that are out of reach.
fn system(folders: &[&str], mounts: &mut Vec<Mount>) -> Result<(), Failure> {
    for folder in folders.iter().map(Path::new) {
        match Mount::read_only(&c_path(folder)?) {
            Ok(mount) => mounts.push(mount),
            Err(error) if is_out_of_reach(&error) => {}
            Err(error) => return Err(unshown(folder, &error)),
        }
    }
    Ok(())
}

/// Protects the folder that has an exception, and shows that one to be written.
fn except(path: &Path, covered: &PathMasks, mounts: &mut Vec<Mount>) -> Result<(), Failure> {
    if covered.exceptions.iter().any(|one| one.path == path)
        && let Some(folder) = path.parent()
    {
        mounts.push(Mount::Protect { target: c_path(folder)? });
        mounts.push(bind(path, Access::Writable)?);
    }
    Ok(())
}

/// Whether a system folder is not there, as no machine has all of them, or is closed to the caller, to
/// whom it need not be shown.
fn is_out_of_reach(error: &std::io::Error) -> bool {
    const ERRORS: [Errno; 5] =
        [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::PERM, Errno::LOOP];
    Errno::from_io_error(error).is_some_and(|errno| ERRORS.contains(&errno))
}

/// The whole machine as the project would leave nothing outside. The folder for temporary files cannot be
/// shown as a whole either, because every sandbox has its own there, and its home folder in that.
pub(in crate::launch) fn not_whole_machine(files: &Files) -> Result<(), Failure> {
    if files.root == Path::new("/") {
        let message = "the whole machine cannot be the project of a box";
        return Err(files_failure(FailureKind::ShowProject, message)
            .with_remedy("name a folder with --root"));
    }
    let [home, temporary] = PRIVATE_HOME;
    for path in files.write.iter().chain(&files.read).chain([&files.root]) {
        let place = placed(path, &files.root)?;
        if Path::new(home).starts_with(&place) {
            let message = format!(
                "{place:?} cannot be shown in a sandbox, which has a folder for temporary files of its own \
                 at {temporary:?}"
            );
            return Err(files_failure(FailureKind::ShowPath, &message).with_remedy(
                "name the folder in it that is needed, in box.read, in box.write or with --root",
            ));
        }
    }
    Ok(())
}

/// Shows what a toolchain has in the home folder at its own path, and lays links to it where tools
/// look for it. What lies between is private, so that they can write beside their caches.
fn toolchain(
    shown: &ToolchainPath,
    home: Option<&Path>,
    mounts: &mut Vec<Mount>,
) -> Result<(), Failure> {
    // One that has gone since is not missed.
    if !shown.path.exists() {
        return Ok(());
    }
    mounts.push(bind(&shown.path, Access::ReadOnlyAsOwner)?);
    let Some(home) = home else { return Ok(()) };
    for (in_home, to) in &shown.links {
        let link = home.join(in_home);
        let above: Vec<&Path> =
            link.ancestors().skip(1).take_while(|above| *above != home).collect();
        for folder in above.into_iter().rev() {
            let target = c_path(folder)?;
            let is_same = |mount: &Mount| matches!(mount, Mount::Folder { target: known, .. } if *known == target);
            if !mounts.iter().any(is_same) {
                mounts.push(Mount::Folder { target, mode: 0o1777 });
            }
        }
        mounts.push(Mount::Link { target: c_path(&link)?, to: c_path(to)? });
    }
    Ok(())
}

/// Shows the folder of an agent: its own, and in it parts of the machine's, as far as they are not hidden.
/// Its own has a place for each of them.
fn agent(
    folder: &AgentFolder,
    home: &Path,
    present: &[MaskedPath],
    mounts: &mut Vec<Mount>,
) -> Result<(), Failure> {
    mounts.push(bind_at(&folder.private, &folder.path, Access::Writable)?);
    for part in &folder.parts {
        let access = if part.is_written { Access::Writable } else { Access::ReadOnlyAsOwner };
        mounts.push(bind_at(&part.source, &part.path, access)?);
    }
    let is_in_part =
        |one: &&MaskedPath| folder.parts.iter().any(|part| one.path.starts_with(&part.path));
    cover(present.iter().filter(is_in_part), mounts)?;
    mounts
        .push(Mount::Link { target: c_path(&home.join(&folder.name))?, to: c_path(&folder.path)? });
    Ok(())
}

/// The pins above all that is hidden, protected or shown to be read.
fn pins(files: &Files, covered: &PathMasks, mounts: &mut Vec<Mount>) -> Result<(), Failure> {
    let write = files.write.iter().map(|path| placed(path, &files.root));
    let write: Vec<PathBuf> = write.collect::<Result<_, _>>()?;
    let shown = files.toolchains.iter().map(|one| &one.path);
    pin(&write, shown.chain(covered.present.iter().map(|one| &one.path)), mounts)
}

/// Pins every folder on the way down to what is hidden, protected or shown to be read, so that none
/// can be moved aside with what it holds.
fn pin<'a>(
    write: &[PathBuf],
    paths: impl Iterator<Item = &'a PathBuf>,
    mounts: &mut Vec<Mount>,
) -> Result<(), Failure> {
    let mut pinned: Vec<PathBuf> = Vec::new();
    for path in paths {
        for folder in write.iter().filter(|folder| path.starts_with(folder)) {
            let above: Vec<&Path> =
                path.ancestors().skip(1).take_while(|above| above != folder).collect();
            for above in above.into_iter().rev() {
                if !pinned.iter().any(|pinned| pinned == above) {
                    pinned.push(above.to_owned());
                    mounts.push(Mount::Pin { target: c_path(above)? });
                }
            }
        }
    }
    Ok(())
}

/// Hides and protects what is there. What the box does not show needs neither, under any name.
fn cover<'a>(
    present: impl Iterator<Item = &'a MaskedPath>,
    mounts: &mut Vec<Mount>,
) -> Result<(), Failure> {
    let bound = |mount: &Mount| {
        let Mount::Bind { target, .. } = mount else { return None };
        Some(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    };
    let shown: Vec<PathBuf> = mounts.iter().filter_map(bound).collect();
    for one in present {
        let Some(place) = shown_as(&one.path, &shown) else { continue };
        let target = c_path(&place)?;
        let is_same =
            |mount: &Mount| matches!(mount, Mount::Protect { target: known } if *known == target);
        if one.guarantee == Guarantee::Protected && mounts.iter().any(is_same) {
            continue;
        }
        let is_hidden = one.guarantee == Guarantee::Reads;
        mounts.push(if is_hidden { Mount::Hide { target } } else { Mount::Protect { target } });
    }
    Ok(())
}

/// The name under which a path is in the box; none if it is not. One that cannot be looked at is
/// taken as it is, and then the launch fails.
fn shown_as(path: &Path, shown: &[PathBuf]) -> Option<PathBuf> {
    let is_shown = |path: &Path| shown.iter().any(|folder| path.starts_with(folder));
    if is_shown(path) {
        return Some(path.to_owned());
    }
    let parts = path.parent().zip(path.file_name());
    let real = parts.and_then(|(folder, name)| Some(real_folder(folder).ok()?.join(name)));
    match real {
        Some(real) if is_shown(&real) => Some(real),
        Some(_) => None,
        None => Some(path.to_owned()),
    }
}

/// Where a path of the policy leads. Links outside the project are the person's; inside it they
/// may have been laid by an earlier call, and are not followed.
pub(in crate::launch) fn placed(path: &Path, root: &Path) -> Result<PathBuf, Failure> {
    let mut place = PathBuf::from("/");
    for part in path.components() {
        let next = match part {
            Component::Normal(name) => place.join(name),
            Component::ParentDir => {
                place.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned)
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
        };
        let is_link = std::fs::symlink_metadata(&next).is_ok_and(|found| found.is_symlink());
        if is_link && place.starts_with(root) {
            let message = format!("{next:?} is a link in the project, which a call may have laid");
            return Err(files_failure(FailureKind::ShowPath, &message)
                .with_remedy("name the folder that it leads to, if that is meant"));
        }
        place = if is_link {
            real_folder(&next).map_err(|errno| unshown(&next, &errno.into()))?
        } else {
            next
        };
    }
    Ok(place)
}

/// The second lock: the same folders, by the rights that each has.
pub(super) fn landlock(mounts: &[Mount]) -> Landlock {
    let both = rights::READ | rights::WRITE;
    let mut rules = vec![Rule { path: c"/".to_owned(), rights: rights::LIST }];
    for mount in mounts {
        let (target, rights) = match mount {
            Mount::Bind { target, access: Access::ReadOnly | Access::ReadOnlyAsOwner, .. } => {
                (target, rights::READ)
            }
            Mount::Bind { target, access: Access::Writable, .. }
            | Mount::Memory { target, .. }
            | Mount::Session { target }
            | Mount::Proc { target, .. } => (target, both),
            Mount::Folder { target, .. } if target.as_c_str() == c"/dev" => {
                (target, both | rights::DEVICE)
            }
            Mount::Bind { access: Access::Device, .. }
            | Mount::Folder { .. }
            | Mount::File { .. }
            | Mount::Link { .. }
            | Mount::Hide { .. }
            | Mount::Protect { .. }
            | Mount::Pin { .. }
            | _ => continue,
        };
        rules.push(Rule { path: target.clone(), rights });
    }
    Landlock { rules }
}

/// A path that has no links in it any more; one that was put there since is not followed.
fn bind(path: &Path, access: Access) -> Result<Mount, Failure> {
    bind_at(path, path, access)
}

/// The same at another place in the sandbox.
fn bind_at(path: &Path, target: &Path, access: Access) -> Result<Mount, Failure> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let source = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
        .map_err(|errno| unshown(path, &errno.into()))?;
    Ok(Mount::Bind { source, target: c_path(target)?, access })
}

/// A path as the kernel takes it.
pub(super) fn c_path(path: &Path) -> Result<CString, Failure> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_nul| files_failure(FailureKind::ShowPath, "a path holds a NUL byte"))
}

fn unshown(path: &Path, error: &std::io::Error) -> Failure {
    files_failure(FailureKind::ShowPath, &format!("could not open {path:?}: {error}"))
        .with_remedy("take it out of box.write and box.read, or make it")
}

/// A failure to keep files as promised.
pub(super) fn files_failure(kind: FailureKind, message: &str) -> Failure {
    Failure::new(kind, message).with_guarantee(Guarantee::Writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_system_folder_is_not_shown_and_a_lack_of_descriptors_is_told() {
        assert!(is_out_of_reach(&Errno::ACCESS.into()));
        assert!(is_out_of_reach(&Errno::NOENT.into()));
        assert!(!is_out_of_reach(&Errno::MFILE.into()));
    }
}
