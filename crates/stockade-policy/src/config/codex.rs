//! Codex's `.rules` files: each `prefix_rule` is one rule of ours for each of its alternatives.
//!
//! Anything else than `prefix_rule` is an error: it might have refused something.

mod reader;

use std::path::Path;

use reader::{Call, Reader, Value, ValueKind};

use crate::rules::{Example, Examples, Rule};
use crate::{Decision, LoadError};

/// More alternatives than this are a mistake.
const RULES_MAX: usize = 256;

/// The rules of one file.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Vec<Rule>, LoadError> {
    let mut reader = Reader::new(path, text);
    let mut rules = Vec::new();
    while let Some(call) = reader.next()? {
        if call.name != "prefix_rule" {
            let message = format!("`{}` is not understood; only prefix_rule is", call.name);
            return Err(reader.wrong(call.offset, message));
        }
        rules.extend(prefix_rule(&reader, call, path)?);
    }
    Ok(rules)
}

fn prefix_rule(reader: &Reader<'_>, call: Call, path: &Path) -> Result<Vec<Rule>, LoadError> {
    let mut pattern = None;
    let mut list = Decision::Allow;
    let mut reason = None;
    let (mut matching, mut not_matching) = (Vec::new(), Vec::new());
    for (key, value) in call.arguments {
        match key.as_str() {
            "pattern" => pattern = Some(value),
            "decision" => list = decision(reader, &value)?,
            "justification" => reason = Some(text(reader, &value)?.to_owned()),
            "match" => matching = examples(reader, &value)?,
            "not_match" => not_matching = examples(reader, &value)?,
            _ => {
                let message = format!(
                    "prefix_rule has no `{key}`; it has pattern, decision, justification, match \
                     and not_match"
                );
                return Err(reader.wrong(value.offset, message));
            }
        }
    }
    let Some(pattern) = pattern else {
        let message = "prefix_rule needs a pattern; write pattern = [\"ls\"]";
        return Err(reader.wrong(call.offset, message));
    };
    let line = reader.line(call.offset);
    let mut rules = Vec::new();
    for words in alternatives(reader, &pattern)? {
        let text = format!("Bash({} *)", words.join(" "));
        let rule = Rule::parse(&text, list)
            .map_err(|error| reader.wrong(pattern.offset, format!("{text}: {error}")))?;
        if let (false, Some(note)) = (rule.is_effective(), rule.note()) {
            return Err(reader.wrong(pattern.offset, format!("{text}: {note}")));
        }
        let rule = rule.written_in(path, line);
        rules.push(match &reason {
            Some(reason) => rule.because(reason),
            None => rule,
        });
    }
    with_examples(reader, rules, &matching, &not_matching)
}

/// The rules with their examples: one of them has to match each that is to match.
fn with_examples(
    reader: &Reader<'_>,
    rules: Vec<Rule>,
    matching: &[(String, usize)],
    not_matching: &[(String, usize)],
) -> Result<Vec<Rule>, LoadError> {
    for (example, offset) in matching {
        let fits = |rule: &Rule| rule.check(Example::Match(example)).is_ok();
        if !rules.iter().any(fits) {
            let message = format!("the example {example:?} does not match, and should");
            return Err(reader.wrong(*offset, message));
        }
    }
    for (example, offset) in not_matching {
        let wrong = rules.iter().find_map(|rule| rule.check(Example::NotMatch(example)).err());
        if let Some(error) = wrong {
            return Err(reader.wrong(*offset, error.message));
        }
    }
    let plain = |(text, _): &(String, usize)| text.clone();
    let with = |rule: Rule| {
        let fits = |(text, _): &&(String, usize)| rule.check(Example::Match(text)).is_ok();
        let examples = Examples {
            matching: matching.iter().filter(fits).map(plain).collect(),
            not_matching: not_matching.iter().map(plain).collect(),
        };
        rule.with_examples(examples).map_err(|error| reader.wrong(0, error.to_string()))
    };
    rules.into_iter().map(with).collect()
}

