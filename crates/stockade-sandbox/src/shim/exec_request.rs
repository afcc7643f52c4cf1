//! One request, received and laid out so that it can be executed without another allocation.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "sizes from the 64-bit wire become sizes of this 64-bit machine"
)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::fault;
use super::run::{At, StepError};
use super::sys::{self, Errno, Fd};
use crate::protocol::step::Step;
use crate::protocol::{
    ExecMessage, Plain, Request, STRINGS_BYTES, STRINGS_WORDS, VERSION, form, slot,
};

/// The most descriptors that come with a request: those of the slots, and the log of steps of a test.
const FDS_MAX: usize = slot::COUNT + 1;

/// A request with its descriptors and its strings in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecRequest {
    /// The request's fixed part.
    pub(crate) request: Request,
    /// The program's arguments, closed by a null pointer.
    pub(crate) argv: *const *const u8,
    /// The program's environment, closed by a null pointer.
    pub(crate) envp: *const *const u8,
    /// The script's path, when the program is a script.
    pub(crate) script: Option<*const u8>,
    strings: &'static [u8],
    fds: [Fd; FDS_MAX],
}

/// A request of the host to a shim.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is received, on the stack: there is no allocator"
)]
pub(crate) enum ShimRequest {
    /// Nothing: it is gone.
    Nothing,
    /// To start a program, and to hold its tree.
    Program(ExecRequest),
    /// To make a sandbox, for the plan that follows, and to hold it as long as the supervisor
    /// lives.
    Box {
        /// The supervisor's pidfd.
        supervisor: Fd,
    },
    /// To hand out sockets, for the message that follows.
    Sockets,
}

impl ShimRequest {
    /// Takes the request from the control socket.
    pub(crate) fn receive(control: Fd) -> Result<Self, StepError> {
        let Some((mut request, fds)) = receive(control)? else { return Ok(Self::Nothing) };
        if fault::ENABLED && request.is_traced != 0 {
            request.descriptors = request.descriptors.saturating_sub(1);
            let log = fds.get(request.descriptors as usize).copied().ok_or(Errno::BADMSG);
            log.and_then(fault::open_trace).at(Step::ReadRequest)?;
        }
        let count = request.descriptors as usize;
        match (request.form, fds) {
            (form::BOXED, [supervisor, ..]) if count == 1 => Ok(Self::Box { supervisor }),
            (form::SOCKETS, _) if count == 0 => Ok(Self::Sockets),
            (form::PLAIN | form::LOCKED, _) if (slot::SCOPE..=slot::COUNT).contains(&count) => {
                lay_out(&request, fds).at(Step::ReadRequest).map(Self::Program)
            }
            _ => Err(StepError { step: Step::ReadRequest, errno: Errno::BADMSG }),
        }
    }
}

/// One request and its descriptors; none if the host is gone.
fn receive(socket: Fd) -> Result<Option<(Request, [Fd; FDS_MAX])>, StepError> {
    let mut request = Request::empty();
    let Some((len, fds, count)) = receive_as(socket, &mut request)? else { return Ok(None) };
    let complete = len == size_of::<Request>() && count == request.descriptors as usize;
    if !complete || request.version != VERSION {
        return Err(StepError { step: Step::ReadRequest, errno: Errno::BADMSG });
    }
    Ok(Some((request, fds)))
}

/// One message: its length, its descriptors, how many those are; none if the host is gone.
fn receive_as<T: Plain>(
    socket: Fd,
    into: &mut T,
) -> Result<Option<(usize, [Fd; FDS_MAX], usize)>, StepError> {
    let mut fds = [-1; FDS_MAX];
    loop {
        match sys::receive(socket, into, &mut fds) {
            Err(Errno::INTR) => {}
            Ok((0, _)) => return Ok(None),
            other => {
                return other.map(|(len, count)| Some((len, fds, count))).at(Step::ReadRequest);
            }
        }
    }
}

impl ExecRequest {
    /// Receives the program for a prepared sandbox, from the exec channel.
    pub(crate) fn receive_at(exec_channel: Fd) -> Result<Self, StepError> {
        let canceled = StepError { step: Step::AwaitRelease, errno: Errno::CANCELED };
        let mut message = ExecMessage::empty();
        let (len, fds, count) = receive_as(exec_channel, &mut message)?.ok_or(canceled)?;
        let ExecMessage { request, strings } = &message;
        let is_here = request.strings_len as usize <= STRINGS_BYTES;
        let expected = slot::FOR_BOX
            .wrapping_add(usize::from(!is_here))
            .wrapping_add(usize::from(fault::ENABLED));
        let is_whole = len == size_of::<ExecMessage>() && count == expected;
        if !is_whole || request.descriptors as usize != expected || request.version != VERSION {
            return Err(StepError { step: Step::ReadRequest, errno: Errno::BADMSG });
        }
        if is_here { lay_out_here(request, strings, fds) } else { lay_out(request, fds) }
            .at(Step::ReadRequest)
    }

    /// The last descriptor that came.
    pub(crate) fn last(&self) -> Fd {
        self.fd((self.request.descriptors as usize).wrapping_sub(1))
    }

