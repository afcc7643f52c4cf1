//! Hooks without running any command: what is read of a reply, which tools a hook is for, what
//! several of them say together, and how policy files declare them.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stockade::ToolCall;
use stockade::hooks::{
    CommandExit, CommandOutput, HookFault, HookId, HookResult, PreDecision, Reply, input,
    post_result, pre_decision, redacted, wire,
};
use stockade::policy::decide::Basis;
use stockade::policy::hooks::{CommandForm, Event, Matcher, SettingsHooks, from_settings};
use stockade::policy::{By, Decision, LoadError, Policy, PolicyFiles, Ruling, Sources};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyCase {
    event: String,
    #[serde(default)]
    exit: i32,
    signal: Option<i32>,
    #[serde(default)]
    timed_out: bool,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    decision: Option<String>,
    reason: Option<String>,
    context: Option<String>,
    message: Option<String>,
    stop: Option<String>,
    input: Option<String>,
    stdout_new: Option<String>,
    stderr_new: Option<String>,
    #[serde(default)]
    redact: Vec<String>,
    fault: Option<String>,
}

impl ReplyCase {
    fn read(&self) -> Result<Reply, HookFault> {
        let event = if self.event == "pre" { Event::Pre } else { Event::Post };
        let ended = match self.signal {
            Some(signal) => CommandExit::Signal(signal),
            None if self.timed_out => CommandExit::TimedOut(Duration::from_secs(5)),
            None => CommandExit::Code(self.exit),
        };
        let (stdout, stderr) = (self.stdout.clone().into(), self.stderr.clone().into());
        wire::read(event, &CommandOutput { ended, stdout, stderr, is_cut: self.cut })
    }
}

#[test]
fn every_reply_is_read_as_written_down() {
    #[derive(Deserialize)]
    struct File {
        case: Vec<ReplyCase>,
    }
    let File { case } = toml::from_str(include_str!("hooks/replies.toml")).unwrap();
    assert!(case.len() > 70, "{}", case.len());
    for case in case {
        match (case.read(), &case.fault) {
            (Err(fault), Some(part)) => assert!(fault.to_string().contains(part), "{case:#?}"),
            (Ok(reply), None) => {
                let decision = reply.decision.map(|one| one.name().to_owned());
                assert_eq!(decision, case.decision, "{case:#?}");
                assert_eq!(reply.reason, case.reason, "{case:#?}");
                assert_eq!(reply.context, case.context, "{case:#?}");
                assert_eq!(reply.message, case.message, "{case:#?}");
                assert_eq!(reply.stop, case.stop, "{case:#?}");
                let input = reply.input.map(Value::Object);
                let wanted: Option<Value> =
                    case.input.as_ref().map(|text| serde_json::from_str(text).unwrap());
                assert_eq!(input, wanted, "{case:#?}");
                let output = reply.output.clone().unwrap_or_default();
                assert_eq!(output.stdout, case.stdout_new, "{case:#?}");
                assert_eq!(output.stderr, case.stderr_new, "{case:#?}");
                assert_eq!(reply.redact, case.redact, "{case:#?}");
            }
            (read, _) => panic!("{case:#?}\n{read:#?}"),
        }
    }
}

#[test]
fn long_texts_of_a_hook_are_cut() {
    let said = json!({"systemMessage": "x".repeat(50_000), "continue": false});
    let ran = CommandOutput {
        ended: CommandExit::Code(0),
        stdout: said.to_string().into_bytes(),
        stderr: Vec::new(),
        is_cut: false,
    };
    let message = wire::read(Event::Pre, &ran).unwrap().message.unwrap();
    assert!(message.chars().count() < 10_100 && message.ends_with(message!("reply.cut-stockade")));
    let ran = CommandOutput {
        ended: CommandExit::Code(2),
        stdout: Vec::new(),
        stderr: vec![b'e'; 50_000],
        ..ran
    };
    let reason = wire::read(Event::Pre, &ran).unwrap().reason.unwrap();
    assert!(reason.chars().count() < 10_100 && reason.starts_with("eee"));
}

