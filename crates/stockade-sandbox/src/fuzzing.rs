//! Both ends of the shim protocol, for fuzz targets: whatever comes over the sockets is refused or is
//! what it says, without a panic and without a read outside of it.
//!
//! The first byte of the data chooses the message, the second how many descriptors come with it. The
//! next ones are the message; what is left is the memory file.

use std::os::fd::{AsFd, AsRawFd};

use crate::channel::{Channel, Incoming, Timeout};
use crate::handoff;
use crate::handshake::{failure_of_init, wait_for_exec, wait_for_init, wait_for_locks};
use crate::jail::{Jail, encode};
use crate::memory_file;
use crate::protocol::plan::{DESCRIPTORS_MAX, ListedPath, PathRule, Plan};
use crate::protocol::{ExecMessage, Failure, Plain, Report, Request, VERSION, slot};
use crate::running::Ended;
use crate::shim::exec_request::{self, ExecRequest, ShimRequest};
use crate::shim::received_plan::ReceivedPlan;
use crate::shim::sys;
use crate::start::{Spec, StartError};
use crate::teardown::Teardown;

/// Sends a message to the functions by which a shim receives, and reads everything in what they
/// accept.
pub fn shim_receives(data: &[u8]) {
    let [kind, descriptors, data @ ..] = data else { return };
    let count = usize::from(*descriptors);
    match kind % 3 {
        0 => {
            let (mut request, memory) = filled(Request::empty(), data);
            (request.version, request.descriptors) = (VERSION, u32::from(*descriptors));
            exchange(&request, memory, count.min(slot::COUNT), |socket| {
                if let Ok(ShimRequest::Program(exec)) = ShimRequest::receive(socket) {
                    look_at_program(&exec);
                }
            });
        }
        1 => {
            let (mut plan, memory) = filled(Plan::empty(), data);
            plan.descriptors = u32::from(*descriptors);
            exchange(&plan, memory, count.min(DESCRIPTORS_MAX), |socket| {
                if let Ok(Some(plan)) = ReceivedPlan::receive(socket) {
                    look_at_plan(&plan);
                    plan.forget();
                }
            });
        }
        _ => {
            let (mut message, memory) = filled(ExecMessage::empty(), data);
            message.request.version = VERSION;
            message.request.descriptors = u32::from(*descriptors);
            exchange(&message, memory, count.min(slot::COUNT), |socket| {
                if let Ok(exec) = ExecRequest::receive_at(socket) {
                    look_at_program(&exec);
                }
            });
        }
    }
    exec_request::forget_strings();
}

/// Sends messages to the functions by which the host receives.
pub fn host_receives(data: &[u8]) {
    let [kind, descriptors, data @ ..] = data else { return };
    let Ok((near, far)) = Channel::both() else { return };
    let Ok(memory) = memory_file::sealed(b"") else { return };
    let (report, rest) = filled(Report::default(), data);
    let (failure, _) = filled(Failure::default(), rest);
    let rights = vec![memory.as_fd(); usize::from(*descriptors % 3)];
    let sent = if kind % 2 == 0 { far.send(&report, &rights) } else { far.send(&failure, &rights) };
    let _refused = sent.and_then(|()| far.send(&report, &[]));
    drop(far);
    let error = match kind / 2 % 5 {
        0 => wait_for_init(&near, &mut Teardown::default()).err(),
        1 => wait_for_locks(&near, &near).err(),
        2 => wait_for_exec(&near).err(),
        3 => failure_of_init(&near),
        _ => match near.receive(Timeout::None) {
            Ok(Incoming::Message(report, _)) => {
                let _end = Ended::from_report(&report);
                None
            }
            Ok(Incoming::Nothing | Incoming::Closed) | Err(_) => None,
        },
    };
    if let Some(StartError { step, errno }) = error {
        assert!(!format!("{step}: {errno}").is_empty() && errno.raw_os_error() > 0);
    }
}

