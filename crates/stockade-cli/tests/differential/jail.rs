//! A project full of programs that do nothing, and the jail in which lines run there.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stockade::ToolCall;
use stockade::gate::{Examination, Examiner};
use stockade::inspect::Root;
use stockade::policy::Policy;

use crate::grammar::PROGRAMS;
use crate::trace::{self, Executed};

/// Lines that run one after the other in one box.
pub(crate) const BATCH: usize = 50;

/// Runs every line by a bash of its own, and then lets what it left running come to its end.
const RUNNER: &str = r#"mapfile -d '' lines < ../batch
exec 9<> <(:)
wait $!
others=(/proc/[0-9]*)
own=${#others[@]}
for n in "${!lines[@]}"; do
  cd "../l$n" || exit 1
  timeout -s KILL 4 bash -c "${lines[n]}" < /dev/null > /dev/null 2>&1 9>&-
  for ((round = 0; round < 60; round++)); do
    others=(/proc/[0-9]*)
    ((${#others[@]} <= own)) && continue 2
    read -rt 0.005 -u 9
  done
  kill -KILL -1
done
exit 0
"#;

/// How lines are brought into a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Many into one, whatever the gate says to them.
    Packed,
    /// Each as a call of its own, through the gate.
    Called,
}

/// A project with its programs.
pub(crate) struct Jail {
    folder: tempfile::TempDir,
    examiner: Examiner,
}

impl Jail {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "work/bin", "work/l", "home", "state", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let work = folder.path().join("work");
        for sort in ["m", "d"] {
            for number in 0..PROGRAMS + 2 {
                let name = format!("{sort}{number:03}");
                program(&work.join("bin").join(name), u8::try_from(number % 2).unwrap());
            }
        }
        for number in 0..10 {
            program(&work.join("bin").join(number.to_string()), 0);
        }
        let search = [&work.join("bin").to_string_lossy(), "/usr/bin", "/bin"].map(str::to_owned);
        let policy = format!(
            "[exec]\nsearch_path = {search:?}\n[box]\nenv = [\"FUNCNEST=40\"]\n\
             [limits]\nwall = \"240s\"\n"
        );
        fs::write(folder.path().join("policy.toml"), &policy).unwrap();
        fs::write(work.join("run.sh"), RUNNER).unwrap();
        let policy = Policy::from_text(Path::new("policy.toml"), &policy).unwrap();
        let examiner = Examiner::new(Root::open(&work).unwrap(), policy);
        let jail = Self { folder, examiner };
        jail.clean();
        jail
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folders in which lines run, as they are at first.
    fn clean(&self) {
        for number in 0..BATCH {
            let folder = self.beside("work").join(format!("l{number}"));
            if folder.exists() {
                fs::remove_dir_all(&folder).unwrap();
            }
            fs::create_dir_all(folder.join("sub")).unwrap();
            symlink("../bin", folder.join("bin")).unwrap();
        }
    }

    /// What the gate says to the lines of a batch, each in its own folder.
    pub(crate) fn examined(&self, texts: &[String]) -> Vec<Examination> {
        let examined = |(number, text): (usize, &String)| {
            self.examiner.examine(&ToolCall::line(text).in_folder(format!("l{number}")))
        };
        texts.iter().enumerate().map(examined).collect()
    }

    /// The programs that the lines of a batch execute, by the number of the line.
    pub(crate) fn executed(&self, way: Way, texts: &[String]) -> HashMap<usize, Vec<Executed>> {
        assert!(texts.len() <= BATCH);
        self.clean();
        let notes = self.beside("notes");
        let notes = notes.to_str().unwrap();
        let mut command = Command::new("strace");
        command.args(["-f", "-v", "-s", "20000", "--seccomp-bpf", "-e", "signal=none"]);
        command.args(["-e", "trace=execve,execveat", "-o", notes]);
        command.arg(env!("CARGO_BIN_EXE_stockade"));
        let numbered = texts.iter().enumerate().map(|(n, text)| trace::begin(n) + text);
        match way {
            Way::Packed => {
                let batch: Vec<u8> = numbered.flat_map(|text| (text + "\0").into_bytes()).collect();
                fs::write(self.beside("work/batch"), batch).unwrap();
                command.args(["run", "--json", "--cwd", "l"]);
                self.finish(&mut command, &["--", "bash", "../run.sh"]);
            }
            Way::Called => {
                let call = |(n, text): (usize, String)| {
                    let (input, cwd) = (serde_json::json!({"command": text}), format!("l{n}"));
                    let call = serde_json::json!({"tool": "Bash", "cwd": cwd, "input": input});
                    format!("{call}\n")
                };
                let calls: String = numbered.enumerate().map(call).collect();
                fs::write(self.beside("calls"), calls).unwrap();
                command.args(["call", "--timeout", "5s"]);
                self.finish(&mut command, &[self.beside("calls").to_str().unwrap()]);
            }
        }
        trace::by_line(&fs::read_to_string(notes).unwrap())
    }

    fn finish(&self, command: &mut Command, rest: &[&str]) {
        let output = command
            .args(["--tier", "jail", "--root", ".", "--policy"])
            .arg(self.beside("policy.toml"))
            .args(rest)
            .current_dir(self.beside("work"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.beside("home"))
            .env("XDG_STATE_HOME", self.beside("state"))
            .env("TMPDIR", self.beside("tmp"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// Writes a program that ends at once with a status: the smallest there is, so that it costs little.
fn program(path: &Path, status: u8) {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    #[cfg(target_arch = "x86_64")]
    let (machine, code): (u16, Vec<u8>) =
        (62, vec![0xbf, status, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05]);
    #[cfg(target_arch = "aarch64")]
    let (machine, code): (u16, Vec<u8>) = {
        let exit = 0xd280_0000_u32 | (93 << 5) | 8;
        let words = [0xd280_0000_u32 | (u32::from(status) << 5), exit, 0xd400_0001];
        (183, words.iter().flat_map(|word| word.to_le_bytes()).collect())
    };
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let size = HEADERS + u64::try_from(code.len()).unwrap();
    let halves = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let longs = |file: &mut Vec<u8>, values: &[u64]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    // An executable of this machine, entered behind its headers; the one segment is all of it.
    halves(&mut file, &[2, machine, 1, 0]);
    longs(&mut file, &[BASE + HEADERS, 64, 0]);
    halves(&mut file, &[0, 0, 64, 56, 1, 0, 0, 0]);
    halves(&mut file, &[1, 0, 5, 0]);
    longs(&mut file, &[0, BASE, BASE, size, size, 0x1000]);
    file.extend(code);
    fs::write(path, file).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
