//! Tables as they stand in the document.

use std::fmt;
use std::time::Duration;

use crate::stats::{Kind, Row, Spread, Target, ratio};

/// A table of text.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.head.len());
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {} |", self.head.join(" | "))?;
        let numbers = self.head.len().saturating_sub(1);
        writeln!(f, "|---|{}", "---:|".repeat(numbers))?;
        self.rows.iter().try_for_each(|cells| writeln!(f, "| {} |", cells.join(" | ")))
    }
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

/// How something that must be at most so much came out.
pub(crate) fn at_most(value: f64, most: f64) -> String {
    if value <= most { "met" } else { "**not met**" }.to_owned()
}

/// What a row is measured against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measures {
    pub(crate) bare: Spread,
    /// Bubblewrap with an agent profile, where it is there.
    pub(crate) bubblewrap: Option<Spread>,
}

impl Measures {
    pub(crate) fn of(rows: &[(Row, Spread)], bare: &str, bubblewrap: &str) -> Self {
        let named = |name: &str| rows.iter().find(|(row, _)| row.name == name).map(|row| row.1);
        Self { bare: named(bare).unwrap(), bubblewrap: named(bubblewrap) }
    }

    /// The most that a row may take.
    pub(crate) fn most(&self, target: Target) -> Option<Duration> {
        match target {
            Target::Bare(times) => Some(self.bare.median.mul_f64(times)),
            Target::Bubblewrap(times) => Some(self.bubblewrap?.median.mul_f64(times)),
        }
    }

    /// What a row may take at most, and how it came out.
    fn judged(&self, target: Target, median: Duration) -> (String, String) {
        let said = match target {
            Target::Bare(times) => format!("≤ {times:.1} × bare"),
            Target::Bubblewrap(times) => format!("≤ {times:.2} × bwrap"),
        };
        match self.most(target) {
            Some(most) => {
                let came = match target {
                    Target::Bare(_) => String::new(),
                    Target::Bubblewrap(times) => {
                        format!(" ({:.2})", times * ratio(median, most))
                    }
                };
                (said, at_most(median.as_secs_f64(), most.as_secs_f64()) + &came)
            }
            None => (said, "no bwrap here".to_owned()),
        }
    }
}

/// The table of launches.
pub(crate) fn launches(rows: &[(Row, Spread)], measures: &Measures) -> Table {
    let head =
        ["launch", "median, ms", "p99, ms", "median, bare = 1", "p99, bare = 1", "target", ""];
    let mut table = Table::new(&head);
    for (row, spread) in rows {
        let (target, met) =
            row.target.map(|target| measures.judged(target, spread.median)).unwrap_or_default();
        let name =
            if row.kind == Kind::Ours { format!("**{}**", row.name) } else { row.name.clone() };
        table.row([
            name,
            millis(spread.median),
            millis(spread.p99),
            format!("{:.2}", ratio(spread.median, measures.bare.median)),
            format!("{:.2}", ratio(spread.p99, measures.bare.p99)),
            target,
            met,
        ]);
    }
    table
}
