//! What settings in the line make of a command of git: aliases, and settings that stand in variables.

use std::path::Path;

use super::Walker;
use super::simple::ExpandedCommand;
use crate::shell::expand::Field;
use crate::shell::state::{Lookup, State};

/// Settings in variables that are looked at.
const SETTINGS_MAX: usize = 16;
/// Stands among the calls for a command that settings were put into.
const CALL: &str = "git with the settings of the line";
/// Options of git that take a word, before its subcommand.
const WITH_WORD: [&str; 6] =
    ["-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix"];

impl Walker<'_> {
    /// Judges what git makes of its words: `GIT_CONFIG_KEY_0=gc.pruneExpire …` as if it were written
    /// `-c gc.pruneExpire=…`, and `git -c alias.x='clean -f' x` as `git clean -f`.
    pub(super) fn git_settings(&mut self, name: &str, made: &ExpandedCommand<'_>, state: &State) {
        if Path::new(name).file_name() != Some("git".as_ref()) {
            return;
        }
        let calls = self.calling.iter().filter(|calling| *calling == CALL).count();
        let settings = if calls == 0 { settings_in_variables(made, state) } else { Vec::new() };
        let span = made.span;
        let mut fields = Vec::new();
        if settings.is_empty() {
            fields.extend(aliased(&made.fields).unwrap_or_default());
        } else {
            fields.extend(made.fields.first().cloned());
            for setting in settings {
                fields.extend([Field::of("-c", span), Field::of(&setting, span)]);
            }
            fields.extend(made.fields.iter().skip(1).cloned());
        }
        if fields.is_empty() || calls > 2 {
            return;
        }
        let meant = ExpandedCommand {
            fields,
            environment: Vec::new(),
            targets: Vec::new(),
            doubt: made.doubt.clone(),
            ..*made
        };
        self.calling.push(CALL.to_owned());
        self.within("git", |walker| walker.made(meant, &mut state.clone()));
        self.calling.pop();
    }
}

/// `GIT_CONFIG_KEY_0=a GIT_CONFIG_VALUE_0=b` as `a=b`.
fn settings_in_variables(made: &ExpandedCommand<'_>, state: &State) -> Vec<String> {
    let value = |name: &str| match made.environment.iter().rev().find(|(one, _)| one == name) {
        Some((_, value)) => value.clone(),
        None => match state.lookup(name) {
            Lookup::Known(text) => Some(text.to_owned()),
            Lookup::Number | Lookup::Unknown | Lookup::Unassigned => None,
        },
    };
    let setting = |number: usize| {
        let key = value(&format!("GIT_CONFIG_KEY_{number}"))?;
        Some(format!("{key}={}", value(&format!("GIT_CONFIG_VALUE_{number}")).unwrap_or_default()))
    };
    (0..SETTINGS_MAX).filter_map(setting).collect()
}

/// The words of git with those of an alias in the place of its name, where the line sets that.
fn aliased(fields: &[Field]) -> Option<Vec<Field>> {
    let mut before = vec![fields.first()?.clone()];
    let mut aliases: Vec<(String, String)> = Vec::new();
    let mut rest = fields.iter().skip(1);
    let name = loop {
        let field = rest.next()?;
        let text = field.known()?;
        let setting = match text.as_str() {
            "-c" => rest.next()?.known(),
            _ if WITH_WORD.contains(&text.as_str()) => {
                before.extend([field.clone(), rest.next()?.clone()]);
                continue;
            }
            _ => text.strip_prefix("-c").map(str::to_owned),
        };
        match setting {
            Some(setting) => {
                let alias = setting.split_once('=').and_then(|(key, value)| {
                    let (section, name) = key.split_once('.')?;
                    section
                        .eq_ignore_ascii_case("alias")
                        .then(|| (name.to_owned(), value.to_owned()))
                });
                match alias {
                    Some(alias) => aliases.push(alias),
                    None => before
                        .extend([Field::of("-c", field.span), Field::of(&setting, field.span)]),
                }
            }
            None if text.starts_with('-') => before.push(field.clone()),
            None => break text,
        }
    };
    let (_, value) =
        aliases.into_iter().rev().find(|(alias, _)| alias.eq_ignore_ascii_case(&name))?;
    let span = before.first()?.span;
    // What begins with `!` is code of a shell, and is read as such.
    let words = shlex::split(&value).filter(|_| !value.starts_with('!'))?;
    before.extend(words.iter().map(|word| Field::of(word, span)));
    before.extend(rest.cloned());
    Some(before)
}
