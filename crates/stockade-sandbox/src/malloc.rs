//! Keeps the C library from holding on to large blocks of freed memory.

/// Has each block of a mebibyte or more mapped by itself, so that freeing it returns it to the kernel.
///
/// glibc raises the bound for such blocks to the largest block that was ever freed (mallopt(3)), and then
/// keeps up to twice as much in the arena of every thread. A process that reads lines of 16 MiB on several
/// threads would keep hundreds of mebibytes. Other C libraries do not do this.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    {
        const BLOCK_BYTES_MIN: i32 = 1 << 20;
        // SAFETY: mallopt takes two integers, and may be called at any time by any thread.
        let _is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, BLOCK_BYTES_MIN) };
    }
}
