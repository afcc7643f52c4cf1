//! Warm interpreters: what they do is what cold ones do, and nothing of one call is there in the
//! next.

use std::time::Duration;

use serde_json::{Value, json};
use stockade::call::Language;
use stockade::launch::PoolSize;
use stockade::{Policy, Stockade, ToolCall};

use crate::jail::project;
use crate::support::{
    Project, eventually, has, json as report_of, kept, marked, marker, skip, text,
};

/// A Stockade in which an interpreter waits.
pub(crate) fn warmed(project: &Project, language: Language, policy: Policy) -> Stockade {
    let stockade = project.open(policy);
    stockade.run(ToolCall::code(language, ""));
    await_one(&stockade, language);
    stockade
}

fn await_one(stockade: &Stockade, language: Language) {
    let waits = || stockade.interpreters().waiting(language) > 0;
    assert!(eventually(Duration::from_secs(60), waits), "no interpreter waits");
}

/// What source comes to in an interpreter that waited. One whose machine has just mounted something
/// is not used, and others on the machine do that at any time.
pub(crate) fn run_warm(stockade: &Stockade, language: Language, source: &str) -> Value {
    const TRIES: usize = 20;
    let mut cold = Value::Null;
    for _ in 0..TRIES {
        await_one(stockade, language);
        // It may be tidying up, and then a call starts its own.
        std::thread::sleep(Duration::from_millis(30));
        let before = stockade.interpreters().lent();
        let report = report_of(&stockade.run(ToolCall::code(language, source)));
        if stockade.interpreters().lent() > before {
            return report;
        }
        cold = report;
    }
    assert_eq!(cold, Value::Null, "it was never warm");
    cold
}

/// Whether Node runs here at all: it reserves more memory than it uses, which is refused where only
/// limits of each process bound that.
pub(crate) fn node_runs(project: &Project) -> bool {
    if !has("node") {
        return false;
    }
    let cold = project.open(Policy { code_warm: 0, ..Policy::shipped() });
    let runs = cold.run(ToolCall::code(Language::Node, "1")).ok();
    if !runs {
        skip("node", "node does not start within the limits of each process");
    }
    runs
}

fn python(stockade: &Stockade, source: &str) -> Value {
    run_warm(stockade, Language::Python, source)
}

/// A report without what differs from run to run.
fn comparable(mut report: Value) -> Value {
    for field in ["call", "duration_ms", "usage"] {
        report[field] = Value::Null;
    }
    for line in report["enforcement"].as_array_mut().unwrap() {
        if line["guarantee"] == "processes" {
            line["note"] = Value::Null;
        }
    }
    report
}

/// That two reports say the same, field by field.
fn assert_same(source: &str, seen: Value, expected: Value) {
    let (seen, expected) = (comparable(seen), comparable(expected));
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&seen[field], value, "{field} of {source:?}");
    }
    assert_eq!(seen.as_object().unwrap().len(), expected.as_object().unwrap().len());
}

/// Source whose whole report has to be the same.
const SAME: [&str; 33] = [
    "print(1)",
    "",
    "import sys\nsys.exit(3)",
    "import sys\nsys.exit()",
    "import sys\nsys.exit('words')",
    "import sys\nsys.exit(-1)",
    "import sys\nsys.exit(2**70)",
    "raise SystemExit(None)",
    "raise KeyboardInterrupt",
    "def f(n):\n    return n / 0\n\nf(1)",
    "x = = 1",
    "\0",
    "b'\\xff'.decode()",
    "import os\nos._exit(4)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "import os\nos.abort()",
    "import atexit\natexit.register(print, 'bye')\nprint('hello')",
    "import atexit, sys\nsys.unraisablehook = lambda _: None\natexit.register(lambda: sys.exit(9))",
    "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
    "class A:\n    def __del__(self):\n        print('gone')\na = A()\nb = [a]\nb.append(b)",
    "import sys\nsys.stdout.write('no end of line')\nsys.stderr.write('nor here')",
    "import sys\nprint(sys.argv, __name__, __file__, repr(sys.stdin.read()), sys.flags.isolated)",
    "print(sorted(globals()), dir())",
    "import os\nprint(os.getcwd(), os.environ['HOME'], os.environ['TMPDIR'], os.listdir('.'))",
    "import os\nprint(sorted(os.environ), sorted(os.listdir('/proc/self/fd')))",
    "import resource\nprint([resource.getrlimit(n) for n in (0, 1, 4, 7, 8)])",
    "import os\nprint(os.getsid(0) == os.getpid(), os.getuid(), os.umask(0))",
    "import os\nos.mkdir('a')\nos.mkdir('b')\nopen('a/x', 'w').close()\nos.rename('a/x', 'b/x')\nprint(os.listdir('b'))",
    "import subprocess\nprint(subprocess.run(['sh', '-c', 'cat; echo sub; exit 5'], capture_output=True))",
    "import sys, ctypes, json, socket, random, ssl, decimal\nprint(json.dumps([1]), ctypes.sizeof(ctypes.c_int))",
    "import multiprocessing as m\ndef f(x):\n    return x * x\nif __name__ == '__main__':\n    print(m.get_context('fork').Pool(2).map(f, [1, 2]))",
    "import sys\nprint('x' * 200000)",
];

