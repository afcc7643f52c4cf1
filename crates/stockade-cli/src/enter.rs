//! `stockade enter`: a shell or a whole agent in the sandbox, for a person.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use stockade::ToolCall;
use stockade::confine::Network;
use stockade::launch::{AgentHome, installed_program};
use stockade::limits::Limits;
use stockade::policy::agents::{AgentProfile, ProfileError};
use stockade::policy::{Mode, Policy, Profile, real_folder};

use crate::args::{Common, Enter, NO_AGENT};
use crate::run::{InSession, Input, connected, in_session, perform};
use crate::{Answer, print, setup};

/// Opens a shell in the sandbox, or runs a program there. The person has asked for it themselves, so
/// that nothing is asked that the sandbox contains; deny rules hold.
pub(crate) fn enter(enter: Enter) -> Answer {
    let Enter { mut common, session, agent, argv } = enter;
    common.mode = common.mode.or(Some(Mode::Auto));
    common.profile = common.profile.or(Some(Profile::Contained));
    common.timeout = common.timeout.or(Some(Limits::NO_DEADLINE));
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| "bash".into());
    let argv = if argv.is_empty() { vec![shell()] } else { argv };
    let profile = profile(agent.as_deref(), &argv)?;
    in_session(Some(&session), None, |place| match profile {
        None => {
            let stockade = setup::stockade(&common, &[])?;
            perform(&stockade, called(argv), &common, place.as_ref())
        }
        Some(profile) => run_agent(profile, argv, &common, place.as_ref()),
    })
}

/// The profile that was chosen, or that of the program.
fn profile(named: Option<&str>, argv: &[OsString]) -> Result<Option<AgentProfile>, ProfileError> {
    Ok(match named {
        Some(NO_AGENT) => None,
        Some(name) => AgentProfile::named(name)?,
        None => argv.first().map(|word| AgentProfile::of_program(word)).transpose()?.flatten(),
    })
}

fn called(argv: Vec<OsString>) -> ToolCall {
    connected(ToolCall::exec(argv), io::stdin().is_terminal(), Input::found())
}

/// Runs an agent with what it has of the home folder, and puts back what is kept of that.
fn run_agent(
    profile: AgentProfile,
    mut argv: Vec<OsString>,
    common: &Common,
    place: Option<&InSession<'_>>,
) -> Answer {
    let name = profile.name.clone();
    let root = project(common)?;
    let home = AgentHome::prepare(profile, &root)?;
    let mut policy = setup::policy(common, &[])?;
    home.add_to(&mut policy)?;
    if let Some(word) = argv.first_mut()
        && let Some((path, shown)) = installed_program(word, &root)
    {
        *word = path;
        policy.files.agent_programs.push(shown);
    }
    if !common.quiet {
        tell(&name, &home, &policy);
    }
    let stockade = setup::open(common, policy)?;
    let answer = perform(&stockade, called(argv), common, place);
    // It is told even if nothing else is: the agent believes that it has changed this.
    home.finish().iter().for_each(|note| print::note(note));
    answer
}

fn project(common: &Common) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let root: &Path = &common.sources.root;
    real_folder(root).map_err(|errno| format!("open the project {root:?}: {errno}").into())
}

fn tell(name: &str, home: &AgentHome, policy: &Policy) {
    print::note(&format!(
        "the profile of the agent {name} is used: {}; --agent none runs it without",
        home.written()
    ));
    if policy.network != Network::Host && policy.ports.host.is_empty() {
        print::note("it reaches no host; --net host gives it the network of this machine");
    }
}
