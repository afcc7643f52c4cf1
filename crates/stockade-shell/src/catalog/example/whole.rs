//! Examples that state all that a reading of one command says.

use super::super::Catalog;
use super::super::analysis::{Analysis, Code, Effect, EffectKind, Purity, Runner, Word};
use super::super::call::Call;
use super::super::program::Program;
use super::super::schema::{self, Examples};

/// Checks the examples in `[program.examples]`.
pub(super) fn check(
    knowledge: &Catalog,
    program: &Program,
    data: &schema::Program,
) -> Result<(), String> {
    let examples = &data.examples;
    if holds_code(data) {
        both_kinds(&examples.code, "code")?;
    }
    exact(knowledge, program, &examples.code, |reading, argv| {
        reading.code.iter().map(|code| shown_code(code, argv)).collect()
    })?;
    exact(knowledge, program, &examples.inner, |reading, _| {
        reading.inner.iter().map(|inner| joined(&inner.words)).collect()
    })?;
    exact(knowledge, program, &examples.effects, |reading, argv| {
        reading.effects.iter().map(|effect| shown_effect(effect, argv)).collect()
    })?;
    every_effect(program, examples)?;
    natures(knowledge, program, data)
}

/// How many examples there are.
pub(super) fn count(examples: &Examples) -> usize {
    let Examples { code, inner, effects, reads, changes } = examples;
    [code.len(), inner.len(), effects.len(), reads.len(), changes.len()].iter().sum()
}

/// Whether commands of this program can hold code.
fn holds_code(data: &schema::Program) -> bool {
    let wraps = |wrapper: &schema::Wrapper| {
        !wrapper.code.is_empty() || wrapper.command == schema::Command::Shell
    };
    !data.code.is_empty()
        || data.wrapper.iter().any(wraps)
        || data.interpreter.iter().any(|data| !data.code.is_empty() || data.language.is_some())
}

fn both_kinds(examples: &[Vec<String>], what: &str) -> Result<(), String> {
    let with = examples.iter().any(|example| example.len() > 1);
    let without = examples.iter().any(|example| example.len() == 1);
    let found = with && without;
    found.then_some(()).ok_or_else(|| format!("there are not both kinds of examples for {what}"))
}

/// Checks that what is found in each line is what the example says, in any order.
fn exact(
    knowledge: &Catalog,
    program: &Program,
    examples: &[Vec<String>],
    find: impl Fn(&Analysis<'_>, &[String]) -> Vec<String>,
) -> Result<(), String> {
    for example in examples {
        let (argv, expected) = split(example)?;
        let mut expected = expected.to_vec();
        let mut found = find(&super::read(knowledge, program, &argv)?, &argv);
        expected.sort_unstable();
        found.sort_unstable();
        if found != expected {
            return Err(format!("{argv:?} should be read as {expected:?}, not {found:?}"));
        }
    }
    Ok(())
}

/// Every rule for effects has an example in which it finds something and one in which not.
fn every_effect(program: &Program, examples: &Examples) -> Result<(), String> {
    let lines = examples.effects.iter().map(|example| split(example).map(|(argv, _)| argv));
    let lines: Vec<Vec<String>> = lines.collect::<Result<_, _>>()?;
    let words: Vec<Vec<Word<'_>>> = lines.iter().map(|argv| Word::list(argv)).collect();
    let calls: Vec<Call<'_, '_>> = words.iter().map(|words| Call::new(program, words)).collect();
    for (at, rule) in program.effects.iter().enumerate() {
        let mut found = Vec::new();
        let mut finds = |call: &Call<'_, '_>| {
            found.clear();
            rule.find(call, &mut found);
            !found.is_empty()
        };
        let count = calls.iter().filter(|call| finds(call)).count();
        if count == 0 || count == calls.len() {
            let number = at.saturating_add(1);
            return Err(format!("effect {number} lacks examples of both kinds"));
        }
    }
    Ok(())
}

fn natures(knowledge: &Catalog, program: &Program, data: &schema::Program) -> Result<(), String> {
    let examples = &data.examples;
    let always = data.reads.iter().any(|reads| reads.always);
    let lacking = examples.reads.is_empty() || (examples.changes.is_empty() && !always);
    if !data.reads.is_empty() && lacking {
        return Err("there are not both kinds of examples for what changes nothing".to_owned());
    }
    for (lines, reads) in [(&examples.reads, true), (&examples.changes, false)] {
        for line in lines {
            let (argv, _) = split(std::slice::from_ref(line))?;
            let nature = super::read(knowledge, program, &argv)?.nature;
            if (nature != Purity::Unknown) != reads {
                return Err(format!("{argv:?} should not be of the nature {nature:?}"));
            }
        }
    }
    Ok(())
}

/// The words of the line that an example begins with, and what is said of it.
fn split(example: &[String]) -> Result<(Vec<String>, &[String]), String> {
    let (line, expected) = example.split_first().ok_or("an example has no line")?;
    let argv = shlex::split(line).ok_or_else(|| format!("the quotes in {line:?} do not close"))?;
    Ok((argv, expected))
}

fn shown_code(code: &Code, argv: &[String]) -> String {
    let runner = match code.runner {
        Runner::Shell => "shell",
        Runner::ThisShell => "this-shell",
        Runner::ThisShellLater => "this-shell-later",
        Runner::Remote => "remote",
        Runner::Other => "other",
    };
    let words = code.words.iter().filter_map(|word| argv.get(*word));
    let text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let open = if code.open { " ..." } else { "" };
    format!("{runner} {}{open}", text.get(code.offset..).unwrap_or_default())
}

fn shown_effect(effect: &Effect, argv: &[String]) -> String {
    let kind = match effect.kind {
        EffectKind::Read => "read",
        EffectKind::List => "list",
        EffectKind::Write => "write",
        EffectKind::Delete => "delete",
        EffectKind::Execute => "execute",
        EffectKind::Enter => "enter",
        EffectKind::Pass => "pass",
        EffectKind::ChangeTree => "change-tree",
        EffectKind::Forget => "forget",
        EffectKind::Host => "host",
    };
    let target = effect.target.to_string_lossy();
    let named = |word: usize| argv.get(word).is_some_and(|word| word.contains(&*target));
    match effect.word {
        None => format!("{kind} {target} implied"),
        Some(word) if named(word) => format!("{kind} {target}"),
        Some(word) => format!("{kind} {target}, which is not in word {word}"),
    }
}

fn joined(words: &[Word<'_>]) -> String {
    words.iter().map(|word| word.text.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
