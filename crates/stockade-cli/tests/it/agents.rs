//! A whole agent in the sandbox: what it has of the home folder, and what of its changes is kept. The agents
//! here are scripts that try what an agent that was taken over would try.

mod real;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stockade::policy::agents::AgentProfile;

use crate::support::{Project, Told, copy_program, eventually, marked, marker, write_script};

/// What a script writes where it must not.
const EVIL: &str = "evil";

/// A project, a home and a copy of `stockade`, all of one user.
struct Scene {
    project: Project,
    is_nobody: bool,
}

impl Scene {
    /// For each user that the tests can be.
    fn each(test: impl Fn(&Self)) {
        test(&Self::new(false));
        if rustix::process::geteuid().is_root() {
            test(&Self::new(true));
        }
    }

    fn new(is_nobody: bool) -> Self {
        let project = if is_nobody { Project::of_user(65534) } else { Project::new() };
        copy_program(env!("CARGO_BIN_EXE_stockade"), project.beside("stockade"));
        fs::create_dir(project.beside("bin")).unwrap();
        Self { project, is_nobody }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.project.beside("home").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.home(name).parent().unwrap()).unwrap();
        fs::write(self.home(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Installs an agent, outside of the system's folders as agents are.
    fn agent(&self, name: &str, script: &str) {
        write_script(self.project.beside("bin").join(name), script);
        if self.is_nobody {
            let folder = self.project.beside("");
            let owner = Command::new("chown").args(["-hR", "65534:65534"]).arg(folder).status();
            assert!(owner.unwrap().success());
        }
    }

    /// A command of the user.
    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = if self.is_nobody {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let usual = self.project.command(&[]);
        let variables = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let path = format!("{}:/usr/bin:/bin", self.project.beside("bin").display());
        command
            .args(args)
            .env_clear()
            .envs(variables)
            .env("PATH", path)
            .current_dir(self.project.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn stockade(&self, args: &[&str]) -> Told {
        Told::from(self.command(&self.project.beside("stockade"), args).output().unwrap())
    }

    /// The agent in the sandbox.
    fn enter(&self, name: &str, args: &[&str]) -> Told {
        self.stockade(&[&["enter", "--", name], args].concat())
    }

    /// The agent as it is without.
    fn bare(&self, name: &str, args: &[&str]) -> Told {
        let program = self.project.beside("bin").join(name);
        Told::from(self.command(&program, args).output().unwrap())
    }

    /// All that is in the home folder: files with their content, links with where they lead.
    fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut left = vec![self.home("")];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                let text = if kind.is_symlink() {
                    format!("-> {}", fs::read_link(&path).unwrap().display())
                } else if kind.is_dir() {
                    left.push(path.clone());
                    "/".to_owned()
                } else {
                    fs::read_to_string(&path).unwrap()
                };
                found.insert(path.strip_prefix(self.home("")).unwrap().to_owned(), text);
            }
        }
        found
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stockade(&["kill", "enter"]);
        let runtime = format!("XDG_RUNTIME_DIR={}", self.project.runtime().display());
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let has = |bytes: Vec<u8>, wanted: &str| {
                bytes.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes())
            };
            if has(read("cmdline"), "session-host") && has(read("environ"), &runtime) {
                let pid = entry.file_name().to_str().unwrap().parse().unwrap();
                let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).is_err();
            }
        }
    }
}

/// Tries every way to change something of the agent's folder, by each of its names, and the file beside.
const ATTACK: &str = r#"#!/bin/bash
real=$1; folder=$2; shift 2
try() { # a place
  mkdir -p "$1" && echo evil > "$1/evil"
  [ -d "$1" ] || { echo evil > "$1"; echo evil >> "$1"; }
  mv "$1" "$1.aside" && mkdir "$1" && echo evil > "$1/evil"
  rm -rf "$1"; echo evil > "$1"
  echo evil > "$1.new"; mv -f "$1.new" "$1"
  ln -sf "$1" "$written/link" && echo evil > "$written/link"
  ln "$1" "$written/hard" && echo evil > "$written/hard"
}
for home in "$HOME" "$real"; do
  written=$home/$folder/${WRITTEN:-none}
  for name; do try "$home/$folder/$name"; done
