//! Lines of bash and the trees they become, compared with other opinions.

pub(crate) mod records;

mod bash;
mod bombs;
mod mutations;
mod names;
mod render;
mod vote;

use std::fmt::Write as _;

use stockade::shell::{FaultKind, ParsedLine, parse};

use records::Record;

/// The tree on one line, and a line for each fault.
fn rendered(parsed: &ParsedLine) -> String {
    let mut out = render::script(&parsed.script);
    for fault in &parsed.faults {
        let kind = match fault.kind {
            FaultKind::Syntax => "Syntax",
            FaultKind::TooLong => "TooLong",
            FaultKind::TooDeep => "TooDeep",
            FaultKind::Hidden => "Hidden",
        };
        let (start, end) = (fault.span.start, fault.span.end);
        write!(out, "\n! {kind} {start}-{end} {}", fault.text).unwrap();
    }
    out
}

#[test]
fn every_form_becomes_its_tree() {
    let forms = records::forms();
    assert!(forms.len() > 150, "{}", forms.len());
    let mut wrong = Vec::new();
    for Record { name, line, tree } in forms {
        let found = rendered(&parse(&line));
        if found != tree {
            wrong.push(format!("=== {name}\n{line}\n---\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn spans_stay_inside_the_line_and_on_its_characters() {
    for Record { line, .. } in records::all() {
        let parsed = parse(&line);
        let mut spans = names::spans(&parsed.script);
        spans.extend(parsed.faults.iter().map(|fault| fault.span));
        for span in spans {
            assert!(line.get(span.start..span.end).is_some(), "{span:?} in {line:?}");
        }
    }
}

#[test]
fn the_text_of_a_word_is_where_its_span_says() {
    let line = "a 'b c' $(d \"e\") <<X f\n$(g)\nX\n";
    let parsed = parse(line);
    assert_eq!(parsed.faults, []);
    let words = names::words(&parsed.script);
    let texts: Vec<&str> = words.iter().map(|word| &line[word.span.start..word.span.end]).collect();
    assert_eq!(texts, ["a", "'b c'", "$(d \"e\")", "d", "\"e\"", "f", "$(g)\n", "g"]);
}
