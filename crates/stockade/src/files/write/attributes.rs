//! What a file keeps when another takes its place: mode, owner, extended attributes.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use crate::files::FileError;

/// The most that the kernel takes of one attribute, and of all their names.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;

/// The access control list of a file.
const RIGHTS: &str = "system.posix_acl_access";

/// Gives a new file what the old one has. What cannot be kept is said.
pub(super) fn copy(old: &File, stat: &Stat, new: &File) -> Result<Vec<String>, FileError> {
    let mut lost = Vec::new();
    let now = rustix::fs::fstat(new).map_err(FileError::system("look at", "the new file"))?;
    if (now.st_uid, now.st_gid) != (stat.st_uid, stat.st_gid) {
        let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        let whole = rustix::fs::fchown(new, Some(user), Some(group));
        if whole.is_err() && rustix::fs::fchown(new, None, Some(group)).is_err() {
            lost.push("its owner could not be kept: it is the caller's now".to_owned());
        } else if whole.is_err() {
            lost.push("its owner could not be kept, only its group".to_owned());
        }
    }
    // A folder can give new files rights for others, which the old one may not have had.
    match rustix::fs::fremovexattr(new, RIGHTS) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
        Err(errno) => {
            lost.push(format!("rights that its folder gave it could not be taken: {errno}"));
        }
    }
    // As with any write, the bits that lend the owner's rights are not kept.
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    if rustix::fs::fchmod(new, mode).is_err() {
        lost.push("its mode could not be kept".to_owned());
    }
    lost.extend(attributes(old, new).err());
    if stat.st_nlink > 1 {
        lost.push("it had other names (hard links), which still hold what was in it".to_owned());
    }
    Ok(lost)
}

fn attributes(old: &File, new: &File) -> Result<(), String> {
    let unread = |errno: Errno| format!("its extended attributes could not be read: {errno}");
    let mut names = vec![0_u8; ATTRIBUTE_BYTES_MAX];
    let long = match rustix::fs::flistxattr(old, names.as_mut_slice()) {
        Ok(0) | Err(Errno::OPNOTSUPP) => return Ok(()),
        other => other.map_err(unread)?,
    };
    let mut value = vec![0_u8; ATTRIBUTE_BYTES_MAX];
    let names = names.get(..long).unwrap_or_default();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        // The kernel's own: rights lent to programs, hashes of what was in it.
        if [&b"security.capability"[..], b"security.ima", b"security.evm"].contains(&name) {
            continue;
        }
        let name = OsStr::from_bytes(name);
        let long = rustix::fs::fgetxattr(old, name, value.as_mut_slice()).map_err(unread)?;
        let value = value.get(..long).unwrap_or_default();
        let mut there = vec![0_u8; long.saturating_add(1)];
        let has = rustix::fs::fgetxattr(new, name, there.as_mut_slice());
        if has.is_ok_and(|has| there.get(..has) == Some(value)) {
            continue;
        }
        rustix::fs::fsetxattr(new, name, value, XattrFlags::empty())
            .map_err(|errno| format!("its attribute {name:?} could not be kept: {errno}"))?;
    }
    Ok(())
}