done
echo evil > "$real/.bashrc"
echo evil > "$real/$folder-beside"
mv "$real/$folder" "$real/$folder.aside"
exit 0
"#;

#[test]
fn what_an_agent_runs_later_cannot_be_changed_or_made_whatever_its_name_is() {
    Scene::each(|scene| {
        for name in AgentProfile::names() {
            let profile = AgentProfile::named(name).unwrap().unwrap();
            let folder = &profile.folder;
            // Every second one is there, as a file or as a folder; and some that no list has.
            let unlisted = ["statusline.sh".to_owned(), "unheard-of".to_owned()];
            let names: Vec<&String> = profile.protect.iter().chain(&unlisted).collect();
            for (at, name) in names.iter().enumerate() {
                match at % 3 {
                    0 => scene.write(&format!("{folder}/{name}"), "mine"),
                    1 => scene.write(&format!("{folder}/{name}/file"), "mine"),
                    _ => {}
                }
            }
            for written in &profile.write {
                fs::create_dir_all(scene.home(&format!("{folder}/{written}"))).unwrap();
            }
            scene.write(".bashrc", "mine");
            let program = profile.programs.first().unwrap();
            scene.agent(program, ATTACK);
            let real = scene.home("").display().to_string();
            let real = real.trim_end_matches('/');
            let mut args = vec![real, folder.as_str()];
            args.extend(names.iter().map(|name| name.as_str()));
            let before = scene.snapshot();
            let told = scene.enter(program, &args);
            assert_eq!(told.code, 0, "{name}: {told:?}");
            assert!(told.stderr.contains(&format!("profile of the agent {name}")), "{told:?}");
            assert_eq!(scene.snapshot(), before, "{name}: {told:?}");
            let absent = names.iter().enumerate().filter(|(at, _)| at % 3 == 2);
            for (_, name) in absent.filter(|(_, name)| profile.protect.contains(name)) {
                let path = scene.home(&format!("{folder}/{name}"));
                assert!(
                    told.stderr.contains(&format!("made {path:?}, which is not kept")),
                    "{told:?}"
                );
            }
            // Without the sandbox all of it can be done.
            let told = scene.bare(program, &args);
            assert_eq!(told.code, 0, "{told:?}");
            let aside = format!("{folder}.aside");
            let after = scene.snapshot();
            for name in &names {
                let changed = |(path, text): (&PathBuf, &String)| {
                    path.starts_with(Path::new(&aside).join(name)) && text.contains(EVIL)
                };
                assert!(after.iter().any(changed), "{name}: {after:?}");
            }
            assert_eq!(after.get(Path::new(".bashrc")).map(String::as_str), Some("evil\n"));
            fs::remove_dir_all(scene.home(&aside)).unwrap();
            scene.stockade(&["kill", "enter"]);
        }
    });
}