#[test]
fn every_matcher_is_for_the_tools_written_down() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Case {
        matcher: String,
        #[serde(default)]
        is_for: Vec<String>,
        #[serde(default)]
        is_not_for: Vec<String>,
        wrong: Option<String>,
    }
    #[derive(Deserialize)]
    struct File {
        case: Vec<Case>,
    }
    let File { case } = toml::from_str(include_str!("hooks/matchers.toml")).unwrap();
    for case in case {
        match (Matcher::parse(&case.matcher), &case.wrong) {
            (Err(bad), Some(part)) => assert!(bad.to_string().contains(part), "{bad}"),
            (Ok(matcher), None) => {
                assert!(case.is_for.iter().all(|tool| matcher.is_for(tool)), "{case:?}");
                assert!(!case.is_not_for.iter().any(|tool| matcher.is_for(tool)), "{case:?}");
            }
            (read, _) => panic!("{case:?}: {read:?}"),
        }
    }
    assert!(Matcher::parse(&format!("({})", "a".repeat(2000))).is_err());
}

fn trusted(text: &str) -> Result<Policy, LoadError> {
    Policy::from_text(Path::new("/etc/own.toml"), text)
}

#[test]
fn a_policy_file_declares_hooks() {
    let policy = trusted(
        "[[hook]]\nevent = 'pre'\nmatch = 'Bash'\ncommand = ['./ci/guard.sh', 'x']\ntimeout = '5s'\n\
         [[hook]]\nname = 'log'\nevent = 'PostToolUse'\nshell = 'cat >> ~/log'\nenv = ['A=b']\n\
         if = 'Bash(git *)'\n",
    )
    .unwrap();
    let [guard, log] = policy.hooks.as_slice() else { panic!("{:?}", policy.hooks) };
    assert_eq!((guard.event, guard.timeout), (Event::Pre, Duration::from_secs(5)));
    assert_eq!((guard.name.as_str(), guard.matcher.text()), ("./ci/guard.sh x", "Bash"));
    assert_eq!(guard.source.as_deref(), Some("/etc/own.toml:1"));
    assert_eq!(guard.command.words(), ["/etc/ci/guard.sh", "x"]);
    assert_eq!(guard.command.files(Path::new("/")), [Path::new("/etc/ci/guard.sh")]);
    assert_eq!((log.event, log.timeout), (Event::Post, Duration::from_secs(60)));
    assert_eq!((log.name.as_str(), log.source.as_deref()), ("log", Some("/etc/own.toml:6")));
    assert_eq!(log.command.form, CommandForm::Shell("cat >> ~/log".to_owned()));
    assert!(log.condition.is_some() && log.matcher.is_for("anything"));
}

#[test]
fn what_is_wrong_with_a_hook_is_said_with_its_line() {
    for (text, line, part) in [
        ("event = 'pre'", 2, "needs `command` or `shell`"),
        ("event = 'pre'\nshell = 'x'\ncommand = ['x']", 4, "not both"),
        ("event = 'before'\nshell = 'x'", 3, message!("table.unknown-hook-event")),
        ("event = 'Stop'\nshell = 'x'", 3, message!("table.unknown-hook-event")),
        ("event = 'pre'\nshell = ' '", 4, "empty"),
        ("event = 'pre'\ncommand = []", 4, "empty"),
        ("event = 'pre'\ncommand = ['']", 4, "empty"),
        ("event = 'pre'\ncommand = [\"a\\u0000b\"]", 4, "NUL"),
        ("event = 'pre'\nshell = 'x'\nmatch = '(?!x)'", 5, "regular expression"),
        ("event = 'pre'\nshell = 'x'\nif = 'Bash('", 5, "the rule"),
        ("event = 'pre'\nshell = 'x'\ntimeout = '0s'", 5, message!("table.hook-may-take-more")),
        ("event = 'pre'\nshell = 'x'\ntimeout = '2h'", 5, message!("table.hook-may-take-more")),
        ("event = 'pre'\nshell = 'x'\ntimeout = 'soon'", 5, "soon"),
        ("event = 'pre'\nshell = 'x'\nname = ''", 5, "1 to 64"),
        ("event = 'pre'\nshell = 'x'\nenv = ['=x']", 5, "NAME"),
    ] {
        let error = trusted(&format!("# a file\n[[hook]]\n{text}\n")).unwrap_err();
        let LoadError::Value { line: at, message, .. } = &error else { panic!("{text}: {error}") };
        assert!(*at == line && message.contains(part), "{text}: {error}");
    }
    let error = trusted("[[hook]]\nevent = 'pre'\nshell = 'x'\nwhen = 'now'\n").unwrap_err();
    assert!(error.to_string().contains("line 4") && error.to_string().contains("when"), "{error}");
}

