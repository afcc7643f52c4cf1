//! What a command prints, where the line says so: `$(pwd)`, `echo x | base64 -d`.

use super::ast::{Piece, Redirect, RedirectKind, Script, Statement, StatementKind};
use super::expand::{self, Field, Use};
use super::state::State;

/// Programs that print another text than they read, and nothing else.
const FILTERS: [&str; 20] = [
    "awk", "base32", "base64", "basenc", "bunzip2", "cut", "gawk", "gunzip", "gzip", "head",
    "iconv", "openssl", "perl", "rev", "sed", "tac", "tail", "tr", "xxd", "zcat",
];

/// Text that a line holds and a command prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrintedText {
    /// All of it.
    Text(String),
    /// A program changes it in a way that is not followed.
    Changed,
}

/// Groups and pipelines in one another that are followed.
const DEPTH_MAX: usize = 8;

/// What a substitution is likely to become, where the line says so: what it prints, or the program
/// that it looks for.
pub fn substituted(script: &Script, state: &State) -> Option<PrintedText> {
    if let [statement] = script.statements.as_slice()
        && let Some((name, arguments)) = command(statement, state)
        && matches!(name.as_str(), "which" | "command" | "type")
    {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        return program(&arguments).map(PrintedText::Text);
    }
    // The shell takes line ends away behind the text.
    match printed_by_all(script, state)? {
        PrintedText::Text(text) => Some(PrintedText::Text(text.trim_end_matches('\n').to_owned())),
        PrintedText::Changed => Some(PrintedText::Changed),
    }
}

/// What a statement prints that reads this text; `None` where the line does not hold it.
pub fn printed(
    statement: &Statement,
    read: Option<&PrintedText>,
    state: &State,
) -> Option<PrintedText> {
    printed_within(statement, read, state, 0)
}

fn printed_within(
    statement: &Statement,
    read: Option<&PrintedText>,
    state: &State,
    depth: usize,
) -> Option<PrintedText> {
    if depth > DEPTH_MAX {
        return None;
    }
    let deeper = depth.saturating_add(1);
    if let StatementKind::Pipeline(parts) = &statement.kind {
        let mut text = read.cloned();
        for part in parts {
            text = printed_within(part, text.as_ref(), state, deeper);
        }
        return text.filter(|_| statement.redirects.is_empty());
    }
    if let StatementKind::Group(script) | StatementKind::Subshell(script) = &statement.kind {
        let is_plain = statement.redirects.is_empty() && !statement.background;
        return all_within(script, state, deeper).filter(|_| is_plain);
    }
    let (name, arguments) = command(statement, state)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let given = given(&statement.redirects, state);
    let read = given.as_ref().or(read.filter(|_| statement.redirects.is_empty()));
    let text = match name.as_str() {
        _ if given.is_none() && !statement.redirects.is_empty() => None,
        "pwd" if arguments.is_empty() => folder(state),
        "echo" => return echoed(&arguments).map(PrintedText::Text).or(Some(PrintedText::Changed)),
        "printf" => {
            return formatted(&arguments).map(PrintedText::Text).or(Some(PrintedText::Changed));
        }
        "tee" => return read.cloned(),
        "cat" if arguments.iter().all(|word| matches!(*word, "-" | "-u")) => return read.cloned(),
        "base64" | "gbase64" | "rev" | "tr" | "xxd" => match read? {
            PrintedText::Text(text) => decoded(&name, &arguments, text),
            PrintedText::Changed => None,
        },
        _ => None,
    };
    let is_filter = FILTERS.contains(&name.as_str()) && read.is_some();
    text.map(PrintedText::Text).or(is_filter.then_some(PrintedText::Changed))
}

/// What statements print one after another.
pub fn printed_by_all(script: &Script, state: &State) -> Option<PrintedText> {
    all_within(script, state, 0)
}

fn all_within(script: &Script, state: &State, depth: usize) -> Option<PrintedText> {
    let mut all = String::new();
    for statement in &script.statements {
        match printed_within(statement, None, state, depth)? {
            PrintedText::Text(text) => {
                all.push_str(&text);
                all.push('\n');
            }
            PrintedText::Changed => return Some(PrintedText::Changed),
        }
    }
    Some(PrintedText::Text(all))
}

