//! What is wrapped is one word, and what was wrapped is found again, whoever did it.

use std::path::Path;

use stockade::policy::Mode;

use super::{FolderCarry, Wrapping, unwrapped};
use crate::args::{Agent, HookOptions, PersonAnswer};

const PROGRAM: &str = "/opt/my tools/stockade";

fn options() -> HookOptions {
    HookOptions {
        format: Agent::Claude,
        root: None,
        policy: Some("/p q/stockade.toml".into()),
        settings: vec!["/s.json".into()],
        rules: Vec::new(),
        dialect: Vec::new(),
        mode: None,
        tier: None,
        no_box: false,
        journal: None,
    }
}

fn wrapped(line: &str) -> Option<String> {
    let options = options();
    let (root, cwd) = (Path::new("/r"), Path::new("/r/it's"));
    let (mode, deadline) = (Mode::Default, None);
    let (session, folder) = (None, FolderCarry::None);
    let (program, options) = (PROGRAM, &options);
    let wrapping = Wrapping { program, root, cwd, mode, options, deadline, session, folder };
    wrapping.of(line, PersonAnswer::None)
}

fn carried(line: &str, folder: FolderCarry) -> String {
    let options = options();
    let root = Path::new("/r");
    let name = "s-1".parse().unwrap();
    let (mode, deadline, session) = (Mode::Default, None, Some(&name));
    let (program, cwd, options) = (PROGRAM, root, &options);
    let wrapping = Wrapping { program, root, cwd, mode, options, deadline, session, folder };
    wrapping.of(line, PersonAnswer::None).unwrap()
}

#[test]
fn a_line_that_carries_its_directory_is_seen_through_too() {
    for folder in [FolderCarry::ToShell, FolderCarry::InSession, FolderCarry::None] {
        let once = carried("cd 'a b' && make", folder);
        assert!(once.contains(" --session=s-1 "), "{once}");
        assert_eq!(once.contains("--folder-fd=9"), folder == FolderCarry::ToShell);
        assert_eq!(once.contains("--background"), folder == FolderCarry::None);
        assert_eq!(unwrapped(carried(&once, folder), PROGRAM), "cd 'a b' && make");
        for more in
            [format!("{once}; id"), format!("id; {once}"), once.replacen("); }", "; id); }", 1)]
        {
            let is_other = more != once;
            assert!(!is_other || unwrapped(more.clone(), PROGRAM) == more, "{more}");
        }
    }
}

#[test]
fn the_line_is_one_quoted_word_behind_all_options() {
    let expected = "'/opt/my tools/stockade' shell --root=/r '--cwd=/r/it'\\''s' \
                    '--policy=/p q/stockade.toml' --settings=/s.json --dialect=claude --mode=default \
                    --answered=none -- 'echo '\\''a'\\''; b'";
    assert_eq!(wrapped("echo 'a'; b").as_deref(), Some(expected));
}

#[test]
fn a_wrapped_line_is_seen_through_however_often() {
    for line in ["ls", "", "echo 'a' \"b\" $c", "a\nb\n", "x -- 'y'", "=ls", "'", "''", "-- "] {
        // The folder's quote is more than the reader of options takes, which the next test is about.
        let once = wrapped(line).unwrap().replace("it'\\''s", "it");
        assert_eq!(unwrapped(once.clone(), PROGRAM), line, "{once}");
        let twice = wrapped(&once).unwrap().replace("'--cwd=/r/it'\\''s'", "--cwd=/r/it");
        assert_eq!(unwrapped(twice.clone(), PROGRAM), line, "{twice}");
    }
}

#[test]
fn a_line_that_an_agent_wrote_is_seen_through_too() {
    for (line, inner) in [
        ("stockade shell --answered=yes -- 'rm -rf /'", "rm -rf /"),
        ("/usr/bin/stockade shell --mode=bypass -- make", "make"),
        ("  ./stockade   shell --tier process -- 'a; b'  ", "a; b"),
        ("stockade shell -- 'stockade shell --answered=yes -- id'", "id"),
    ] {
        assert_eq!(unwrapped(line.to_owned(), PROGRAM), inner, "{line}");
    }
}

#[test]
fn what_is_more_than_one_command_is_left_whole() {
    for line in [
        "stockade shell -- 'a'; evil",
        "stockade shell -- 'a' && stockade shell -- 'b'",
        "stockade shell $(evil) -- 'a'",
        "stockade shell x; evil -- 'a'",
        "stockade shell --root=`evil` -- 'a'",
        "stockade shell\nevil -- 'a'",
        "stockade shell > f -- 'a'",
        "stockade shell -- \"$(evil)\"",
        "stockade shell -- $x",
        "stockade run -- a",
        "evil; stockade shell -- 'a'",
        "notstockade shell -- 'a'",
        "stockade shell 'a'",
    ] {
        assert_eq!(unwrapped(line.to_owned(), PROGRAM), line);
    }
}

#[test]
fn a_line_that_is_longer_than_an_argument_can_be_is_not_wrapped() {
    assert!(wrapped(&"a ".repeat(59 << 10)).is_some());
    assert_eq!(wrapped(&"a ".repeat(61 << 10)), None);
}
