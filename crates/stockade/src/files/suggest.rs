//! Where a text that is not in a file comes nearest to being there, and in what it differs.

use std::time::Instant;

/// Comparisons of lines before only the first line is looked for.
const COMPARISONS_MAX: usize = 400_000;
/// As much of a file is looked at.
const LOOKED_BYTES_MAX: usize = 4 << 20;
/// Letters of a line that are shown.
const SHOWN_MAX: usize = 120;
/// Lines that have less in common than this, of a thousand, are not near.
const NEAR_MIN: usize = 350;
const SAME: usize = 1000;
const SAME_BUT_SPACE: usize = 950;

/// Says it in words, with what was found when the time is up.
pub(super) fn suggest(bytes: &[u8], wanted: &str, until: Instant) -> String {
    let looked_at = bytes.get(..LOOKED_BYTES_MAX).unwrap_or(bytes);
    let text = String::from_utf8_lossy(looked_at);
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = wanted.lines().collect();
    let compared = lines.len().saturating_mul(wanted.len());
    let looked_for = if compared > COMPARISONS_MAX { wanted.get(..1) } else { Some(&*wanted) };
    let looked_for = looked_for.unwrap_or_default();
    let mut best: Option<(usize, usize)> = None;
    for at in 0..lines.len() {
        let here = lines.get(at..).unwrap_or_default();
        let in_time = |_: &_| Instant::now() < until;
        let pairs = here.iter().zip(looked_for).take_while(in_time);
        let likeness: usize = pairs.map(|(a, b)| like(a, b)).sum();
        if Instant::now() >= until {
            break;
        }
        if best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, at));
        }
    }
    let near = |(likeness, at): (usize, usize)| {
        (likeness >= NEAR_MIN.saturating_mul(looked_for.len())).then_some(at)
    };
    let Some(at) = best.and_then(near) else {
        let is_cut = looked_at.len() < bytes.len() || Instant::now() >= until;
        let all = if is_cut { ", as far as was looked" } else { "" };
        return format!("nothing in it comes near{all}");
    };
    let here = lines.get(at..).unwrap_or_default();
    let differs = |(a, b): (&&str, &&str)| a != b;
    match here.iter().zip(&wanted).position(differs) {
        Some(below) => {
            let (number, has) = (at.saturating_add(below).saturating_add(1), here.get(below));
            let (has, wants) = (has.unwrap_or(&""), wanted.get(below).unwrap_or(&""));
            let only_space =
                if like(has, wants) == SAME_BUT_SPACE { " (only white space differs)" } else { "" };
            let (has, wants) = shown(has, wants);
            format!(
                "the nearest is at line {number}, which is {has:?} and not {wants:?}{only_space}"
            )
        }
        None if here.len() < wanted.len() => {
            format!("it begins as line {} does, and the file ends before it", at.saturating_add(1))
        }
        None => format!(
            "its lines are at line {}, and what is before the first or after the last differs",
            at.saturating_add(1)
        ),
    }
}

/// How much two lines have in common at both ends, of a thousand.
fn like(a: &str, b: &str) -> usize {
    if a == b {
        return SAME;
    }
    let letters = |text| str::chars(text).filter(|letter| !letter.is_whitespace());
    if letters(a).eq(letters(b)) {
        return SAME_BUT_SPACE;
    }
    let (a, b) = (a.trim().as_bytes(), b.trim().as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let front = a.iter().zip(b).take_while(same).count();
    let rest = a.len().min(b.len()).saturating_sub(front);
    let back = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(same).count();
    let long = a.len().max(b.len()).max(1);
    front.saturating_add(back).saturating_mul(900).checked_div(long).unwrap_or_default()
}

/// Two lines from shortly before where they differ.
fn shown(a: &str, b: &str) -> (String, String) {
    let same = |(a, b): &(char, char)| a == b;
    let front = a.chars().zip(b.chars()).take_while(same).count();
    let skipped = front.saturating_sub(SHOWN_MAX / 2);
    let cut = |text: &str| -> String {
        let mut part: String = text.chars().skip(skipped).take(SHOWN_MAX).collect();
        if text.chars().count() > skipped.saturating_add(SHOWN_MAX) {
            part.push('…');
        }
        part
    };
    (cut(a), cut(b))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::suggest;

    fn later() -> Instant {
        Instant::now().checked_add(Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn the_nearest_place_is_named_with_what_differs() {
        let file = b"fn a() {\n    let x = 1;\n}\n\nfn b() {\n    let y = 2;\n}\n";
        for (wanted, said) in [
            ("fn b() {\n  let y = 2;", "line 6"),
            ("fn b() {\n  let y = 2;", message!("suggest.only-white-space-differs")),
            ("    let x = 3;\n", r#"line 2, which is "    let x = 1;" and not "    let x = 3;""#),
            ("something else altogether", message!("suggest.nothing-comes-near")),
            ("    let y = 2;\n}\nend", message!("suggest.begins-line-does-file")),
        ] {
            let text = suggest(file, wanted, later());
            assert!(text.contains(said), "{wanted:?}: {text}");
        }
        assert_eq!(suggest(b"", "x", later()), message!("suggest.nothing-comes-near"));
    }

    #[test]
    fn a_large_file_is_looked_through_in_time() {
        let file = "line of text\n".repeat(200_000);
        let started = Instant::now();
        let said = suggest(file.as_bytes(), &"line of text!\n".repeat(50), later());
        assert!(said.contains("line 1,"), "{said}");
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    }

    #[test]
    fn no_text_keeps_it_longer_than_its_time() {
        let file = ["x y ".repeat(1000), "\n".to_owned()].concat().repeat(500);
        let wanted = ["x y ".repeat(999), "z\n".to_owned()].concat().repeat(800);
        let started = Instant::now();
        let until = started.checked_add(Duration::from_millis(200)).unwrap();
        suggest(file.as_bytes(), &wanted, until);
        assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
    }
}
