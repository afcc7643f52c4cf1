//! The battery as a table for a terminal.

use super::{Came, Cell, Column, Matrix};
use crate::print::{self, BAD, FAINT, GOOD, escape};

/// Prints the table, what was not run, and what is worse than promised.
pub(crate) fn print(matrix: &Matrix) -> Result<(), print::StdoutError> {
    let ran: Vec<&Column> = matrix.columns.iter().filter(|one| one.not_run.is_none()).collect();
    let names: Vec<String> = ran.iter().map(|column| format!("{:<10}", column.place)).collect();
    print::line(&format!("\n{FAINT}{:<42} {}{FAINT:#}", "", names.join(" ").trim_end()))?;
    let cases = ran.first().map_or(0, |column| column.cells.len());
    for at in 0..cases {
        let row: Vec<&Cell> = ran.iter().filter_map(|column| column.cells.get(at)).collect();
        let name = row.first().map_or("", |cell| cell.case);
        let cells: Vec<String> = row.iter().map(|cell| shown(cell)).collect();
        print::line(format!("{name:<42} {}", cells.join(" ")).trim_end())?;
    }
    for column in &matrix.columns {
        if let Some(why) = &column.not_run {
            print::line(&format!("{BAD}not run{BAD:#}: {}: {}", column.place, escape(why)))?;
        }
        for cell in column.cells.iter().filter(|cell| !cell.ok) {
            let seen = cell.seen.as_deref().unwrap_or("it came to nothing, and so tests nothing");
            let (place, case) = (column.place, cell.case);
            print::line(&format!("{BAD}wrong{BAD:#}: {place}: {case}: {}", escape(seen)))?;
        }
    }
    Ok(())
}

fn shown(cell: &Cell) -> String {
    let style = match cell.came {
        Came::Runs | Came::Kept => GOOD,
        Came::NotKept | Came::NotRun => BAD,
    };
    let name = cell.came.name();
    let rest = " ".repeat(10_usize.saturating_sub(name.len()));
    format!("{style}{name}{style:#}{rest}")
}
