//! Every class of hidden text is found, and its ordinary neighbours are not.

mod table;

use proptest::prelude::*;

use super::{HIDDEN_MAX, HiddenKind, LookalikeKind, hidden, is_hidden, lookalike, pieces, shown};

fn kinds(line: &str) -> Vec<HiddenKind> {
    hidden(line).into_iter().map(|one| one.kind).collect()
}

fn parts(line: &str) -> Vec<&str> {
    hidden(line).into_iter().map(|one| &line[one.span.start..one.span.end]).collect()
}

#[test]
fn a_sequence_is_found_as_a_whole() {
    for (line, sequences) in [
        ("a\u{1b}[31;1mb\u{1b}[0m", &["\u{1b}[31;1m", "\u{1b}[0m"][..]),
        ("\u{1b}]0;title\u{7}x", &["\u{1b}]0;title\u{7}"]),
        ("\u{1b}]8;;http://e\u{1b}\\x", &["\u{1b}]8;;http://e\u{1b}\\"]),
        ("\u{1b}Pq#0\u{1b}\\x", &["\u{1b}Pq#0\u{1b}\\"]),
        ("\u{9b}2Jx", &["\u{9b}2J"]),
        ("\u{9d}0;t\u{9c}x", &["\u{9d}0;t\u{9c}"]),
        ("\u{1b}(Bx", &["\u{1b}(B"]),
        ("\u{1b}cx", &["\u{1b}c"]),
        ("\u{1b}]0;no end\nls", &["\u{1b}]0;no end"]),
        ("\u{1b}]0;a\u{1b}[2Kb", &["\u{1b}]0;a", "\u{1b}[2K"]),
        ("\u{1b}[31", &["\u{1b}[31"]),
    ] {
        assert_eq!(parts(line), sequences, "{line:?}");
        assert!(kinds(line).iter().all(|kind| *kind == HiddenKind::Escape), "{line:?}");
    }
}

#[test]
fn neighbours_of_one_kind_are_one_with_its_count() {
    let found = hidden("a\u{200b}\u{200b}\u{2060}b\u{202e}c");
    let spans: Vec<_> = found.iter().map(|one| (one.span.start, one.span.end)).collect();
    assert_eq!(spans, [(1, 10), (11, 14)]);
    assert_eq!(found[0].text, message!("3 characters from U+200B, {}" => "invisible.no-width"));
    assert_eq!(found[1].text, message!("U+202E, {}" => "invisible.changes-order-text-shown"));
}

#[test]
fn text_behind_a_void_is_found_and_shown() {
    let line = format!("ls{};rm -rf ~", " ".repeat(80));
    assert_eq!(parts(&line), [" ".repeat(80)]);
    assert_eq!(shown(&line), message!("ls⟨80 {}⟩;rm -rf ~" => "far.columns-blanks"));
    let lines = format!("ls\n{}rm", " \n".repeat(20));
    assert_eq!(kinds(&lines), [HiddenKind::FarText]);
    assert_eq!(shown(&lines), "ls\n⟨20 empty lines⟩\nrm");
    assert_eq!(
        shown(&format!("{}x", "\t".repeat(15))),
        message!("⟨120 {}⟩x" => "far.columns-blanks")
    );
    assert_eq!(
        shown(&format!("x{}x", "\t".repeat(10))),
        message!("x⟨80 {}⟩x" => "far.columns-blanks")
    );
    for quiet in [
        format!("ls{}x", " ".repeat(79)),
        format!("ls\n{}x", " ".repeat(119)),
        format!("ls{}", " ".repeat(500)),
        format!("ls{}", "\n".repeat(500)),
        format!("ls{}rm", "\n".repeat(20)),
    ] {
        assert_eq!(kinds(&quiet), [], "{quiet:?}");
        assert_eq!(shown(&quiet), quiet);
    }
}

#[test]
fn only_a_single_long_line_with_operators_has_an_end_out_of_sight() {
    let tail = format!("echo {}; rm -rf ~", "x".repeat(2000));
    let found = hidden(&tail);
    assert_eq!(found[0].kind, HiddenKind::LongLine);
    assert_eq!((found[0].span.start, found[0].span.end), (2000, tail.len()));
    let heredoc = format!("cat > a <<'E'\n{}E\n", "let x = a && b; // one line\n".repeat(5000));
    let blob = format!("echo {} | base64 -d", "QUJD".repeat(400));
    let data = format!("base64 -d <<'E'\n{}\nE\n", "QUJD+/".repeat(5000));
    for quiet in [heredoc, blob, data] {
        assert_eq!(kinds(&quiet), [], "{}", &quiet[..40]);
    }
}

#[test]
fn what_is_not_listed_is_one_rest() {
    let many = "a\u{202e}".repeat(HIDDEN_MAX + 40);
    let found = hidden(&many);
    assert_eq!(found.len(), HIDDEN_MAX + 1);
    assert_eq!(found[HIDDEN_MAX].kind, HiddenKind::More);
    assert_eq!(found[HIDDEN_MAX].span.start, HIDDEN_MAX * 4 + 1);
    assert_eq!(found[HIDDEN_MAX].span.end, many.len());
    assert_eq!(hidden(&"a\u{202e}".repeat(HIDDEN_MAX)).len(), HIDDEN_MAX);
    // A source that is cut does not hide what another would have found before the cut.
    let mixed =
        format!("x{};\n{}", "y".repeat(3000), format!("z{}z\n", " ".repeat(80)).repeat(400));
    assert_eq!(kinds(&mixed).first(), Some(&HiddenKind::LongLine));
}