#[test]
fn warm_python_reports_what_cold_python_reports() {
    let Some(project) = project() else { return };
    let cold = project.open(Policy { code_warm: 0, ..Policy::shipped() });
    let warm = warmed(&project, Language::Python, Policy::shipped());
    for source in SAME {
        let expected = report_of(&cold.run(ToolCall::code(Language::Python, source)));
        let seen = python(&warm, source);
        assert_same(source, seen, expected);
    }
    assert_eq!(cold.interpreters().lent(), 0);
}

#[test]
fn modules_that_the_driver_needs_are_not_there() {
    let Some(project) = project() else { return };
    let source = "import sys\nprint(sorted(name for name in sys.modules if 'site' not in name))";
    let cold = project.open(Policy { code_warm: 0, ..Policy::shipped() });
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let expected = report_of(&cold.run(ToolCall::code(Language::Python, source)));
    assert_eq!(text(&python(&warm, source), "stdout"), text(&expected, "stdout"));
}

#[test]
fn nothing_of_one_call_is_there_in_the_next() {
    let Some(project) = project() else { return };
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let mark = marker();
    let leave = format!(
        "import os, subprocess, sys, json\n\
         for path in ('left', 'home/left', '/dev/shm/left'):\n    open(path, 'w').write('x')\n\
         os.makedirs('deep/er')\nos.symlink('/etc', 'deep/link')\nopen('deep/er/f', 'w')\n\
         os.environ['LEFT'] = '1'\nos.chdir('/')\njson.left = 1\nsys.left = 1\n\
         subprocess.Popen(['setsid', 'sleep', '{mark}'])\nprint(os.getpid())"
    );
    let look = "import os, sys, json, subprocess\n\
         print(os.getpid())\n\
         print(sorted({'home', 'left', 'deep'} & set(os.listdir('.'))), os.listdir('home'), os.listdir('/dev/shm'), 'LEFT' in os.environ,\n\
               os.getcwd(), hasattr(json, 'left'), hasattr(sys, 'left'),\n\
               sorted(p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()))";
    for _ in 0..10 {
        let left = python(&warm, &leave);
        assert_eq!(left["exit_code"], 0, "{left}");
        assert!(marked(&mark).is_empty(), "what it started is gone");
        let seen = python(&warm, look);
        let (number, state) = text(&seen, "stdout").split_once('\n').unwrap();
        assert_eq!(state, "['home'] [] [] False /tmp False False []\n");
        let number_of = |text: &str| text.trim().parse::<u32>().unwrap();
        if number_of(number) > number_of(text(&left, "stdout")) {
            return;
        }
    }
    panic!("no two calls were in the same interpreter");
}

#[test]
fn every_call_has_randomness_of_its_own() {
    let Some(project) = project() else { return };
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let source = "import random, uuid, secrets, tempfile, os\n\
         print(random.random(), uuid.uuid4(), secrets.token_hex(4), tempfile.mktemp(), sep='\\n')";
    let (first, second) = (python(&warm, source), python(&warm, source));
    let pairs = text(&first, "stdout").lines().zip(text(&second, "stdout").lines());
    assert_eq!(pairs.inspect(|(a, b)| assert_ne!(a, b)).count(), 4);
}

/// What is left where it cannot be removed, or is not a file, is the end of the interpreter.
#[test]
fn what_cannot_be_tidied_up_ends_the_interpreter() {
    let Some(project) = project() else { return };
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let parent = "import os\nprint(os.getppid())";
    for mess in [
        "import os\nos.mkdir('closed')\nopen('closed/x', 'w')\nos.chmod('closed', 0)",
        "import ctypes\nprint(ctypes.CDLL(None).shmget(7, 4096, 0o1666))",
        "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (64, 64))",
        "import os\nos.chmod('/tmp', 0o700)",
    ] {
        let report = python(&warm, mess);
        assert_eq!(report["exit_code"], 0, "{mess:?}: {report}");
        // The next call may be the one that finds it gone; then one waits again.
        let next = report_of(&warm.run(ToolCall::code(Language::Python, parent)));
        assert_eq!(next["exit_code"], 0, "{mess:?}: {next}");
        let seen = python(
            &warm,
            "import os, resource\nprint([n for n in os.listdir('.') if n in ('home', 'closed')], oct(os.stat('.').st_mode), resource.getrlimit(7), len(open('/proc/sysvipc/shm').readlines()))",
        );
        assert_eq!(text(&seen, "stdout"), "['home'] 0o41777 (1024, 1024) 1\n", "{mess:?}");
    }
}

