//! Interpreters, compilers and shells, doing what they are used for.

use crate::support::{as_everybody, has};

#[test]
fn python_with_venv_processes_threads_and_databases() {
    if !has("python3") {
        return;
    }
    let script = r"
import asyncio, json, multiprocessing, os, sqlite3, ssl, subprocess, sys, tempfile, threading, venv
def square(n):
    return n * n
if __name__ == '__main__':
    venv.create('env', with_pip=False, symlinks=True)
    told = subprocess.run(['env/bin/python', '-c', 'import sys; print(sys.prefix != sys.base_prefix)'],
                          capture_output=True, text=True, check=True).stdout.strip()
    with multiprocessing.Pool(3) as pool:
        squares = sum(pool.map(square, range(20)))
    lock, counted = multiprocessing.Lock(), multiprocessing.Value('i', 0)
    database = sqlite3.connect('data.db')
    database.execute('create table t (a integer)')
    database.executemany('insert into t values (?)', [(n,) for n in range(5)])
    database.commit()
    rows = database.execute('select sum(a) from t').fetchone()[0]
    threads = [threading.Thread(target=lambda: None) for _ in range(20)]
    [t.start() for t in threads], [t.join() for t in threads]
    async def child():
        process = await asyncio.create_subprocess_exec('echo', 'async', stdout=subprocess.PIPE)
        return (await process.communicate())[0].decode().strip()
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, 'x'), 'w').write('x')
    print(json.dumps([told, squares, rows, asyncio.run(child())]))
";
    as_everybody(|somebody| {
        somebody.write("work.py", script);
        let told = somebody.boxed(&["--", "python3", "work.py"]);
        assert_eq!(told, "[\"True\", 2470, 10, \"async\"]\n", "{:?}", somebody.who);
        assert!(somebody.path("data.db").exists() && somebody.path("env/pyvenv.cfg").exists());
    });
}

#[test]
fn node_with_workers_and_children() {
    if !has("node") {
        return;
    }
    let script = r"
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync } = require('child_process');
const fs = require('fs'), os = require('os'), path = require('path'), crypto = require('crypto');
if (!isMainThread) {
  parentPort.postMessage(workerData * 2);
} else {
  const asked = [1, 2, 3].map((n) => new Promise((done, failed) => {
    const worker = new Worker(__filename, { workerData: n });
    worker.on('message', done).on('error', failed);
  }));
  Promise.all(asked).then((told) => {
    const child = execFileSync(process.execPath, ['-p', '6 * 7']).toString().trim();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'x-'));
    fs.writeFileSync(path.join(folder, 'f'), 'x');
    const hash = crypto.createHash('sha256').update('x').digest('hex').slice(0, 8);
    console.log(JSON.stringify([told, child, hash]));
  });
}
";
    as_everybody(|somebody| {
        somebody.write("work.js", script);
        // Workers reserve address space, which is what is limited where there is no cgroup.
        let told = somebody.boxed(&["--memory", "16G", "--", "node", "work.js"]);
        assert_eq!(told, "[[2,4,6],\"42\",\"2d711642\"]\n", "{:?}", somebody.who);
    });
}

#[test]
fn bash_with_all_that_scripts_use() {
    let script = r#"
set -euo pipefail
declare -A ages=([a]=1 [b]=2)
diff <(printf 'x\ny\n') <(printf 'x\nz\n') > changes || true
cat > here <<END
${#ages[@]} $(( 6 * 7 ))
END
( sleep 0.05; echo late ) & wait $!
trap 'echo bye' EXIT
mapfile -t lines < here
echo "${lines[0]}" | tee copied | tr ' ' '-'
[[ -s changes && $(<copied) == '2 42' ]]
coproc cat; echo through >&"${COPROC[1]}"; read -r back <&"${COPROC[0]}"; echo "$back"
"#;
    as_everybody(|somebody| {
        somebody.write("work.sh", script);
        assert_eq!(somebody.boxed(&["--", "bash", "work.sh"]), "late\n2-42\nthrough\nbye\n");
    });
}

#[test]
fn make_and_gcc_build_and_run_a_program() {
    if !has("make") || !has("gcc") {
        return;
    }
    let makefile = "all: run\nrun: main.o part.o libshared.so\n\tgcc -o $@ main.o part.o -L. -lshared \
                    -lpthread -Wl,-rpath,'$$ORIGIN'\nlibshared.so: shared.c\n\tgcc -shared -fPIC -o $@ $<\n\
                    %.o: %.c\n\tgcc -O2 -g -c -o $@ $<\ntest: run\n\t./run\n";
    as_everybody(|somebody| {
        somebody.write("Makefile", makefile);
        somebody.write(
            "main.c",
            "#include <pthread.h>\n#include <stdio.h>\nint part(int); int shared(int);\n\
             static void *in_thread(void *n) { *(int *)n = part(*(int *)n); return 0; }\n\
             int main(void) { int n = 20; pthread_t t; pthread_create(&t, 0, in_thread, &n);\n\
             pthread_join(t, 0); printf(\"%d\\n\", shared(n)); return 0; }\n",
        );
        somebody.write("part.c", "int part(int n) { return n + 1; }\n");
        somebody.write("shared.c", "int shared(int n) { return 2 * n; }\n");
        let told = somebody.boxed(&["--", "make", "-s", "-j2", "test"]);
        assert_eq!(told, "42\n", "{:?}", somebody.who);
        assert_eq!(
            somebody.control("./run"),
            "42\n",
            "what it built is there and runs outside too"
        );
    });
}

#[test]
fn perl_with_children_and_temporary_files() {
    if !has("perl") {
        return;
    }
    let script = r"
use strict; use warnings; use POSIX ();
use File::Temp qw(tempfile); use File::Find; use Socket; use Digest::SHA qw(sha256_hex);
my ($file, $name) = tempfile(UNLINK => 1); print $file 'x'; close $file;
my $told = `echo child`; chomp $told;
socketpair(my $near, my $far, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
my $pid = fork // die; if (!$pid) { syswrite $far, 'piped'; POSIX::_exit(3) } waitpid $pid, 0;
sysread $near, my $read, 5; my $count = 0; find(sub { $count++ }, '/etc');
print join(' ', $told, $? >> 8, $read, -s $name, $count > 10, substr(sha256_hex('x'), 0, 8)), qq(\n);
";
    as_everybody(|somebody| {
        somebody.write("work.pl", script);
        assert_eq!(somebody.boxed(&["--", "perl", "work.pl"]), "child 3 piped 1 1 2d711642\n");
    });
}
