//! The structure axis: shell syntax where no shell was asked for.
//!
//! The rule: a metacharacter is refused, because it is the mark of a line that was meant for a
//! shell, unless the knowledge base says that this argument is text to this program (a pattern, a
//! message, a format) or the policy lists the program as one that takes plain data.

use std::os::unix::ffi::OsStrExt;

use super::command::Command;
use super::finding::{Axis, Finding, Weight};
use super::settings::Settings;

const METACHARACTERS: [&str; 8] = [";", "|", "&", ">", "<", "`", "$(", "${"];

/// What this axis finds in one command.
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
            Some(Finding {
                axis: Axis::Structure,
                rule: "metacharacter",
                text: format!(
                    "argv contains shell metachar {meta:?} in {text:?} (argument {argument}), and \
                     no shell reads it"
                ),
                argument: Some(argument),
                instead: Some(
                    "use shell for a shell line; for plain data, pass it in a file".to_owned(),
                ),
                listed: None,
                weight: Weight::Strict,
                span: None,
            })
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
