//! `stockade run` and `stockade shell`: one call, its output, its exit status.

use std::io::Read;

use stockade::{Stockade, ToolCall};

use crate::args::{Common, Run, Shell};
use crate::exit_code::Status;
use crate::{Answer, render, setup};

/// What standard input may hold: it is kept in memory while the program reads it.
const STDIN_BYTES_MAX: u64 = 64 << 20;

/// Runs one program.
pub(crate) fn run(run: &Run) -> Answer {
    let mut call = ToolCall::exec(run.argv.clone());
    if run.stdin {
        call = call.with_stdin(read_stdin()?);
    }
    perform(&setup::stockade(&run.common, &[])?, call, &run.common)
}

/// Runs one shell line.
pub(crate) fn shell(shell: &Shell) -> Answer {
    let call = ToolCall::line(shell.line.clone());
    if let Some(answered) = shell.answered {
        return perform(&setup::hooked_stockade(&shell.common, answered)?, call, &shell.common);
    }
    perform(&setup::stockade(&shell.common, &shell.only)?, call, &shell.common)
}

/// Runs a call, and shows what became of it.
pub(crate) fn perform(stockade: &Stockade, call: ToolCall, common: &Common) -> Answer {
    let report = stockade.run(setup::placed(call, common));
    if common.json {
        render::say_json(&report)?;
    } else {
        render::report(&report, common.quiet)?;
    }
    Ok(Status::of(&report))
}

fn read_stdin() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    let mut limited = std::io::stdin().lock().take(STDIN_BYTES_MAX.saturating_add(1));
    limited.read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > STDIN_BYTES_MAX) {
        return Err("pass standard input on: it is larger than 64 MiB; put it into a file".into());
    }
    Ok(bytes)
}