#[test]
fn a_call_cannot_reach_the_interpreter_that_waits() {
    let Some(project) = project() else { return };
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let source = "import os\nup = os.getppid()\n\
         for path in ('mem', 'environ', 'maps', 'fd/0', 'cwd'):\n\
         \x20   try:\n        os.open(f'/proc/{up}/{path}', os.O_RDONLY)\n        print('reached', path)\n\
         \x20   except OSError as error:\n        print(error.errno in (1, 2, 13))";
    let report = python(&warm, source);
    assert_eq!(text(&report, "stdout"), "True\n".repeat(5), "{report}");
}

#[test]
fn an_interpreter_that_is_killed_is_an_error_and_the_next_call_has_another() {
    let Some(project) = project() else { return };
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let kill = "import os, signal, time\ntry:\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(5)\n\
                except PermissionError:\n    print('kept')";
    let report = python(&warm, kill);
    let scoped = stockade::launch::probe().signal_scope;
    if scoped {
        assert_eq!(text(&report, "stdout"), "kept\n", "{report}");
    } else {
        assert_eq!(report["signal"], 9, "{report}");
        assert!(report["notes"][0].as_str().unwrap().contains("fresh one"), "{report}");
    }
    // From outside, while a call runs in it.
    let (done, pid_seen) = std::thread::scope(|scope| {
        let call =
            scope.spawn(|| python(&warm, "import time\ntime.sleep(20)\n# the-one-that-is-killed"));
        let driver = || driver_of(std::process::id());
        assert!(eventually(Duration::from_secs(60), || driver().is_some()));
        std::thread::sleep(Duration::from_millis(300));
        let pid = driver().unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        (call.join().unwrap(), pid)
    });
    assert!(pid_seen > 0);
    assert_eq!((&done["exit_code"], &done["signal"]), (&json!(137), &json!(9)), "{done}");
    assert!(
        done["notes"][0].as_str().unwrap().contains(message!("leased.call-ended-next-call")),
        "{done}"
    );
    let next = python(&warm, "print('again')");
    assert_eq!(text(&next, "stdout"), "again\n");
}

/// The python that waits in a box of this process: the parent of the one that runs.
fn driver_of(host: u32) -> Option<i32> {
    let parents = || {
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (name, rest) = stat.rsplit_once(')')?;
            let parent: i32 = rest.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent, name.contains("python3")))
        })
    };
    let all: Vec<(i32, i32, bool)> = parents().collect();
    let parent_of = |pid: i32| all.iter().find(|one| one.0 == pid).map(|one| one.1);
    all.iter().filter(|one| one.2).find_map(|(_, parent, _)| {
        let is_python = all.iter().any(|one| one.0 == *parent && one.2);
        let mut up = Some(*parent);
        while let Some(pid) = up.filter(|pid| *pid > 1) {
            if u32::try_from(pid) == Ok(host) {
                return is_python.then_some(*parent);
            }
            up = parent_of(pid);
        }
        None
    })
}

#[test]
fn limits_hold_in_a_warm_interpreter_each_by_its_evidence() {
    let Some(project) = project() else { return };
    // One limit that can be hit at a time: a busy machine hits short ones on the way to the others.
    let with = |set: fn(&mut stockade::limits::Limits)| {
        let mut policy = Policy::shipped();
        policy.code_limits.wall = Duration::from_secs(120);
        set(&mut policy.code_limits);
        warmed(&project, Language::Python, policy)
    };
    let hit = |warm: &Stockade, source: &str| {
        let report = python(warm, source);
        (report["limit"].clone(), report)
    };
    let warm = with(|limits| limits.wall = Duration::from_millis(1500));
    let (limit, report) = hit(&warm, "import time\ntime.sleep(300)");
    assert_eq!((&limit, &report["exit_code"]), (&json!("wall"), &json!(-101)), "{report}");
    let warm = with(|limits| {
        limits.processes = Some(20);
        limits.flood = stockade::limits::ByteCount::mib(4);
    });
    let (limit, report) = hit(&warm, "while True: print('x' * 10000)");
    assert_eq!(limit, "output", "{report}");
    let forks = "import os, time\nfor _ in range(60):\n    if os.fork() == 0:\n        \
                 time.sleep(300)\ntime.sleep(300)";
    let (limit, report) = hit(&warm, forks);
    assert_eq!(limit, "processes", "{report}");
    let (limit, report) = hit(&warm, "import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)");
    assert_eq!((&limit, &report["signal"]), (&Value::Null, &json!(24)), "{report}");
    let (_, report) = hit(&warm, "open('big', 'wb').write(b'x' * (11 << 20))");
    assert!(text(&report, "stderr").contains("File too large"), "{report}");
    let (limit, report) = hit(&warm, "x = bytearray(600 << 20)\nprint(len(x))");
    assert_ne!(report["exit_code"], 0, "{report}");
    if kept(&report, "tree_limits") == "full" {
        assert_eq!(limit, "memory", "{report}");
    }
    let warm = with(|limits| limits.cpu = Some(Duration::from_secs(1)));
    let (limit, report) = hit(&warm, "while True: pass");
    assert_eq!(limit, "cpu", "{report}");
    let report = python(&warm, "print('well')");
    assert_eq!((&report["limit"], text(&report, "stdout")), (&Value::Null, "well\n"));
}

