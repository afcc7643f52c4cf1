//! What is drawn, character by character.

use stockade::shell::ast::Span;

use super::{Label, Weight, render};

/// A label on the first place where a part stands in the line.
fn label(line: &str, part: &str, text: &str, weight: Weight) -> Label {
    let start = line.find(part).unwrap();
    let span = Span { start, end: start.saturating_add(part.len()) };
    Label { span, text: text.to_owned(), weight }
}

fn primary(line: &str, part: &str, text: &str) -> Label {
    label(line, part, text, Weight::Primary)
}

fn secondary(line: &str, part: &str, text: &str) -> Label {
    label(line, part, text, Weight::Secondary)
}

/// What is drawn, without colours.
fn drawn(line: &str, labels: &[Label]) -> String {
    anstream::adapter::strip_str(&render(line, labels)).to_string()
}

#[track_caller]
fn assert_drawn(line: &str, labels: &[Label], wanted: &[&str]) {
    let drawn = drawn(line, labels);
    assert_eq!(drawn.lines().collect::<Vec<_>>(), wanted, "\n{drawn}\n");
}

#[test]
fn labels_of_one_line_do_not_meet() {
    let line = "cd / && rm -rf * | tee x";
    assert_drawn(
        line,
        &[
            primary(line, "rm -rf *", "deletes all in /"),
            secondary(line, "cd /", "now in /"),
            secondary(line, "tee x", "writes x"),
        ],
        &[
            "1 | cd / && rm -rf * | tee x",
            "  | ----    ^^^^^^^^   ----- writes x",
            "  | |       |",
            "  | |       deletes all in /",
            "  | now in /",
        ],
    );
}

#[test]
fn a_label_in_another_is_drawn_over_it() {
    let line = "eval \"rm x\"; ls";
    assert_drawn(
        line,
        &[primary(line, "rm x", "inner"), secondary(line, "eval \"rm x\"", "runs code")],
        &[
            "1 | eval \"rm x\"; ls",
            "  | ------^^^^-",
            "  | |     |",
            "  | |     inner",
            "  | runs code",
        ],
    );
}

#[test]
fn two_labels_of_one_place_are_both_told() {
    let line = "ls x";
    assert_drawn(
        line,
        &[primary(line, "x", "one"), secondary(line, "x", "two"), primary(line, "ls", "")],
        &["1 | ls x", "  | ^^ ^ one", "  |    |", "  |    two"],
    );
}

#[test]
fn underlines_are_as_wide_as_what_is_shown() {
    let wide = "echo 日本語 x";
    assert_drawn(
        wide,
        &[primary(wide, "x", "here")],
        &["1 | echo 日本語 x", "  |             ^ here"],
    );
    assert_drawn(
        wide,
        &[primary(wide, "本", "wide")],
        &["1 | echo 日本語 x", "  |        ^^ wide"],
    );
    let emoji = "echo 👩‍💻 x";
    assert_drawn(emoji, &[primary(emoji, "x", "here")], &["1 | echo 👩‍💻 x", "  |         ^ here"]);
    let tab = "a\tb";
    assert_drawn(tab, &[primary(tab, "b", "here")], &["1 | a    b", "  |      ^ here"]);
    let hidden = "cat \u{202e}txt\u{200b}";
    assert_drawn(
        hidden,
        &[primary(hidden, "\u{202e}", "turns the order"), secondary(hidden, "\u{200b}", "nothing")],
        &[
            "1 | cat \\u{202e}txt\\u{200b}",
            "  |     ^^^^^^^^   -------- nothing",
            "  |     |",
            "  |     turns the order",
        ],
    );
    let void = format!("ls{};rm", " ".repeat(90));
    assert_drawn(
        &void,
        &[primary(&void, &" ".repeat(90), "")],
        &["1 | ls⟨90 columns of blanks⟩;rm", "  |   ^^^^^^^^^^^^^^^^^^^^^^"],
    );
}

#[test]
fn lines_of_a_script_have_numbers_and_those_between_are_counted() {
    let script = "cd /tmp\nls\nmake\nfor f in *; do\n  rm \"$f\"\ndone\n\n\n\nexit\n";
    assert_drawn(
        script,
        &[primary(script, "rm \"$f\"", "deletes"), secondary(script, "cd /tmp", "")],
        &[
            " 1 | cd /tmp",
            "   | -------",
            "   … 3 lines, 23 bytes",
            " 5 |   rm \"$f\"",
            "   |   ^^^^^^^ deletes",
            "   … 5 lines, 13 bytes",
        ],
    );
    let loops = "for f in *; do\n  rm \"$f\"\ndone\n\n\n\nexit\n";
    let whole = Span { start: 0, end: loops.find("\n\n").unwrap() };
    let label = Label { span: whole, text: "loop".to_owned(), weight: Weight::Primary };
    assert_drawn(
        loops,
        &[label],
        &["1 | for f in *; do", "  | ^^^^^^^^^^^^^^ loop (to line 3)", "  … 6 lines, 23 bytes"],
    );
}

