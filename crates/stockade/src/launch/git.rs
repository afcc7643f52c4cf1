//! Settings of git that a sandbox adds for its programs, by environment variables (git 2.31).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::jail::PathMasks;

/// How many settings there are: git reads `GIT_CONFIG_KEY_0` and so on.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// Settings of git, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GitSettings(Vec<(&'static str, String)>);

impl GitSettings {
    /// The settings for a sandbox that hides these files.
    ///
    /// The cover of a hidden file shows the size and the time of the file, but not its inode and owner. Git
    /// must not compare these, or it would open the cover to see what has changed, and fail.
    pub(super) fn for_cover(cover: &PathMasks) -> Self {
        let mut settings = Self::default();
        if holds_work_tree(cover.hidden()) {
            settings.0.push(("core.checkStat", "minimal".to_owned()));
        }
        settings
    }

    /// Adds the settings to variables, after the settings that these already hold. Where git could not read
    /// their number, nothing is added.
    pub(super) fn add_to(&self, variables: &mut Vec<(OsString, OsString)>) {
        let listed = variables.iter().position(|(name, _)| name == COUNT);
        let count = listed.and_then(|at| variables.get(at)).map(|(_, count)| number(count));
        let Some(count) = count.unwrap_or(Some(0)) else { return };
        let total = count.saturating_add(self.0.len());
        if self.0.is_empty() {
            return;
        }
        for (at, (key, value)) in (count..).zip(&self.0) {
            variables.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
            variables.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
        }
        variables.retain(|(name, _)| name != COUNT);
        variables.push((COUNT.into(), total.to_string().into()));
    }

    /// Whether a variable holds settings of this kind.
    pub(super) fn is_variable(name: &str) -> bool {
        name.starts_with("GIT_CONFIG_")
    }
}

/// The number of settings; git takes an empty value for none.
fn number(count: &OsStr) -> Option<usize> {
    if count.is_empty() { Some(0) } else { count.to_str()?.parse().ok() }
}

/// Whether one of the paths lies in a work tree of git.
fn holds_work_tree<'a>(paths: impl Iterator<Item = &'a Path>) -> bool {
    let mut checked = BTreeSet::new();
    for path in paths {
        for folder in path.ancestors().skip(1) {
            if !checked.insert(folder) {
                break;
            }
            if folder.join(".git").symlink_metadata().is_ok() {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let mut variables: Vec<_> = variables.iter().map(pair).collect();
        GitSettings(vec![("core.checkStat", "minimal".to_owned())]).add_to(&mut variables);
        let text = |one: OsString| one.into_string().unwrap();
        variables.into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_follow_those_that_are_there() {
        let own = ("GIT_CONFIG_KEY_0", "core.checkStat");
        let first = [own, ("GIT_CONFIG_VALUE_0", "minimal"), (COUNT, "1")];
        assert_eq!(added(&[]), pairs(&first));
        assert_eq!(added(&[(COUNT, "")]), pairs(&first));
        let there = [(COUNT, "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")];
        let both = [
            ("GIT_CONFIG_KEY_0", "a.b"),
            ("GIT_CONFIG_VALUE_0", "c"),
            ("GIT_CONFIG_KEY_1", "core.checkStat"),
            ("GIT_CONFIG_VALUE_1", "minimal"),
            (COUNT, "2"),
        ];
        assert_eq!(added(&there), pairs(&both));
        assert_eq!(added(&[(COUNT, "x")]), pairs(&[(COUNT, "x")]));
    }
}
