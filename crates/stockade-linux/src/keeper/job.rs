//! One request, received and laid out so that it can be executed without another allocation.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "sizes from the 64-bit wire become sizes of this 64-bit machine"
)]

use super::step::Step;
use super::sys::{self, Errno, Fd};
use super::watch::{At, Failed};
use super::wire::{Request, VERSION, slot};

/// A request with its descriptors and its strings in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// The request's fixed part.
    pub(crate) request: Request,
    /// The program's arguments, closed by a null pointer.
    pub(crate) argv: *const *const u8,
    /// The program's environment, closed by a null pointer.
    pub(crate) envp: *const *const u8,
    /// The script's path, when the program is a script.
    pub(crate) script: Option<*const u8>,
    fds: [Fd; slot::COUNT],
}

impl Job {
    /// Takes the request from the control socket; none if the host is gone.
    pub(crate) fn receive(control: Fd) -> Result<Option<Self>, Failed> {
        let mut request = Request::empty();
        let mut fds = [-1; slot::COUNT];
        let (len, count) = loop {
            match sys::receive(control, &mut request, &mut fds) {
                Err(Errno::INTR) => {}
                other => break other.at(Step::ReadRequest)?,
            }
        };
        if len == 0 {
            return Ok(None);
        }
        let expected = request.descriptors as usize;
        let complete = (slot::SCOPE..=slot::COUNT).contains(&expected) && count == expected;
        if len != size_of::<Request>() || request.version != VERSION || !complete {
            return Err(Failed { step: Step::ReadRequest, errno: Errno::BADMSG });
        }
        lay_out(request, fds).at(Step::ReadRequest).map(Some)
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

/// Maps the strings and turns the offsets in both tables into pointers, in place.
fn lay_out(request: Request, fds: [Fd; slot::COUNT]) -> sys::Result<Job> {
    let len = request.strings_len as usize;
    let (argc, envc) = (request.argc as usize, request.envc as usize);
    // Counts are 32 bits, so neither sum nor product can overflow 64.
    let entries = argc.wrapping_add(envc).wrapping_add(2);
    if entries.wrapping_mul(size_of::<u64>()) >= len || request.script as usize >= len {
        return Err(Errno::BADMSG);
    }
    let tables = sys::map(fds.get(slot::STRINGS).copied(), len)?;
    let base = tables.cast::<u8>();
    // SAFETY: the mapping is len bytes long and len is not zero, being more than the tables.
    let last = unsafe { base.add(len.wrapping_sub(1)) };
    // SAFETY: this is the mapping's last byte; the memory file is sealed and cannot shrink.
    if unsafe { last.read() } != 0 {
        return Err(Errno::BADMSG);
    }
    // SAFETY: mappings are page-aligned, the tables fit as checked above, any bit pattern is a
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
    let script = (request.script != 0).then(|| base.wrapping_add(request.script as usize));
    Ok(Job {
        request,
        argv: pointers,
        envp: pointers.wrapping_add(argc.wrapping_add(1)),
        script: script.map(<*mut u8>::cast_const),
        fds,
    })
}
