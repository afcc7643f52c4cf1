//! What can be typed. One struct per command; `--help`, the man page and the completions come
//! from here.

mod agent;
mod audit;
mod image;
mod manual;
mod code;
mod policy;
mod session;
mod typed;

use std::ffi::OsString;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use agent::{Agent, Hook, HookOptions, Install, PersonAnswer, Scope, When};
pub(crate) use audit::{Audit, AuditShow, AuditStats, AuditVerify, AuditWhat};
use clap::{Parser, Subcommand, ValueEnum};
pub(crate) use code::{Code, SourceText};
pub(crate) use image::{Image, ImageImport, ImageWhat};
pub(crate) use manual::{Completions, Man};
pub(crate) use policy::{
    Dialect, Init, Rules, RulesAdd, RulesList, RulesRemove, RulesTest, RulesWhat, Sources, Target,
    Trust,
};
pub(crate) use session::{Enter, Kill, Logs, NO_AGENT, Ps};
use stockade::call::SessionName;
use stockade::confine::{ImageName, Toolchain};
use stockade::limits::{ByteCount, Processors, parse_deadline, parse_duration};
use stockade::policy::{Mode, Profile, Variable};
use stockade::tier::Tier;

/// Run the tool calls of AI agents: judged, boxed, recorded and explained.
#[derive(Debug, Parser)]
#[command(
    name = "stockade",
    version,
    about,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
#[command(
    after_help = "Exit status: the program's own; 124 timed out, 125 Stockade failed, 126 refused, \
127 no such program, 128+n ended by signal n. check: 0 allow, 3 ask, 126 deny. hook: 0 or 2."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands that agents start for every call.
#[derive(Debug, Subcommand)]
pub(crate) enum CallCommand {
    /// Run one program, without a shell
    Run(Run),
    /// Run one shell line in a sandbox, after every command in it was judged
    Shell(Shell),
    /// Answer a coding agent's hook: JSON on standard input, a decision on standard output
    Hook(Hook),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Call(CallCommand),
    /// Open a shell in the sandbox, or run a program there that a person talks to
    Enter(Enter),
    /// Run source in an isolated interpreter, in a box with a scratch folder
    Code(Code),
    /// Keep the sessions of this user
    #[command(hide = true)]
    SessionHost,
    /// List the sessions, and the calls in them with what they have left running
    Ps(Ps),
    /// Print the last output of what a call has left running
    Logs(Logs),
    /// End what calls have left running
    Kill(Kill),
    /// Run calls given as JSON lines; reports come out as JSON lines, in order
    #[command(name = "call")]
    Calls(Calls),
    /// Decide and explain, and run nothing (exit 0 allow, 3 ask, 126 deny)
    Check(Check),
    /// Show the tools that can be called
    Tools(Tools),
    /// Show, add, remove and test rules
    Rules(Rules),
    /// Trust a file of the project, so that it may loosen the policy
    Trust(Trust),
    /// Put the hook into a coding agent's settings, or take it out
    Install(Install),
    /// Run legal and adversarial calls in a throw-away project, and show how each came out
    Demo(Demo),
    /// Find out what this machine can keep, what it cannot, and how to fix it
    Doctor(Doctor),
    /// Read, count and verify the journal
    Audit(Audit),
    /// Make images for the tiers container and gvisor
    Image(Image),
    /// Write a commented starter policy
    Init(Init),
    /// Print the JSON Schema of policy files
    Schema,
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
}

/// Options of every command that judges calls.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Where the call runs, beneath the root; the root if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// How strong the box is: `jail`; `container` or `gvisor`; or `process`, which keeps neither
    /// files nor the network
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<Tier>,
    /// The image of a box of the tiers container and gvisor
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<ImageName>,
    /// How much is done without a question: `default`, `accept-edits`, `plan`, `auto`, `dont-ask`
    /// or `bypass`
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Ask nobody at the terminal: what needs a yes is refused
    #[arg(long)]
    pub(crate) no_ask: bool,
    /// Which built-in refusals apply: `strict` or `contained`
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<Profile>,
    /// The wall-clock deadline, such as 30s, or `none`
    #[arg(long, value_name = "TIME", value_parser = parse_deadline)]
    pub(crate) timeout: Option<Duration>,
    /// CPU time of one process, such as 10s; a second more for all together
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) cpu: Option<Duration>,
    /// How many processors it may keep busy, such as 1.5; the jail keeps that
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<Processors>,
    /// Memory, such as 256M
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteCount>,
    /// Processes alive at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: Option<u32>,
    /// The largest file that may be written, such as 10M
    #[arg(long, value_name = "SIZE")]
    pub(crate) file_size: Option<ByteCount>,
    /// Room on the disk that it may add, such as 1G; the jail keeps that
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<ByteCount>,
    /// Files that it may add; the jail keeps that
    #[arg(long, value_name = "N")]
    pub(crate) files: Option<u64>,
    /// Bytes kept of each output stream, such as 64K
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_output: Option<ByteCount>,
    /// Let it write this folder and no other, which the jail keeps
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<PathBuf>,
    /// Let it read this besides the system and the project, which the jail keeps
    #[arg(long, value_name = "DIR")]
    pub(crate) read: Vec<PathBuf>,
    /// Show this toolchain of your home folder, to be read: `rust`, `node` or `python`; in the jail
    #[arg(long, value_name = "NAME")]
    pub(crate) toolchain: Vec<Toolchain>,
    /// The network: `none`, which the jail keeps, or `host`
    #[arg(long, value_name = "MODE")]
    pub(crate) net: Option<Net>,
    /// Open this port of the sandbox on 127.0.0.1 of this machine; in the jail with `--net loopback`
    #[arg(long, value_name = "PORT")]
    pub(crate) publish: Vec<NonZeroU16>,
    /// Open this port of this machine's 127.0.0.1 in the sandbox; in the jail with `--net loopback`
    #[arg(long, value_name = "PORT")]
    pub(crate) host_port: Vec<NonZeroU16>,
    /// Pass a variable, or set it
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = variable)]
    pub(crate) env: Vec<Variable>,
    /// The journal; by default `$XDG_STATE_HOME/stockade/journal.jsonl`
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing of our own, only the program's output
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Net {
    /// No network at all.
    None,
    /// A loopback of its own, and nothing else.
    Loopback,
    /// The machine's own.
    Host,
}