#[test]
fn an_agent_reads_its_settings_and_writes_its_conversations_and_credentials() {
    Scene::each(|scene| {
        for name in AgentProfile::names() {
            let profile = AgentProfile::named(name).unwrap().unwrap();
            let folder = &profile.folder;
            let program = profile.programs.first().unwrap();
            for (at, file) in profile.write_files.iter().enumerate() {
                if at % 2 == 0 {
                    scene.write(&format!("{folder}/{file}"), "old\n");
                }
            }
            scene.write(&format!("{folder}/statusline.sh"), "mine\n");
            let lists = [&profile.write, &profile.write_files].map(|list| list.join(" "));
            let [folders, files] = lists;
            let script = format!(
                "#!/bin/bash\nset -e\ncd ~/{folder}\ncat statusline.sh\nfor f in {folders}; do mkdir \
                 $f/sub; echo new > $f/sub/file; mv $f/sub/file $f/sub/moved; done\nfor f in {files}; \
                 do echo new >> $f; done\nmkdir cache-of-a-later-version\n"
            );
            scene.agent(program, &script);
            let told = scene.enter(program, &[]);
            assert_eq!((told.code, told.stdout.as_str()), (0, "mine\n"), "{name}: {told:?}");
            for written in &profile.write {
                assert_eq!(scene.read(&format!("{folder}/{written}/sub/moved")), "new\n", "{name}");
            }
            let owner = fs::metadata(scene.home("")).unwrap().uid();
            for (at, file) in profile.write_files.iter().enumerate() {
                let path = format!("{folder}/{file}");
                let expected = if at % 2 == 0 { "old\nnew\n" } else { "new\n" };
                assert_eq!(scene.read(&path), expected, "{name}: {file}: {told:?}");
                let found = fs::metadata(scene.home(&path)).unwrap();
                assert_eq!(found.uid(), owner, "{name}: {file}");
                assert!(at % 2 == 0 || found.permissions().mode() & 0o777 == 0o600, "{file}");
            }
            assert!(!scene.home(&format!("{folder}/cache-of-a-later-version")).exists());
            for new in &profile.write {
                let found = fs::metadata(scene.home(folder).join(new)).unwrap();
                assert_eq!(found.permissions().mode() & 0o777, 0o700, "{name}: {new}");
            }
            scene.stockade(&["kill", "enter"]);
        }
    });
}

/// Puts a configuration in place by a rename, as Claude Code does.
const CONFIGURES: &str = r#"#!/bin/bash
file=${CLAUDE_CONFIG_DIR:-$HOME}/.claude.json
cat "$file"
: > ready; while [ -e wait ]; do sleep 0.05; done
cp new.json "$file.tmp" && mv "$file.tmp" "$file"
"#;

#[test]
fn of_the_file_with_mcp_commands_only_harmless_keys_are_put_back() {
    Scene::each(|scene| {
        let root = scene.project.path(".").canonicalize().unwrap().display().to_string();
        let mine = json!({"numStartups": 1, "mcpServers": {"mine": {"command": "true"}},
            "projects": {root.as_str(): {"allowedTools": []}}});
        scene.write(".claude.json", &mine.to_string());
        let mut evil = mine.clone();
        evil["numStartups"] = json!(2);
        evil["mcpServers"] = json!({"evil": {"command": "sh"}});
        evil["projects"][&root] = json!({"allowedTools": ["Bash"], "hasTrustDialogAccepted": true,
            "hasCompletedProjectOnboarding": true});
        scene.project.write("new.json", &evil.to_string());
        scene.agent("claude", CONFIGURES);
        let told = scene.enter("claude", &[]);
        assert_eq!((told.code, told.stdout.as_str()), (0, mine.to_string().as_str()), "{told:?}");
        let mut expected = mine.clone();
        expected["numStartups"] = json!(2);
        expected["projects"][&root]["hasCompletedProjectOnboarding"] = json!(true);
        assert_eq!(scene.json(".claude.json"), expected, "{told:?}");
        for dropped in ["mcpServers", "allowedTools", "hasTrustDialogAccepted"] {
            assert!(told.stderr.contains(dropped), "{dropped}: {told:?}");
        }
        assert_eq!(scene.bare("claude", &[]).code, 0);
        assert_eq!(scene.json(".claude.json"), evil, "without the sandbox it is put there");
    });
}

