//! `stockade install`: puts the hook into the settings of a coding agent, or takes it out.

mod diff;
mod document;
mod edit;
mod settings_file;

use std::path::{Path, PathBuf};

use stockade::policy::Mode;
use stockade::shell::quoted;

use crate::args::{Agent, Install, Scope};
use crate::exit_code::Status;
use crate::{Answer, hook, print};
use edit::EditedText;
use settings_file::SettingsFile;

/// Installs or removes.
pub(crate) fn install(install: &Install) -> Answer {
    let path = target(install)?;
    let within = (install.scope != Scope::User).then_some(install.root.as_path());
    let file = SettingsFile::read(&path, within)?;
    let command = command(install)?;
    let EditedText { text, exact } = if install.remove {
        edit::without_hook(&file.path, file.text.as_deref())?
    } else {
        EditedText {
            text: Some(edit::with_hook(&file.path, file.text.as_deref(), &command)?),
            exact: true,
        }
    };
    let shown = file.path.display().to_string();
    let shown = print::escape(&shown);
    if text == file.text {
        let state = if install.remove { "is not in" } else { "is already in" };
        print::line(&format!("the hook {state} {shown}"))?;
        return Ok(Status::Ok);
    }
    if install.dry_run {
        let (old, new) = (file.text.as_deref(), text.as_deref());
        print::line(diff::unified(&file.path, old, new).trim_end())?;
    } else {
        file.write(text.as_deref())?;
        let done = if install.remove { "took the hook out of" } else { "put the hook into" };
        print::line(&format!("{done} {shown}"))?;
    }
    if !exact {
        print::note(
            "the file was changed since the hook was put in: empty lists and objects around it are gone, too",
        );
    }
    if !install.remove {
        advise(install);
    }
    Ok(Status::Ok)
}

/// What a person has to do besides.
fn advise(install: &Install) {
    match install.agent {
        Agent::Claude => {
            print::note("sessions that run already use it after they have been started again");
        }
        Agent::Codex => {
            print::note("Codex runs it after you have looked at it there (/hooks), and not before");
        }
    }
}

/// The settings file of the scope.
fn target(install: &Install) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let of_user = |variable: &str, folder: &str| {
        let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named
            .or_else(|| Some(std::env::home_dir()?.join(folder)))
            .ok_or("find the settings of the user: there is no home folder")
    };
    let root = &install.root;
    Ok(match (install.agent, install.scope) {
        (Agent::Claude, Scope::User) => {
            of_user("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json")
        }
        (Agent::Claude, Scope::Project) => root.join(".claude/settings.json"),
        (Agent::Claude, Scope::Local) => root.join(".claude/settings.local.json"),
        (Agent::Codex, Scope::User) => of_user("CODEX_HOME", ".codex")?.join("hooks.json"),
        (Agent::Codex, Scope::Project) => root.join(".codex/hooks.json"),
        (Agent::Codex, Scope::Local) => {
            return Err("install for codex: it has no local scope; use user or project".into());
        }
    })
}

/// The command that the agent runs. If there is no answer at all, because the program is gone or was
/// killed, that is a refusal, too: by itself the agent would take it for a yes.
fn command(install: &Install) -> Result<String, Box<dyn std::error::Error>> {
    let mut words = vec![hook::program()?, "hook".to_owned(), "pre".to_owned()];
    words.extend(["--format".to_owned(), install.agent.name().to_owned()]);
    if let Some(policy) = &install.policy {
        let path = absolute(policy)?;
        words.extend(["--policy".to_owned(), path]);
    }
    let unasked = (install.agent == Agent::Codex).then_some(Mode::Auto);
    if let Some(mode) = install.mode.or(unasked) {
        words.extend(["--mode".to_owned(), mode.name().to_owned()]);
    }
    if install.no_box {
        words.push("--no-box".to_owned());
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let line = format!("{} {}", words.join(" "), OTHERWISE);
    Ok(match install.agent {
        Agent::Claude => line,
        // The shell of the person reads it, which may be none of the usual.
        Agent::Codex => format!("/bin/sh -c {}", quoted(&line)),
    })
}

/// What is done where the program gave no answer. Status 2 is one.
const OTHERWISE: &str = "|| { [ $? -eq 2 ] || echo refused: stockade gave no answer >&2; exit 2; }";

fn absolute(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let path = std::path::absolute(path)?;
    Ok(path
        .into_os_string()
        .into_string()
        .map_err(|_bytes| "read --policy: the path is no text")?)
}