fn decision(reader: &Reader<'_>, value: &Value) -> Result<Decision, LoadError> {
    match text(reader, value)? {
        "allow" => Ok(Decision::Allow),
        "prompt" => Ok(Decision::Ask),
        "forbidden" => Ok(Decision::Deny),
        other => {
            let message =
                format!("unknown decision {other:?}; expected allow, prompt or forbidden");
            Err(reader.wrong(value.offset, message))
        }
    }
}

fn text<'v>(reader: &Reader<'_>, value: &'v Value) -> Result<&'v str, LoadError> {
    match &value.kind {
        ValueKind::Text(text) => Ok(text),
        ValueKind::List(_) => {
            Err(reader.wrong(value.offset, "here is a list; write a text in quotes"))
        }
    }
}

fn list<'v>(reader: &Reader<'_>, value: &'v Value) -> Result<&'v [Value], LoadError> {
    match &value.kind {
        ValueKind::List(values) => Ok(values),
        ValueKind::Text(text) => {
            let message = format!("here is a text; write a list, as [{text:?}]");
            Err(reader.wrong(value.offset, message))
        }
    }
}

/// Every sequence of words that a pattern means, each word as a rule writes it.
fn alternatives(reader: &Reader<'_>, pattern: &Value) -> Result<Vec<Vec<String>>, LoadError> {
    let values = list(reader, pattern)?;
    if values.is_empty() {
        return Err(reader.wrong(pattern.offset, "a pattern has at least one word"));
    }
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for value in values {
        let words: Vec<String> = match &value.kind {
            ValueKind::Text(_) => vec![word(reader, value)?],
            ValueKind::List(values) if values.is_empty() => {
                return Err(reader.wrong(value.offset, "there is no alternative in this list"));
            }
            ValueKind::List(values) => {
                values.iter().map(|value| word(reader, value)).collect::<Result<_, _>>()?
            }
        };
        // Before a command it would be a variable.
        let is_first = all.iter().all(Vec::is_empty);
        if let Some(odd) = words.iter().find(|word| is_first && word.contains('=')) {
            let message = format!("{odd:?} is no program whose calls a rule can judge");
            return Err(reader.wrong(value.offset, message));
        }
        if all.len().saturating_mul(words.len()) > RULES_MAX {
            return Err(reader.wrong(pattern.offset, "these are too many alternatives"));
        }
        let longer = |before: &Vec<String>| {
            let before = before.clone();
            words.iter().map(move |word| {
                before.iter().chain(std::iter::once(word)).cloned().collect::<Vec<_>>()
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    Ok(all)
}

/// One word, with a backslash before every letter that means something in a rule.
fn word(reader: &Reader<'_>, value: &Value) -> Result<String, LoadError> {
    let text = text(reader, value)?;
    if text.is_empty() || text.contains('\0') {
        let message = format!("{text:?} cannot be a word of a pattern here");
        return Err(reader.wrong(value.offset, message));
    }
    let plain = |letter: char| letter.is_alphanumeric() || "_-./,+@%=".contains(letter);
    let mut word = String::new();
    for letter in text.chars() {
        if !plain(letter) {
            word.push('\\');
        }
        word.push(letter);
    }
    Ok(word)
}

/// Commands, each a text or a list of words.
fn examples(reader: &Reader<'_>, value: &Value) -> Result<Vec<(String, usize)>, LoadError> {
    let mut examples = Vec::new();
    for value in list(reader, value)? {
        let line = match &value.kind {
            ValueKind::Text(line) => line.clone(),
            ValueKind::List(words) => {
                let words = words.iter().map(|word| text(reader, word));
                let words = words.collect::<Result<Vec<_>, _>>()?;
                if words.iter().any(|word| word.contains('\0')) {
                    let message = "a word of a command has a NUL byte in it".to_owned();
                    return Err(reader.wrong(value.offset, message));
                }
                stockade_shell::quoted_line(words)
            }
        };
        examples.push((line, value.offset));
    }
    Ok(examples)
}
