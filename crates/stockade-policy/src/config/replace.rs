//! Puts a text in the place of a file at once: who reads it sees the old one or the new one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

/// Writes a file beside the one that is named and moves it there, with these permissions. A link in
/// that place is replaced, not followed.
pub fn replace(path: &Path, text: &str, permissions: u32) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let mark = data_encoding::HEXLOWER.encode(&bytes);
    let beside = folder.join(format!(".{}.{mark}", name.to_string_lossy()));
    let unfinished = UnfinishedFile(Some(beside.clone()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, &beside, flags, Mode::from_raw_mode(0o600))?;
    let mut file = File::from(handle);
    file.write_all(text.as_bytes())?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(permissions & 0o777))?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    unfinished.keep();
    // A rename is on the disk once its folder is.
    File::open(folder)?.sync_all()
}

/// A file that is removed unless it was moved to its place.
struct UnfinishedFile(Option<PathBuf>);

impl UnfinishedFile {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Where it was never made there is nothing to remove.
            let _gone = std::fs::remove_file(path).is_ok();
        }
    }
}
