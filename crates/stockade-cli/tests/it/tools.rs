//! Registered tools at the command line: `stockade tools`, and many calls of one through `stockade call`.

mod leaks;

use serde_json::{Value, json};

use crate::support::Project;
use leaks::Look;

const POLICY: &str = "[tool.echo]\ndescription = \"Says what it is told. Twice if need be.\"\n\
    command = [\"cat\"]\ntier = \"jail\"\nrisk = [\"reads\"]\nidempotent = true\ntimeout = \"20s\"\n\
    [tool.echo.input]\ntype = \"object\"\nrequired = [\"n\"]\nproperties.n.type = \"integer\"\n\
    [tool.send]\ncommand = [\"cat\"]\nrisk = [\"network\", \"writes\"]\n";

fn project() -> Project {
    let project = Project::new();
    std::fs::write(project.beside("policy.toml"), POLICY).unwrap();
    project
}

fn tools(project: &Project, args: &[&str]) -> crate::support::Told {
    let policy = project.beside("policy.toml");
    let words = [&["tools"], args, &["--policy", policy.to_str().unwrap()]].concat();
    project.stockade(&words)
}

fn echo(project: &Project) -> Value {
    let source = format!("{}:1", project.beside("policy.toml").display());
    json!({
        "name": "echo",
        "description": "Says what it is told. Twice if need be.",
        "inputSchema": {
            "type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}},
        },
        "annotations": {
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
            "openWorldHint": false,
        },
        "_meta": {
            "stockade/tier": "jail", "stockade/risk": ["reads"], "stockade/source": source,
        },
    })
}

#[test]
fn the_list_has_ours_and_those_of_the_policy_in_the_shape_of_mcp() {
    let project = project();
    let told = tools(&project, &["list", "--json"]);
    let listed = told.json();
    assert_eq!((told.code, listed.as_object().unwrap().len()), (0, 1), "{told:?}");
    let all = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = all.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let shipped = ["Exec", "Bash", "Code", "Read", "Write", "Edit", "Glob", "Grep", "Calc"];
    assert_eq!(names, [shipped.as_slice(), &["echo", "send"]].concat());
    assert!(all.iter().all(|tool| tool["inputSchema"]["type"] == "object"), "{listed}");
    assert_eq!(all[names.len() - 2], echo(&project));
    let send = &all[names.len() - 1];
    let hints = json!({
        "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
        "openWorldHint": true,
    });
    assert_eq!(send["annotations"], hints);
    assert_eq!(send["inputSchema"], json!({"type": "object"}));
}

#[test]
fn the_list_for_people_has_a_line_for_each() {
    let told = tools(&project(), &["list"]);
    let line = told.stdout.lines().find(|line| line.starts_with("echo ")).unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>()[1..],
        ["jail", "Says", "what", "it", "is", "told"]
    );
}

#[test]
fn one_tool_is_described_and_an_unknown_one_gets_the_nearest_name() {
    let project = project();
    assert_eq!(tools(&project, &["describe", "echo", "--json"]).json(), echo(&project));
    let told = tools(&project, &["describe", "echo"]).stdout;
    for part in [
        "tier:       jail",
        "risk:       reads",
        "limits:     20s",
        "idempotent: yes",
        "\"integer\"",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for (name, said) in [
        ("ecko", message!("text.did-you-mean", "\"echo\"")),
        ("Clac", message!("text.did-you-mean", "\"Calc\"")),
        ("qqqqqqqq", "there are "),
    ] {
        let told = tools(&project, &["describe", name]);
        assert_eq!((told.code, told.stdout.as_str()), (125, ""));
        assert!(told.stderr.contains(said), "{name}: {told:?}");
    }
}

fn numbers(from: usize, to: usize) -> String {
    let lines = (from..to).map(|n| json!({"tool": "echo", "input": {"n": n}}).to_string() + "\n");
    lines.collect()
}

/// A thousand of them are a benchmark: `cargo bench -p stockade-cli --bench tools`.
#[test]
fn two_hundred_calls_at_eight_a_time_keep_their_order_and_leak_nothing() {
    use std::io::{BufRead as _, BufReader, Write as _};
    if !crate::poorer::can_box() {
        return;
    }
    let project = project();
    let policy = project.beside("policy.toml");
    let args = ["call", "--jobs", "8", "--policy", policy.to_str().unwrap()];
    let mut child = project.command(&args).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut reports = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut run = |from: usize, to: usize| {
        let calls = numbers(from, to);
        std::thread::scope(|scope| {
            scope.spawn(|| stdin.write_all(calls.as_bytes()).unwrap());
            for n in from..to {
                let report: Value =
                    serde_json::from_str(&reports.next().unwrap().unwrap()).unwrap();
                assert_eq!(report["result"], json!({ "n": n }), "{report}");
                assert_eq!(report["tier"], "jail");
            }
        });
    };
    run(0, 50);
    let before = Look::at_rest(child.id());
    run(50, 200);
    let after = Look::at_rest(child.id());
    assert_eq!(after, before);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(Look::cgroups(child.id()), 0);
    assert_eq!(project.scratch_folders(), Vec::<String>::new());
}
