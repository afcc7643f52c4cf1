//! The name axis: which program it is, under any name, and whether it may run.

use std::ffi::OsStr;
use std::path::Path;

use super::command::{Command, Start};
use super::program::{ProgramError, ProgramLocation};
use crate::inspect::Settings;
use crate::inspect::{Axis, Finding, Weight};
use crate::limits::shortage;

/// The findings of this axis for one command of an `Exec` call.
pub(super) fn inspect(command: &Command<'_>, settings: &Settings) -> Vec<Finding> {
    denied(command, settings)
        .or_else(|| unsettled(command))
        .or_else(|| misplaced(command))
        .into_iter()
        .collect()
}

/// The findings for the interpreter of a script: only the denylist applies, because the script is
/// part of the project and controls its interpreter.
pub(super) fn inspect_interpreter(command: &Command<'_>, settings: &Settings) -> Vec<Finding> {
    denied(command, settings).into_iter().collect()
}

/// The findings for one command of a line that may only use listed programs.
pub(super) fn inspect_listed(command: &Command<'_>, settings: &Settings) -> Vec<Finding> {
    unlisted(command, settings)
        .or_else(|| denied(command, settings))
        .or_else(|| misplaced(command))
        .into_iter()
        .collect()
}

fn denied(command: &Command<'_>, settings: &Settings) -> Option<Finding> {
    let is_foreign =
        command.program.as_ref().is_ok_and(|program| program.place != ProgramLocation::System);
    let listed = |name: &String| {
        // Variants of a program carry its name: nc.openbsd, mkfs.xfs.
        let variant = name.split('.').next().filter(|_| !is_foreign);
        let stem = variant.filter(|stem| settings.deny.contains(*stem));
        settings.deny.get(name).cloned().or_else(|| stem.map(str::to_owned))
    };
    let name = command.names.iter().find_map(listed)?;
    let spelled = command.spelled();
    let same = Path::new(spelled).file_name() == Some(OsStr::new(&name));
    let text = if same {
        format!("executable {name:?} is on the denylist (argument {})", command.argument())
    } else {
        format!(
            "executable {spelled:?} (argument {}) is {name:?}, which is on the denylist",
            command.argument()
        )
    };
    Some(finding(command, "denylist", text, alternative_to(&name), Some(name.clone())))
}

fn unlisted(command: &Command<'_>, settings: &Settings) -> Option<Finding> {
    let only = settings.only.as_ref()?;
    let spelled = command.spelled();
    let bare = spelled.to_str().filter(|name| !name.contains('/'));
    if bare.is_some_and(|name| only.contains(name)) {
        return None;
    }
    let listed = only.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let text = format!("{spelled:?} (argument {}) is not on the allowlist", command.argument());
    Some(finding(command, "only", text, format!("use one of: {listed}"), None))
}

/// A program whose name is only known at run time: `xargs -I X X`.
fn unsettled(command: &Command<'_>) -> Option<Finding> {
    let is_missing = matches!(command.program, Err(ProgramError::Missing));
    if command.start != Start::Open || !is_missing {
        return None;
    }
    let (spelled, argument) = (command.spelled(), command.argument());
    let text = format!("executable {spelled:?} (argument {argument}) is not known before the run");
    Some(finding(command, "unsettled", text, "name the program in the call".to_owned(), None))
}

fn misplaced(command: &Command<'_>) -> Option<Finding> {
    let (spelled, argument) = (command.spelled(), command.argument());
    let (rule, why) = match &command.program {
        Ok(program) if !program.is_known => {
            ("unreadable", "cannot be read, so that it could be a denied program".to_owned())
        }
        Ok(program) => match program.place {
            ProgramLocation::Root | ProgramLocation::System => return None,
            ProgramLocation::Writable => (
                "place",
                format!("lives in a folder that the caller can write ({:?})", program.real),
            ),
            ProgramLocation::Elsewhere => (
                "place",
                format!(
                    "is neither beneath the project root nor in a system folder ({:?})",
                    program.real
                ),
            ),
        },
        Err(ProgramError::Missing) => return None,
        Err(ProgramError::Folder) => ("folder", "is a directory, not a program".to_owned()),
        Err(ProgramError::NotAFile) => ("not-a-file", "is not a regular file".to_owned()),
        Err(ProgramError::NotExecutable) => {
            ("not-executable", "is a file without execute permission".to_owned())
        }
        Err(ProgramError::Unreadable(errno)) => {
            ("unreadable", format!("cannot be opened ({errno})"))
        }
    };
    let text = format!("executable {spelled:?} (argument {argument}) {why}");
    let shortage = match &command.program {
        Err(ProgramError::Unreadable(errno)) => shortage::remedy(*errno),
        Ok(_) | Err(_) => None,
    };
    let instead = shortage.unwrap_or(
        "name a program of the system, or an executable file beneath the project root; \
         the policy key exec.folders trusts further folders",
    );
    Some(finding(command, rule, text, instead.to_owned(), None))
}

fn finding(
    command: &Command<'_>,
    rule: &'static str,
    text: String,
    instead: String,
    listed: Option<String>,
) -> Finding {
    Finding {
        axis: Axis::Name,
        rule,
        text,
        argument: Some(command.argument()),
        instead: Some(instead),
        listed,
        weight: Weight::Always,
        span: None,
    }
}

/// What an agent can do instead of running a denied program.
fn alternative_to(name: &str) -> String {
    match name {
        "rm" => "leave the file, or ask the person to delete it",
        "curl" | "wget" | "nc" | "ncat" | "telnet" => "ask the person to fetch what is needed",
        "chmod" => "run a script through its interpreter: bash FILE, python3 FILE",
        "base64" => "read and write files as they are",
        "kill" | "pkill" => "processes of a call end with it; there is nothing to kill",
        "sudo" | "su" => "do without other rights; ask the person where they are needed",
        _ => "ask the person to do this; the policy key exec.deny holds the list",
    }
    .to_owned()
}
