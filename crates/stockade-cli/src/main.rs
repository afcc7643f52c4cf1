//! The command line: talks, and is the only crate that prints.
#![forbid(unsafe_code)]

#[cfg(test)]
#[macro_use]
#[path = "../../stockade/tests/shared/messages.rs"]
mod messages;
mod args;
mod ask;
mod audit;
mod call;
mod check;
mod code;
mod demo;
mod diagnostic;
mod doctor;
mod edit;
mod enter;
mod exit_code;
mod explain;
mod hook;
mod image;
mod init;
mod install;
mod manual;
mod matrix;
mod policy_file;
mod print;
mod processes;
mod rules;
mod run;
mod session;
mod setup;
mod signals;
mod streams;
mod terminal;
mod tools;
mod trust;
mod wire;

use std::process::ExitCode;

use args::{Args, CallCommand, Command};
use exit_code::Status;
use print::StdoutError;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    if hook::is_meant() {
        hook::prepare();
        if let Some(status) = hook::guard() {
            return status;
        }
    }
    // Before anything else: what runs must not read our environment in /proc.
    if let Err(error) = stockade::launch::hide_supervisor() {
        let why = format!("could not make this process unreadable to others: {error}");
        if hook::is_meant() {
            return hook::failed(&why);
        }
        print::error(&why);
        return Status::Failed.into();
    }
    let args = match Args::typed() {
        Ok(args) => args,
        Err(error) if hook::is_meant() && error.use_stderr() => return hook::misused(&error),
        Err(error) => return usage(&error),
    };
    let result = match args.command {
        Command::Call(CallCommand::Run(run)) => run::run(&run),
        Command::Call(CallCommand::Shell(shell)) => run::shell(&shell),
        Command::Call(CallCommand::Hook(hook)) => return hook::hook(&hook),
        Command::Enter(enter) => enter::enter(enter),
        Command::Code(code) => code::code(&code),
        Command::SessionHost => session::host(),
        Command::Ps(ps) => processes::ps(&ps),
        Command::Logs(logs) => processes::logs(&logs),
        Command::Kill(kill) => processes::kill(&kill),
        Command::Calls(calls) => call::calls(&calls),
        Command::Check(check) => check::check(&check),
        Command::Tools(tools) => tools::tools(&tools),
        Command::Rules(rules) => rules::rules(&rules),
        Command::Trust(trust) => trust::trust(&trust),
        Command::Install(install) => install::install(&install),
        Command::Demo(demo) => demo::demo(&demo),
        Command::Doctor(doctor) => doctor::doctor(&doctor),
        Command::Audit(audit) => audit::audit(&audit),
        Command::Image(image) => image::image(&image),
        Command::Init(init) => init::init(&init),
        Command::Schema => manual::schema(),
        Command::Completions(completions) => manual::completions(&completions),
        Command::Man(man) => manual::man(&man),
    };
    match result {
        Ok(status) => status.into(),
        Err(error) => {
            // A reader that went away, as `head` does, has seen what it wanted.
            let unwanted =
                error.downcast_ref::<StdoutError>().is_some_and(StdoutError::is_unwanted);
            if !unwanted {
                print::error(&print::chain(&*error));
            }
            Status::Failed.into()
        }
    }
}

/// Help and version are what was asked for; anything else is our failure to understand.
fn usage(error: &clap::Error) -> ExitCode {
    let asked_for = !error.use_stderr();
    match error.print() {
        Ok(()) if asked_for => Status::Ok.into(),
        Ok(()) | Err(_) => Status::Failed.into(),
    }
}

/// What every command answers: how to exit, or what went wrong on our side.
type Answer = Result<Status, Box<dyn std::error::Error>>;