#[test]
fn a_project_declares_no_hook() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stockade.toml");
    std::fs::write(&file, "limits.wall = '5s'\n[[hook]]\nevent = 'pre'\nshell = 'true'\n").unwrap();
    let files = PolicyFiles { user: None, managed: None, project: Some(file.clone()) };
    let error = files.load().unwrap_err();
    assert!(matches!(error, LoadError::Loosens { key: "hook", line: 2, .. }), "{error}");
    let files = PolicyFiles { user: Some(file.clone()), managed: Some(file), project: None };
    assert_eq!(files.load().unwrap().hooks.len(), 2);
}

#[test]
fn the_hooks_of_a_settings_file_are_those_of_a_policy() {
    let read = |settings: Value| {
        let folder = Path::new("/home/me/.claude");
        from_settings(&settings["hooks"], &folder.join("settings.json"), folder)
    };
    let command = |more: Value| {
        let mut handler = json!({"type": "command", "command": "guard.py --strict"});
        handler.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [handler]}]}})
    };
    let all = read(command(json!({"timeout": 5, "if": "Edit(*.rs)", "async": false,
        "shell": "bash", "statusMessage": "…"})));
    let [hook] = &all.unwrap().hooks[..] else { panic!() };
    assert_eq!(hook.command.form, CommandForm::Shell("guard.py --strict".to_owned()));
    assert_eq!((hook.event, hook.timeout), (Event::Pre, Duration::from_secs(5)));
    assert!(hook.matcher.is_for("Edit") && !hook.matcher.is_for("Bash"));
    assert!(hook.condition.is_some());
    let source = "/home/me/.claude/settings.json:hooks.PreToolUse[0].hooks[0]";
    assert_eq!((hook.source.as_deref(), hook.name.as_str()), (Some(source), "guard.py --strict"));
    let all = read(command(json!({"command": "./guard.py", "args": ["a b"]}))).unwrap();
    assert_eq!(all.hooks[0].command.words(), ["/home/me/.claude/guard.py", "a b"]);
    assert_eq!(all.hooks[0].timeout, Duration::from_secs(600));
    for more in [
        json!({"type": "http"}),
        json!({"type": "prompt"}),
        json!({"type": null}),
        json!({"command": " "}),
        json!({"command": 7}),
        json!({"args": "x"}),
        json!({"args": [7]}),
        json!({"timeout": 0}),
        json!({"timeout": "5"}),
        json!({"timeout": 1e9}),
        json!({"if": "Edit("}),
    ] {
        let error = read(command(more.clone())).unwrap_err();
        assert!(error.place.starts_with("hooks.PreToolUse[0].hooks[0]"), "{more}: {error}");
    }
    let matcher = json!({"hooks": {"PreToolUse": [{"matcher": "(?=x)", "hooks": []}]}});
    assert_eq!(read(matcher).unwrap_err().place, "hooks.PreToolUse[0]");
    for broken in [json!([]), json!({"PreToolUse": {}}), json!({"PreToolUse": [{}]})] {
        assert!(read(json!({ "hooks": broken.clone() })).is_err(), "{broken}");
    }
    let others = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}],
        "PostToolUse": [{"hooks": [{"type": "http", "url": "x"}]}]}});
    let all = read(others).unwrap();
    assert_eq!((all.hooks.len(), all.notes.len()), (0, 2), "{all:?}");
    for ourselves in ["stockade hook pre", "'/usr/bin/stockade' hook pre --format claude"] {
        let all = read(command(json!({"command": ourselves}))).unwrap();
        assert_eq!((all.hooks.len(), all.notes.len()), (0, 1), "{all:?}");
    }
    assert_eq!(read(json!({"hooks": {}})).unwrap(), SettingsHooks::default());
}

