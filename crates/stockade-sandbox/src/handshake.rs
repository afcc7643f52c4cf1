//! Receives the messages of a sandbox that is being made.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::Pid;

use crate::attest::SelfTests;
use crate::channel::{Channel, Incoming, Timeout};
use crate::pidfd::process_of;
use crate::protocol::plan::exec_channel;
use crate::protocol::step::Step;
use crate::protocol::{Failure, Report, kind};
use crate::start::{At, StartError};
use crate::teardown::Teardown;

/// The state of the host's mounts in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostRoot {
    /// It has its own alone.
    Own,
    /// They are about to go.
    Leaving,
}

/// Waits until there is an init: its id, unless it is gone already, and its pidfd; or the step
/// that failed.
pub(crate) fn wait_for_init(
    channel: &Channel,
    teardown: &mut Teardown,
) -> Result<(Option<Pid>, OwnedFd, HostRoot), StartError> {
    match channel.receive(Timeout::Handshake).at(Step::AwaitShim)? {
        Incoming::Message(Report { kind: kind::FORKED, .. }, Some(pidfd)) => {
            Ok((process_of(&pidfd).ok(), pidfd, HostRoot::Own))
        }
        Incoming::Message(Report { kind: kind::LEAVING, .. }, Some(pidfd)) => {
            Ok((process_of(&pidfd).ok(), pidfd, HostRoot::Leaving))
        }
        Incoming::Message(report, _) => Err(failed(report.step, report.errno)),
        Incoming::Nothing => Err(StartError { step: Step::AwaitShim, errno: Errno::TIMEDOUT }),
        // A shim that failed before it made one reports that itself.
        Incoming::Closed => Err(match teardown.control.take() {
            Some(control) => read_failure(&control, Step::AwaitInit),
            None => StartError { step: Step::AwaitInit, errno: Errno::PIPE },
        }),
    }
}

/// Waits until the host's folders are gone from a sandbox.
pub(crate) fn wait_for_detach(channel: &Channel, host_root: HostRoot) -> Result<(), StartError> {
    if host_root == HostRoot::Own {
        return Ok(());
    }
    match channel.receive(Timeout::Handshake).at(Step::AwaitInit)? {
        Incoming::Message(Report { kind: kind::LEFT, .. }, _) => Ok(()),
        Incoming::Message(report, _) => Err(failed(report.step, report.errno)),
        Incoming::Nothing => Err(StartError { step: Step::AwaitInit, errno: Errno::TIMEDOUT }),
        Incoming::Closed => Err(StartError { step: Step::AwaitInit, errno: Errno::PIPE }),
    }
}

/// The failed step that comes over a channel; if none comes, this step is at fault.
fn read_failure(channel: &Channel, silence: Step) -> StartError {
    match channel.receive(Timeout::Handshake) {
        Ok(Incoming::Message(report, _)) if report.kind == kind::FAILED => {
            failed(report.step, report.errno)
        }
        Ok(_) => StartError { step: silence, errno: Errno::PIPE },
        Err(errno) => StartError { step: silence, errno },
    }
}

/// The failed step, if init has reported one: a sandbox that has ended cannot be attested.
pub(crate) fn failure_of_init(channel: &Channel) -> Option<StartError> {
    loop {
        match channel.receive(Timeout::None) {
            Ok(Incoming::Message(report, _)) if report.kind == kind::FAILED => {
                return Some(failed(report.step, report.errno));
            }
            Ok(Incoming::Message(..)) => {}
            Ok(Incoming::Closed | Incoming::Nothing) | Err(_) => return None,
        }
    }
}

/// Waits until the program is executed, or for the step that failed.
pub(crate) fn wait_for_exec(exec_channel: &Channel) -> Result<(), StartError> {
    match exec_channel.receive_as(Failure::default(), Timeout::Handshake).at(Step::AwaitInit)? {
        Incoming::Message(message, _) => Err(failed(message.step, message.errno)),
        // Executed; or killed in the act, which init reports.
        Incoming::Closed => Ok(()),
        Incoming::Nothing => Err(StartError { step: Step::AwaitInit, errno: Errno::TIMEDOUT }),
    }
}

/// Waits until the program's process has all its locks on, and returns the results of its tests.
pub(crate) fn wait_for_locks(
    exec_channel: &Channel,
    channel: &Channel,
) -> Result<SelfTests, StartError> {
    match exec_channel.receive_as(Failure::default(), Timeout::Handshake) {
        Ok(Incoming::Message(message, _)) => {
            let landlock = match message.step {
                exec_channel::READY => false,
                exec_channel::READY_LANDLOCKED => true,
                _ => return Err(failed(message.step, message.errno)),
            };
            Ok(SelfTests { landlock, broker: message.errno == exec_channel::BROKER_REFUSES })
        }
        // Init reports what went wrong before.
        Ok(Incoming::Closed) => Err(read_failure(channel, Step::AwaitInit)),
        Ok(Incoming::Nothing) => Err(StartError { step: Step::AwaitInit, errno: Errno::TIMEDOUT }),
        Err(errno) => Err(StartError { step: Step::AwaitInit, errno }),
    }
}

pub(crate) fn failed(step: u32, errno: i32) -> StartError {
    match Step::from_number(step) {
        Some(step) if (1..4096).contains(&errno) => {
            StartError { step, errno: Errno::from_raw_os_error(errno) }
        }
        Some(_) | None => StartError { step: Step::AwaitShim, errno: Errno::PROTO },
    }
}