#[test]
fn a_file_that_is_to_be_hidden_and_comes_later_is_hidden() {
    let Some(project) = project() else { return };
    let mut policy = Policy::shipped();
    policy.files.hide = vec![".env".into()];
    let warm = warmed(&project, Language::Python, policy);
    let secret = project.path(".env");
    let source = format!("print(open({:?}).read())", secret.to_str().unwrap());
    std::fs::write(&secret, "canary").unwrap();
    for _ in 0..3 {
        let report = report_of(&warm.run(ToolCall::code(Language::Python, source.as_str())));
        assert!(!report.to_string().contains("canary\\n"), "{report}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn calls_at_once_take_what_waits_and_start_the_rest() {
    let Some(project) = project() else { return };
    let policy = Policy { code_warm: 2, ..Policy::shipped() };
    let warm = warmed(&project, Language::Python, policy);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let warm = &warm;
            scope.spawn(move || {
                for round in 0..10 {
                    let source = format!("print({thread}, {round})");
                    let report = report_of(&warm.run(ToolCall::code(Language::Python, source)));
                    assert_eq!(text(&report, "stdout"), format!("{thread} {round}\n"), "{report}");
                }
            });
        }
    });
    assert!(warm.interpreters().lent() > 0);
}

#[test]
fn without_a_pool_or_a_box_everything_is_cold() {
    let Some(project) = project() else { return };
    let none = project.open(Policy { code_warm: 0, ..Policy::shipped() });
    let cold = project.builder(Policy::shipped()).pool(PoolSize::NoTemplates).open().unwrap();
    for stockade in [none, cold] {
        for _ in 0..3 {
            let report = report_of(&stockade.run(ToolCall::code(Language::Python, "print(1)")));
            assert_eq!(text(&report, "stdout"), "1\n");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(stockade.interpreters().lent(), 0);
        assert_eq!(stockade.interpreters().waiting(Language::Python), 0);
    }
}

#[test]
fn node_waits_for_one_call_each_and_does_what_a_cold_one_does() {
    let Some(project) = project() else { return };
    if !node_runs(&project) {
        return;
    }
    let cold = project.open(Policy { code_warm: 0, ..Policy::shipped() });
    let warm = warmed(&project, Language::Node, Policy::shipped());
    for source in [
        "console.log(1)",
        "console.log(process.argv[1], __filename, require('fs').readFileSync(0, 'utf8') === '')",
        "process.exit(7)",
        "console.log(require('fs').readdirSync('.'), process.cwd())",
        "setTimeout(() => console.log('later'), 20)",
    ] {
        let expected = report_of(&cold.run(ToolCall::code(Language::Node, source)));
        let seen = run_warm(&warm, Language::Node, source);
        assert_same(source, seen, expected);
    }
    let report = run_warm(&warm, Language::Node, "throw new Error('so')");
    assert_eq!(report["exit_code"], 1);
    assert!(text(&report, "stderr").contains("Error: so"), "{report}");
}

#[test]
fn hundreds_of_warm_calls_leave_nothing() {
    let Some(project) = project() else { return };
    let warm = warmed(&project, Language::Python, Policy::shipped());
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let call = || {
        let report = warm.run(ToolCall::code(Language::Python, "print(1)"));
        assert!(report.ok(), "{report:?}");
    };
    (0..20).for_each(|_| call());
    let before = (descriptors(), memory_of_driver());
    (0..300).for_each(|_| call());
    std::thread::sleep(Duration::from_millis(100));
    let after = (descriptors(), memory_of_driver());
    assert!(warm.interpreters().lent() > 250, "{}", warm.interpreters().lent());
    // Other tests open files too, for a while.
    let is_flat = || descriptors() < before.0 + 60;
    assert!(eventually(Duration::from_secs(30), is_flat), "{before:?} {after:?}");
    if let (Some(before), Some(after)) = (before.1, after.1) {
        assert!(after < before + 2048, "{before} KiB, then {after} KiB");
    }
}

/// Resident memory of an interpreter that waits, in KiB.
fn memory_of_driver() -> Option<u64> {
    let pid = driver_of(std::process::id())?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
