//! The allocator of a static program for musl. That of musl maps and unmaps pages for every growth, so this
//! is the one that the standard library has where a system has none.
//!
//! Its lock is one instruction: a command that lives for milliseconds asks for memory some thousand times,
//! and as a rule on one thread.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::fmt;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};

use dlmalloc::Dlmalloc;

/// Memory for a whole program, as its global allocator.
pub struct Memory {
    is_taken: AtomicBool,
    heap: UnsafeCell<Dlmalloc>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the heap is used by one thread at a time only, which has taken it.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory of which nothing is used yet.
    pub const fn new() -> Self {
        Self { is_taken: AtomicBool::new(false), heap: UnsafeCell::new(Dlmalloc::new()) }
    }

    fn take(&self) -> Taken<'_> {
        while self.is_taken.swap(true, Ordering::Acquire) {
            self.await_turn();
        }
        Taken(self)
    }

    #[cold]
    fn await_turn(&self) {
        /// As long as somebody who is running may keep it.
        const SPINS: u32 = 200;
        for _ in 0..SPINS {
            if !self.is_taken.load(Ordering::Relaxed) {
                return;
            }
            spin_loop();
        }
        // Who has it was interrupted.
        rustix::thread::sched_yield();
    }
}

/// The memory, while this thread is the only one to use it.
struct Taken<'a>(&'a Memory);

impl Taken<'_> {
    fn heap(&mut self) -> &mut Dlmalloc {
        // SAFETY: nobody else has taken it, and who has it lends it once at a time.
        unsafe { &mut *self.0.heap.get() }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

// SAFETY: the heap gives memory of the size and alignment that it is asked for, and none twice.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and alignment of a layout will do.
        unsafe { self.take().heap().malloc(layout.size(), layout.align()) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.take().heap().calloc(layout.size(), layout.align()) }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that it got this from here, with the same layout.
        unsafe { self.take().heap().free(at, layout.size(), layout.align()) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises the same.
        unsafe { self.take().heap().realloc(at, layout.size(), layout.align(), size) }
    }
}
