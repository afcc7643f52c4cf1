//! A secret in a command, wherever and however, is in no byte of its preview.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;

use proptest::prelude::*;
use stockade::journal::preview::{PREVIEW_CHARS_MAX, digest, preview};

fn known(word: &str) -> bool {
    ["git", "env", "rm", "curl", "push", "status", "--no-ff"].contains(&word)
}

fn exists(path: &OsStr) -> bool {
    ["src/main.rs", "my notes", "my\u{3164}notes", "a\u{1b}[31mb\n", "./run.sh"]
        .iter()
        .any(|known| path == *known)
}

fn shown(argv: &[&str]) -> String {
    preview(&argv.iter().map(OsString::from).collect::<Vec<_>>(), &known, &exists)
}

/// Every form in which a token is given to a program.
fn planted(token: &str, form: usize) -> String {
    match form {
        0 => token.to_owned(),
        1 => format!("--key={token}"),
        2 => format!("-k{token}"),
        3 => format!("--{token}"),
        4 => format!("-{token}"),
        5 => format!("NAME={token}"),
        6 => format!("/x/{token}"),
        7 => format!("@{token}"),
        8 => format!("some text with {token} in it"),
        9 => format!("--{token}=value"),
        10 => format!("--token={token}"),
        11 => format!("https://user:{token}@host/push"),
        12 => format!("{token}/push"),
        13 => format!("--{token}/rm"),
        14 => format!("Authorization: Bearer {token}"),
        15 => format!("-{token}=src/main.rs"),
        16 => format!("+{token}"),
        _ => format!("{token}\n{token}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_token_is_never_shown(
        token in "[A-Za-z0-9_-]{6,40}",
        form in 0_usize..18,
        at in 0_usize..6,
        mut argv in proptest::collection::vec("(git|push|-rf|--force|--token|src/main.rs|[ -~]{0,12})", 0..6),
    ) {
        // A random word can be a piece of a word that may be shown, if ever so rarely.
        prop_assume!(argv.iter().all(|word| !word.contains(&token)));
        argv.insert(at.min(argv.len()), planted(&token, form));
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let shown = shown(&words);
        prop_assert!(!shown.contains(&token), "{token} is in {shown}");
        prop_assert!(shown.chars().count() <= PREVIEW_CHARS_MAX);
    }

    #[test]
    fn any_bytes_make_one_short_printable_line(
        argv in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..40),
        everything_exists in any::<bool>(),
    ) {
        let argv: Vec<OsString> = argv.into_iter().map(OsString::from_vec).collect();
        let shown = preview(&argv, &|_| everything_exists, &|_| everything_exists);
        prop_assert!(shown.chars().count() <= PREVIEW_CHARS_MAX);
        prop_assert!(!shown.chars().any(char::is_control));
    }
}

#[test]
fn shows_what_helps_and_masks_the_rest() {
    let cases: &[(&[&str], &str)] = &[
        (&["git", "status"], "git status"),
        (&["/usr/bin/git", "push", "--force", "origin"], "git push --force …(6)"),
        (&["git", "push", "--no-ff", "--ghp-abcdef"], "git push --no-ff …(12)"),
        (&["rm", "-rf", "src/main.rs", "/etc"], "rm -rf src/main.rs …(4)"),
        (&["curl", "-H", "Authorization: x", "-uroot:pw"], "curl -H …(16) -u…(7)"),
        (&["curl", "--token=abc", "--secretabc=1"], "curl --token=…(3) …(13)"),
        (&["curl", "--token", "abc"], "curl --token …(3)"),
        (&["env", "TOKEN=abc", "/bin/rm", "-"], "env …(9) …/rm -"),
        (&["git", "--", "-p", "-p12", "-abcde", ""], "git -- -p -p…(2) -a…(4) …(0)"),
        (&["git", "my notes"], "git my\\u{20}notes"),
        (&["git", "my\u{3164}notes"], "git my\\u{3164}notes"),
        (&["git", "a\u{1b}[31mb\n"], "git a\\u{1b}[31mb\\u{a}"),
        (&["./run.sh"], "run.sh"),
        (&["sk-live-abcdef", "status"], "…(14) status"),
        (&["my program; x"], "…(13)"),
        (&[], ""),
    ];
    for (argv, expected) in cases {
        assert_eq!(shown(argv), *expected, "{argv:?}");
    }
}

#[test]
fn a_long_command_is_cut_and_costs_no_more_than_what_is_shown() {
    let argv: Vec<OsString> = std::iter::once("git")
        .chain(std::iter::repeat_n("file", 100_000))
        .map(Into::into)
        .collect();
    let asked = Cell::new(0);
    let counted = |_: &OsStr| {
        asked.set(asked.get() + 1);
        true
    };
    let shown = preview(&argv, &known, &counted);
    assert!(shown.ends_with(" …+99964"), "{shown}");
    assert!(shown.chars().count() <= PREVIEW_CHARS_MAX);
    assert!(asked.get() < 100);
}

#[test]
fn a_huge_argument_is_masked() {
    assert_eq!(shown(&["git", &"x".repeat(2 << 20)]), "git …(2097152)");
}

#[test]
fn the_digest_tells_apart_what_joined_words_would_not() {
    let of = |argv: &[&str]| digest(&argv.iter().map(OsString::from).collect::<Vec<_>>());
    assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    assert_ne!(of(&["a"]), of(&["a", ""]));
    assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
    let expected = "885531f032254ed0bf589537578615116b5f2cabf15086479f2def7be4b15094";
    assert_eq!(of(&["git", "push"]).to_string(), expected);
}
