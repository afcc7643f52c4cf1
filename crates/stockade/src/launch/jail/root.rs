//! The root of a box: what it shows, what can be written, what is hidden and protected.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use stockade_linux::{Access, Landlock, Mount, ProcView, Rule, rights};

use super::cover::{Cover, Covered};
pub(in crate::launch) use crate::confine::SYSTEM;
use crate::confine::{Files, Shown};
use crate::guarantee::Guarantee;
use crate::inspect::real_folder;
use crate::outcome::Failure;

/// The home folder of a run in a box.
pub(super) const HOME: &str = "/tmp/home";
/// The folder for temporary files in a box.
pub(super) const TEMPORARY: &str = "/tmp";
/// The list of the kernel's keys: it names every key of the user, also those outside the box.
const KEYS: &str = "/proc/keys";
const TEMPORARY_BYTES: u64 = 1 << 30;
const TEMPORARY_FILES: u64 = 1 << 18;
const SHARED_MEMORY_BYTES: u64 = 256 << 20;

/// The root of the box, in the order in which it is made.
pub(super) fn mounts(files: &Files, covered: &Cover) -> Result<Vec<Mount>, Failure> {
    not_whole_machine(files)?;
    let Cover { present, exceptions, .. } = covered;
    let mut mounts = Vec::new();
    for folder in SYSTEM.iter().map(Path::new) {
        match Mount::read_only(&c_path(folder)?) {
            Ok(mount) => mounts.push(mount),
            Err(error) if is_out_of_reach(&error) => {}
            Err(error) => return Err(unshown(folder, &error)),
        }
    }
    let devices = Mount::devices(SHARED_MEMORY_BYTES);
    mounts.extend(devices.map_err(|error| unshown(Path::new("/dev"), &error))?);
    mounts.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    if Path::new(KEYS).exists() {
        mounts.push(Mount::Hide { target: c_path(Path::new(KEYS))? });
    }
    mounts.push(Mount::Memory {
        target: c_path(Path::new(TEMPORARY))?,
        bytes_max: TEMPORARY_BYTES,
        files_max: TEMPORARY_FILES,
        mode: 0o1777,
    });
    let place = |paths: &[PathBuf]| {
        paths.iter().map(|path| placed(path, &files.root)).collect::<Result<Vec<_>, _>>()
    };
    let (read, write) = (place(&files.read)?, place(&files.write)?);
    if !write.contains(&files.root) {
        mounts.push(bind(&files.root, Access::ReadOnlyAsOwner)?);
    }
    for path in &write {
        mounts.push(bind(path, Access::Writable)?);
    }
    for path in &read {
        mounts.push(bind(path, Access::ReadOnlyAsOwner)?);
    }
    mounts.push(Mount::Folder { target: c_path(Path::new(HOME))?, mode: 0o1777 });
    // A mount on a folder carries along what was mounted in it before, and makes it read-only too. So
    // exceptions come before everything that is covered in them.
    except(exceptions, &mut mounts)?;
    let shown = files.toolchains.iter().map(|one| &one.path);
    pin(&write, shown.chain(present.iter().map(|one| &one.path)), &mut mounts)?;
    toolchains(&files.toolchains, &mut mounts)?;
    cover(present, &mut mounts)?;
    Ok(mounts)
}

/// Protects the folders that have an exception, and shows that one to be written.
fn except(exceptions: &[Covered], mounts: &mut Vec<Mount>) -> Result<(), Failure> {
    for one in exceptions {
        let Some(folder) = one.path.parent() else { continue };
        mounts.push(Mount::Protect { target: c_path(folder)? });
        mounts.push(bind(&one.path, Access::Writable)?);
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

/// The whole machine as the project would leave nothing outside.
pub(in crate::launch) fn not_whole_machine(files: &Files) -> Result<(), Failure> {
    if files.root == Path::new("/") {
        let message = "the whole machine cannot be the project of a box";
        return Err(files_failure("show the project", message).remedy("name a folder with --root"));
    }
    Ok(())
}

/// Shows what toolchains have in the home folder at its own path, and lays links to it where tools
/// look for it. What lies between is private, so that they can write beside their caches.
fn toolchains(shown: &[Shown], mounts: &mut Vec<Mount>) -> Result<(), Failure> {
    let mut made: Vec<PathBuf> = Vec::new();
    for one in shown {
        // One that has gone since is not missed.
        if !one.path.exists() {
            continue;
        }
        mounts.push(bind(&one.path, Access::ReadOnlyAsOwner)?);
        for (in_home, to) in &one.links {
            let link = Path::new(HOME).join(in_home);
            let above: Vec<&Path> =
                link.ancestors().skip(1).take_while(|above| *above != Path::new(HOME)).collect();
            for folder in above.into_iter().rev() {
                if !made.iter().any(|made| made == folder) {
                    mounts.push(Mount::Folder { target: c_path(folder)?, mode: 0o1777 });
                    made.push(folder.to_owned());
                }
            }
            mounts.push(Mount::Link { target: c_path(&link)?, to: c_path(to)? });
        }
    }
    Ok(())
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
fn cover(present: &[Covered], mounts: &mut Vec<Mount>) -> Result<(), Failure> {
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
            return Err(files_failure("show a path", &message)
                .remedy("name the folder that it leads to, if that is meant"));
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
    let allow = |path: &str, rights| CString::new(path).ok().map(|path| Rule { path, rights });
    let mut rules: Vec<Rule> = [
        allow("/", rights::LIST),
        allow("/dev", rights::READ | rights::WRITE | rights::DEVICE),
        allow("/proc", rights::READ | rights::WRITE),
        allow(TEMPORARY, rights::READ | rights::WRITE),
    ]
    .into_iter()
    .flatten()
    .collect();
    for mount in mounts {
        let Mount::Bind { target, access, .. } = mount else { continue };
        let rights = match access {
            Access::ReadOnly | Access::ReadOnlyAsOwner => rights::READ,
            Access::Writable => rights::READ | rights::WRITE,
            Access::Device => continue,
        };
        rules.push(Rule { path: target.clone(), rights });
    }
    Landlock { rules }
}

/// A path that has no links in it any more; one that was put there since is not followed.
fn bind(path: &Path, access: Access) -> Result<Mount, Failure> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let source = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
        .map_err(|errno| unshown(path, &errno.into()))?;
    Ok(Mount::Bind { source, target: c_path(path)?, access })
}

/// A path as the kernel takes it.
pub(super) fn c_path(path: &Path) -> Result<CString, Failure> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_nul| files_failure("show a path", "a path holds a NUL byte"))
}

fn unshown(path: &Path, error: &std::io::Error) -> Failure {
    files_failure("show a path", &format!("could not open {path:?}: {error}"))
        .remedy("take it out of box.write and box.read, or make it")
}

/// A failure to keep files as promised.
pub(super) fn files_failure(step: &str, message: &str) -> Failure {
    let mut failure = Failure::new(step, message);
    failure.guarantee = Some(Guarantee::Writes.to_string());
    failure
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