#[test]
fn a_piece_ends_where_the_next_begins() {
    let line = "a\u{202e}é";
    let found: Vec<_> = pieces(line).map(|piece| (piece.start, piece.text.into_owned())).collect();
    let wanted = [(0, "a"), (1, "\\u{202e}"), (4, "é")];
    assert_eq!(found, wanted.map(|(at, text)| (at, text.to_owned())));
}

#[test]
fn names_that_look_like_others_are_told() {
    for (name, resembles, kind) in table::LOOKALIKES {
        let found = lookalike(name).unwrap_or_else(|| panic!("{name:?} is not found"));
        assert_eq!((found.resembles.as_str(), found.kind.name()), (*resembles, *kind), "{name:?}");
    }
    for name in table::PLAIN_NAMES {
        assert_eq!(lookalike(name), None, "{name:?}");
    }
}

#[test]
fn every_class_is_found_at_its_place() {
    for (line, kind, part) in table::HIDDEN {
        let found = hidden(line);
        let told: Vec<_> = found.iter().map(|one| one.kind.name()).collect();
        assert!(
            found.iter().any(|one| one.kind.name() == *kind
                && line.get(one.span.start..one.span.end) == Some(part)),
            "{line:?}: {told:?}"
        );
        let seen = shown(line);
        assert_eq!(hidden(&seen), [], "{seen:?}");
        assert_ne!(seen, **line);
    }
}

#[test]
fn ordinary_text_is_quiet_and_shown_as_it_is() {
    for line in table::QUIET {
        assert_eq!(hidden(line), [], "{line:?}");
        assert_eq!(shown(line), *line);
    }
}

#[test]
fn what_is_hidden_by_itself_is_known_without_a_line() {
    assert!(['\0', '\u{3164}', '\u{200d}', '\u{e0041}', '\u{a0}'].into_iter().all(is_hidden));
    assert!(!['a', 'é', '日', ' ', '\n', '\t', '👩'].into_iter().any(is_hidden));
}

/// Text of every sort, thick with what hides and what joins.
fn text() -> impl Strategy<Value = String> {
    let odd = "\0\r\u{1b}[]\u{7}\u{9b}\u{9c}\u{85}\u{a0}\u{ad}\u{301}\u{61c}\u{200b}\u{200c}\
        \u{200d}\u{202e}\u{2066}\u{2028}\u{3000}\u{fe0f}\u{e0100}\u{e0067}\u{e007f}\u{1f3f4}\
        \u{20e3}👩💻葛مक្កไ1#\u{1f3fb}\u{ffff}\u{34f} \t\n";
    let odd: Vec<char> = odd.chars().collect();
    let one = prop_oneof![
        4 => prop::sample::select(odd).prop_map(String::from),
        2 => any::<char>().prop_map(String::from),
        2 => "[a-z ;|/-]{1,4}",
        1 => (60_usize..160).prop_map(|count| " ".repeat(count)),
        1 => (15_usize..30).prop_map(|count| "\n".repeat(count)),
        1 => (5_usize..20).prop_map(|count| "\t".repeat(count)),
        1 => Just("\u{301}".repeat(7)),
        1 => Just("\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}".to_owned()),
    ];
    prop::collection::vec(one, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn nothing_that_is_shown_is_hidden(line in text()) {
        let seen = shown(&line);
        let left: Vec<_> = hidden(&seen)
            .into_iter()
            .filter(|one| one.kind != HiddenKind::LongLine)
            .collect();
        prop_assert_eq!(left, vec![], "{:?}", seen);
    }

    #[test]
    fn what_is_quiet_is_shown_as_it_is(line in text()) {
        prop_assert_eq!(hidden(&line).is_empty(), shown(&line) == line);
    }

    #[test]
    fn spans_are_whole_characters_in_order(line in text()) {
        let mut before = 0;
        for one in hidden(&line) {
            prop_assert!(line.get(one.span.start..one.span.end).is_some_and(|part| !part.is_empty()));
            prop_assert!(one.span.start >= before, "{:?}", one);
            before = one.span.start;
        }
    }

    #[test]
    fn pieces_cover_the_line(line in text()) {
        let starts: Vec<usize> = pieces(&line).map(|piece| piece.start).collect();
        prop_assert_eq!(starts.first().copied().unwrap_or(0), 0);
        prop_assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(starts.iter().all(|start| line.is_char_boundary(*start)));
    }

    #[test]
    fn a_lookalike_differs_unless_a_letter_is_like_none(name in text()) {
        if let Some(found) = lookalike(&name) {
            prop_assert!(found.resembles != name || found.kind == LookalikeKind::MixedScript);
        }
    }
}