#[test]
fn the_hooks_of_a_settings_file_run_where_its_rules_hold() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let root = folder.path().to_owned();
    let sources =
        || Sources { root: root.clone(), settings: vec![file.clone()], ..Sources::default() };
    let load = |more: &str| {
        let hooks = r#""hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"guard"}]}]}"#;
        std::fs::write(&file, format!("{{{hooks}{more}}}")).unwrap();
        sources().load().unwrap()
    };
    let policy = load("");
    assert_eq!((policy.hooks.len(), policy.remarks.len()), (1, 0), "{:?}", policy.remarks);
    let policy = load(r#","disableAllHooks":true"#);
    assert_eq!((policy.hooks.len(), policy.remarks.len()), (0, 1));
    assert!(policy.remarks[0].message.contains("disableAllHooks"), "{:?}", policy.remarks);
    std::fs::write(&file, r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"http"}]}]}}"#).unwrap();
    let error = sources().load().unwrap_err();
    assert!(error.to_string().contains(message!("settings.only-commands-run-here")), "{error}");
}

#[test]
fn a_call_is_told_in_the_words_of_its_tool() {
    let call = ToolCall::exec(["grep", "a b", "$x"]).with_stdin("in");
    let [own, shell] = &input::forms(&call).unwrap()[..] else { panic!() };
    let (line, words) = ("grep 'a b' '$x'", ["grep", "a b", "$x"]);
    let told = json!({"argv": words, "command": line, "stdin": "in"});
    assert_eq!((own.tool.as_ref(), json!(own.input)), ("Exec", told));
    assert_eq!((shell.tool.as_ref(), json!(shell.input)), ("Bash", json!({"command": line})));
    let mut line = ToolCall::line("ls | wc");
    line.wall = Some(Duration::from_secs(3));
    let [seen] = &input::forms(&line).unwrap()[..] else { panic!() };
    assert_eq!(json!(seen.input), json!({"command": "ls | wc", "timeout": 3000}));
    let raw = <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(vec![0xff]);
    assert!(input::forms(&ToolCall::exec([raw])).is_err());
}

#[test]
fn a_rewrite_fits_the_tool_or_is_none() {
    let object = |value: Value| value.as_object().unwrap().clone();
    let line = ToolCall::line("ls");
    let new = input::rewritten(&line, &object(json!({"command": "ls -l", "timeout": 10})));
    let new = new.unwrap();
    assert_eq!((new.id, new.wall), (line.id.clone(), Some(Duration::from_millis(10))));
    for bad in [
        json!({}),
        json!({"command": 7}),
        json!({"argv": ["ls"]}),
        json!({"command": "ls", "run_in_background": true}),
        json!({"command": "ls", "dangerouslyDisableSandbox": true}),
        json!({"command": "ls", "timeout": -1}),
    ] {
        assert!(input::rewritten(&line, &object(bad.clone())).is_err(), "{bad}");
    }
    let exec = ToolCall::exec(["ls"]).with_stdin(vec![0xff]);
    let same = input::forms(&exec).unwrap().remove(0).input;
    assert_eq!(input::rewritten(&exec, &same).unwrap(), exec);
    let new = input::rewritten(&exec, &object(json!({"argv": ["ls", "-l"]}))).unwrap();
    assert_eq!(new.tool, ToolCall::exec(["ls", "-l"]).tool);
    for bad in [
        json!({"command": "ls -l"}),
        json!({"argv": ["ls"], "command": "rm x"}),
        json!({"argv": "ls"}),
        json!({"argv": ["ls"], "stdin": "a", "stdin_base64": "YQ=="}),
        json!({"argv": ["ls"], "stdin_base64": "?"}),
    ] {
        assert!(input::rewritten(&exec, &object(bad.clone())).is_err(), "{bad}");
    }
}

