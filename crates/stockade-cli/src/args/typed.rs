//! Reads the command line.

use std::ffi::OsString;

use super::{Args, Command, Hook};
use clap::Parser;

impl Args {
    /// Reads the command line. `hook` is read by a parser for it alone: agents start it for every call, and
    /// setting up the parser for all commands takes longer than most decisions.
    pub(crate) fn typed() -> Result<Self, clap::Error> {
        if first().is_some_and(|word| word == "hook") {
            return HookAlone::try_parse().map(Self::from);
        }
        Self::try_parse()
    }
}

fn first() -> Option<OsString> {
    std::env::args_os().nth(1)
}

/// The command line with this command alone.
#[derive(Debug, Parser)]
#[command(name = "stockade", disable_help_subcommand = true)]
enum HookAlone {
    /// Answer a coding agent's hook: JSON on standard input, a decision on standard output
    Hook(Hook),
}

impl From<HookAlone> for Args {
    fn from(HookAlone::Hook(hook): HookAlone) -> Self {
        Self { command: Command::Hook(hook) }
    }
}
