//! How many sentences of Stockade the tests repeat. A test that looks for a message takes it by its id from
//! `tests/golden/messages.txt`, or looks at a rule, a kind or a field, so that words can change.
//!
//! A text in a test repeats a phrase if three words in a row of it are in a text of the sources. What a
//! test says itself when it fails or is skipped does not count, and neither do commands that it runs.

#![expect(clippy::indexing_slicing, reason = "places in a text that was found there")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::project::workspace;
use crate::tidy::{Source, sources};

/// As many as there are today: inputs of tests and tables of what other programs do, most of them. It may
/// only go down.
const REPEATED_MAX: usize = 136;
/// Words in a row that make a phrase.
const PHRASE: usize = 3;
/// The text of these is for the reader of a failed or skipped test.
const SAID_BY_TESTS: [&str; 8] =
    ["panic!", "println!", "eprintln!", "unreachable!", "write!", "writeln!", "expect", "skip"];

/// A string literal: its place in the text, and what is between its quotes.
struct Literal<'a> {
    at: usize,
    text: &'a str,
}

/// The string literals of Rust code, and the code without them, its comments and its characters.
fn literals(code: &str) -> (Vec<Literal<'_>>, Vec<u8>) {
    let (bytes, mut bare) = (code.as_bytes(), code.as_bytes().to_vec());
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &code[at..];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let before = bytes[..at].strip_suffix(b"b").unwrap_or(&bytes[..at]);
        let after_word = before.last().is_some_and(is_word);
        let end = if rest.starts_with("//") {
            at + rest.find('\n').unwrap_or(rest.len())
        } else if let Some(hashes) = raw_hashes(rest).filter(|_| !after_word) {
            let start = at + hashes + 2;
            let close = format!("\"{}", "#".repeat(hashes));
            let length = code[start..].find(&close).unwrap();
            found.push(Literal { at, text: &code[start..start + length] });
            start + length + close.len()
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let length = quoted_length(quoted);
            found.push(Literal { at, text: &quoted[..length] });
            at + length + 2
        } else if let Some(length) = character_length(rest) {
            at + length
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        bare[at..end].fill(b' ');
        at = end;
    }
    (found, bare)
}

/// The number of hashes of a raw string that begins here.
fn raw_hashes(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r')?;
    let count = hashes.bytes().take_while(|byte| *byte == b'#').count();
    (hashes.as_bytes().get(count) == Some(&b'"')).then_some(count)
}

/// The length of a string up to its closing quote.
fn quoted_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// The length of a character literal, which a lifetime is not.
fn character_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if inner.starts_with('\\') {
        return inner[2..].find('\'').map(|length| length + 4);
    }
    let length = inner.chars().next()?.len_utf8();
    inner[length..].starts_with('\'').then_some(length + 2)
}

/// The phrases of a text: words that follow each other, with at most a comma, a colon or a semicolon
/// between them.
fn phrases(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut row: Vec<String> = Vec::new();
    for part in text.replace("\\n", " \n ").replace("\\\n", "").split(' ') {
        let part = part.trim_start_matches(char::is_whitespace);
        if part.is_empty() {
            continue;
        }
        let word = part.trim_end_matches([',', ':', ';']);
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'' || c == '-');
        if is_word {
            row.push(word.to_lowercase());
        } else {
            all.extend(row.windows(PHRASE).map(<[String]>::to_vec));
            row.clear();
        }
    }
    all.extend(row.windows(PHRASE).map(<[String]>::to_vec));
    all
}

