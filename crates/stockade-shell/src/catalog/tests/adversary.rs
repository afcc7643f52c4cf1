//! Words that nobody would write in earnest: nothing panics, and time stays linear.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::{Catalog, HazardKind, Word, awk, sed};

fn read(name: &str, argv: &[OsString]) -> Vec<HazardKind> {
    let reading = Catalog::shipped().read(name, &Word::list(argv)).unwrap();
    let hazards = reading.map(|reading| reading.hazards).unwrap_or_default();
    hazards.iter().map(|hazard| hazard.kind).collect()
}

fn many(first: &str, word: &str, count: usize, last: &[&str]) -> Vec<OsString> {
    let words = std::iter::once(first).chain(std::iter::repeat_n(word, count));
    words.chain(last.iter().copied()).map(OsString::from).collect()
}

#[test]
fn a_hundred_thousand_arguments_are_read_in_linear_time() {
    for (program, word) in [
        ("git", "log"),
        ("git", "--output=x"),
        ("env", "A=b"),
        ("env", "-S"),
        ("env", "env"),
        ("find", "-exec"),
        ("find", ";"),
        ("sort", "-"),
        ("sort", "--"),
        ("sort", "--o"),
        ("tar", "-I"),
        ("sed", "-e"),
        ("awk", "-e"),
        ("bash", "-o"),
        ("java", "-XX:x"),
        ("curl", "http://h"),
        ("docker", "container"),
        ("cp", "a"),
        ("cp", "--unknown"),
        ("grep", "-r"),
        ("eval", "a"),
        ("tar", "-f"),
        ("scp", "h:a"),
    ] {
        let argv = [10_000, 100_000].map(|count| many(program, word, count, &[]));
        let took = |argv: &Vec<_>| {
            let start = Instant::now();
            read(program, argv);
            start.elapsed()
        };
        // A machine with other work may hold one reading up; hardly five of them.
        let is_linear = (0..5).any(|_| {
            let [small, large] = argv.each_ref().map(took);
            large < small * 40 + Duration::from_millis(200)
        });
        assert!(is_linear, "{program} {word}");
    }
}

#[test]
fn the_last_of_a_hundred_thousand_arguments_counts() {
    let argv = many("sort", "f", 100_000, &["-o", "x"]);
    assert_eq!(read("sort", &argv), [HazardKind::Flag]);
    let argv = many("sort", "f", 100_000, &["--", "-o", "x"]);
    assert_eq!(read("sort", &argv), []);
}

#[test]
fn a_word_of_two_megabytes_is_read() {
    for (program, prefix, unit) in [
        ("sort", "-", "u"),
        ("sort", "--output=", "x"),
        ("sort", "--", "o"),
        ("git", "-c", "a"),
        ("git", "", "x"),
        ("awk", "", "{print $1}"),
        ("awk", "", "("),
        ("awk", "/", "[[:"),
        ("sed", "", "s/a/b/;"),
        ("sed", "s/", "[[:"),
        ("sed", "", "{"),
        ("env", "-S", "a "),
        ("env", "", "="),
        ("find", "-", "exec"),
        ("grep", "", "*a*b"),
        ("7z", "@", "*a"),
        ("perl", "-0", "7"),
    ] {
        let word = format!("{prefix}{}", unit.repeat(2_000_000 / unit.len()));
        let argv = [OsString::from(program), OsString::from(word)];
        let start = Instant::now();
        read(program, &argv);
        assert!(start.elapsed() < Duration::from_secs(120), "{program} {prefix}{unit}");
    }
}

#[test]
fn bytes_that_are_no_text_are_read() {
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let argv = [odd(b"sort"), odd(b"-\xff"), odd(b"--outp\xff"), odd(b"-o"), odd(b"\xff")];
    assert_eq!(read("sort", &argv), [HazardKind::Flag]);
    let argv = [odd(b"bash"), odd(b"\xff")];
    assert_eq!(read("bash", &argv), []);
    let argv = [odd(b"awk"), odd(b"{print \xff}")];
    assert_eq!(read("awk", &argv), [HazardKind::InlineCode]);
    let argv = [odd(b"git"), odd(b"\xff"), odd(b"-x")];
    assert_eq!(read("git", &argv), []);
}

#[test]
fn empty_words_and_no_words_are_read() {
    for name in Catalog::shipped().names() {
        let program = OsString::from(name);
        read(name, &[]);
        read(name, std::slice::from_ref(&program));
        read(name, &[program.clone(), OsString::new()]);
        read(name, &[program.clone(), OsString::from("-"), OsString::from("--")]);
        read(name, &[program, OsString::new(), OsString::from("--="), OsString::from("-=")]);
    }
}

/// Words that look like options, operands and code of the programs in the data.
fn word() -> impl Strategy<Value = OsString> {
    let odd = prop::collection::vec(any::<u8>(), 0..12);
    prop_oneof![
        odd.prop_map(|bytes| OsString::from_vec(bytes.into_iter().filter(|b| *b != 0).collect())),
        "-{0,2}[a-zA-Z=+;{}-]{0,8}".prop_map(OsString::from),
        "[-a-z0-9=:;+{}/.$\"'\\\\ ]{0,16}".prop_map(OsString::from),
        prop::sample::select(vec!["-c", "-e", "-S", "--", "-exec", ";", "+", "{}", "A=b", "sh"])
            .prop_map(OsString::from),
    ]
}

proptest! {
    #[test]
    fn no_words_panic(at in any::<prop::sample::Index>(), words in prop::collection::vec(word(), 0..8)) {
        let names: Vec<_> = Catalog::shipped().names().collect();
        let name = at.get(&names);
        let mut argv = vec![OsString::from(*name)];
        argv.extend(words);
        read(name, &argv);
    }

    #[test]
    fn no_name_panics(name in ".{0,12}") {
        read(&name, &[]);
        Catalog::shipped().is_word(&name);
    }

    #[test]
    fn no_script_panics(text in prop::collection::vec(any::<u8>(), 0..64)) {
        let _judged = (awk::judge(&text), sed::judge(&text));
    }

    #[test]
    fn awk_and_sed_texts_panic_never(text in "[{}()/\\[\\]\"\\\\;\n<>|a-z0-9$!,~# ]{0,48}") {
        let _judged = (awk::judge(text.as_bytes()), sed::judge(text.as_bytes()));
    }
}