fn heard(name: &str, result: Result<Reply, HookFault>) -> HookResult {
    HookResult { hook_id: HookId { name: name.to_owned(), source: None }, result }
}

fn input_of(command: &str) -> Map<String, Value> {
    json!({ "command": command }).as_object().unwrap().clone()
}

#[test]
fn two_rewrites_that_differ_are_a_refusal_and_two_that_agree_are_one() {
    let to = |text: &str| Ok(Reply::silent().with_input(input_of(text)));
    let agreed = pre_decision(&[heard("a", to("ls")), heard("b", to("ls"))]);
    assert!(agreed.opinion.is_none());
    assert_eq!(agreed.rewrite.unwrap().1.len(), 2);
    let differ = pre_decision(&[heard("b", to("ls")), heard("a", to("pwd"))]);
    let refusal = differ.opinion.unwrap();
    assert_eq!((refusal.decision, refusal.hook_id.name.as_str()), (Decision::Deny, "a"));
    assert!(refusal.reason.contains("\"b\"") && differ.rewrite.is_none());
}

#[test]
fn redaction_takes_all_of_what_overlaps() {
    let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let of = |bytes: &[u8], all: &[&str]| {
        String::from_utf8_lossy(&redacted(bytes, &texts(all))).into_owned()
    };
    assert_eq!(of(b"key=abc;", &["abc"]), "key=[redacted];");
    assert_eq!(of(b"xabcdy", &["abc", "bcd"]), "x[redacted]y");
    assert_eq!(of(b"xabcdy", &["bcd", "abc", "c"]), "x[redacted]y");
    assert_eq!(of(b"aaaa", &["aa"]), "[redacted]");
    assert_eq!(of(b"a-a", &["a"]), "[redacted]-[redacted]");
    assert_eq!(of(b"nothing", &["", "longer than the text is"]), "nothing");
    assert_eq!(redacted(b"\xffkey\xfe", &texts(&["key"])), b"\xff[redacted]\xfe");
}

