//! What hooks and tools run is no file that a call can write: it runs with other rights than the
//! call. Each attack has a file beside it that is nobody's, on which it succeeds.

use std::fs;

use serde_json::{Value, json};
use stockade::call::{ExternalCall, FileCall, Tool};
use stockade::policy::{Mode, PolicyFiles};
use stockade::{Policy, ToolCall};

use crate::jail;
use crate::support::{Project, has, json as report_of, skip, text, unboxed};

fn call(name: &str) -> ToolCall {
    let foreign = ExternalCall { name: name.to_owned(), input: serde_json::Map::new() };
    ToolCall::of(Tool::Unknown(foreign))
}

fn write(path: &str) -> ToolCall {
    let input = serde_json::from_value(json!({"file_path": path, "content": "echo 666"})).unwrap();
    ToolCall::of(Tool::File(FileCall::parse("Write", &input).unwrap().unwrap()))
}

/// A policy in the project itself, which the person trusts.
fn declared(project: &Project, text: &str) -> Policy {
    let file = project.path("own.toml");
    fs::write(&file, text).unwrap();
    PolicyFiles { user: Some(file), managed: None, project: None }.load().unwrap()
}

/// A line that does all it can to change a file.
fn overwrite(name: &str) -> String {
    format!(
        "echo 'echo 666' > {name}; rm -f {name}; echo 'echo 666' > new; mv -f new {name}; \
         ln -f mine {name}; chmod 777 {name}; d=$(dirname {name}); mv $d moved; true"
    )
}

#[test]
fn the_script_of_a_tool_is_not_rewritten_by_a_call() {
    let Some(project) = jail::project() else { return };
    fs::create_dir_all(project.path("tools")).unwrap();
    for words in ["['sh', './tools/x.sh']", "['sh', 'tools/x.sh']", "['./tools/x.sh']"] {
        project.script("tools/x.sh", "#!/bin/sh\necho 1\n");
        project.script("mine", "echo 0\n");
        let tables = format!("[tool.t]\ncommand = {words}\ntier = 'process'\n");
        let stockade = project.open(declared(&project, &tables));
        let run = |call| report_of(&stockade.run(call));
        assert_eq!(run(call("t"))["result"], 1, "{words}");
        run(ToolCall::line(overwrite("tools/x.sh")));
        assert_eq!(fs::read_to_string(project.path("tools/x.sh")).unwrap(), "#!/bin/sh\necho 1\n");
        assert_eq!(run(call("t"))["result"], 1, "{words}");
        // The next process reads the declaration anew.
        assert_eq!(project.run_with(declared(&project, &tables), call("t"))["result"], 1);
        // The control: a script that nothing declares is written.
        run(ToolCall::line("echo 'echo 666' > mine"));
        assert_eq!(fs::read_to_string(project.path("mine")).unwrap(), "echo 666\n");
    }
}

#[test]
fn a_tool_whose_files_changed_since_it_was_declared_does_not_run() {
    let project = Project::new();
    project.script("x.sh", "echo 1\n");
    let tables = "[tool.t]\ncommand = ['sh', './x.sh']\ntier = 'process'\n";
    let policy = || Policy { tier: unboxed().tier, ..declared(&project, tables) };
    let stockade = project.open(policy());
    let run = || report_of(&stockade.run(call("t")));
    assert_eq!(run()["result"], 1);
    project.script("x.sh", "echo 1\n");
    assert_eq!(run()["result"], 1, "the same content");
    project.script("x.sh", "touch taken; echo 2\n");
    let report = run();
    assert_eq!(report["failure"]["kind"], "find-tool-files", "{report}");
    assert!(report["failure"]["remedy"].is_string(), "{report}");
    assert!(!project.path("taken").exists());
    // The control: a host that opens the project then runs what is there.
    assert_eq!(project.run_with(policy(), call("t"))["result"], 2);
}

/// The folder of a call is chosen by the caller.
#[test]
fn a_tool_is_not_looked_for_in_the_folder_of_the_call() {
    let project = Project::new();
    fs::create_dir_all(project.path("tools")).unwrap();
    fs::create_dir_all(project.path("sub/tools")).unwrap();
    project.script("tools/x.sh", "echo 1\n");
    project.script("sub/tools/x.sh", "echo 666\n");
    let tables = "[tool.t]\ncommand = ['sh', 'tools/x.sh']\ntier = 'process'\n";
    let run = |policy| project.run_with(policy, call("t").in_folder(project.path("sub")));
    assert_eq!(run(declared(&project, tables))["result"], 1);
    // The same where the declaration is elsewhere.
    let file = project.beside("tools.toml");
    fs::write(&file, tables).unwrap();
    let policy = PolicyFiles { user: Some(file), managed: None, project: None }.load().unwrap();
    assert_eq!(run(policy)["result"], 1);
}

