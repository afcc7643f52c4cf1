//! `stockade completions`, `man` and `schema`: generated from the arguments, and from the types that
//! policy files are read into.

use clap::CommandFactory;

use crate::args::{Args, Completions, Man};
use crate::exit_code::Status;
use crate::{Answer, print};

/// Prints completions for one shell.
pub(crate) fn completions(completions: &Completions) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Args::command(), "stockade", &mut script);
    print::bytes(&script)?;
    Ok(Status::Ok)
}

/// Prints the JSON Schema of policy files.
pub(crate) fn schema() -> Answer {
    let schema = serde_json::to_string_pretty(&stockade::policy::schema()?)?;
    print::line(&schema)?;
    Ok(Status::Ok)
}

/// Prints the manual page, or writes one for every command.
pub(crate) fn man(man: &Man) -> Answer {
    match &man.dir {
        Some(dir) => clap_mangen::generate_to(Args::command(), dir)
            .map_err(|error| format!("write the pages to {}: {error}", dir.display()))?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Args::command()).render(&mut page)?;
            print::bytes(&page)?;
        }
    }
    Ok(Status::Ok)
}
