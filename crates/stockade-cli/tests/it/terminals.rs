//! `--tty`: a terminal of the sandbox's own, and the caller's as it was before.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::{Project, eventually};

/// A terminal emulator, and what it has shown.
struct Emulator {
    end: File,
    programs_end: OwnedFd,
    shown: String,
}

impl Emulator {
    fn new() -> Self {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let programs_end = open(ptsname(&end, Vec::new()).unwrap(), flags, Mode::empty()).unwrap();
        let emulator = Self { end: File::from(end), programs_end, shown: String::new() };
        emulator.resize(33, 101);
        emulator
    }

    fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.end, size).unwrap();
    }

    fn start(&self, project: &Project, args: &[&str]) -> Child {
        let end = || self.programs_end.try_clone().unwrap();
        let mut command = project.command(args);
        command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
    }

    fn press(&mut self, keys: &str) {
        self.end.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until this text is shown.
    fn await_text(&mut self, text: &str) {
        let mut bytes = [0; 4096];
        while !self.shown.contains(text) {
            let count = self.end.read(&mut bytes).unwrap();
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    fn has_canonical_input(&self) -> bool {
        let modes = tcgetattr(&self.programs_end).unwrap().local_modes;
        modes.contains(LocalModes::ICANON) && modes.contains(LocalModes::ECHO)
    }
}

#[test]
fn a_line_has_a_terminal_of_its_own_with_the_size_of_the_callers() {
    let project = Project::new();
    let mut emulator = Emulator::new();
    let line = "tty; stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo three; echo said > /dev/tty; \
                read -r word; echo got $word; exit 7";
    let mut child = emulator.start(&project, &["shell", "--tty", line]);
    emulator.await_text("said");
    assert!(!emulator.has_canonical_input(), "keys are for the program alone");
    emulator.press("word\r");
    assert_eq!(child.wait().unwrap().code(), Some(7));
    emulator.await_text("got word");
    let lines: Vec<&str> = emulator.shown.lines().collect();
    assert_eq!(lines, ["/dev/pts/0", "33 101", "three", "said", "word", "got word"]);
    assert!(emulator.has_canonical_input(), "the caller's terminal is as it was");
}

#[test]
fn keys_become_signals_in_the_sandbox_and_changes_of_size_arrive() {
    let project = Project::new();
    let mut emulator = Emulator::new();
    let line = "trap 'stty size' WINCH; trap 'echo interrupted; exit 3' INT; echo begun; \
                while :; do sleep 0.1; done";
    let mut child = emulator.start(&project, &["shell", "--tty", line]);
    emulator.await_text("begun");
    emulator.resize(40, 90);
    // It has no terminal of its own by which the kernel would tell it.
    kill_process(Pid::from_child(&child), Signal::WINCH).unwrap();
    emulator.await_text("40 90");
    emulator.press("\x03");
    emulator.await_text("interrupted");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_shell_in_the_sandbox_has_job_control() {
    let project = Project::new();
    let mut emulator = Emulator::new();
    let args = ["shell", "--tty", "exec bash --norc --noprofile -i"];
    let mut child = emulator.start(&project, &args);
    emulator.await_text("$ ");
    emulator.press("sleep 600\r");
    emulator.await_text("sleep 600");
    std::thread::sleep(Duration::from_millis(500));
    emulator.press("\x1a");
    emulator.await_text("Stopped");
    emulator.press("kill -9 %1; wait; echo left $?\r");
    emulator.await_text("left ");
    // Where bash has not heard of the end of the job yet, it refuses to exit the first time.
    emulator.press("exit 5\rexit 5\r");
    assert_eq!(child.wait().unwrap().code(), Some(5), "{}", emulator.shown);
    assert!(!emulator.shown.contains("no job control"), "{}", emulator.shown);
}

#[test]
fn what_the_terminal_answers_is_not_typed_into_the_callers_shell() {
    let project = Project::new();
    let mut emulator = Emulator::new();
    let mut child = emulator
        .start(&project, &["shell", "--tty", "echo asked; while [ ! -e go ]; do sleep 0.1; done"]);
    emulator.await_text("asked");
    emulator.press("touch pwned\r");
    project.write("go", "");
    assert!(child.wait().unwrap().success());
    let left = || rustix::io::ioctl_fionread(&emulator.programs_end).unwrap() == 0;
    assert!(eventually(Duration::from_secs(60), left));
}

#[test]
fn every_sandbox_has_pseudo_terminals_that_nobody_else_sees() {
    let project = Project::new();
    let line = "ls /dev/pts; test -e /dev/tty && (: < /dev/tty) 2>/dev/null || echo none; \
                script -qec tty /dev/null </dev/null";
    let told = project.stockade(&["shell", line]);
    assert_eq!(told.stdout.replace('\r', ""), "ptmx\nnone\n/dev/pts/0\n", "{told:?}");
}

#[test]
fn without_a_jail_there_is_no_terminal_and_nothing_runs() {
    let project = Project::new();
    let args = ["shell", "--tty", "--tier", "process", "--mode", "bypass", "touch ran"];
    let told = project.stockade(&args);
    assert_eq!(told.code, 125, "{told:?}");
    assert!(told.stderr.contains("--tier jail"), "{told:?}");
    assert!(!project.path("ran").exists());
}
