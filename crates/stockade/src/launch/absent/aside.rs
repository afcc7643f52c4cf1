//! Gives an entry of a folder another name in that folder, by handles alone.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{AtFlags, CWD, Mode, RenameFlags};
use rustix::io::Errno;

use crate::call::CallId;

/// The longest name of a file, `NAME_MAX` of `linux/limits.h`.
const NAME_MAX: usize = 255;

/// Renames an entry: its new name, in which a word says why.
pub(in crate::launch) fn rename(
    folder: &OwnedFd,
    name: &OsStr,
    why: &str,
) -> Result<OsString, Errno> {
    let aside = aside_of(name, why);
    let rename = || {
        let flags = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(folder, name, folder, &aside, flags) {
            // A file system without this flag. The name is random, so it is free.
            Err(Errno::INVAL) => rustix::fs::renameat(folder, name, folder, &aside),
            other => other,
        }
    };
    match rename() {
        Err(Errno::ACCESS) => {
            take_rights(folder)?;
            rename()?;
        }
        other => other?,
    }
    Ok(aside)
}

/// The name of a file, the suffix, and a random id; as much of the name as there is room for.
fn aside_of(name: &OsStr, why: &str) -> OsString {
    let suffix = format!(".stockade-{why}-{}", CallId::new());
    let room = NAME_MAX.saturating_sub(suffix.len());
    let mut aside: Vec<u8> = name.as_bytes().iter().copied().take(room).collect();
    aside.extend(suffix.into_bytes());
    OsString::from_vec(aside)
}

/// Gives the owner of a folder all rights in it, besides those that others have. The handle names the
/// folder itself, wherever somebody has moved it.
pub(super) fn take_rights(folder: &OwnedFd) -> Result<(), Errno> {
    set_mode(folder, Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode) | Mode::RWXU)
}

/// Takes all rights in a folder from everybody, by its handle.
pub(in crate::launch) fn close(folder: &OwnedFd) -> Result<(), Errno> {
    set_mode(folder, Mode::empty())
}

fn set_mode(folder: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    let handle = format!("/proc/self/fd/{}", folder.as_raw_fd());
    rustix::fs::chmodat(CWD, handle, mode, AtFlags::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_gets_one_that_fits() {
        for len in [1, 200, 255] {
            let name = OsString::from("n".repeat(len));
            let aside = aside_of(&name, "held");
            assert!(aside.len() <= NAME_MAX && aside.to_string_lossy().contains(".stockade-held-"));
        }
        assert!(
            aside_of(OsStr::new(".mcp.json"), "held").to_string_lossy().starts_with(".mcp.json.")
        );
    }
}
