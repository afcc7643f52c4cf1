//! Rules that would allow a call and others like it, to be shown to a person and never used unasked.
//!
//! A proposal is wide enough to match again, and no wider than one task of one program: never an
//! interpreter, a program that runs others, or a program of many tasks as a whole.

use crate::Decision;
use crate::rules::{CommandFacts, Facts, Rule, Rules};

/// More rules than this are not read before they are agreed to.
const RULES_MAX: usize = 5;

/// Programs that run what their words say: only a script of theirs is a task.
const INTERPRETERS: [&str; 21] = [
    "Rscript", "ash", "bash", "bun", "dash", "deno", "fish", "julia", "ksh", "lua", "node",
    "nodejs", "perl", "php", "pwsh", "pypy", "python", "ruby", "sh", "tclsh", "zsh",
];
/// Modules of Python that are tools of their own.
const MODULES: [&str; 12] = [
    "black", "build", "coverage", "flake8", "mypy", "nox", "pylint", "pytest", "ruff", "tox",
    "unittest", "venv",
];
/// Programs of which no task can be told apart from any other: they run other programs, write or
/// remove anything, or send it away.
const NEVER: [&str; 70] = [
    ".", "at", "awk", "batch", "bunx", "busybox", "chmod", "chown", "command", "cp", "crontab",
    "curl", "dd", "doas", "ed", "emacs", "env", "eval", "exec", "expect", "find", "flock", "gawk",
    "gdb", "install", "ionice", "kill", "killall", "less", "ln", "man", "mawk", "mkfs", "mv",
    "nano", "nc", "ncat", "nice", "nohup", "npx", "nvim", "open", "parallel", "pipx", "pkill",
    "pnpx", "rm", "rsync", "scp", "script", "sed", "setsid", "sftp", "shred", "socat", "source",
    "ssh", "strace", "su", "sudo", "tee", "telnet", "timeout", "truncate", "uvx", "vi", "vim",
    "wget", "xargs", "xdg-open",
];
/// Programs of many tasks, which their second word names.
const OF_MANY_TASKS: [&str; 37] = [
    "apt",
    "apt-get",
    "brew",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "dnf",
    "docker",
    "dotnet",
    "flutter",
    "gem",
    "gh",
    "git",
    "go",
    "gradle",
    "hatch",
    "helm",
    "jj",
    "kubectl",
    "mix",
    "mvn",
    "npm",
    "pacman",
    "pdm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rails",
    "rustup",
    "svn",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];
/// Tasks that run whatever follows them.
const RUNS_ANYTHING: [&str; 6] = ["dlx", "exec", "runner", "shell", "ssh", "x"];
/// Tasks that a third word names.
const GROUPS: [&str; 24] = [
    "auth",
    "branch",
    "cluster",
    "compose",
    "config",
    "container",
    "image",
    "issue",
    "mod",
    "network",
    "plugin",
    "pr",
    "release",
    "remote",
    "repo",
    "run",
    "run-script",
    "secret",
    "stash",
    "submodule",
    "tool",
    "volume",
    "workflow",
    "worktree",
];
/// Programs whose `run` takes a name of the project, and not any command.
const RUN_NAMES: [&str; 4] = ["cargo", "npm", "pnpm", "yarn"];

/// Rules for the allow list that would cover this call and others like it, beside those there are;
/// none where nothing that is narrow enough would match again. Rules that ask are left aside.
pub fn propose(facts: &Facts, rules: &Rules) -> Option<Vec<String>> {
    let answered = rules.all().iter().filter(|rule| rule.list() != Decision::Ask);
    let known = Rules::compile(answered.cloned().collect());
    let covers = |rules: &Rules, facts: &Facts| {
        rules.decide(facts).is_some_and(|found| found.decision == Decision::Allow)
    };
    let mut proposed: Vec<String> = Vec::new();
    for (at, command) in facts.commands.iter().enumerate() {
        let starts_another = facts
            .commands
            .iter()
            .any(|other| other.wrapper.as_ref().is_some_and(|wrapper| wrapper.command == at));
        let alone = CommandFacts { wrapper: None, ..command.clone() };
        let mut only = Facts::new("Bash", facts.cwd.named.clone());
        only.commands.push(alone);
        if command.read_only || starts_another || covers(&known, &only) {
            continue;
        }
        let rule = format!("Bash({})", task(command, &|word| is_file(word, facts))?);
        if !proposed.contains(&rule) {
            proposed.push(rule);
        }
    }
    if proposed.is_empty() || proposed.len() > RULES_MAX {
        return None;
    }
    let parsed: Result<Vec<Rule>, _> =
        proposed.iter().map(|text| Rule::parse(text, Decision::Allow)).collect();
    covers(&known.and(parsed.ok()?), facts).then_some(proposed)
}

/// The pattern of a command's task.
fn task(command: &CommandFacts, is_file: &dyn Fn(&str) -> bool) -> Option<String> {
    let words: Vec<&str> = command
        .words
        .iter()
        .map_while(|word| word.text.to_str().filter(|text| word.known && is_plain(text)))
        .collect();
    let (program, rest) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let family = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if NEVER.contains(&name) || NEVER.contains(&family) {
        return None;
    }
    if INTERPRETERS.contains(&name) || INTERPRETERS.contains(&family) {
        return script(program, rest);
    }
    if OF_MANY_TASKS.contains(&name) {
        return one_of_many(program, rest);
    }
    match rest.first() {
        None if command.words.len() == 1 => Some((*program).to_owned()),
        Some(second) if is_task(second) && !is_file(second) => {
            Some(format!("{program} {second} *"))
        }
        Some(_) | None => Some(format!("{program} *")),
    }
}

/// An interpreter with a file, or a module that is a tool.
fn script(program: &str, rest: &[&str]) -> Option<String> {
    match rest {
        ["-m", module, ..] if MODULES.contains(module) => Some(format!("{program} -m {module} *")),
        [file, ..] if !file.starts_with('-') && file.contains(['.', '/']) => {
            Some(format!("{program} {file} *"))
        }
        _ => None,
    }
}

fn one_of_many(program: &str, rest: &[&str]) -> Option<String> {
    let (task, rest) = rest.split_first()?;
    if !is_task(task) || RUNS_ANYTHING.contains(task) {
        return None;
    }
    if *task == "run" && !RUN_NAMES.contains(&program) {
        return None;
    }
    if !GROUPS.contains(task) || program == "cargo" {
        return Some(format!("{program} {task} *"));
    }
    let second = rest.first().filter(|word| is_task(word) && !RUNS_ANYTHING.contains(word))?;
    Some(format!("{program} {task} {second} *"))
}

/// A word that names a file which the call is about: another call would be about another.
fn is_file(word: &str, facts: &Facts) -> bool {
    let place = facts.cwd.named.join(word);
    facts.reads.iter().chain(&facts.writes).any(|path| path.named == place)
}

/// A word that names a task: letters, and what stands between them.
fn is_task(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_:".contains(c))
}

/// A word that means itself in a rule.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./+:@%,=".contains(c))
}
