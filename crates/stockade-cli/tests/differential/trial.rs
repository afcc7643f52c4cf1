//! Tries lines: what the gate found in each beside what it executed, and smaller lines where the
//! two differ.

use std::collections::BTreeMap;
use std::fmt;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::compare::{Claim, Known};
use crate::grammar::{Grammar, Line};
use crate::jail::{BATCH, Jail, Way};
use crate::trace::Executed;

/// Lines that are tried to make one smaller.
const SMALLER_MAX: usize = 30;

/// Why the gate refuses lines, or asks about them, that bash takes: it need not take all, but must
/// say so. Each is a limit of the parser, or a doubt of the second reading.
const STRICTER: [&str; 7] = [
    "unclear: ",
    "syntax error: unterminated ",
    "expected ",
    "unexpected end of input",
    "the here-document does not end",
    "the quote is not closed",
    "it is not closed",
];

/// One line and what came of it.
pub(crate) struct Trial {
    line: Line,
    claim: Claim,
    found: usize,
    marked: usize,
    foreign: usize,
    /// The programs that ran and were not known.
    pub(crate) unknown: Vec<Executed>,
}

/// Tries lines in two boxes at a time; gives those that failed.
pub(crate) fn try_all(lines: &[Line], see: impl Fn(Claim) -> Claim + Sync) -> (Tally, Vec<Trial>) {
    let batches = Mutex::new(lines.chunks(BATCH));
    let results = Mutex::new((Tally::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let jail = Jail::new();
                loop {
                    let next = batches.lock().unwrap().next();
                    let Some(batch) = next else { break };
                    let trials = try_batch(&jail, Way::Packed, batch, &see);
                    let mut results = results.lock().unwrap();
                    for trial in trials {
                        results.0.add(&trial);
                        if !trial.unknown.is_empty() {
                            results.1.push(trial);
                        }
                    }
                }
            });
        }
    });
    results.into_inner().unwrap()
}

/// Tries lines in one box.
pub(crate) fn try_batch(
    jail: &Jail,
    way: Way,
    lines: &[Line],
    see: impl Fn(Claim) -> Claim,
) -> Vec<Trial> {
    let texts: Vec<String> = lines.iter().map(|line| line.text.clone()).collect();
    let examined = jail.examined(&texts);
    let claims: Vec<Claim> = examined.into_iter().map(Claim::of).map(see).collect();
    // A line that is not understood is refused, and what it would run is nobody's claim.
    let not_run = |(text, claim): (String, &Claim)| match claim.fault {
        Some(_) => String::new(),
        None => text,
    };
    let texts: Vec<String> = texts.into_iter().zip(&claims).map(not_run).collect();
    let mut executed = jail.executed(way, &texts);
    let trial = |(number, (line, claim)): (usize, (&Line, Claim))| {
        let mut trial = Trial {
            line: line.clone(),
            claim,
            found: 0,
            marked: 0,
            foreign: 0,
            unknown: Vec::new(),
        };
        for one in executed.remove(&number).unwrap_or_default() {
            match trial.claim.knows(&one) {
                Known::Found => trial.found += 1,
                Known::Marked => trial.marked += 1,
                Known::ExternalCall => trial.foreign += 1,
                Known::Not => trial.unknown.push(one),
            }
        }
        trial
    };
    lines.iter().zip(claims).enumerate().map(trial).collect()
}

impl Trial {
    /// The line and what was not found in it.
    pub(crate) fn told(&self) -> String {
        let unknown: Vec<&Vec<String>> = self.unknown.iter().map(|one| &one.argv).collect();
        format!("---\n{}\n--- runs {unknown:?}\n    found {:?}", self.line.text, self.claim.shown())
    }

    /// The same for the smallest line that fails too.
    pub(crate) fn smallest(&self, grammar: &Grammar) -> String {
        let jail = Jail::new();
        let mut told = self.told();
        let mut line = self.line.clone();
        for _ in 0..SMALLER_MAX {
            let mut smaller: Vec<Line> =
                line.choices.smaller().iter().map(|choices| grammar.again(choices)).collect();
            let size = |line: &Line| (line.text.len(), line.choices.clone());
            smaller.retain(|one| size(one) < size(&line));
            smaller.sort_by_key(size);
            smaller.dedup_by(|a, b| a.text == b.text);
            let failing = smaller.chunks(BATCH).find_map(|batch| {
                let trials = try_batch(&jail, Way::Packed, batch, |claim| claim);
                trials.into_iter().find(|trial| !trial.unknown.is_empty())
            });
            let Some(failing) = failing else { break };
            told = failing.told();
            line = failing.line;
        }
        told
    }
}

/// How many lines and programs there were, and how they were known.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    lines: usize,
    marked_lines: usize,
    pub(crate) found: usize,
    marked: usize,
    foreign: usize,
    not_understood: usize,
    /// Why the gate does not understand lines that bash takes, how many, and one of them.
    stricter: BTreeMap<String, (usize, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, trial: &Trial) {
        self.lines += 1;
        self.found += trial.found;
        self.marked += trial.marked;
        self.foreign += trial.foreign;
        self.marked_lines += usize::from(trial.claim.is_marked());
        if let Some(fault) = &trial.claim.fault {
            self.not_understood += 1;
            if is_bash(&trial.line.text) {
                let text = trial.line.text.clone();
                let (count, shortest) =
                    self.stricter.entry(fault.clone()).or_insert((0, text.clone()));
                *count += 1;
                if text.len() < shortest.len() {
                    *shortest = text;
                }
            }
        }
    }

    /// A test in which everything is marked, or nothing runs, would say nothing.
    pub(crate) fn assert_that_it_says_something(&self) {
        let programs = self.found + self.marked;
        assert!(programs > self.lines, "too little runs: {self}");
        assert!(self.found * 10 > programs * 6, "too little is found: {self}");
        assert!(self.marked_lines * 10 < self.lines * 6, "too much is marked: {self}");
        assert!(self.not_understood * 12 < self.lines, "too little is understood: {self}");
        for (fault, (_, line)) in &self.stricter {
            let is_listed = STRICTER.iter().any(|known| fault.contains(known));
            assert!(is_listed, "bash takes this, and the gate does not: {fault}\n{line}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, marked_lines, found, marked, foreign, not_understood, stricter } = self;
        writeln!(f, "{lines} lines, {marked_lines} with a mark, {not_understood} not understood")?;
        writeln!(
            f,
            "{found} programs found, {marked} behind a mark, {foreign} in other languages"
        )?;
        for (fault, (count, shortest)) in stricter {
            writeln!(f, "{count} lines that bash takes: {fault}: {shortest:?}")?;
        }
        Ok(())
    }
}

/// Whether bash takes a line.
pub(crate) fn is_bash(text: &str) -> bool {
    let mut bash = Command::new("bash");
    bash.args(["-n", "-c", text]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().unwrap().success()
}