    /// The string at an offset of the memory file; the empty one where the offset is wrong.
    pub(crate) fn text(&self, offset: u64) -> &'static CStr {
        let from = self.strings.get(offset as usize..);
        from.and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok()).unwrap_or(c"")
    }

    /// The descriptor in a slot of the request.
    pub(crate) fn fd(&self, slot: usize) -> Fd {
        self.fds.get(slot).copied().unwrap_or(-1)
    }

    /// The Landlock ruleset, if one came.
    pub(crate) fn scope(&self) -> Option<Fd> {
        (self.request.descriptors as usize == slot::COUNT).then_some(self.fd(slot::SCOPE))
    }
}

/// Where the strings of the last job are.
static STRINGS_AT: AtomicUsize = AtomicUsize::new(0);
static STRINGS_LEN: AtomicUsize = AtomicUsize::new(0);

/// Gives up the memory of the last job's strings, once the process that used them is gone.
pub(crate) fn forget_strings() {
    if IS_USED.swap(false, Ordering::Relaxed) {
        // SAFETY: the process that used them no longer shares this memory.
        unsafe { STRING_BUFFER.0.get().write([0; STRINGS_WORDS]) };
    }
    let (at, len) = (STRINGS_AT.swap(0, Ordering::Relaxed), STRINGS_LEN.load(Ordering::Relaxed));
    if at != 0 {
        // SAFETY: `lay_out` mapped them, in this memory, for a process that no longer shares it.
        sys::unmap(unsafe {
            core::slice::from_raw_parts(core::ptr::with_exposed_provenance(at), len)
        });
    }
}

/// Maps the strings of a memory file, and lays them out.
fn lay_out(request: &Request, fds: [Fd; FDS_MAX]) -> sys::Result<ExecRequest> {
    let len = request.strings_len as usize;
    let tables = sys::map_whole(fds.get(slot::STRINGS).copied().unwrap_or(-1), len)?;
    STRINGS_LEN.store(len, Ordering::Relaxed);
    STRINGS_AT.store(tables.expose_provenance(), Ordering::Relaxed);
    // SAFETY: it was mapped just now, of a sealed file, which cannot shrink; `forget_strings` gives it back.
    unsafe { lay_out_at(request, tables, fds) }
}

/// Lays the strings of a message out in memory of this process, where they stay until the program has its
/// own.
fn lay_out_here(
    request: &Request,
    strings: &[u64; STRINGS_WORDS],
    fds: [Fd; FDS_MAX],
) -> sys::Result<ExecRequest> {
    let tables = STRING_BUFFER.0.get().cast::<u64>();
    // SAFETY: a sandbox has one program, whose process alone uses the room, and takes it once.
    unsafe { tables.cast::<[u64; STRINGS_WORDS]>().write(*strings) };
    IS_USED.store(true, Ordering::Relaxed);
    // SAFETY: the caller has seen that the strings are no longer than the room, which stays.
    unsafe { lay_out_at(request, tables, fds) }
}

/// Room for the strings of one program.
struct StringBuffer(UnsafeCell<[u64; STRINGS_WORDS]>);

// SAFETY: it is used by one process at a time, of which the others wait for the end.
unsafe impl Sync for StringBuffer {}

static STRING_BUFFER: StringBuffer = StringBuffer(UnsafeCell::new([0; STRINGS_WORDS]));
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Turns the offsets in both tables, which begin here, into pointers, in place.
///
/// # Safety
///
/// There are as many bytes as the request says. They live as long as the request and have no other
/// user.
unsafe fn lay_out_at(
    request: &Request,
    tables: *mut u64,
    fds: [Fd; FDS_MAX],
) -> sys::Result<ExecRequest> {
    let len = request.strings_len as usize;
    let (argc, envc) = (request.argc as usize, request.envc as usize);
    // Counts are 32 bits, so neither sum nor product can overflow 64.
    let entries = argc.wrapping_add(envc).wrapping_add(2);
    if entries.wrapping_mul(size_of::<u64>()) >= len || request.script as usize >= len {
        return Err(Errno::BADMSG);
    }
    let base = tables.cast::<u8>();
    // SAFETY: there are len bytes, and len is not zero, being more than the tables.
    let last = unsafe { base.add(len.wrapping_sub(1)) };
    // SAFETY: this is the last of them.
    if unsafe { last.read() } != 0 {
        return Err(Errno::BADMSG);
    }
    // SAFETY: the caller gives a pointer to words, the tables fit as checked above, any bit pattern is a
    // number, and nothing else refers to this memory.
    let offsets = unsafe { core::slice::from_raw_parts_mut(tables, entries) };
    for (at, entry) in offsets.iter_mut().enumerate() {
        let closes = at == argc || at == entries.wrapping_sub(1);
        if closes != (*entry == 0) || *entry as usize >= len {
            return Err(Errno::BADMSG);
        }
        if !closes {
            *entry = (base.expose_provenance() as u64).wrapping_add(*entry);
        }
    }
    let pointers = tables.cast::<*const u8>().cast_const();
    // SAFETY: there are len bytes, which stay; the tables, which were written above, are not written
    // again.
    let strings = unsafe { core::slice::from_raw_parts(base, len) };
    let script = (request.script != 0).then(|| base.wrapping_add(request.script as usize));
    Ok(ExecRequest {
        request: *request,
        argv: pointers,
        envp: pointers.wrapping_add(argc.wrapping_add(1)),
        script: script.map(<*mut u8>::cast_const),
        strings,
        fds,
    })
}
