//! The structure axis: shell syntax in an argument vector, which no shell reads.
//!
//! A metacharacter is refused, because it suggests that a shell line was meant, unless the catalog
//! says that the argument is text (a pattern, a message, a format), or the policy lists the program
//! as one that takes plain data.

use std::os::unix::ffi::OsStrExt;

use super::command::Command;
use crate::inspect::Settings;
use crate::inspect::{Axis, Finding, Weight};

const METACHARACTERS: [&str; 8] = [";", "|", "&", ">", "<", "`", "$(", "${"];

/// The findings of this axis for one command.
pub(super) fn inspect(command: &Command<'_>, settings: &Settings) -> Vec<Finding> {
    if command.names.iter().any(|name| settings.data.contains(name)) {
        return Vec::new();
    }
    command
        .own_words()
        .filter(|word| !command.is_text(word.argument))
        .filter_map(|word| {
            let meta = first_metacharacter(word.text.as_bytes())?;
            let (text, argument) = (&word.text, word.argument);
            let why = format!(
                "argv contains shell metachar {meta:?} in {text:?} (argument {argument}), and no \
                 shell reads it"
            );
            let finding = Finding::new(Axis::Structure, Weight::Strict, "metacharacter", why);
            let instead = "use shell for a shell line; for plain data, pass it in a file";
            Some(finding.at(argument).instead(instead))
        })
        .collect()
}

fn first_metacharacter(text: &[u8]) -> Option<&'static str> {
    METACHARACTERS
        .into_iter()
        .filter_map(|meta| {
            let at = text.windows(meta.len()).position(|window| window == meta.as_bytes())?;
            Some((at, meta))
        })
        .min()
        .map(|(_, meta)| meta)
}
