//! Every way in which Stockade ends a run itself: one line says why, and what to do about it.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Project, Told};

/// Runs a Python script, and gives the lines that are ours.
fn run(project: &Project, flags: &[&str], script: &str) -> (Told, Vec<String>) {
    project.script("script.py", script);
    let told = project.stockade(&[&["run"], flags, &["--", "python3", "script.py"]].concat());
    let lines = told.stderr.lines().filter(|line| line.starts_with("stockade: "));
    let lines = lines.map(str::to_owned).collect();
    (told, lines)
}

#[test]
fn a_limit_that_ended_a_run_is_named_with_a_way_to_raise_it() {
    let project = Project::new();
    fs::write(project.beside("flood.toml"), "[limits]\nflood = \"1MiB\"\n").unwrap();
    let flood = project.beside("flood.toml");
    let flood = flood.to_str().unwrap();
    let sleep = "import time; time.sleep(100)";
    let forks = "import os, time
for _ in range(60):
    if os.fork() == 0: time.sleep(100); os._exit(0)
time.sleep(100)";
    let bytes = "import time
for number in range(64): open('bytes%d' % number, 'wb').write(bytes(1 << 20))
time.sleep(100)";
    let files = "import time
for number in range(500): open('file%d' % number, 'w')
time.sleep(100)";
    // Python ignores the signal, and is told of the limit instead.
    let size = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
open('large', 'wb').write(bytes(1 << 20))";
    let output = "import sys
while True: sys.stdout.write('x' * 65536)";
    let cases: [(&[&str], &str, &str, &str); 7] = [
        (
            &["--timeout", "300ms"],
            sleep,
            message!("report.wall-clock-timeout"),
            "--timeout or limits.wall",
        ),
        (&["--cpu", "1s"], "while True: pass", "the cpu limit", "--cpu or limits.cpu"),
        (&["--processes", "8"], forks, "the processes limit", "--processes or limits.processes"),
        (&["--file-size", "64K"], size, "the file_size limit", "--file-size or limits.file_size"),
        (&["--disk", "4M"], bytes, "the disk limit", "--disk or limits.disk"),
        (&["--files", "50"], files, "the files limit", "--files or limits.files"),
        (&["--policy", flood], output, "the output limit", "limits.flood"),
    ];
    for (flags, script, reason, remedy) in cases {
        let (told, lines) = run(&project, flags, script);
        let [line] = lines.as_slice() else { panic!("{flags:?}: {:?}", told.stderr) };
        assert!(line.contains(reason) && line.contains(remedy), "{flags:?}: {line}");
        assert_ne!(told.code, 0, "{flags:?}");
    }
    // Without a cgroup the program gets an error, and goes on.
    let memory = "held = [bytearray(1 << 20) for _ in range(400)]";
    let (told, lines) = run(&project, &["--memory", "64M"], memory);
    let is_told = lines.iter().any(|line| line.contains("--memory or limits.memory"));
    assert!(is_told || told.stderr.contains("MemoryError"), "{told:?}");
}

/// The host replaces a protected file, as editors and agents do: the mount on it goes.
#[test]
fn a_protected_file_that_was_replaced_is_named() {
    let project = Project::new();
    fs::write(project.path(".mcp.json"), "{}").unwrap();
    project.script("script.sh", "touch ready; sleep 100\n");
    let mut command = project.command(&["run", "--", "sh", "script.sh"]);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !project.path("ready").exists() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::write(project.path("other"), "{}").unwrap();
    fs::rename(project.path("other"), project.path(".mcp.json")).unwrap();
    let output = run.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(137), 1), "{said}");
    for part in
        [message!("run.sandbox-ended"), ".mcp.json", "was replaced", message!("run.run-call-again")]
    {
        assert!(said.contains(part), "{said}");
    }
}