#[test]
fn what_has_changed_on_the_machine_meanwhile_stays() {
    let scene = Scene::new(false);
    scene.write(".claude.json", r#"{"numStartups": 1, "theme": "light"}"#);
    scene.project.write("new.json", r#"{"numStartups": 2, "theme": "dark"}"#);
    scene.project.write("wait", "");
    scene.agent("claude", CONFIGURES);
    let program = scene.project.beside("stockade");
    let running = scene.command(&program, &["enter", "--", "claude"]).spawn().unwrap();
    let is_ready = || scene.project.path("ready").exists();
    assert!(eventually(Duration::from_secs(60), is_ready));
    scene.write(".claude.json", r#"{"numStartups": 9, "theme": "light", "mine": 1}"#);
    fs::remove_file(scene.project.path("wait")).unwrap();
    let told = Told::from(running.wait_with_output().unwrap());
    let expected = json!({"numStartups": 9, "theme": "dark", "mine": 1});
    assert_eq!((told.code, scene.json(".claude.json")), (0, expected), "{told:?}");
}

#[test]
fn a_hostile_copy_is_neither_followed_nor_waited_for() {
    let scene = Scene::new(false);
    let text = r#"{"numStartups": 1}"#;
    scene.write(".claude.json", text);
    for (makes, why) in [
        ("mkfifo $file", "not a regular file"),
        ("mkdir $file", "not a regular file"),
        ("ln -s /etc/hostname $file", "it is a link"),
        ("truncate -s 17M $file", "larger than 16 MiB"),
        ("echo '{\"numStartups\": 2, \"numStartups\": 3}' > $file", "duplicate key"),
        ("head -c 100000 /dev/zero | tr '\\0' '[' > $file", message!("agent-home.nothing-kept")),
    ] {
        let script =
            format!("#!/bin/bash\nfile=$CLAUDE_CONFIG_DIR/.claude.json\nrm $file\n{makes}\n");
        scene.agent("claude", &script);
        let told = scene.enter("claude", &[]);
        assert_eq!((told.code, scene.read(".claude.json").as_str()), (0, text), "{told:?}");
        assert!(told.stderr.contains(why), "{makes}: {told:?}");
    }
    // A file that would be new is read in the same way.
    scene.agent("claude", "#!/bin/bash\nln -s /etc/hostname ~/.claude/.credentials.json\n");
    let told = scene.enter("claude", &[]);
    assert!(told.stderr.contains("could not be kept: it is a link"), "{told:?}");
    assert!(!scene.home(".claude/.credentials.json").exists());
}

#[test]
fn the_agents_folder_is_not_made_where_a_link_leads_nor_shown_in_place_of_other_things() {
    let scene = Scene::new(false);
    scene.agent("claude", "#!/bin/bash\necho ran\n");
    symlink(scene.project.beside("elsewhere"), scene.home(".claude")).unwrap();
    let told = scene.enter("claude", &[]);
    assert!(told.code == 125 && !told.stdout.contains("ran"), "{told:?}");
    assert!(!scene.project.beside("elsewhere").exists());
    // One that leads to a folder is the person's.
    fs::create_dir(scene.project.beside("elsewhere")).unwrap();
    assert_eq!(scene.enter("claude", &[]).stdout, "ran\n");
    assert!(scene.project.beside("elsewhere/projects").is_dir());
    let program = scene.project.beside("stockade");
    for (place, why) in [
        (scene.home(""), "the home folder"),
        (scene.project.path("."), "the project"),
        (scene.project.beside(""), "home folder"),
        (scene.project.beside("state"), "Stockade's own"),
        (PathBuf::from("/etc"), "a folder of the system"),
    ] {
        let mut command = scene.command(&program, &["enter", "--", "claude"]);
        let told = Told::from(command.env("CLAUDE_CONFIG_DIR", &place).output().unwrap());
        assert!(told.code == 125 && told.stderr.contains(why), "{place:?}: {told:?}");
    }
}

#[test]
fn links_and_processes_that_an_agent_leaves_go_with_it() {
    Scene::each(|scene| {
        scene.write(".bashrc", "mine\n");
        let mark = marker();
        let script = format!(
            "#!/bin/bash\nmkdir ~/.claude/projects/p\nln -s \"$1/.bashrc\" ~/.claude/projects/p/s.jsonl\n\
             mkfifo ~/.claude/todos/pipe\nsleep {mark} &\nexit 3\n"
        );
        scene.agent("claude", &script);
        let real = scene.home("").display().to_string();
        let told = scene.enter("claude", &[real.trim_end_matches('/')]);
        assert!(told.code == 3 && told.stderr.contains("p/s.jsonl"), "{told:?}");
        assert!(!scene.home(".claude/projects/p/s.jsonl").is_symlink());
        assert!(!scene.home(".claude/todos/pipe").exists() && scene.home(".claude/todos").is_dir());
        assert_eq!(scene.read(".bashrc"), "mine\n");
        assert_eq!(marked(&mark), 0, "nothing of it runs on");
        // Without the sandbox they stay.
        let mut bare = scene.command(&scene.project.beside("bin/claude"), &[&real]);
        bare.stdout(Stdio::null()).stderr(Stdio::null());
        fs::remove_dir(scene.home(".claude/projects/p")).unwrap();
        assert_eq!(bare.status().unwrap().code(), Some(3));
        assert!(scene.home(".claude/projects/p/s.jsonl").is_symlink());
        assert!(eventually(Duration::from_secs(60), || marked(&mark) == 1));
        kill_marked(&mark);
    });
}

/// Without right to list a folder, to remove from it, or to enter it, a sweep by its owner sees or removes
/// nothing there.
#[test]
fn a_link_in_a_folder_that_the_agent_has_closed_is_removed_too() {
    const SCRIPT: &str = "#!/bin/bash\ncd ~/.claude/projects && mkdir -p p/q && \
        ln -s \"$1\" p/q/s.jsonl && ln -s \"$1\" s.jsonl && chmod $2 p/q && chmod $2 p && chmod $2 .\n";
    Scene::each(|scene| {
        for mode in ["0300", "0500", "0400", "0"] {
            scene.write(".bashrc", "mine\n");
            scene.write(".claude/projects/file", "kept\n");
            scene.agent("claude", SCRIPT);
            let victim = scene.home(".bashrc").display().to_string();
            let folders = [".claude/projects", ".claude/projects/p", ".claude/projects/p/q"];
            let open = || {
                for folder in folders.map(|name| scene.home(name)) {
                    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
                }
            };
            let links = [".claude/projects/s.jsonl", ".claude/projects/p/q/s.jsonl"];
            // Control: nothing removes them without the sandbox, and a line ends where they lead.
            let bare = scene.bare("claude", &[&victim, mode]);
            assert_eq!(bare.code, 0, "{mode}: {bare:?}");
            open();
            for link in links.map(|name| scene.home(name)) {
                fs::write(&link, "evil\n").unwrap();
                assert_eq!(scene.read(".bashrc"), "evil\n");
                fs::remove_file(link).unwrap();
            }
            scene.write(".bashrc", "mine\n");
            let told = scene.enter("claude", &[&victim, mode]);
            assert_eq!(told.code, 0, "{mode}: {told:?}");
            assert!(links.iter().all(|link| told.stderr.contains(link)), "{mode}: {told:?}");
            open();
            assert!(links.iter().all(|link| !scene.home(link).is_symlink()), "{mode}: {told:?}");
            assert_eq!(scene.read(".claude/projects/file"), "kept\n", "it keeps its name");
            fs::remove_dir_all(scene.home(".claude/projects")).unwrap();
        }
    });
}

#[test]
fn a_folder_that_was_not_looked_through_is_not_shown_to_the_next_agent() {
    Scene::each(|scene| {
        // Deeper than is looked through.
        fs::create_dir_all(scene.home(".claude/projects")).unwrap();
        let script = "#!/bin/bash\ncd ~/.claude/projects; ls ..\n\
            mkdir p; cd p; ln -s \"$1\" s.jsonl; for at in {1..70}; do mkdir d; cd d; done\n";
        scene.agent("claude", script);
        let victim = scene.home(".bashrc").display().to_string();
        // Control: without the sandbox the link stays.
        assert_eq!(scene.bare("claude", &[&victim]).code, 0);
        assert!(scene.home(".claude/projects/p/s.jsonl").is_symlink());
        fs::remove_dir_all(scene.home(".claude/projects")).unwrap();
        for _ in 0..2 {
            let told = scene.enter("claude", &[&victim]);
            assert!(told.code == 0 && !told.stdout.contains("unchecked"), "{told:?}");
            assert!(told.stderr.contains("projects.stockade-unchecked-"), "{told:?}");
            assert!(!scene.home(".claude/projects").exists(), "{told:?}");
        }
        let names = fs::read_dir(scene.home(".claude")).unwrap().flatten();
        let aside = names.filter(|one| one.file_name().to_string_lossy().contains("unchecked"));
        assert_eq!(aside.count(), 2);
    });
}

/// Ends the processes that have this as an argument, which only a test can have started.
fn kill_marked(mark: &str) {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if words.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()) {
            let pid = entry.file_name().to_str().unwrap().parse().unwrap();
            let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).is_err();
        }
    }
}