fn variable(text: &str) -> Result<Variable, String> {
    Variable::parse(text).ok_or_else(|| "write it as NAME or NAME=VALUE".to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Pass our standard input to the program even if it is a terminal; any other is passed anyway
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Give the program a terminal of its own
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) tty: bool,
    /// Run it in the session of this name: its calls share a directory, /tmp, the home and a loopback
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM ARGS")]
    pub(crate) argv: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Shell {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Only these programs may run, one at a time and without a shell; anything else is refused
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Written by `stockade hook`: what a person said in the agent, `yes` or `none`; refusals stand
    #[arg(long, value_name = "ANSWER", conflicts_with = "only")]
    pub(crate) answered: Option<PersonAnswer>,
    /// Give the line a terminal of its own
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) tty: bool,
    /// Run it in the session of this name: its calls share a directory, /tmp, the home and a loopback
    #[arg(long, value_name = "NAME", conflicts_with = "only")]
    pub(crate) session: Option<SessionName>,
    /// The line runs beside others: the directory in which it ends is not that of the next line
    #[arg(long, requires = "session")]
    pub(crate) background: bool,
    /// Written by `stockade hook`: the descriptor that gets the directory in which the line has ended
    #[arg(long, value_name = "N", requires = "session", hide = true)]
    pub(crate) folder_fd: Option<u8>,
    /// The line: every command in it is judged, then bash runs it; with --only it is split once and run without a shell
    #[arg(value_name = "COMMAND LINE")]
    pub(crate) line: OsString,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Calls {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Calls at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// The session of calls that name none: they share a directory, /tmp, the home and a loopback
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// A file of JSON lines, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// One program and its arguments
    Run(CheckRun),
    /// One shell line
    Shell(CheckShell),
    /// Source for an interpreter
    Code(CheckCode),
    /// One call in JSON
    Call(CheckCall),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckCode {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Show the rules that were considered, the steps of the run and what they keep
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) source: SourceText,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckRun {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Show the rules that were considered, the steps of the run and what they keep
    #[arg(long)]
    pub(crate) explain: bool,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM ARGS")]
    pub(crate) argv: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckShell {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Show the rules that were considered, the steps of the run and what they keep
    #[arg(long)]
    pub(crate) explain: bool,
    /// The programs that may run
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// The line
    #[arg(value_name = "COMMAND LINE")]
    pub(crate) line: OsString,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckCall {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Show the rules that were considered, the steps of the run and what they keep
    #[arg(long)]
    pub(crate) explain: bool,
    /// A file with one call in JSON, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) what: ToolsWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsWhat {
    /// All tools: ours, the shipped ones, and those of the policy
    List(ToolsList),
    /// One tool, with the schema of its input
    Describe(ToolsDescribe),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsList {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print one JSON object, in the shape of MCP's `tools/list`
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsDescribe {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print one JSON object, in the shape of a tool of MCP
    #[arg(long)]
    pub(crate) json: bool,
    /// The tool
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// How strong the box is: `jail`, or `process`, which keeps neither files nor the network
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<Tier>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Run the same attacks bare and in every tier that is here, and print what each tier keeps;
    /// this takes a minute or two
    #[arg(long)]
    pub(crate) battery: bool,
    /// With --battery: the image of the tier container, with bash and coreutils in it
    #[arg(long, value_name = "NAME", requires = "battery")]
    pub(crate) image: Option<ImageName>,
    /// The policy file to go by, instead of your own
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
