//! Names that must not be made: refused in every way, while honest work goes on.

use std::fs;
use std::io::{Write, stderr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use stockade_sandbox::{Attest, Errno, Jail, Mechanism, StartError, Status, Step, start_jailed};
use tempfile::TempDir;

use crate::boxes::{project, run};
use crate::broker_calls::attacker;
use crate::roles::{payload, said};
use crate::support::{finish, shell, spec, text};

/// A folder with a project in it, which everybody may look into.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A sandbox that may write a folder, but not make these names in it.
pub(crate) fn without(folder: &Path, names: &[&str]) -> Jail {
    let mut jail = project(folder);
    let path = |name: &&str| text(folder.join(name).to_str().unwrap());
    jail.forbidden = names.iter().map(path).collect();
    jail
}

/// What a line of shell prints in a folder, with these names forbidden.
fn says(folder: &Path, names: &[&str], line: &str) -> String {
    let (_, out, err) = run(without(folder, names), line);
    format!("{out}{err}")
}

#[test]
fn ordinary_names_are_made_and_a_forbidden_one_is_not() {
    let folder = folder();
    let line = "echo a > made && cat made; echo b > .mcp.json; ls -A; echo $?";
    let (_, out, err) = run(without(folder.path(), &[".mcp.json"]), line);
    assert_eq!(out, "a\nmade\n0\n", "{err}");
    assert!(err.contains("Permission denied"), "{err}");
}

/// Ways to a path whose folders are missing too. The folders themselves are honest.
const DEEP: [&str; 15] = [
    "mkdir -p a/b && echo x > a/b/c",
    "mkdir -p p/b && echo x > p/b/c && mv p a",
    "mkdir -p p/b a && echo x > p/b/c && mv p/b a/b",
    "mkdir -p p/b a && echo x > p/b/c && mv -T p a",
    "mkdir -p p/b && echo x > p/b/c && ln -s p a",
    "mkdir -p p/b && ln -s p l && mv -T l a && echo x > p/b/c",
    "mkdir -p p/b a && ln -s ../p/b a/b && echo x > p/b/c",
    "mkdir -p a/b && mv a q && echo x > q/b/c && mv q a",
    "mkdir -p a/b && mv a q && mkdir -p a && mv q/b a/b2 && echo x > a/b2/c && mv a/b2 a/b",
    "mkdir -p a/b && rmdir a/b && mkdir a/b && echo x > a/b/c",
    "mkdir -p a/b && mv a q && mkdir -p a/b && echo x > a/b/c",
    "mkdir -p a/b && cd a/b && echo x > c",
    "mkdir -p a/b && mkfifo a/b/c || mkdir a/b/c || ln -s x a/b/c || ln f a/b/c",
    "mkdir -p p/b && echo x > p/b/c && chmod 0 p/b && mv p a; chmod 700 a/b",
    "mkdir -m 0 a; chmod 700 a; mkdir -m 0 a/b; chmod 700 a/b; echo x > a/b/c",
];

#[test]
fn a_path_with_missing_folders_cannot_be_made_though_its_folders_can() {
    for line in DEEP {
        let control = folder();
        fs::write(control.path().join("f"), "").unwrap();
        run(project(control.path()), line);
        assert!(control.path().join("a/b/c").symlink_metadata().is_ok(), "control: {line}");
        let folder = folder();
        fs::write(folder.path().join("f"), "").unwrap();
        let (_, out, err) = run(without(folder.path(), &["a/b/c"]), line);
        assert!(folder.path().join("a/b/c").symlink_metadata().is_err(), "{line}: {out}{err}");
    }
    let folder = folder();
    let line = "mkdir -p a/b && echo x > a/b/d && mv a/b/d a/e && mkdir p && mv p a/p && ls a a/b";
    assert_eq!(says(folder.path(), &["a/b/c"], line), "a:\nb\ne\np\n\na/b:\n");
}

#[test]
fn folders_that_come_and_go_do_not_fill_the_list() {
    let line = "i=0; while [ $i -lt 1000 ]; do mkdir a && rmdir a || exit 1; i=$((i+1)); done; \
                mkdir a; echo x > a/b || echo refused";
    let folder = folder();
    let said = says(folder.path(), &["a/b"], line);
    assert!(said.starts_with("refused\n"), "{said}");
}

#[test]
fn two_names_are_exchanged_only_if_both_may_have_what_they_get() {
    let line = "mkdir -p a x/b && echo 1 > x/b/c && mkdir f g && python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def swap(one, other):
    done = libc.renameat2(-100, one, -100, other, 2)
    print(one.decode(), other.decode(), ctypes.get_errno() if done else 0)
swap(b\"f\", b\"g\")
swap(b\"a\", b\"x\")
swap(b\"x\", b\"a\")
swap(b\"a\", b\"f\")
'";
    let folder = folder();
    assert_eq!(says(folder.path(), &["a/b/c"], line), "f g 0\na x 13\nx a 13\na f 0\n");
}

#[test]
fn permissions_are_those_of_the_caller() {
    let folder = folder();
    let line = "umask 027; echo > a; mkdir b; mkfifo c; umask 0; echo > d; mkdir e; \
                (umask 077; echo > f); stat -c '%n %a' a b c d e f";
    let free = run(project(folder.path()), &format!("{line}; rm -rf a b c d e f")).1;
    assert_eq!(free, "a 640\nb 750\nc 640\nd 666\ne 777\nf 600\n");
    assert_eq!(says(folder.path(), &["x"], line), free);
}

#[test]
fn descriptors_of_the_program_itself_can_be_opened_by_name() {
    let folder = folder();
    let line = "echo one > /dev/stdout; echo two > /proc/self/fd/1; echo three > /dev/null; \
                exec 5>made; echo four > /dev/fd/5; cat made; echo five > /dev/fd/7; \
                echo renamed > /proc/self/comm && cat /proc/$$/comm";
    let said = says(folder.path(), &["x"], line);
    assert!(said.starts_with("one\ntwo\nfour\nrenamed\n"), "{said}");
    assert!(said.contains("/dev/fd/7"), "{said}");
}

#[test]
fn nothing_of_other_processes_is_opened_for_the_program() {
    let folder = folder();
    // The broker may look at all of these; the program may look at none.
    let line = "sleep 60 & p=$!; for f in /proc/1/mem /proc/1/fd/0 /proc/1/cwd/made /proc/1/root/tmp/made \
                /proc/1/environ /proc/$p/cwd/made /proc/1/task/1/mem /proc/1/oom_score_adj; do \
                (exec 3>>$f) 2>/dev/null && echo opened $f; (exec 3<>$f) 2>/dev/null && echo opened $f; \
                done; cd /proc/1 && (exec 3<>mem) && echo opened; kill $p; echo done";
    let (_, out, err) = run(without(folder.path(), &["x"]), line);
    assert_eq!(out, "done\n", "{err}");
}

#[test]
fn a_pipe_that_nobody_reads_keeps_only_its_writer_waiting() {
    let folder = folder();
    let line = "mkfifo p q; (echo through > p) & (cat < q > got) & echo x > made; sleep 0.1; \
                cat p; echo > q; wait; timeout 0.2 sh -c 'echo lost > p'; echo $?; ls";
    assert_eq!(says(folder.path(), &["x"], line), "through\n124\ngot\nmade\np\nq\n");
}

#[test]
fn a_program_that_is_written_can_be_executed_at_once() {
    let folder = folder();
    let line = "i=0; while [ $i -lt 300 ]; do printf '#!/bin/sh\\nexit 0\\n' > s; chmod +x s; ./s || exit 9; \
                cp /bin/true t; ./t || exit 8; rm s t; i=$((i+1)); done; echo fine";
    assert_eq!(says(folder.path(), &["x"], line), "fine\n");
}

#[test]
fn a_name_that_is_there_already_and_a_link_on_the_way_end_the_launch() {
    let folder = folder();
    fs::write(folder.path().join("there"), "").unwrap();
    std::os::unix::fs::symlink("elsewhere", folder.path().join("link")).unwrap();
    for (name, errno) in [("there", Errno::EXIST), ("link/x", Errno::LOOP)] {
        let error = start_jailed(shell("touch ran"), without(folder.path(), &[name])).map(drop);
        assert_eq!(error, Err(StartError { step: Step::LearnNames, errno }), "{name}");
    }
    let mut jail = without(folder.path(), &["x"]);
    jail.filter = None;
    let error = start_jailed(shell("touch ran"), jail).map(drop);
    assert_eq!(error, Err(StartError { step: Step::PrepareBox, errno: Errno::INVAL }));
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn the_broker_is_seen_and_leaves_the_program_nothing() {
    let folder = folder();
    let mut jail = without(folder.path(), &["x"]);
    jail.attest = Attest::BeforeExecution;
    let line = "ls /proc/self/fd | wc -l; kill -9 1; kill -STOP 1; echo y > y && cat y; set -- /proc/[0-9]*; echo $#";
    let mut run = start_jailed(shell(line), jail).unwrap();
    assert!(run.attested().unwrap().kept.contains(&Mechanism::Broker));
    let (ended, out, err) = finish(&mut run);
    // Three streams and the folder itself; the shell.
    assert_eq!((ended.status, out.as_str()), (Status::Code(0), "4\ny\n1\n"), "{err}");
}

/// Real tools, which make thousands of names.
const WORK: [(&str, &str); 6] = [
    ("git", "git init -q r && cd r && git config user.email a@b && git config user.name c && \
             for i in 1 2 3 4 5; do echo $i > f$i; done && git add . && git commit -qm one && \
             git checkout -qb two && git mv f1 g1 && git commit -qam two && git gc -q && \
             git clone -q . ../s && git worktree add -q ../t main 2>/dev/null || \
             git worktree add -q ../t master && git -C ../s log --format=%s"),
    ("python3", "python3 -c '
import os, tempfile, socket, shutil, sqlite3, subprocess, multiprocessing
with tempfile.TemporaryDirectory(dir=\".\") as d:
    for i in range(2000):
        with open(os.path.join(d, str(i)), \"x\") as f: f.write(\"x\")
    os.makedirs(d + \"/a/b/c\"); shutil.copytree(d, d + \"-copy\"); shutil.rmtree(d + \"-copy\")
    fd, name = tempfile.mkstemp(dir=d); os.replace(name, d + \"/replaced\")
    with tempfile.TemporaryFile(dir=d) as f: f.write(b\"x\")
    s = socket.socket(socket.AF_UNIX); s.bind(d + \"/sock\"); s.listen()
    c = socket.socket(socket.AF_UNIX); c.connect(d + \"/sock\")
    sqlite3.connect(d + \"/db\").execute(\"create table t (a)\").connection.commit()
with multiprocessing.Pool(4) as pool: print(sum(pool.map(len, [\"a\"] * 100)))
'"),
    ("gcc", "printf 'int main(){return 0;}\\n' > m.c && gcc -o m m.c && ./m && echo built"),
    ("make", "printf 'all: a b\\na b:\\n\\ttouch $@\\n' > Makefile && make -sj4 && ls a b"),
    ("tar", "mkdir -p d/e && seq 500 | while read i; do echo $i > d/e/$i; done && ln -s e d/l && \
             ln d/e/1 d/hard && tar cf t.tar d && mkdir o && tar xf t.tar -C o && diff -r d o/d && \
             cp -a d d2 && mv d2/e d2/f && rm -r d2 && echo same"),
    ("node", "node -e '
const fs = require(\"fs\"), net = require(\"net\");
fs.mkdirSync(\"n/a/b\", {recursive: true});
for (let i = 0; i < 500; i++) fs.writeFileSync(`n/${i}`, \"x\");
Promise.all([...Array(200).keys()].map(i => fs.promises.rename(`n/${i}`, `n/a/${i}`)))
  .then(() => net.createServer().listen(\"n/s\", function () { console.log(fs.readdirSync(\"n/a\").length); this.close(); }));
'"),
];

#[test]
fn honest_work_goes_on() {
    for (tool, line) in WORK {
        let folders = ["/usr/bin", "/usr/local/bin", "/bin"];
        if !folders.iter().any(|folder| fs::exists(format!("{folder}/{tool}")).unwrap()) {
            writeln!(stderr(), "skipped: {tool} is not installed").unwrap();
            continue;
        }
        let (free, held) = (folder(), folder());
        let line = format!("export HOME=$PWD; {line}");
        let (control, expected, problem) = run(project(free.path()), &line);
        assert_eq!(control.status, Status::Code(0), "{tool}: {problem}");
        let names = [".mcp.json", ".git/hooks", ".git/config", "deep/down/x"];
        let (ended, out, err) = run(without(held.path(), &names), &line);
        assert_eq!((ended.status, out), (Status::Code(0), expected), "{tool}: {err}");
    }
}

#[test]
fn signals_and_kills_disturb_nobody() {
    let line = "python3 -c '
import os, signal, subprocess, time
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
for i in range(3000):
    os.close(os.open(f\"f{i}\", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
signal.setitimer(signal.ITIMER_REAL, 0)
for i in range(60):
    child = subprocess.Popen([\"sh\", \"-c\", \"while :; do echo > a; mv a b; mkdir -p c; done\"], stderr=subprocess.DEVNULL)
    time.sleep(0.003); child.kill(); child.wait()
os.mkdir(\"last\"); print(len([f for f in os.listdir() if f[0] == \"f\"]))
'";
    let folder = folder();
    assert_eq!(says(folder.path(), &["x"], line), "3000\n");
}

#[test]
fn a_box_that_makes_names_without_end_is_killed_at_once() {
    let folder = folder();
    let line = "for i in 1 2 3 4; do while :; do echo > a$i; done & done; echo; wait";
    let mut run = start_jailed(shell(line), without(folder.path(), &["x"])).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let ordered = Instant::now();
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(ordered.elapsed() < Duration::from_secs(120), "{:?}", ordered.elapsed());
}

/// Threads that change the path in memory and move folders and links about, meanwhile.
#[test]
fn no_race_makes_a_forbidden_name() {
    let folder = folder();
    let mut run = start_jailed(
        payload("broker-race"),
        attacker(folder.path(), &[".mcp.json", "real/secret"]),
    )
    .unwrap();
    let (ended, out, err) = finish(&mut run);
    assert_eq!(ended.status, Status::Code(0), "{out}{err}");
    let made = |name| said(&out, name).parse::<u32>().unwrap();
    // The others of the pair were made: the race was run.
    assert!(made("harmless") > 100, "{out}");
    assert_eq!(made("forbidden"), 0, "{out}");
    assert!(!folder.path().join(".mcp.json").exists());
    assert!(!folder.path().join("real/secret").exists());
}

/// One sandbox makes the name while another moves its folder into place.
#[test]
fn two_boxes_on_one_project_cannot_make_it_together() {
    let folder = folder();
    let names = ["real/secret"];
    let mover = "i=0; while [ ! -e stop ]; do mv real aside; mv aside real; done 2>/dev/null";
    fs::create_dir(folder.path().join("aside")).unwrap();
    let mut mover = start_jailed(shell(mover), without(folder.path(), &names)).unwrap();
    let maker = "i=0; while [ $i -lt 3000 ]; do echo x > aside/secret; [ -e real/secret ] && echo made; \
                 rm -f aside/secret; i=$((i+1)); done 2>/dev/null; echo > stop";
    let (_, out, err) = run(without(folder.path(), &names), maker);
    assert_eq!(out, "", "{err}");
    mover.wait().unwrap();
    assert!(!folder.path().join("real/secret").exists());
}

#[test]
fn what_a_name_costs() {
    let cost = |jail: Jail| {
        let (_, out, err) = finish(&mut start_jailed(payload("broker-costs"), jail).unwrap());
        assert!(out.contains("open="), "{out}{err}");
        ["open", "mkdir", "rename", "existing"].map(|name| said(&out, name).parse::<f64>().unwrap())
    };
    let (free, held) = (folder(), folder());
    let free = cost(attacker(free.path(), &[]));
    let held = cost(attacker(held.path(), &[".mcp.json", ".git/hooks"]));
    writeln!(stderr(), "a name in us, without and with a broker: {free:?} {held:?}").unwrap();
    // Far above what it is, for other tests run at the same time.
    assert!(held.into_iter().all(|cost| cost < 10_000.0), "{held:?}");
}

#[test]
fn a_box_with_a_broker_starts_from_a_program_too() {
    let folder = folder();
    let mut jail = without(folder.path(), &["x"]);
    jail.program = text("/bin/true");
    let ended = start_jailed(spec("/bin/true", &[]), jail).unwrap().wait().unwrap();
    assert_eq!(ended.status, Status::Code(0));
}