/// The words of a simple command, if all of them are known and its name means what it says.
fn command(statement: &Statement, state: &State) -> Option<(String, Vec<String>)> {
    let Statement { kind: StatementKind::Simple(simple), background: false, .. } = statement else {
        return None;
    };
    if !simple.assignments.is_empty() || state.altered().is_some() {
        return None;
    }
    let words = simple.words.iter().flat_map(|word| expand::expand(word, state, Use::Argument));
    let mut words = words.map(|field| Field::known(&field)).collect::<Option<Vec<String>>>()?;
    if words.is_empty() {
        return None;
    }
    let name = words.remove(0);
    let is_own = state.function(&name).is_empty() && state.alias(&name).is_none();
    is_own.then_some((name, words))
}

/// The text that a command is given by a redirection, which is its only one.
pub fn given(redirects: &[Redirect], state: &State) -> Option<PrintedText> {
    let [redirect] = redirects else { return None };
    match (redirect.kind, redirect.target.pieces.as_slice()) {
        (RedirectKind::HereDocument | RedirectKind::HereString, _) => {
            expand::value(&redirect.target, state).known().map(PrintedText::Text)
        }
        (RedirectKind::Read, [Piece::Process { script }]) => printed_by_all(script, state),
        _ => None,
    }
}

/// What programs make of a text that people use to hide one.
fn decoded(name: &str, arguments: &[&str], text: &str) -> Option<String> {
    match (name, arguments) {
        ("rev", []) => {
            let lines = text.lines().map(|line| line.chars().rev().collect::<String>());
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        ("tr", [from, to]) if !from.starts_with('-') => translated(from, to, text),
        ("xxd", options)
            if options.iter().all(|one| matches!(*one, "-r" | "-p" | "-rp" | "-ps")) =>
        {
            let digits: Vec<u32> = text.chars().filter_map(|sign| sign.to_digit(16)).collect();
            let byte = |pair: &[u32]| match pair {
                [high, low] => u8::try_from(high.checked_mul(16)?.checked_add(*low)?).ok(),
                _ => None,
            };
            String::from_utf8(digits.chunks(2).map(byte).collect::<Option<_>>()?).ok()
        }
        ("base64" | "gbase64", [option]) if matches!(*option, "-d" | "-D" | "-di" | "--decode") => {
            of_base64(text)
        }
        _ => None,
    }
}

/// What `tr` makes of a text, for sets of letters and ranges.
fn translated(from: &str, to: &str, text: &str) -> Option<String> {
    let (from, to) = (letters(from)?, letters(to)?);
    let last = to.last()?;
    let letter = |sign: char| match from.iter().rposition(|one| *one == sign) {
        Some(at) => *to.get(at).unwrap_or(last),
        None => sign,
    };
    Some(text.chars().map(letter).collect())
}

/// The letters of a set: `a-zA-Z`.
fn letters(set: &str) -> Option<Vec<char>> {
    let signs: Vec<char> = set.chars().collect();
    let mut letters = Vec::new();
    let mut rest = signs.as_slice();
    loop {
        rest = match rest {
            [] => return Some(letters),
            ['[' | '\\', ..] => return None,
            [first, '-', last, rest @ ..] => {
                letters.extend(*first..=*last);
                rest
            }
            [one, rest @ ..] => {
                letters.push(*one);
                rest
            }
        };
    }
}

fn of_base64(text: &str) -> Option<String> {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0_u32, Vec::new());
    for sign in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = SIGNS.iter().position(|one| *one == sign)?;
        bits = (bits << 6) | u32::try_from(value).ok()?;
        count = count.saturating_add(6);
        if count >= 8 {
            count = count.saturating_sub(8);
            bytes.extend((bits >> count).to_le_bytes().first());
            bits &= (1_u32 << count).saturating_sub(1);
        }
    }
    String::from_utf8(bytes).ok()
}

fn folder(state: &State) -> Option<String> {
    match state.folders() {
        [folder] => folder.to_str().map(str::to_owned),
        _ => None,
    }
}

