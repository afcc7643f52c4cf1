//! Reads which programs were executed, from the notes that `strace` takes outside of the box.

use std::collections::HashMap;

/// A program that was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) path: String,
    pub(crate) argv: Vec<String>,
}

/// What stands before a line, so that it is known where it begins to run.
pub(crate) fn begin(number: usize) -> String {
    format!(": line {number}\n")
}

/// The programs that each line executed, the shell that runs the line apart.
pub(crate) fn by_line(notes: &str) -> HashMap<usize, Vec<Executed>> {
    let mut lines: HashMap<usize, Vec<Executed>> = HashMap::new();
    let mut unfinished: HashMap<&str, Executed> = HashMap::new();
    let mut current = None;
    for note in notes.lines() {
        let (process, rest) = note.trim_start().split_once(' ').unwrap_or((note, ""));
        let rest = rest.trim_start();
        let executed = if rest.starts_with("execve") {
            let executed = parse(rest);
            if rest.ends_with("<unfinished ...>") {
                unfinished.insert(process, executed);
                continue;
            }
            executed
        } else if rest.starts_with("<... execve") {
            unfinished.remove(process).unwrap()
        } else {
            continue;
        };
        if !rest.ends_with(" = 0") {
            continue;
        }
        match (started(&executed), current) {
            (Some(Started::Line(number)), _) => {
                lines.entry(number).or_default();
                current = Some(number);
            }
            (Some(Started::Shim), _) => {}
            (None, Some(number)) => lines.entry(number).or_default().push(executed),
            (None, None) => {}
        }
    }
    lines
}

enum Started {
    Line(usize),
    /// What belongs to no line: the shim of another box, the deadline of the next line.
    Shim,
}

fn started(executed: &Executed) -> Option<Started> {
    let words: Vec<&str> = executed.argv.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["stockade-shim"] => Some(Started::Shim),
        ["timeout", .., "bash", "-c", line] if number(line).is_some() => Some(Started::Shim),
        ["bash", "-c", line] => number(line).map(Started::Line),
        _ => None,
    }
}

fn number(line: &str) -> Option<usize> {
    line.strip_prefix(": line ")?.lines().next()?.parse().ok()
}

/// `execve("path", ["word", …], …`
fn parse(note: &str) -> Executed {
    let (call, mut rest) = note.split_once('(').unwrap();
    if call == "execveat" {
        rest = rest.split_once(", ").unwrap().1;
    }
    let (path, rest) = text(rest);
    let mut rest = rest.strip_prefix(", [").unwrap_or_default();
    let mut argv = Vec::new();
    while rest.starts_with('"') {
        let (word, after) = text(rest);
        argv.push(word);
        rest = after.trim_start_matches(", ");
    }
    Executed { path, argv }
}

/// A quoted text as `strace` writes it, and what follows.
fn text(note: &str) -> (String, &str) {
    let mut bytes = Vec::new();
    let mut rest = note.strip_prefix('"').unwrap();
    loop {
        let c = rest.chars().next().unwrap();
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => break,
            '\\' => {
                let octal = rest.bytes().take(3).take_while(|byte| (b'0'..b'8').contains(byte));
                let digits = octal.count();
                if digits > 0 {
                    bytes.push(u8::from_str_radix(&rest[..digits], 8).unwrap());
                    rest = &rest[digits..];
                    continue;
                }
                bytes.push(match rest.as_bytes()[0] {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    other => other,
                });
                rest = &rest[1..];
            }
            c => bytes.extend(c.to_string().bytes()),
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), rest)
}

#[test]
fn notes_are_read_as_they_are_written() {
    let notes = "\
        1 execve(\"/proc/self/fd/9\", [\"stockade-shim\"], 0x1 /* 0 vars */) = 0\n\
        2 execveat(3, \"\", [\"bash\", \"-c\", \": line 7\\nm001 'a'\"], [\"A=1\"], AT_EMPTY_PATH) = 0\n\
        3 execve(\"./bin/m001\", [\"./bin/m001\", \"a\\\"\\33b, c\"], [] <unfinished ...>\n\
        4 execve(\"/bin/m002\", [\"m002\"], []) = -1 ENOENT (No such file or directory)\n\
        3 <... execve resumed>) = 0\n\
        3 +++ exited with 0 +++\n";
    let argv = vec!["./bin/m001".to_owned(), "a\"\u{1b}b, c".to_owned()];
    let expected = HashMap::from([(7, vec![Executed { path: "./bin/m001".to_owned(), argv }])]);
    assert_eq!(by_line(notes), expected);
}
