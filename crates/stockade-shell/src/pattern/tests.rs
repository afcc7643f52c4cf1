//! One table of all dialects, and properties against `globset` and a recursive reference.

use proptest::prelude::*;

use super::{Case, Dialect, PathGlob, PathPart, Pattern, PatternSet, Sign};
use crate::ast::Span;
use crate::expand::{Bit, Field};

/// A field whose special letters are those of the text.
fn field(text: &str) -> Field {
    let bit = |letter: char| match letter {
        '*' | '?' | '[' => Bit::Glob(letter),
        _ => Bit::Text(letter.to_string()),
    };
    Field { bits: text.chars().map(bit).collect(), ..Field::of("", Span { start: 0, end: 0 }) }
}

#[test]
fn each_dialect_has_its_own_special_letters() {
    const STARS: u8 = 1;
    const WORDS: u8 = 2;
    const NAME: u8 = 4;
    const FIND: u8 = 8;
    const SHELL: u8 = 16;
    const ALL: u8 = 31;
    // A pattern, a text, and the dialects in which it matches.
    for (pattern, text, expected) in [
        ("a*c", "abc", ALL),
        ("a*c", "ac", ALL),
        ("a*c", "abd", 0),
        ("a*a", "a", 0),
        ("*", "", ALL),
        ("a", "ab", 0),
        ("*b*d", "abcd", ALL),
        ("*bc*cd", "abcd", 0),
        ("**x", "x", ALL),
        ("a**b", "axxb", ALL),
        ("*.rs", ".rs", ALL),
        ("*.rs", "main.rsx", 0),
        ("a?c", "abc", ALL & !STARS),
        ("a?c", "a?c", ALL),
        ("a?c", "aéc", ALL & !STARS),
        ("?.c", "ab.c", 0),
        ("*?", "é", ALL & !STARS),
        ("[a-c]x", "bx", NAME | FIND | SHELL),
        ("[a-c]x", "zx", FIND | SHELL),
        ("[a-c]x", "[a-c]x", STARS | WORDS),
        ("[!a-c]x", "bx", FIND | SHELL),
        ("[^a-c]x", "dx", NAME | FIND | SHELL),
        ("*[!é]", "é", FIND | SHELL),
        ("[]x]", "]", NAME | FIND | SHELL),
        ("[]x]y", "xy", NAME | FIND | SHELL),
        ("[[:alpha:]]y", "ay", FIND | SHELL),
        ("[[:alpha:]]y", "a]y", NAME),
        ("a[", "a[", ALL),
        ("[a-]", "-", NAME | FIND | SHELL),
        (r"\*", "*", NAME | FIND),
        (r"\*", r"\x", STARS | WORDS | SHELL),
        (r"\x", "x", NAME | FIND),
        (r"x\", r"x\", ALL),
        ("{a,b}", "a", 0),
        ("{a,b}", "{a,b}", ALL),
        (".env.!(example|*.dist)", ".env.local", NAME),
        (".env.!(example|*.dist)", ".env.example", 0),
        (".env.!(example|*.dist)", ".env.x.dist", 0),
        (".env.!(example|*.dist)", ".env.example2", NAME),
        (".env.!(example|*.dist)", ".env", 0),
        ("a!(b", "a!(b", ALL),
    ] {
        let dialects = [Dialect::Stars, Dialect::Words, Dialect::Name, Dialect::Find];
        let [stars, words, name, find] =
            dialects.map(|dialect| Pattern::new(pattern, dialect).matches(text));
        let names = Pattern::of_field(&field(pattern)).unwrap();
        let shell = matches!(names.as_slice(), [name] if name.matches(text));
        for (bit, matches) in
            [(STARS, stars), (WORDS, words), (NAME, name), (FIND, find), (SHELL, shell)]
        {
            assert_eq!(matches, expected & bit != 0, "{pattern} {text} {bit}");
        }
    }
}

#[test]
fn letters_are_the_same_as_far_as_the_case_says() {
    for (pattern, text, exact, ascii, unicode) in [
        ("a*B?", "axBy", true, true, true),
        ("a*B?", "AxbY", false, true, true),
        ("é*", "Éa", false, false, true),
        ("ss", "ß", false, false, false),
        ("k", "\u{212a}", false, false, true),
        ("K", "\u{212a}", false, false, true),
    ] {
        let pattern = Pattern::new(pattern, Dialect::Words);
        let found = [Case::Exact, Case::Ascii, Case::Unicode].map(|c| pattern.matches_as(text, c));
        assert_eq!(found, [exact, ascii, unicode], "{pattern:?} {text}");
    }
    let pattern = Pattern::new("a*\u{e9}", Dialect::Stars);
    assert!(!pattern.matches(b"a\xe9") && !pattern.matches_as(b"a\xe9", Case::Unicode));
    assert!(Pattern::new("a?b", Dialect::Name).matches(b"a\xffb"), "a byte is a letter");
    assert!(Pattern::new(b"a\xff", Dialect::Find).matches(b"a\xff"));
}

#[test]
fn a_pattern_covers_what_it_matches_whatever_the_stars_are() {
    for (wide, narrow, expected) in [
        ("*", "a*", true),
        ("a*", "ab*", true),
        ("ab*", "a*", false),
        ("a*c", "ab*c", true),
        ("a", "a", true),
        ("a", "a*", false),
        ("*b*", "abc*", true),
    ] {
        let [wide, narrow] = [wide, narrow].map(|text| Pattern::new(text, Dialect::Stars));
        assert_eq!(wide.covers(&narrow), expected, "{wide:?} {narrow:?}");
    }
}

#[test]
fn a_pattern_knows_what_is_literal_in_it() {
    let literal = |text| Pattern::new(text, Dialect::Name).literal().map(str::to_owned);
    assert_eq!(literal(r"a\*"), Some("a*".to_owned()));
    assert_eq!(literal("a["), Some("a[".to_owned()));
    assert_eq!(literal(""), Some(String::new()));
    assert_eq!(literal("a*"), None);
    let stars = |text| Pattern::new(text, Dialect::Stars);
    assert_eq!(stars("ab*c").prefix(), b"ab");
    assert!(stars("**").is_any() && !stars("").is_any() && !stars("a*").is_any());
    assert_eq!(Pattern::of(&[Sign::from('a'), Sign::STAR]), stars("a*"));
}

#[test]
fn a_field_is_split_into_names() {
    let names = Pattern::of_field(&field("a/*.rs")).unwrap();
    assert!(matches!(names.as_slice(), [a, b] if a.literal() == Some("a") && b.matches("x.rs")));
    let names = Pattern::of_field(&field("[a/b]")).unwrap();
    let literals: Vec<_> = names.iter().map(Pattern::literal).collect();
    assert_eq!(literals, [Some("[a"), Some("b]")], "a class does not reach over a slash");
    assert_eq!(Pattern::of_field(&Field::unknown(Span { start: 0, end: 0 })), None);
}

fn glob(text: &str) -> PathGlob {
    let parts = text.split('/').filter(|part| !part.is_empty());
    PathGlob::new(parts.map(PathPart::new).collect())
}

fn names(text: &str) -> Vec<&str> {
    text.split('/').filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_path_is_matched_itself_above_or_beneath() {
    for (pattern, path, itself, above, beneath) in [
        ("a/b", "a/b", true, false, false),
        ("a/b", "a/b/c", false, true, false),
        ("a/b", "a", false, false, true),
        ("a/b", "", false, false, true),
        ("", "", true, false, false),
        ("", "a", false, true, false),
        ("a/**/b", "a", false, false, true),
        ("a/**/b", "a/x", false, false, false),
        ("a/**/b", "a/b", true, false, false),
        ("a/**/b", "a/x/b/y", false, true, false),
        ("**/.env", "x/.env", true, false, false),
        ("**/.env", "x", false, false, false),
        ("**/.env", "", false, false, true),
        ("**/a/b", "x/a", false, false, true),
        ("*.tf/x", "a.tf", false, false, true),
    ] {
        let (glob, names) = (glob(pattern), names(path));
        let found = (glob.matches(&names), glob.matches_above(&names), glob.leads_beneath(&names));
        assert_eq!(found, (itself, above, beneath), "{pattern} {path}");
    }
}

/// Whether parts match names, by trying everything.
fn matches_slowly(parts: &[PathPart], names: &[&str]) -> bool {
    match (parts, names) {
        ([], []) => true,
        ([PathPart::Deep, rest @ ..], _) => {
            matches_slowly(rest, names)
                || names.split_first().is_some_and(|(_, names)| matches_slowly(parts, names))
        }
        ([PathPart::Name(wanted), parts @ ..], [name, names @ ..]) => {
            wanted.matches(name) && matches_slowly(parts, names)
        }
        ([PathPart::Name(_), ..], []) | ([], [_, ..]) => false,
    }
}

proptest! {
    #[test]
    fn names_match_as_in_globset(pattern in r"([ab*?.]|\[[!^]?\]?[a-c]-?[a-c]?\]|\\[ab*?]){0,7}", text in "[abc.]{0,7}") {
        let matcher = globset::GlobBuilder::new(&pattern).backslash_escape(true).build();
        // globset takes `**` at the start or the end of a pattern for names of a path.
        prop_assume!(!pattern.contains("**") && matcher.is_ok());
        let expected = matcher.unwrap().compile_matcher().is_match(&text);
        prop_assert_eq!(Pattern::new(&pattern, Dialect::Name).matches(&text), expected);
    }

    #[test]
    fn a_set_finds_what_its_patterns_match(patterns in prop::collection::vec("[ab*?]{1,4}", 0..12), text in "[abc]{0,5}") {
        let patterns: Vec<Pattern> =
            patterns.iter().map(|text| Pattern::new(text, Dialect::Name)).collect();
        let expected: Vec<usize> =
            (0..patterns.len()).filter(|at| patterns[*at].matches(&text)).collect();
        let set = PatternSet::new(&patterns);
        let mut found: Vec<usize> = set.matching(text.as_bytes()).collect();
        found.sort_unstable();
        prop_assert_eq!(set.matches(&text), !expected.is_empty());
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn all_ways_to_match_a_path_agree(pattern in r"([ab]|a\*|\*\*|/){0,9}", path in "[ab]{1,2}(/[ab]{1,2}){0,4}") {
        let (glob, names) = (glob(&pattern), names(&path));
        let expected = matches_slowly(glob.parts(), &names);
        prop_assert_eq!(glob.matches(&names), expected);
        let above = (0..names.len()).any(|length| matches_slowly(glob.parts(), &names[..length]));
        prop_assert_eq!(glob.matches_above(&names), above);
        let state = names.iter().fold(glob.start(), |state, name| glob.step(state, name));
        prop_assert_eq!(glob.is_met(state), expected);
    }

    #[test]
    fn case_only_ever_adds_matches(pattern in "[aAbé*?]{0,6}", text in "[aAbBéÉ]{0,6}") {
        let pattern = Pattern::new(&pattern, Dialect::Words);
        let [exact, ascii, unicode] =
            [Case::Exact, Case::Ascii, Case::Unicode].map(|case| pattern.matches_as(&text, case));
        prop_assert!((!exact || ascii) && (!ascii || unicode));
    }
}
