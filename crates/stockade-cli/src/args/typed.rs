//! Reads the command line.

use clap::Parser;

use super::{Args, CallCommand, Command};

impl Args {
    /// Reads the command line. The commands that agents start for every call are read by a parser for them
    /// alone: setting up the parser for all commands takes longer than most decisions.
    pub(crate) fn typed() -> Result<Self, clap::Error> {
        let first = std::env::args_os().nth(1);
        if first.is_some_and(|word| ["run", "shell", "hook"].iter().any(|name| word == *name)) {
            let CallArgs { command } = CallArgs::try_parse()?;
            return Ok(Self { command: Command::Call(command) });
        }
        Self::try_parse()
    }
}

/// The command line with these commands alone.
#[derive(Debug, Parser)]
#[command(name = "stockade", disable_help_subcommand = true)]
struct CallArgs {
    #[command(subcommand)]
    command: CallCommand,
}
