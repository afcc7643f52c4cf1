//! Lines made to take all time, all memory or all of the stack.

use std::time::{Duration, Instant};

use stockade::shell::ast::StatementKind;
use stockade::shell::{FaultKind, parse};

/// What comes first, what is repeated, what comes last.
const SHAPES: [(&str, &str, &str); 62] = [
    ("", "(", ""),
    ("", "( ", ""),
    ("", "((", ""),
    ("", "{ ", ""),
    ("", "{", ""),
    ("", "{(", ""),
    ("", "$(", ""),
    ("echo ", "$(a ", ""),
    ("echo ", "`", ""),
    ("echo ", "\\`", ""),
    ("echo ", "${x:-", ""),
    ("echo ", "${x//a/", "}"),
    ("echo ", "${x[", ""),
    ("", "${", ""),
    ("echo ", "\"$(", ""),
    ("echo \"", "$(echo ", "\""),
    ("echo \"", "${x:-\"", ""),
    ("echo ", "$((", ""),
    ("echo $((", "(", ""),
    ("echo $((", "1+", "1))"),
    ("", "$((${", ""),
    ("echo ", "<(", ""),
    ("echo ", "<(a) ", ""),
    ("", "<<a ", ""),
    ("cat <<E\n", "$(a)\n", "E"),
    ("", "cat <<A <<B\nA\nB\n", ""),
    ("$(", "cat <<A\n(\nA\n", ")"),
    ("echo ", "$(a) ", ""),
    ("echo ", "\"$(a)\" ", ""),
    ("echo ", "${x:-y} ", ""),
    ("[[ ", "a && ", "b ]]"),
    ("[[ ", "( ", ""),
    ("", "if a; then ", ""),
    ("", "for x in a; do ", ""),
    ("", "while ", ""),
    ("case x in ", "a) b;; ", "esac"),
    ("echo $(", "case x in a) b;; esac; ", ")"),
    ("echo $(", "case x in ", ")"),
    ("x=(", "a ", ")"),
    ("x=(", "[1]=$(a) ", ")"),
    ("", "x=1 ", ""),
    ("", "x[1]=", ""),
    ("x=", "$(x=", ""),
    ("echo ", "{a,", ""),
    ("echo ", "{a,b}", ""),
    ("echo ", "\\{} ", ""),
    ("echo ", "}", ""),
    ("echo ", "a} ", ""),
    ("", "f(){ ", ""),
    ("", "! ", ""),
    ("", "time ", ""),
    ("", "coproc ", ""),
    ("", "\\\n", ""),
    ("echo $(", "((a) ", ")"),
    ("echo ", "@(", ""),
    ("echo ", "$[", ""),
    ("", ">a ", ""),
    ("shopt -s expand_aliases\nalias a='b c'\n", "a\n", ""),
    ("declare ", "x=(a) ", ""),
    ("", "a;", ""),
    ("", "\"", ""),
    ("", "é;", ""),
];

fn line(shape: (&str, &str, &str), bytes: usize) -> String {
    let (first, unit, last) = shape;
    let count = bytes.saturating_sub(first.len() + last.len()) / unit.len();
    format!("{first}{}{last}", unit.repeat(count))
}

/// The wall clock of a busy machine: an end is held here, the figures are in the decision.
const LONGEST: Duration = Duration::from_secs(120);

#[test]
fn no_shape_takes_long_or_all_of_the_stack() {
    let sizes: &[usize] = if cfg!(debug_assertions) { &[300, 4_000, 1 << 17] } else { &[1 << 20] };
    for shape in SHAPES {
        for size in sizes {
            let line = line(shape, *size);
            let start = Instant::now();
            let parsed = parse(&line);
            drop(parsed);
            assert!(start.elapsed() < LONGEST, "{shape:?} {size}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_line_over_the_bound_is_not_parsed() {
    let parsed = parse(&"a ".repeat((1 << 19) + 1));
    assert_eq!(parsed.faults[0].kind, FaultKind::TooLong);
    assert!(parsed.script.statements.is_empty());
}

#[test]
fn nesting_is_refused_and_says_so() {
    for line in [
        format!("echo {}{}", "$(".repeat(60), ")".repeat(60)),
        format!("echo {}{}", "${x:-".repeat(60), "}".repeat(60)),
        format!("{}a{}", "(".repeat(60), ")".repeat(60)),
        format!("{}a{}", "{ ".repeat(60), "; }".repeat(60)),
        format!("{}a{}", "if a; then ".repeat(60), "; fi".repeat(60)),
        format!("{}a", "time ".repeat(60)),
    ] {
        let faults = parse(&line).faults;
        assert!(faults.iter().any(|fault| fault.kind == FaultKind::TooDeep), "{line}: {faults:?}");
    }
}

#[test]
fn what_people_nest_is_followed() {
    for line in [
        format!("echo {}a{}", "$(b ".repeat(10), ")".repeat(10)),
        format!("echo {}a{}", "\"$(b ".repeat(10), ")\"".repeat(10)),
        format!("{}a{}", "if a; then ".repeat(10), "; fi".repeat(10)),
        format!("{}a{}", "(".repeat(10), ")".repeat(10).replace(')', " )")),
    ] {
        assert_eq!(parse(&line).faults, [], "{line}");
    }
}

#[test]
fn chains_and_pipelines_are_flat_or_refused() {
    for separator in [" && ", " | ", " || "] {
        let short = vec!["a"; 900].join(separator);
        let parsed = parse(&short);
        assert_eq!(parsed.faults, []);
        let kind = &parsed.script.statements[0].kind;
        let is_flat = matches!(kind, StatementKind::Chain { rest, .. } if rest.len() == 899)
            || matches!(kind, StatementKind::Pipeline(stages) if stages.len() == 900);
        assert!(is_flat, "{separator}");
        let long = parse(&vec!["a"; 50_000].join(separator));
        assert_eq!(long.faults[0].kind, FaultKind::TooLong, "{:?}", long.faults);
    }
    let list = parse(&vec!["a"; 5_000].join("; "));
    assert_eq!(list.faults, []);
    assert_eq!(list.script.statements.len(), 5_000);
}
