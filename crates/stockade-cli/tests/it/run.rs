//! `stockade run`.

use std::fs;
use std::io::{Write as _, stderr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Project, Told};

#[test]
fn the_programs_output_and_code_pass_through() {
    let project = Project::new();
    project.script("both.sh", "echo out\necho err >&2\nexit 7\n");
    let told = project.stockade(&["run", "--", "sh", "both.sh"]);
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (7, "out\n", "err\n"));
}

#[test]
fn bytes_pass_through_as_they_are() {
    let project = Project::new();
    fs::write(project.path("bytes"), [0, 0xff, 0xfe, b'\n', 0x1b]).unwrap();
    let output = project.command(&["run", "--", "cat", "bytes"]).output().unwrap();
    assert_eq!(output.stdout, [0, 0xff, 0xfe, b'\n', 0x1b]);
}

#[test]
fn every_way_to_end_has_its_exit_status() {
    let project = Project::new();
    project.script("exit.sh", "exit $1\n");
    project.script("die.sh", "kill -$1 $$\n");
    project.script("text", "no program\n");
    let cases: &[(&[&str], i32)] = &[
        (&["--", "true"], 0),
        (&["--", "sh", "exit.sh", "1"], 1),
        (&["--", "sh", "exit.sh", "255"], 255),
        // The program's own, though it looks like one of ours.
        (&["--", "sh", "exit.sh", "124"], 124),
        (&["--timeout", "0.3", "--", "sleep", "60"], 124),
        (&["--", "./text"], 125),
        (&["--net", "none", "--", "true"], 0),
        (&["--tier", "process", "--", "true"], 0),
        (&["--tier", "process", "--net", "none", "--", "true"], 125),
        (&["--tier", "process", "--write", ".", "--", "true"], 125),
        (&["--tier", "process", "--read", ".", "--", "true"], 125),
        (&["--tier", "container", "--", "true"], 125),
        (&["--", "rm", "-rf", "."], 126),
        (&["--", "cat", "/etc/passwd"], 126),
        (&["--", "no-such-program"], 127),
        (&["--", "sh", "die.sh", "TERM"], 143),
        (&["--", "sh", "die.sh", "KILL"], 137),
    ];
    for (args, code) in cases {
        let told = project.stockade(&[&["run"], *args].concat());
        assert_eq!(told.code, *code, "{args:?}: {told:?}");
    }
}