#[test]
fn no_module_takes_the_place_of_a_tools_own() {
    let Some(project) = jail::project() else { return };
    if !has("python3") {
        skip("python3", "it is not on this machine");
        return;
    }
    let one = "import colorsys\ndef f(): return [1, hasattr(colorsys, 'rgb_to_hsv')]\n";
    fs::write(project.path("one.py"), one).unwrap();
    let plant = "mkdir -p one __pycache__; echo 'def f(): return 666' > one/__init__.py; \
                 echo 'x = 1' > colorsys.py; echo 'x = 1' > json.py; \
                 echo 'def f(): return 666' > one.py; ls one/__init__.py colorsys.py";
    // A compiled file that claims to be of this source.
    let forge = "import importlib.util, os, sys, struct, marshal\n\
                 s = os.stat('one.py'); c = importlib.util.cache_from_source('one.py')\n\
                 os.makedirs('__pycache__', exist_ok=True)\n\
                 b = importlib.util.MAGIC_NUMBER + struct.pack('<III', 0, int(s.st_mtime), s.st_size)\n\
                 open(c, 'wb').write(b + marshal.dumps(compile('def f(): return 666', 'one.py', 'exec')))\n";
    for tier in ["process", "jail"] {
        let tables = format!("[tool.t]\npython = 'one:f'\ntier = '{tier}'\n");
        let expected = json!([1, true]);
        let stockade = project.open(declared(&project, &tables));
        assert_eq!(report_of(&stockade.run(call("t")))["result"], expected);
        let report = report_of(&stockade.run(ToolCall::line(plant)));
        assert!(text(&report, "stdout").contains("colorsys.py"), "the control: {report}");
        assert_eq!(fs::read_to_string(project.path("one.py")).unwrap(), one);
        let report = project.python(Policy { mode: Mode::Bypass, ..unboxed() }, forge, &[]);
        assert_eq!(report["ok"], true, "{report}");
        assert!(!project.path("one/__init__.py").exists(), "it was taken away");
        let report = report_of(&stockade.run(call("t")));
        assert_eq!(report["result"], expected, "{report}");
        let report = project.run_with(declared(&project, &tables), call("t"));
        assert_eq!(report["result"], expected, "{report}");
    }
}

#[test]
fn the_script_of_a_hook_is_not_rewritten_however_it_is_named() {
    let Some(project) = jail::project() else { return };
    for command in [
        "command = ['./guard.sh']",
        "command = ['sh', 'guard.sh']",
        "shell = '\"$STOCKADE_HOOK_DIR/guard.sh\"'",
        "shell = 'cat >/dev/null; sh ${CLAUDE_PROJECT_DIR}/guard.sh'",
        "shell = 'sh guard.sh'",
    ] {
        let guard = "#!/bin/sh\ncat >/dev/null\n";
        project.script("guard.sh", guard);
        let table = format!("[[hook]]\nevent = 'pre'\n{command}\n");
        let stockade = project.open(declared(&project, &table));
        let line = "echo 'touch taken' > guard.sh; rm -f guard.sh; echo x > other; cat other";
        let report = report_of(&stockade.run(ToolCall::line(line)));
        assert_eq!(report["stdout"], "x\n", "the control, {command}: {report}");
        assert_eq!(fs::read_to_string(project.path("guard.sh")).unwrap(), guard, "{command}");
    }
}

/// A log that a hook keeps is no part of it.
#[test]
fn what_a_hook_writes_by_a_redirection_may_change() {
    let project = Project::new();
    let log = project.beside("log");
    fs::write(&log, "").unwrap();
    let table = format!("[[hook]]\nevent = 'pre'\nshell = 'cat >> {}'\n", log.display());
    let policy = Policy { tier: unboxed().tier, ..declared(&project, &table) };
    let stockade = project.open(policy);
    for _ in 0..2 {
        let report: Value = report_of(&stockade.run(ToolCall::exec(["echo", "x"])));
        assert_eq!(report["ok"], true, "{report}");
    }
}

#[test]
fn file_tools_write_none_of_them_either() {
    let project = Project::new();
    project.script("x.sh", "echo 1\n");
    project.script("guard.sh", "cat >/dev/null\n");
    let tables = "[tool.t]\ncommand = ['sh', './x.sh']\n[[hook]]\nevent = 'pre'\n\
                  command = ['sh', './guard.sh']\n";
    for mode in [Mode::AcceptEdits, Mode::Bypass] {
        let policy = Policy { mode, ..declared(&project, tables) };
        for name in ["x.sh", "guard.sh"] {
            let before = fs::read_to_string(project.path(name)).unwrap();
            let report = project.run_with(policy.clone(), write(name));
            assert_eq!(report["rule"], "path/own", "{mode:?} {name}: {report}");
            assert_eq!(fs::read_to_string(project.path(name)).unwrap(), before);
        }
        let report = project.run_with(policy, write("other.sh"));
        assert_eq!(report["ok"], true, "the control: {report}");
    }
}