#[test]
fn a_script_without_labels_is_shown_from_its_beginning() {
    assert_drawn("ls\n", &[], &["1 | ls"]);
    let long = "ls\n".repeat(12);
    let drawn = drawn(&long, &[]);
    assert_eq!(drawn.lines().count(), 11, "{drawn}");
    assert!(drawn.ends_with("10 | ls\n   … 2 lines, 6 bytes"), "{drawn}");
}

#[test]
fn a_long_line_is_cut_around_its_labels_and_what_is_left_out_is_counted() {
    let line = format!("echo {} ; rm -rf ~ ; echo {}", "a".repeat(500), "b".repeat(300));
    assert_drawn(
        &line,
        &[primary(&line, "rm -rf ~", "deletes the home")],
        &[
            "1 | …[484 bytes]…aaaaaaaaaaaaaaaaaaaaa ; rm -rf ~ ; echo bbbbbbbbbbbbbbbb…[284 bytes]…",
            "  |                                      ^^^^^^^^ deletes the home",
        ],
    );
    let start = secondary(&line, "echo", "first");
    let out = drawn(&line, &[start, primary(&line, "rm -rf ~", "second")]);
    assert!(
        out.contains("1 | echo aaaaaaaaaaaaaaaaaaaaaaa…[456 bytes]…aaaaaaaaaaaaaaaaaaaaa ; rm"),
        "{out}"
    );
    let span = Span { start: 5, end: 505 };
    let long = Label { span, text: "long".to_owned(), weight: Weight::Primary };
    let drawn = drawn(&line, &[long]);
    let (shown, under) = drawn.split_once('\n').unwrap();
    assert!(shown.contains("…[428 bytes]…"), "{drawn}");
    assert_eq!(under.matches('^').count(), 48 + 24 + "…[428 bytes]…".chars().count(), "{drawn}");
}

#[test]
fn nothing_a_label_says_reaches_the_terminal() {
    let line = "ls \u{1b}[2Kx";
    let out = drawn(line, &[primary(line, "x", "a\u{1b}[31m\nb\u{202e}")]);
    assert_eq!(out, "1 | ls \\u{1b}[2Kx\n  |             ^ a\\u{1b}[31m\\u{a}b\\u{202e}");
}

#[test]
fn spans_that_do_not_fit_are_moved_to_where_they_do() {
    let line = "é x\ny";
    for (start, end) in [(1, 1), (0, 99), (99, 120), (3, 1), (4, 5), (usize::MAX, usize::MAX)] {
        let span = Span { start, end };
        let label = Label { span, text: "t".to_owned(), weight: Weight::Primary };
        assert!(drawn(line, &[label]).contains("^ t"), "{start}..{end}");
    }
    let label = Label { span: Span::default(), text: "t".to_owned(), weight: Weight::Primary };
    assert_drawn("", &[label], &["1 |", "  | ^ t"]);
}

#[test]
fn every_span_of_every_line_is_underlined_and_nothing_is_hidden() {
    let blank = " ".repeat(85);
    let long = format!("é\u{202e}{}日{blank}x\t👩‍💻{}", "a".repeat(120), "e\u{301}".repeat(60));
    for line in ["", "é\n\u{202e}\r\n\n日本", "a\tb\n", &long] {
        for start in (0..=line.len()).step_by(2) {
            for end in (start..=line.len()).step_by(13) {
                let span = Span { start, end };
                let label = Label { span, text: "t".to_owned(), weight: Weight::Primary };
                let out = drawn(line, &[label]);
                assert!(out.contains("^ t"), "{line:?} {start}..{end}\n{out}");
                assert!(stockade::shell::invisible::hidden(&out).is_empty(), "{out:?}");
            }
        }
    }
}

#[test]
fn colours_are_those_of_the_weights() {
    let line = "ls x";
    let out = render(line, &[primary(line, "x", "t")]);
    assert!(out.contains(&format!("{0}^{0:#}", crate::print::BAD)), "{out:?}");
}