/// `echo`, unless its words hold escapes which shells read in different ways.
pub fn echoed(arguments: &[&str]) -> Option<String> {
    let (arguments, is_escaped) = match arguments {
        ["-n", rest @ ..] => (rest, false),
        ["-e" | "-ne" | "-en", rest @ ..] => (rest, true),
        all => (all, false),
    };
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1;
    let text = arguments.join(" ");
    if arguments.first().is_some_and(is_option) {
        return None;
    }
    if is_escaped {
        return unescaped(&text);
    }
    let is_escape = |(at, _): (usize, &str)| {
        let sign = text.get(at..).and_then(|rest| rest.chars().nth(1));
        sign.is_some_and(|sign| "abcefnrtvxuU01234567\\".contains(sign))
    };
    let is_plain = !text.match_indices('\\').any(is_escape);
    is_plain.then_some(text)
}

/// Text with its escapes read: `\n`, `\t`, `\0`, `\162`, `\x72`.
fn unescaped(text: &str) -> Option<String> {
    let mut read = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        read.push_str(before);
        let sign = after.chars().next()?;
        let (digits, base, skipped) = match sign {
            'n' | 't' | '\\' => {
                read.push(if sign == 'n' {
                    '\n'
                } else if sign == 't' {
                    '\t'
                } else {
                    '\\'
                });
                rest = after.get(1..)?;
                continue;
            }
            'x' => (2, 16, 1),
            '0'..='7' => (if sign == '0' { 4 } else { 3 }, 8, 0),
            _ => return None,
        };
        let number = after.get(skipped..)?;
        let length = number.chars().take(digits).take_while(|c| c.is_digit(base)).count();
        let code = u8::from_str_radix(number.get(..length)?, base).ok()?;
        read.push(char::from(code));
        rest = number.get(length..)?;
    }
    read.push_str(rest);
    Some(read)
}

/// `printf` with a format of text, escapes and `%s`.
pub fn formatted(arguments: &[&str]) -> Option<String> {
    let (format, mut values) = arguments.split_first()?;
    if format.starts_with('-') {
        return None;
    }
    let format = unescaped(format)?;
    let mut text = String::new();
    loop {
        let before = values.len();
        let mut signs = format.chars();
        while let Some(sign) = signs.next() {
            match (sign, if sign == '%' { signs.next() } else { None }) {
                ('%', Some('s')) => {
                    if let Some((value, rest)) = values.split_first() {
                        text.push_str(value);
                        values = rest;
                    }
                }
                ('%', Some('%')) => text.push('%'),
                ('%', _) => return None,
                (sign, _) => text.push(sign),
            }
        }
        if values.is_empty() || values.len() == before {
            return Some(text);
        }
    }
}

/// The program that `which x`, `command -v x` and `type -P x` look for.
fn program(arguments: &[&str]) -> Option<String> {
    let names: Vec<&str> =
        arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
    match names.as_slice() {
        [name] => Some((*name).to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{decoded, echoed, formatted};

    #[test]
    fn text_is_printed_as_the_shell_prints_it() {
        assert_eq!(echoed(&["-n", "a", "b"]).as_deref(), Some("a b"));
        assert_eq!(echoed(&["-e", "a\\nb\\x63"]).as_deref(), Some("a\nbc"));
        assert_eq!(echoed(&["-e", "a\\c"]), None);
        assert_eq!(echoed(&["a\\nb"]), None);
        assert_eq!(echoed(&["a\\.b"]).as_deref(), Some("a\\.b"));
        assert_eq!(formatted(&["%s\\n", "a", "b"]).as_deref(), Some("a\nb\n"));
        assert_eq!(formatted(&["\\162\\155 x"]).as_deref(), Some("rm x"));
        assert_eq!(formatted(&["x", "y"]).as_deref(), Some("x"));
        assert_eq!(formatted(&["%d", "1"]), None);
        assert_eq!(formatted(&["-v", "x", "y"]), None);
    }

    #[test]
    fn text_that_is_hidden_is_read() {
        for (name, arguments, text) in [
            ("base64", vec!["-d"], "cm0gLXJmIHg="),
            ("rev", vec![], "x fr- mr"),
            ("tr", vec!["a-z", "n-za-m"], "ez -es k"),
            ("xxd", vec!["-r", "-p"], "726d202d72662078"),
        ] {
            assert_eq!(decoded(name, &arguments, text).as_deref(), Some("rm -rf x"), "{name}");
        }
        assert_eq!(decoded("base64", &[], "eA=="), None);
        assert_eq!(decoded("base64", &["-d"], "!"), None);
        assert_eq!(decoded("tr", &["-d", "x"], "x"), None);
    }
}
