//! Reads what was typed. Agents start a command for every call, and all that else could have been
//! typed takes time to set up; so what they use is read by itself.

use std::ffi::OsString;

use clap::Parser;
use stockade::confine::Network;
use stockade::tier::Tier;

use super::{Args, Command, Hook, Net, plain};

impl Args {
    /// What was typed. Whatever is wrong, or asks for help, is told by the whole command line; that of
    /// a hook by itself, since only agents read it.
    pub(crate) fn typed() -> Result<Self, clap::Error> {
        let words: Vec<OsString> = std::env::args_os().skip(1).collect();
        let alone = match words.split_first() {
            Some((first, _)) if first == "hook" => {
                return Ok(HookAlone::try_parse()?.into());
            }
            Some((first, words)) if first == "run" => plain::run(words).map(Command::Run),
            Some((first, words)) if first == "shell" => plain::shell(words).map(Command::Shell),
            Some(_) | None => None,
        };
        alone.map_or_else(Self::try_parse, |command| Ok(Self { command }))
    }

    /// The network of the box that will most likely be made, if one is.
    pub(crate) fn likely_network(&self) -> Option<Network> {
        let common = if let Command::Run(run) = &self.command {
            &run.common
        } else if let Command::Shell(shell) = &self.command {
            &shell.common
        } else {
            return None;
        };
        let network = match common.net {
            Some(Net::Host) => Network::Host,
            Some(Net::None) | None => Network::None,
        };
        common.tier.is_none_or(|tier| tier == Tier::Jail).then_some(network)
    }

    /// Whether what was typed starts a program, before it is read.
    pub(crate) fn say_run() -> bool {
        first().is_some_and(|word| word == "run" || word == "shell")
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
