//! Lines that are nearly right: each is changed at random, and must be answered all the same.

use std::time::{Duration, Instant};

use stockade::shell::parse;

use super::names::spans;
use super::records::{self, Record};

/// What changes are made of.
const BITS: [&str; 40] = [
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "\\",
    "\n",
    "${",
    "}",
    "{",
    "(",
    "((",
    "))",
    "<<E\n",
    "E\n",
    "<(",
    ">(",
    "|",
    "&",
    ";",
    "#",
    "$'",
    "$\"",
    "[[",
    "]]",
    "<<<",
    "case x in ",
    "esac",
    "in",
    "do",
    "done",
    "!",
    "time ",
    "=(",
    "[",
    "]",
    "*",
    " ",
    "é",
    "\t",
];

/// Small and reproducible.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

fn mutated(line: &str, other: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = line.chars().collect();
    for _ in 0..=dice.below(4) {
        let at = dice.below(chars.len() + 1);
        let to = (at + dice.below(6)).min(chars.len());
        match dice.below(4) {
            0 => drop(chars.drain(at..to)),
            1 => {
                let part: Vec<char> = chars.get(at..to).unwrap().to_vec();
                chars.splice(at..at, part);
            }
            2 => {
                let other: Vec<char> = other.chars().collect();
                let from = dice.below(other.len() + 1);
                let end = (from + dice.below(20)).min(other.len());
                chars.splice(at..at, other.get(from..end).unwrap().to_vec());
            }
            _ => drop(chars.splice(at..at, BITS.get(dice.below(BITS.len())).unwrap().chars())),
        }
    }
    chars.into_iter().collect()
}

#[test]
fn lines_changed_at_random_are_always_answered() {
    let lines: Vec<String> = records::all().into_iter().map(|Record { line, .. }| line).collect();
    let mut dice = Dice(0x5eed_0004);
    let start = Instant::now();
    let mut count = 0_usize;
    while start.elapsed() < Duration::from_secs(6) {
        let (one, two) = (dice.below(lines.len()), dice.below(lines.len()));
        let line = mutated(&lines[one], &lines[two], &mut dice);
        let before = Instant::now();
        let parsed = parse(&line);
        assert!(before.elapsed() < Duration::from_secs(120), "{line:?}");
        let faults = parsed.faults.iter().map(|fault| fault.span);
        for span in spans(&parsed.script).into_iter().chain(faults) {
            assert!(line.get(span.start..span.end).is_some(), "{span:?} in {line:?}");
        }
        count += 1;
    }
    assert!(count > 1000, "{count}");
}
