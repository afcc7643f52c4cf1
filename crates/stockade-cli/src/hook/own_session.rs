//! `stockade ps`, `logs` and `kill` as lines of an agent: they are about its own session, which no sandbox can
//! reach, so that they run outside of one.

use std::path::Path;

use stockade::call::SessionName;
use stockade::policy::{By, Ruling};
use stockade::shell::quoted;

/// The rule by which they are allowed.
const RULE: &str = "session/own";

/// The same command for the agent's own session; none for any other line.
pub(super) fn command(
    line: &str,
    program: &str,
    session: &SessionName,
    root: &Path,
) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if line.trim().contains('\n') || !words.iter().copied().all(is_plain) {
        return None;
    }
    let (name, verb, rest) = match words.as_slice() {
        [name, verb, rest @ ..] => (*name, *verb, rest),
        [] | [_] => return None,
    };
    if name != "stockade" && name != program {
        return None;
    }
    let mut words = vec![program.to_owned(), verb.to_owned(), format!("--session={session}")];
    words.push(format!("--root={}", root.to_str()?));
    match (verb, rest) {
        ("ps", []) => {}
        ("ps", ["--json"]) => words.push("--json".to_owned()),
        ("logs" | "kill", [what]) if !what.starts_with('-') => {
            words.push((*what).to_owned());
        }
        _ => return None,
    }
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

/// The ruling on such a command.
pub(super) fn ruling() -> Ruling {
    Ruling { rule: Some(RULE.to_owned()), ..Ruling::allow(By::Default) }
}

/// Whether a word means itself in every shell.
fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_commands_themselves_are_taken_and_only_for_the_own_session() {
        let (own, root) = ("s-1".parse().unwrap(), Path::new("/r"));
        let taken = |line: &str| command(line, "/opt/stockade", &own, root);
        let ps = "/opt/stockade ps --session=s-1 --root=/r";
        assert_eq!(taken("stockade ps").as_deref(), Some(ps));
        let kill = "/opt/stockade kill --session=s-1 --root=/r 3000";
        assert_eq!(taken("  stockade   kill 3000 ").as_deref(), Some(kill));
        assert!(taken("/opt/stockade logs 01AB").is_some());
        for line in [
            "stockade",
            "stockade run -- ls",
            "stockade ps --session other",
            "stockade kill",
            "stockade kill a b",
            "stockade kill --root=/x",
            "stockade kill $(id)",
            "stockade ps; id",
            "stockade ps\nls",
            "./stockade ps",
            "/tmp/stockade ps",
            "STOCKADE=1 stockade ps",
            "stockade logs *",
        ] {
            assert_eq!(taken(line), None, "{line}");
        }
    }
}
