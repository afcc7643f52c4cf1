//! How full a file system is, and what is mounted where.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags};

use super::Writable;

/// By how much something has grown, or may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

/// A file system that the run can write.
#[derive(Debug)]
pub(super) struct Volume {
    handle: OwnedFd,
    device: u64,
    /// The least that was ever used of it: what others give back in between is no allowance.
    least: Growth,
}

impl Volume {
    /// Adds the file system of an open file, unless it is there.
    pub(super) fn add(volumes: &mut Vec<Self>, handle: OwnedFd) -> std::io::Result<()> {
        let device = rustix::fs::fstat(&handle)?.st_dev;
        if volumes.iter().all(|known| known.device != device) {
            let least = used(&handle)?;
            volumes.push(Self { handle, device, least });
        }
        Ok(())
    }

    /// How much more is used than at the least.
    pub(super) fn grown(&mut self) -> Growth {
        // A file system that cannot be asked any more, as one that was unmounted by force, cannot be
        // written either.
        let Ok(now) = used(&self.handle) else { return Growth::default() };
        self.least.bytes = self.least.bytes.min(now.bytes);
        self.least.files = self.least.files.min(now.files);
        Growth {
            bytes: now.bytes.saturating_sub(self.least.bytes),
            files: now.files.saturating_sub(self.least.files),
        }
    }
}

fn used(handle: &OwnedFd) -> rustix::io::Result<Growth> {
    let all = rustix::fs::fstatvfs(handle)?;
    let bytes = all.f_blocks.saturating_sub(all.f_bfree).saturating_mul(all.f_frsize);
    Ok(Growth { bytes, files: all.f_files.saturating_sub(all.f_ffree) })
}

/// What is mounted beneath the folders, opened.
pub(super) fn inner_mounts(folders: &[Writable]) -> Vec<OwnedFd> {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points = table.split(|byte| *byte == b'\n').filter_map(mount_point);
    let is_inside = |point: &PathBuf| {
        folders.iter().any(|folder| point.starts_with(&folder.path) && *point != folder.path)
    };
    let open = |point: PathBuf| {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, point, flags, Mode::empty()).ok()
    };
    points.filter(is_inside).filter_map(open).collect()
}

/// The fifth word of a line, in which blanks and backslashes are written in octal.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let word = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, tail @ ..] = rest {
        match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                let digit = |byte: u8| byte.saturating_sub(b'0');
                path.push(digit(*a) << 6 | digit(*b) << 3 | digit(*c));
                rest = after;
            }
            _ => {
                path.push(*first);
                rest = tail;
            }
        }
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_read_with_its_blanks() {
        let line = br"36 35 98:0 / /mnt/a\040b\134c rw,noatime - ext3 /dev/root rw";
        assert_eq!(mount_point(line), Some(PathBuf::from(r"/mnt/a b\c")));
        assert_eq!(mount_point(b""), None);
    }
}