#[test]
fn a_full_folder_is_shown_in_part_what_the_profile_names_first() {
    let scene = Scene::new(false);
    scene.write(".claude/settings.json", "mine\n");
    for at in 0..400 {
        scene.write(&format!(".claude/a-{at:03}"), "");
    }
    scene.agent(
        "claude",
        "#!/bin/bash\ncd ~/.claude\ncat settings.json\necho new > projects/file\n",
    );
    let told = scene.enter("claude", &[]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "mine\n"), "{told:?}");
    assert!(told.stderr.contains("255 names in it are not shown"), "{told:?}");
    assert_eq!(scene.read(".claude/projects/file"), "new\n");
}

#[test]
fn a_person_chooses_the_profile_or_none() {
    let scene = Scene::new(false);
    scene.write(".claude/settings.json", "mine\n");
    scene.write(".codex/config.toml", "mine\n");
    let script = "#!/bin/bash\nls -A ~ | grep '^[.]c'; echo $CLAUDE_CONFIG_DIR $CODEX_HOME\n";
    scene.agent("claude", script);
    scene.agent("other", script);
    let claude = format!(".claude\n{}\n", scene.home(".claude").display());
    let told = scene.enter("claude", &[]);
    assert_eq!((told.code, told.stdout.as_str()), (0, claude.as_str()), "{told:?}");
    assert!(told.stderr.contains("--agent none") && told.stderr.contains("--net host"), "{told:?}");
    let told = scene.stockade(&["enter", "--quiet", "--session", "b", "--", "claude"]);
    assert_eq!((told.stdout.as_str(), told.stderr.as_str()), (claude.as_str(), ""));
    let options = ["enter", "--session", "c", "--agent", "codex", "--", "claude"];
    let codex = format!(".codex\n{}\n", scene.home(".codex").display());
    assert_eq!(scene.stockade(&options).stdout, codex);
    // Without a profile the program is judged like any other.
    let told = scene.stockade(&["enter", "--session", "d", "--agent", "none", "--", "claude"]);
    assert!(told.code == 127 && !told.stderr.contains("profile"), "{told:?}");
    let told = scene.stockade(&["enter", "--session", "d", "--", "sh", "-c", "ls -A ~"]);
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (0, "", ""), "{told:?}");
    let told = scene.stockade(&["enter", "--agent", "nobody", "--", "claude"]);
    assert!(told.code == 125 && told.stderr.contains("gemini"), "{told:?}");
    // Neither a file of the project nor a policy names one.
    scene.project.write("stockade.toml", "[agent]\nname = \"claude\"\n");
    let told = scene.stockade(&["enter", "--session", "d", "--", "sh", "-c", "ls -A ~"]);
    assert!(told.code == 125 && told.stderr.contains("unknown field"), "{told:?}");
    for session in ["b", "c", "d"] {
        fs::remove_file(scene.project.path("stockade.toml")).ok();
        scene.stockade(&["kill", session]);
    }
}

#[test]
fn rules_of_the_person_about_the_agents_files_hold() {
    let scene = Scene::new(false);
    scene.write(".claude/.credentials.json", "secret\n");
    scene.agent("claude", "#!/bin/bash\ncat ~/.claude/.credentials.json; echo $?\n");
    assert_eq!(scene.enter("claude", &[]).stdout, "secret\n0\n");
    fs::create_dir_all(scene.project.beside("config/stockade")).unwrap();
    let policy = "[rules]\ndeny = [\"Read(~/.claude/.credentials.json)\"]\n";
    fs::write(scene.project.beside("config/stockade/stockade.toml"), policy).unwrap();
    let told = scene.enter("claude", &[]);
    assert_eq!(told.stdout, "1\n", "{told:?}");
}
