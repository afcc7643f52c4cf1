//! Golden files whose sections are about different machines.

use std::collections::BTreeMap;

use super::file;

/// Compares sections below headings with their golden file, or writes it. A section of the file that is
/// not among them stays if it is about another machine.
#[track_caller]
pub(crate) fn hold(
    name: &str,
    mut found: BTreeMap<String, String>,
    is_of_another: impl Fn(&str) -> bool,
) {
    for section in file::read(name).split("== ").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
        if !found.contains_key(heading) && is_of_another(heading) {
            found.insert(heading.to_owned(), body.to_owned());
        }
    }
    let sections = found.iter().map(|(heading, body)| format!("== {heading}\n{body}"));
    file::hold(name, &sections.collect::<String>());
}
