//! The rights of Landlock on files, `LANDLOCK_ACCESS_FS_*` of `linux/landlock.h`.

/// Execute a file.
pub(crate) const EXECUTE: u64 = 1;
/// Open a file to write.
pub(crate) const WRITE_FILE: u64 = 1 << 1;
/// Open a file to read.
pub(crate) const READ_FILE: u64 = 1 << 2;
/// Open a folder, or list it.
pub(crate) const READ_DIR: u64 = 1 << 3;
/// Remove an empty folder, or rename one.
pub(crate) const REMOVE_DIR: u64 = 1 << 4;
/// Unlink a file, or rename one.
pub(crate) const REMOVE_FILE: u64 = 1 << 5;
/// Create a character device.
pub(crate) const MAKE_CHAR: u64 = 1 << 6;
/// Create a folder.
pub(crate) const MAKE_DIR: u64 = 1 << 7;
/// Create a file.
pub(crate) const MAKE_REG: u64 = 1 << 8;
/// Create a UNIX socket.
pub(crate) const MAKE_SOCK: u64 = 1 << 9;
/// Create a named pipe.
pub(crate) const MAKE_FIFO: u64 = 1 << 10;
/// Create a block device.
pub(crate) const MAKE_BLOCK: u64 = 1 << 11;
/// Create a symbolic link.
pub(crate) const MAKE_SYM: u64 = 1 << 12;
/// Link or rename between folders, ABI 2.
pub(crate) const REFER: u64 = 1 << 13;
/// Truncate a file, ABI 3.
pub(crate) const TRUNCATE: u64 = 1 << 14;
/// Send commands to a device, ABI 5.
pub(crate) const IOCTL_DEV: u64 = 1 << 15;

/// The rights that something other than a folder can have; the kernel refuses others for it.
pub(crate) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
