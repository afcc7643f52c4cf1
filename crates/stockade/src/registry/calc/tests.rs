//! Sums, and what is none.

use super::*;

#[test]
fn sums_have_the_values_that_they_have_on_paper() {
    for (text, expected) in [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("-2 ** 2", "-4"),
        ("2 ** 3 ** 2", "512"),
        ("2 ^ -1", "0.5"),
        ("7 / 2", "3.5"),
        ("8 / 2", "4"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("1_000 * 1_000", "1000000"),
        ("1.5e3", "1500"),
        (".5 + .25", "0.75"),
        ("sqrt(16) + abs(-3)", "7"),
        ("max(1, 2.5, 2) - min(3, 2)", "0.5"),
        ("round(2.5)", "3"),
        ("floor(-0.5)", "-1"),
        ("9007199254740993 + 0", "9007199254740993"),
        ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("--1", "1"),
        ("log(1000)", "3"),
    ] {
        let value = evaluate(text).map(|number| number.to_string());
        let rounded = value.clone().map(|text| text.trim_end_matches(".0").to_owned());
        assert_eq!(rounded, Ok(expected.to_owned()), "{text}: {value:?}");
    }
}

#[test]
fn what_is_no_sum_is_told_with_its_place() {
    for (text, at, part) in [
        ("", 1, "missing"),
        ("1 +", 4, "missing"),
        ("(1", 3, "')' is missing"),
        ("1 1", 3, message!("calc.not-expected", "'1'")),
        ("1 / 0", 6, "zero"),
        ("__import__('os')", 1, message!("calc.not-expected", "'_'")),
        ("os.system('id')", 1, message!("calc.not-known")),
        ("1; 2", 2, "';'"),
        ("9 ** 4096", 10, "too large"),
        ("9.0 ** 9999", 12, "too large"),
        ("sqrt(-1)", 9, "no value"),
        ("sqrt(1, 2)", 11, "takes one"),
        ("1e999", 1, "too large"),
        ("1e", 1, message!("calc.not-number")),
    ] {
        let error = evaluate(text).unwrap_err();
        assert!(error.message.contains(part), "{text}: {error}");
        assert_eq!(error.at, at, "{text}: {error}");
    }
}

#[test]
fn no_text_makes_it_hang_or_overflow() {
    for text in ["(".repeat(5000), "-".repeat(4000) + "1", "2**".repeat(1000) + "2"] {
        assert!(evaluate(&text).is_err());
    }
    assert!(evaluate(&("1+".repeat(2000) + "1")).is_ok());
}

#[test]
fn numbers_that_json_lacks_are_text() {
    assert_eq!(evaluate("2**53+1").unwrap().to_json(), json!(9_007_199_254_740_993_i64));
    assert_eq!(evaluate("2**100").unwrap().to_json(), json!("1267650600228229401496703205376"));
    assert_eq!(evaluate("1/4").unwrap().to_json(), json!(0.25));
}