/// Whether the text at this place is what a test says itself: a reason, or the last arguments of an
/// assertion.
fn is_said_by_test(bare: &[u8], at: usize) -> bool {
    let before = String::from_utf8_lossy(&bare[..at]);
    let before = before.trim_end();
    if before.ends_with("reason =") {
        return true;
    }
    let (mut depth, mut commas) = (0, 0);
    for (place, letter) in before.char_indices().rev() {
        match letter {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' if depth > 0 => depth -= 1,
            '(' | '[' | '{' => {
                let called = before[..place].trim_end();
                let from = called.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != '!');
                let name = &called[from.map_or(0, |at| at + 1)..];
                let is_message = match name {
                    "assert!" => commas >= 1,
                    "assert_eq!" | "assert_ne!" => commas >= 2,
                    _ => SAID_BY_TESTS.contains(&name),
                };
                if is_message {
                    return true;
                }
                if letter == '{' {
                    return false;
                }
                commas = 0;
            }
            ',' if depth == 0 => commas += 1,
            ';' if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// The part of a file that users run, and the part that is tests.
fn parts(Source { path, text }: &Source) -> (&str, &str) {
    if path.ends_with("it/tidy.rs") || path.contains("/benches/") || path.ends_with("/build.rs") {
        return ("", "");
    }
    let is_test =
        !path.contains("/src/") || path.contains("/tests/") || path.ends_with("/tests.rs");
    if is_test {
        return ("", text);
    }
    text.find("#[cfg(test)]\nmod tests {").map_or((text, ""), |at| text.split_at(at))
}

#[test]
fn the_tests_repeat_fewer_phrases_of_stockade_each_time() {
    let sources = sources();
    let mut ours = BTreeSet::new();
    for source in &sources {
        let (literals, _) = literals(parts(source).0);
        ours.extend(literals.iter().flat_map(|literal| phrases(literal.text)));
    }
    assert!(ours.len() > 5000, "{}", ours.len());
    let mut repeated = Vec::new();
    for source in &sources {
        let code = parts(source).1;
        let (literals, bare) = literals(code);
        for literal in literals {
            let is_ours = phrases(literal.text).iter().any(|phrase| ours.contains(phrase));
            if is_ours && !is_said_by_test(&bare, literal.at) {
                repeated.push(format!("{}: {:?}", source.path, literal.text));
            }
        }
    }
    assert!(
        repeated.len() <= REPEATED_MAX,
        "tests repeat {} phrases, {REPEATED_MAX} are known: use message!(id), or a kind or field:\n{}",
        repeated.len(),
        repeated.join("\n")
    );
}

#[test]
fn a_phrase_is_found_in_code() {
    let code = r##"fn f<'a>() { let c = '"'; assert!(x.contains("one two, three \" four"), "five six seven"); }
        // "eight nine ten"
        #[expect(lint, reason = "eleven twelve thirteen")] g(r#"a "b c d" {e} f"#);"##;
    let (found, bare) = literals(code);
    let texts: Vec<&str> = found.iter().map(|literal| literal.text).collect();
    let expected = [
        "one two, three \\\" four",
        "five six seven",
        "eleven twelve thirteen",
        "a \"b c d\" {e} f",
    ];
    assert_eq!(texts, expected);
    let said: Vec<bool> = found.iter().map(|one| is_said_by_test(&bare, one.at)).collect();
    assert_eq!(said, [false, true, true, false]);
    assert_eq!(phrases(texts[0]), [["one", "two", "three"]]);
    assert_eq!(phrases("a b {c} d e f: g"), [["d", "e", "f"], ["e", "f", "g"]]);
}

/// The ids and texts of a file of messages.
fn messages(package: &str) -> BTreeMap<String, String> {
    let path = workspace().join("crates").join(package).join("tests/golden/messages.txt");
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (id, text) = line.split_once(": ").unwrap();
        (id.to_owned(), text.to_owned())
    };
    let messages: BTreeMap<_, _> = text.lines().map(line).collect();
    assert_eq!(messages.len(), text.lines().count(), "{package}: two lines have one id");
    messages
}

/// A message is in one file once, in the order of the ids, and a test looks for it.
#[test]
fn every_message_has_one_line_and_a_test() {
    let code: String = sources().iter().map(|source| parts(source).1.to_owned()).collect();
    let mut texts = BTreeMap::new();
    for package in ["stockade-shell", "stockade-policy", "stockade", "stockade-cli"] {
        for (id, text) in messages(package) {
            assert!(code.contains(&format!("\"{id}\"")), "no test looks for {id}");
            let other = texts.insert(text, id.clone());
            assert_eq!(other, None, "{id} is there already");
        }
    }
}