/// Data to begin with: what a host really sends.
pub fn seeds(spec: &Spec, jail: &Jail) -> std::io::Result<Vec<Vec<u8>>> {
    let paths = Some((jail.program.as_c_str(), jail.cwd.as_c_str()));
    let encoded = handoff::encode(spec, paths)?;
    let seed = |kind: u8, count: u8, message: &[u8], memory: &[u8]| {
        [&[kind, count][..], message, memory].concat()
    };
    let count = u8::try_from(slot::SCOPE).unwrap_or(u8::MAX);
    let request = seed(0, count, encoded.request.bytes(), &encoded.strings);
    let message = ExecMessage { request: encoded.request, ..ExecMessage::empty() };
    let message = seed(2, count, message.bytes(), &encoded.strings);
    let plan = encode::encode(jail)?;
    let (plan, memory) = plan.parts()?;
    let plan = seed(1, 1, plan.bytes(), &memory);
    let report = seed(0, 1, Report::default().bytes(), Failure::default().bytes());
    Ok(vec![request, message, plan, report])
}

/// A value of which the first bytes are those of the data, and the data that is left.
fn filled<T: Plain>(mut value: T, data: &[u8]) -> (T, &[u8]) {
    let bytes = value.bytes_mut();
    let (own, rest) = data.split_at(data.len().min(bytes.len()));
    bytes.iter_mut().zip(own).for_each(|(place, byte)| *place = *byte);
    (value, rest)
}

/// Sends a message with so many descriptors of a file with these bytes, and lets it be received.
fn exchange(message: &impl Plain, memory: &[u8], count: usize, receive: impl FnOnce(sys::Fd)) {
    let (Ok((near, far)), Ok(memory)) = (Channel::both(), memory_file::sealed(memory)) else {
        return;
    };
    let first = memory.as_raw_fd().max(near.as_fd().as_raw_fd()).max(far.as_fd().as_raw_fd());
    if far.send(message, &vec![memory.as_fd(); count]).is_ok() {
        receive(near.as_fd().as_raw_fd());
    }
    drop((near, far, memory));
    // Descriptors of a refused message stay open, because a shim ends then.
    let _closed = sys::close_from(first, 0);
}

fn look_at_program(exec: &ExecRequest) {
    let request = exec.request;
    for offset in [request.program, request.cwd, request.script] {
        assert!(exec.text(offset).count_bytes() < usize::MAX);
    }
    for (table, count) in [(exec.argv, request.argc), (exec.envp, request.envc)] {
        for at in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: an accepted request has this many pointers and a null in each table.
            let string = unsafe { *table.wrapping_add(at) };
            // SAFETY: each leads to a string in the same memory, whose last byte is zero.
            let string = unsafe { std::ffi::CStr::from_ptr(string.cast()) };
            assert!(string.count_bytes() < usize::MAX);
        }
        let end = usize::try_from(count).unwrap_or(0);
        // SAFETY: as above.
        assert!(unsafe { *table.wrapping_add(end) }.is_null());
    }
}

fn look_at_plan(plan: &ReceivedPlan) {
    let fixed = plan.fixed;
    let texts = [fixed.uid_map, fixed.gid_map, fixed.host_name, fixed.base, fixed.root_options];
    let mut read = texts.into_iter().map(|text| plan.text(text).count_bytes()).sum::<usize>();
    if let Ok(ops) = plan.ops() {
        for one in ops {
            read = read.wrapping_add(plan.text(one.target).count_bytes());
            read = read.wrapping_add(plan.text(one.text).count_bytes());
            read = read.wrapping_add(plan.bytes(one.text, one.len).len());
            assert!(plan.fd(one.source).is_none_or(|fd| fd >= 0));
        }
    }
    if let Ok(rules) = plan.array::<PathRule>(fixed.rules, fixed.rule_count) {
        read = rules.iter().fold(read, |all, rule| all ^ plan.text(rule.path).count_bytes());
    }
    if let Ok(paths) = plan.array::<ListedPath>(fixed.forbidden, fixed.forbidden_count) {
        read = paths.iter().fold(read, |all, path| all ^ plan.text(path.path).count_bytes());
    }
    if let Ok(folders) = plan.sealed() {
        read = folders.iter().fold(read, |all, folder| all ^ plan.text(folder.path).count_bytes());
    }
    if let Ok(filter) = plan.array::<u64>(fixed.filter, fixed.filter_count) {
        read = filter.iter().fold(read, |all, word| all ^ word.count_ones() as usize);
    }
    std::hint::black_box(read);
}
