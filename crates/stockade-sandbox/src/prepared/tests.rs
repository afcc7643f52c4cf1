//! A sandbox that is given up ends, in whatever state it is.

use std::ffi::CStr;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process};

use super::*;
use crate::channel::{Incoming, Timeout};
use crate::jail::Network;
use crate::mechanisms::cgroup::CgroupLimits;
use crate::mechanisms::mounts::{Mount, ProcView};
use crate::mechanisms::rlimits::Rlimits;
use crate::pidfd::has_ended;
use crate::pool::template::Template;
use crate::protocol::{Failure, Report, kind};
use crate::start::{Spec, Stdin};

/// Less than the six seconds after which a sandbox that does not end is killed.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A template of sandboxes that have a shell.
fn template() -> Arc<Template> {
    let mut jail = Jail::new(c"/bin/sh", c"/");
    let folders = [c"/usr", c"/bin", c"/lib", c"/lib64"];
    let mut root: Vec<_> =
        folders.into_iter().filter_map(|path: &CStr| Mount::read_only(path).ok()).collect();
    root.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    (jail.root, jail.network, jail.attest) = (Some(root), Network::None, Attest::BeforeExecution);
    Arc::new(Template::make(&jail, SandboxParams::of(&jail)).unwrap().unwrap())
}

/// A copy without cgroups, whose removal would kill it.
fn pending(template: &Arc<Template>) -> PendingSandbox {
    let none = Cgroup::create_for_box(CgroupLimits::default(), Err(Errno::NOENT));
    template.order(none).unwrap()
}

fn program(channel: &CStr) -> Program {
    let spec = Spec {
        program: File::open("/bin/sh").unwrap().into(),
        script: None,
        argv: [c"sh", c"-c", channel].map(CStr::to_owned).to_vec(),
        env: Vec::new(),
        cwd: File::open("/").unwrap().into(),
        stdin: Stdin::Empty,
        merges_output: false,
        rlimits: Rlimits::default(),
        processes_max: None,
        signal_scope: None,
    };
    Program::new(spec, c"/bin/sh", c"/")
}

/// A host that cannot attest it waits for its end only after it has ordered that.
#[test]
fn a_copy_that_could_not_be_looked_at_ends_at_once() {
    let template = template();
    let mut pending = pending(&template);
    pending.outlook.attest = Attest::No;
    // Its messages come by another channel, where something else follows.
    let (near, far) = Channel::both().unwrap();
    let own = std::mem::replace(&mut pending.channel, near);
    let Incoming::Message(message, Some(pidfd)) = own.receive(Timeout::Handshake).unwrap() else {
        panic!("it is not there");
    };
    far.send(&Report { kind: kind::LEAVING, ..message }, &[pidfd.as_fd()]).unwrap();
    let failure = Report { kind: kind::FAILED, step: u32::MAX, errno: 5, ..message };
    far.send(&failure, &[]).unwrap();
    let begun = Instant::now();
    let met = pending.wait().map(drop);
    assert_eq!(met, Err(StartError { step: Step::AwaitShim, errno: Errno::PROTO }));
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(has_ended(&pidfd));
}

/// Its init is stopped: it neither sends nor reads.
#[test]
fn a_program_that_was_not_heard_of_does_not_go_on() {
    let template = template();
    let mut ready = pending(&template).wait().unwrap();
    kill_process(ready.pid, Signal::STOP).unwrap();
    let streams =
        send_program(&ready.exec_channel, ready.owner, &program(c"echo runs; sleep 60")).unwrap();
    let stdout = File::from(streams.stdout.try_clone().unwrap());
    // Another word comes in place of its own.
    let (near, far) = Channel::both().unwrap();
    let _own = std::mem::replace(&mut ready.exec_channel, near);
    far.send(&Failure { step: u32::MAX, errno: 5 }, &[]).unwrap();
    let mut written = [PollFd::new(&stdout, PollFlags::IN)];
    assert_eq!(poll(&mut written, Some(&Timespec { tv_sec: 10, tv_nsec: 0 })), Ok(1), "it runs");
    let pidfd = ready.pidfd.try_clone().unwrap();
    let begun = Instant::now();
    assert!(ready.executed(streams).is_err());
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(has_ended(&pidfd));
}

/// Nor one that is dropped before it is let go.
#[test]
fn a_box_that_was_stopped_is_killed_in_the_end() {
    let template = template();
    let ready = pending(&template).wait().unwrap();
    let pidfd = ready.pidfd.try_clone().unwrap();
    kill_process(ready.pid, Signal::STOP).unwrap();
    drop(ready);
    assert!(has_ended(&pidfd));
}
