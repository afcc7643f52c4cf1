//! A box that is given up ends, whatever it was told and however it is.

use std::ffi::CStr;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process};

use super::*;
use crate::cgroup::CgroupLimits;
use crate::control::{Heard, Patience};
use crate::jail::Network;
use crate::keeper::wire::{Failure, Report, kind};
use crate::mounts::{Mount, ProcView};
use crate::pidfd::has_ended;
use crate::rlimits::Rlimits;
use crate::start::{Spec, Stdin};
use crate::template::Template;

/// Less than is waited for a box that does not end.
const AT_ONCE: Duration = Duration::from_secs(3);

/// A template of boxes that have a shell.
fn template() -> Arc<Template> {
    let mut jail = Jail::new(c"/bin/sh", c"/");
    let folders = [c"/usr", c"/bin", c"/lib", c"/lib64"];
    let mut root: Vec<_> =
        folders.into_iter().filter_map(|path: &CStr| Mount::read_only(path).ok()).collect();
    root.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    (jail.root, jail.network, jail.attest) = (Some(root), Network::None, Attest::BeforeExecution);
    Arc::new(Template::make(&jail, Outlook::of(&jail)).unwrap().unwrap())
}

/// A copy without cgroups, whose removal would kill it.
fn ordered(template: &Arc<Template>) -> Ordered {
    let none = Cgroup::create_for_box(CgroupLimits::default(), Err(Errno::NOENT));
    template.order(none).unwrap()
}

fn program(line: &CStr) -> Program {
    let spec = Spec {
        program: File::open("/bin/sh").unwrap().into(),
        script: None,
        argv: [c"sh", c"-c", line].map(CStr::to_owned).to_vec(),
        env: Vec::new(),
        cwd: File::open("/").unwrap().into(),
        stdin: Stdin::Empty,
        rlimits: Rlimits::default(),
        processes_max: None,
        signal_scope: None,
    };
    Program::new(spec, c"/bin/sh", c"/")
}

/// Whoever cannot look at it waits for its end only once it has been told.
#[test]
fn a_copy_that_could_not_be_looked_at_ends_at_once() {
    let template = template();
    let mut ordered = ordered(&template);
    ordered.outlook.attest = Attest::No;
    // What it says comes by another line, where something else follows.
    let (near, far) = Line::both().unwrap();
    let own = std::mem::replace(&mut ordered.line, near);
    let Heard::Message(said, Some(pidfd)) = own.hear(Patience::Generous).unwrap() else {
        panic!("it is not there");
    };
    far.send(&Report { kind: kind::LEAVING, ..said }, &[pidfd.as_fd()]).unwrap();
    let failure = Report { kind: kind::FAILED, step: u32::MAX, errno: 5, ..said };
    far.send(&failure, &[]).unwrap();
    let begun = Instant::now();
    let met = ordered.meet().map(drop);
    assert_eq!(met, Err(StartError { step: Step::HearKeeper, errno: Errno::PROTO }));
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(has_ended(&pidfd));
}

/// Its first process cannot be heard, nor hear that it is to end.
#[test]
fn a_program_that_was_not_heard_of_does_not_go_on() {
    let template = template();
    let mut ready = ordered(&template).meet().unwrap();
    kill_process(ready.pid, Signal::STOP).unwrap();
    let streams = hand(&ready.gate, ready.owner, &program(c"echo runs; sleep 60")).unwrap();
    let stdout = File::from(streams.stdout.try_clone().unwrap());
    // Another word comes in place of its own.
    let (near, far) = Line::both().unwrap();
    let _own = std::mem::replace(&mut ready.gate, near);
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
    let ready = ordered(&template).meet().unwrap();
    let pidfd = ready.pidfd.try_clone().unwrap();
    kill_process(ready.pid, Signal::STOP).unwrap();
    drop(ready);
    assert!(has_ended(&pidfd));
}