#[test]
fn output_is_withheld_where_a_hook_fails_or_two_disagree() {
    let output = |text: &str| {
        let stdout = Some(text.to_owned());
        Ok(Reply::silent().with_output(stockade::hooks::Replacement { stdout, stderr: None }))
    };
    let pass = |all: &[HookResult]| {
        let (out, err) = post_result(all).passed(b"key", b"err");
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let plain = |out: &str| (out.to_owned(), "err".to_owned());
    assert_eq!(pass(&[heard("a", Ok(Reply::silent()))]), plain("key"));
    assert_eq!(pass(&[heard("a", output("x")), heard("b", output("x"))]), plain("x"));
    let redact = Ok(Reply::silent().redacting("e"));
    assert_eq!(
        pass(&[heard("a", output("see")), heard("b", redact)]),
        ("s[redacted]".to_owned(), "[redacted]rr".to_owned())
    );
    let differ = pass(&[heard("a", output("x")), heard("b", output("y"))]);
    assert!(differ.0.contains("withheld: two hooks") && differ.1.is_empty(), "{differ:?}");
    let failed = pass(&[heard("a", Err(HookFault::Panicked)), heard("b", output("y"))]);
    assert!(failed.0.contains(r#"the hook "a" failed: it panicked"#), "{failed:?}");
    assert!(!failed.0.contains("key") && failed.1.is_empty());
}

const GROUNDS: [Basis; 5] =
    [Basis::Finding, Basis::Rule, Basis::Protected, Basis::Mode, Basis::Hook];

fn ruling(decision: Decision, by: By) -> Ruling {
    Ruling { decision, by, ..Ruling::deny(by, "some/rule", "some reason") }
}

fn any_decision() -> impl Strategy<Value = Decision> {
    prop_oneof![Just(Decision::Allow), Just(Decision::Ask), Just(Decision::Deny)]
}

fn any_heard() -> impl Strategy<Value = HookResult> {
    let reply = (
        proptest::option::of(any_decision()),
        proptest::option::of("[ab]"),
        proptest::option::of("[xy]"),
        proptest::option::of("[cd]"),
        any::<bool>(),
    );
    let reply = reply.prop_map(|(decision, reason, command, context, stops)| Reply {
        decision,
        reason,
        input: command.map(|command| input_of(&command)),
        context: context.clone(),
        message: context,
        stop: stops.then(|| "over".to_owned()),
        ..Reply::default()
    });
    let fault = prop_oneof![
        Just(HookFault::Panicked),
        Just(HookFault::TooMuch),
        Just(HookFault::Signal(9)),
        Just(HookFault::NotAReply("no".to_owned())),
    ];
    let result = prop_oneof![4 => reply.prop_map(Ok), 1 => fault.prop_map(Err)];
    ("[pqr]", result).prop_map(|(name, result)| heard(&name, result))
}

proptest! {
    #[test]
    fn the_order_of_hooks_does_not_matter(
        (all, shuffled) in proptest::collection::vec(any_heard(), 0..6)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        decision in any_decision(),
    ) {
        let (one, other) = (pre_decision(&all), pre_decision(&shuffled));
        prop_assert_eq!(&one, &other);
        for basis in GROUNDS {
            let asked = || ruling(decision, By::Rule);
            prop_assert_eq!(one.applied_to(asked(), Some(basis)), other.applied_to(asked(), Some(basis)));
        }
        prop_assert_eq!(post_result(&all), post_result(&shuffled));
    }

    #[test]
    fn no_hook_lifts_a_refusal_or_answers_for_more_than_the_mode(
        first in proptest::collection::vec(any_heard(), 0..6),
        second in proptest::collection::vec(any_heard(), 0..6),
    ) {
        for said in [pre_decision(&first), pre_decision(&first).then(pre_decision(&second))] {
            for basis in GROUNDS {
                for by in [By::Rule, By::Axis, By::Mode, By::Default] {
                    let denied = ruling(Decision::Deny, by);
                    prop_assert_eq!(said.applied_to(denied.clone(), Some(basis)), denied.clone());
                    prop_assert_eq!(said.applied_to(denied.clone(), None), denied);
                }
                let asked = said.applied_to(ruling(Decision::Ask, By::Rule), Some(basis));
                prop_assert!(basis == Basis::Mode || asked.decision >= Decision::Ask);
            }
        }
    }

    #[test]
    fn one_more_hook_never_allows_more_except_where_it_answers(
        all in proptest::collection::vec(any_heard(), 0..6),
        more in any_heard(),
        decision in any_decision(),
    ) {
        let decide = |all: &[HookResult]| {
            pre_decision(all).applied_to(ruling(decision, By::Mode), Some(Basis::Mode)).decision
        };
        let before = decide(&all);
        let after = decide(&[all, vec![more.clone()]].concat());
        let answers = matches!(&more.result, Ok(reply) if reply.decision == Some(Decision::Allow));
        prop_assert!(after >= before || (answers && before == Decision::Ask), "{before:?} {after:?}");
        if more.result.is_err() {
            prop_assert_eq!(after, Decision::Deny);
        }
    }
}

#[test]
fn the_consent_of_others_does_not_go_along_with_a_rewrite() {
    let rewrite = |reply: Reply| Ok(reply.with_input(input_of("ls")));
    let asked = || ruling(Decision::Ask, By::Mode);
    let heeded = |said: PreDecision| said.applied_to(asked(), Some(Basis::Mode));
    let silent = || PreDecision::default();
    let by_other = [heard("author", rewrite(Reply::silent())), heard("other", Ok(Reply::allow()))];
    assert_eq!(heeded(pre_decision(&by_other).then(silent())).decision, Decision::Ask);
    let by_author = [heard("author", rewrite(Reply::allow()))];
    let allowed = heeded(pre_decision(&by_author).then(silent()));
    assert_eq!((allowed.decision, allowed.by), (Decision::Allow, By::Hook));
    assert_eq!(allowed.rule.as_deref(), Some("author"));
    let again = pre_decision(&[heard("other", Ok(Reply::deny("not that")))]);
    let denied = heeded(pre_decision(&by_author).then(again));
    assert_eq!((denied.decision, denied.rule.as_deref()), (Decision::Deny, Some("other")));
}
