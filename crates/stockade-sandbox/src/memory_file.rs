//! Files in memory that cannot be executed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;

/// A file of zeroes.
pub(crate) fn zeroed(name: &str, len: usize) -> rustix::io::Result<OwnedFd> {
    let file = create(name, MemfdFlags::CLOEXEC)?;
    ftruncate(&file, u64::try_from(len).unwrap_or(u64::MAX))?;
    Ok(file)
}

/// A file with these bytes that nobody can change any more.
pub(crate) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(create("stockade-request", flags)?);
    file.write_all(bytes)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file.into())
}

fn create(name: &str, flags: MemfdFlags) -> rustix::io::Result<OwnedFd> {
    match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        // The flag is known since Linux 6.3.
        Err(Errno::INVAL) => memfd_create(name, flags),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_cannot_be_written() {
        let file = File::from(sealed(b"x").unwrap());
        let error = (&file).write_all(b"y").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }
}