/// The thread that brings the journal to the disk in time is started when there is time for that.
#[test]
fn a_long_call_has_its_journal_flushed_meanwhile() {
    let project = Project::new();
    let mut command = project.command(&["run", "--", "sleep", "30"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let names = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", run.id())).unwrap().flatten();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
        tasks.filter_map(name).collect::<String>()
    };
    let started = Instant::now();
    while !names().contains("journal-flush") && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = names();
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(seen.contains("journal-flush"), "{seen}");
    assert!(fs::read_to_string(project.journal()).unwrap().contains("sleep"));
}

#[test]
fn an_outcome_that_is_not_on_record_is_told() {
    let project = Project::new();
    project.script("cut.sh", &format!(": > '{}'\n", project.journal().display()));
    let told = project.stockade(&["run", "--tier", "process", "--", "sh", "cut.sh"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, ""));
    assert!(told.stderr.contains(message!("stockade.outcome-not-recorded-could")), "{told:?}");
}

#[test]
fn a_refusal_says_what_by_which_rule_and_what_instead() {
    let project = Project::new();
    let told = project.stockade(&["run", "--", "rm", "-rf", "."]);
    let lines: Vec<&str> = told.stderr.lines().collect();
    assert_eq!(told.stdout, "");
    assert_eq!(lines.len(), 3, "{told:?}");
    assert!(lines[0].starts_with("stockade: refused: ") && lines[0].contains("\"rm\""), "{told:?}");
    assert!(lines[1].contains("rule:") && lines[1].contains("name/denylist"), "{told:?}");
    assert!(lines[2].contains("instead:"), "{told:?}");
}

#[test]
fn json_is_one_object_with_the_whole_report() {
    let project = Project::new();
    let told = project.stockade(&["run", "--json", "--", "echo", "hello"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    let report = told.json();
    assert_eq!((&report["stdout"], &report["exit_code"]), (&"hello\n".into(), &0.into()));
    assert_eq!(report["enforcement"].as_array().unwrap().len(), 12);
    let told = project.stockade(&["run", "--json", "--", "rm", "x"]);
    assert_eq!((told.code, told.stderr.as_str()), (126, ""));
    assert_eq!(told.json()["exit_code"], -100);
    let told = project.stockade(&["run", "--json", "--timeout", "300ms", "--", "sleep", "60"]);
    assert_eq!((told.code, &told.json()["exit_code"]), (124, &(-101).into()));
}

#[test]
fn quiet_says_nothing_of_our_own() {
    let project = Project::new();
    for args in [&["rm", "x"][..], &["no-such-program"], &["cat", "/etc/passwd"]] {
        let told = project.stockade(&[&["run", "--quiet", "--"], args].concat());
        assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("", ""), "{args:?}");
    }
    let told = project.stockade(&["run", "-q", "--timeout", "0.3", "--", "sleep", "60"]);
    assert_eq!((told.code, told.stderr.as_str()), (124, ""));
    let told = project.stockade(&["run", "-q", "--", "echo", "its own"]);
    assert_eq!(told.stdout, "its own\n");
}

#[test]
fn standard_input_is_passed_through_whatever_its_length() {
    let project = Project::new();
    let told = project.fed(&["run", "--", "cat"], b"through\n");
    assert_eq!((told.code, told.stdout.as_str()), (0, "through\n"));
    let length = (64 << 20) + 1;
    let told = project.fed(&["run", "--", "wc", "-c"], &vec![b'x'; length]);
    assert_eq!(told.stdout.trim(), length.to_string());
    // A program that reads nothing does not wait for the end of it.
    let told = project.fed(&["run", "--", "echo", "done"], &vec![b'x'; 10 << 20]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "done\n"));
}

#[test]
fn the_environment_is_what_is_listed() {
    let project = Project::new();
    let args = ["run", "--env", "GIVEN=x y", "--env", "PASSED", "--env", "ABSENT", "--", "env"];
    let mut command = project.command(&args);
    command.env("PASSED", "on").env("SECRET", "hunter2");
    let told = Told::from(command.output().unwrap());
    assert!(told.stdout.contains("GIVEN=x y\n") && told.stdout.contains("PASSED=on\n"), "{told:?}");
    assert!(!told.stdout.contains("hunter2") && !told.stdout.contains("ABSENT"), "{told:?}");
}

#[test]
fn options_become_limits() {
    let project = Project::new();
    let limited = |options: &[&str], argv: &[&str]| {
        project.stockade(&[&["run", "--json"], options, &["--"], argv].concat()).json()
    };
    let report = limited(&["--max-output", "100"], &["seq", "1000"]);
    assert_eq!(report["truncated"], true);
    project.script("loop.sh", "while :; do :; done\n");
    assert_eq!(limited(&["--cpu", "1s"], &["sh", "loop.sh"])["limit"], "cpu");
    project.script("big.sh", "exec head -c 100000 /dev/zero > big\n");
    assert_eq!(limited(&["--file-size", "10K"], &["sh", "big.sh"])["limit"], "file_size");
    project.script("many.sh", "for n in 1 2 3 4 5 6 7 8; do sleep 30 & done; wait\n");
    assert_eq!(limited(&["--processes", "4"], &["sh", "many.sh"])["limit"], "processes");
    project.script("limits.sh", "ulimit -v\n");
    let options = ["--tier", "process", "--memory", "64M"];
    assert_eq!(limited(&options, &["sh", "limits.sh"])["stdout"], "65536\n");
}

/// The shim answered a tree of no processes with a protocol error.
#[test]
fn a_limit_of_no_processes_is_a_usage_error() {
    let project = Project::new();
    let told = project.stockade(&["run", "--processes", "0", "--", "true"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("--processes"), "{told:?}");
    assert_eq!(project.stockade(&["run", "--processes", "1", "--", "true"]).code, 0);
}

#[test]
fn a_call_runs_in_the_root_or_in_a_folder_beneath_it() {
    let project = Project::new();
    fs::create_dir(project.path("sub")).unwrap();
    let told = project.stockade(&["run", "--", "pwd"]);
    assert!(told.stdout.ends_with("/work\n"), "{told:?}");
    let told = project.stockade(&["run", "--cwd", "sub", "--", "pwd"]);
    assert!(told.stdout.ends_with("/work/sub\n"), "{told:?}");
    let told = project.stockade(&["run", "--root", "sub", "--", "pwd"]);
    assert!(told.stdout.ends_with("/work/sub\n"), "{told:?}");
    assert_eq!(project.stockade(&["run", "--root", "sub", "--cwd", "..", "--", "pwd"]).code, 126);
    assert_eq!(project.stockade(&["run", "--cwd", "not-there", "--", "pwd"]).code, 126);
    let told = project.stockade(&["run", "--root", "not-there", "--", "pwd"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("not-there"), "{told:?}");
}

#[test]
fn nothing_is_left_behind() {
    let project = Project::new();
    project.script("home.sh", "echo x > $HOME/file\n");
    assert_eq!(project.stockade(&["run", "--", "sh", "home.sh"]).code, 0);
    assert_eq!(project.scratch_folders(), Vec::<String>::new());
    assert_eq!(fs::read_dir(project.beside("home")).unwrap().count(), 0);
}

#[test]
fn the_supervisors_environment_cannot_be_read_or_the_report_says_so() {
    let project = Project::new();
    project.script("thief.sh", "for p in /proc/[0-9]*; do\n  if [ \"$(cat $p/comm 2>/dev/null)\" = stockade ]; then cat $p/environ; fi\ndone\ntrue\n");
    let mut command = project.command(&["run", "--json", "--", "sh", "thief.sh"]);
    let told = Told::from(command.env("SECRET", "hunter2").output().unwrap());
    let report = told.json();
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == "environment").unwrap();
    assert!(!told.stdout.contains("hunter2") || line["kept"] != "full", "{report}");
}

/// What the kernel says of the program is what the report says of its box.
#[test]
fn the_default_box_has_no_privileges_and_says_so() {
    let project = Project::new();
    let args = ["run", "--profile", "contained", "--json", "--", "cat", "/proc/self/status"];
    let report = project.stockade(&args).json();
    if report["failure"]["message"].as_str().is_some_and(|why| why.contains("namespace")) {
        return crate::support::skip("userns", "user namespaces are refused here");
    }
    assert_eq!((&report["ok"], &report["tier"]), (&true.into(), &"jail".into()), "{report}");
    let status = report["stdout"].as_str().unwrap();
    let field = |name: &str| {
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned()).unwrap()
    };
    assert_eq!((field("NoNewPrivs"), field("Seccomp")), ("1".to_owned(), "2".to_owned()));
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert!(!field("Uid").split_whitespace().any(|uid| uid == "0"), "{status}");
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == "privileges").unwrap();
    assert_eq!(line["kept"], "full", "{line}");
    let by = line["by"].as_array().unwrap();
    for mechanism in ["no-new-privileges", "no-capabilities", "seccomp", "user-namespace"] {
        assert!(by.contains(&mechanism.into()), "{mechanism} in {line}");
    }
}

