//! Signals to the command line end the tree.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Project, Told, eventually, marked, marker, skip};

#[test]
fn whatever_ends_the_command_line_ends_the_tree() {
    let project = Project::new();
    let script = "trap '' INT TERM HUP\nsleep $1 &\nsetsid sleep $1 &\n(nohup setsid sleep $1 >/dev/null 2>&1 &)\nsleep $1\n";
    project.script("many.sh", script);
    for signal in ["INT", "TERM", "HUP", "QUIT", "KILL"] {
        let marker = marker();
        let run = project.command(&["run", "--", "sh", "many.sh", &marker]);
        let mut child = heeding_signals(&run).spawn().unwrap();
        assert!(eventually(Duration::from_secs(30), || marked(&marker) >= 5), "never started");
        let pid = child.id().to_string();
        assert!(
            Command::new("sh")
                .args(["-c", "kill -$0 $1", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let gone = eventually(Duration::from_secs(60), || marked(&marker) == 0);
        assert!(gone, "SIG{signal} left {} processes", marked(&marker));
        assert!(!child.wait().unwrap().success());
    }
    // The scratch folders of those five go with the next start.
    assert_eq!(project.stockade(&["run", "--", "true"]).code, 0);
    assert_eq!(project.scratch_folders(), Vec::<String>::new());
}

/// The same command with no signal ignored: one that a shell starts in the background ignores some, and
/// hands that on.
fn heeding_signals(command: &Command) -> Command {
    let mut heeding = Command::new("env");
    heeding.args(["-i", "--default-signal"]);
    for (name, value) in command.get_envs() {
        let mut assignment = name.to_owned();
        assignment.push("=");
        assignment.push(value.unwrap());
        heeding.arg(assignment);
    }
    heeding.arg(command.get_program()).args(command.get_args());
    heeding.current_dir(command.get_current_dir().unwrap());
    heeding.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    heeding
}

#[test]
fn as_the_first_process_of_a_pid_namespace_it_ends_its_call_and_reports_too() {
    let project = Project::new();
    let mut namespace = vec!["--mount", "--mount-proc", "--pid", "--fork"];
    let user = rustix::process::geteuid();
    if user.as_raw() == OVERFLOW_UID {
        return skip("root", "in a user namespace the files of root would be this user's own");
    }
    if !user.is_root() {
        namespace.extend(["--user", "--map-current-user"]);
    }
    if !Command::new("unshare").args(&namespace).arg("true").status().unwrap().success() {
        return skip("userns", "no pid namespace of one's own");
    }
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let marker = marker();
        project.script("wait.sh", &format!("sleep {marker}\n"));
        let run = heeding_signals(&project.command(&["run", "--json", "--", "sh", "wait.sh"]));
        let mut unshare = Command::new("unshare");
        unshare.args(&namespace).arg(run.get_program()).args(run.get_args());
        unshare.current_dir(run.get_current_dir().unwrap());
        unshare.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = unshare.spawn().unwrap();
        assert!(eventually(Duration::from_secs(60), || marked(&marker) >= 1), "never started");
        let first = first_process_under(child.id());
        let kill = Command::new("sh").args(["-c", "kill -$0 $1", signal, &first]).status();
        assert!(kill.unwrap().success());
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!((told.code, marked(&marker)), (code, 0), "{told:?}");
        assert_eq!(told.json()["limit"], "cancelled", "{told:?}");
    }
    let journal = std::fs::read_to_string(project.journal()).unwrap();
    let cancelled = |line: &&str| line.contains("\"cancelled\"");
    assert_eq!(journal.lines().filter(cancelled).count(), 2, "{journal}");
}

/// The user whose files those of others seem to be in a user namespace: `/proc/sys/kernel/overflowuid`.
const OVERFLOW_UID: u32 = 65534;

/// The child of a process that has number 1 in its own namespace.
fn first_process_under(parent: u32) -> String {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_it = |status: &str| {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let is_first = field("NSpid:").is_some_and(|numbers| numbers.ends_with("\t1"));
        is_first && field("PPid:").is_some_and(|pid| pid.trim() == parent.to_string())
    };
    let found = processes.filter_map(|entry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        is_it(&status).then(|| entry.file_name().into_string().unwrap())
    });
    let found: Vec<String> = found.collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn calls_in_flight_end_with_it_too() {
    let project = Project::new();
    let marker = marker();
    project.write("calls", &crate::support::call(&["sleep", &marker]).repeat(4));
    let mut child = project.command(&["call", "--jobs", "4", "calls"]).spawn().unwrap();
    assert!(eventually(Duration::from_secs(30), || marked(&marker) == 4), "never started");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(eventually(Duration::from_secs(60), || marked(&marker) == 0));
}

#[test]
fn a_shim_that_somebody_kills_is_named() {
    let project = Project::new();
    let marker = marker();
    let child = project.command(&["run", "--", "sleep", &marker]).spawn().unwrap();
    assert!(eventually(Duration::from_secs(30), || marked(&marker) == 1), "never started");
    let line = "for p in /proc/[0-9]*; do
        case \"$(tr '\\0' ' ' < $p/cmdline)\" in \"sleep $0 \") awk '{print $4}' $p/stat;; esac
    done 2>/dev/null | xargs kill -9";
    assert!(Command::new("sh").args(["-c", line, &marker]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains(message!("left.shim-tree-killed")), "{stderr}");
    assert_eq!(marked(&marker), 0);
}