/// Some writes to the kernel's files end where a signal comes; none of them may be lost by that.
#[test]
fn a_write_that_is_interrupted_takes_no_limit_away() {
    let project = Project::new();
    let seen = |told: &Told| {
        let kept = told.json()["enforcement"].as_array().unwrap().clone();
        let of_tree = kept.into_iter().find(|one| one["guarantee"] == "tree_limits").unwrap();
        (of_tree["kept"].clone(), of_tree["note"].clone())
    };
    let args = ["run", "--memory", "100M", "--json", "--", "true"];
    let control = project.stockade(&args);
    for number in 1..=8 {
        let command = project.command(&args);
        let mut strace = Command::new("strace");
        strace.args(["-o", "/dev/null", "-e", "trace=write", "-e"]);
        strace.arg(format!("inject=write:error=EINTR:when={number}"));
        strace.arg(command.get_program()).args(command.get_args());
        strace.current_dir(command.get_current_dir().unwrap());
        strace.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let told = match strace.output() {
            Ok(output) => Told::from(output),
            Err(error) => {
                writeln!(stderr().lock(), "skipped: no strace here: {error}").unwrap();
                return;
            }
        };
        assert_eq!(told.code, 0, "{number}: {told:?}");
        assert_eq!(seen(&told), seen(&control), "{number}: {told:?}");
    }
}
