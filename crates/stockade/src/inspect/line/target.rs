//! The targets of a command: from redirections, and from the catalog.

use std::collections::HashSet;
use std::ffi::OsString;

use super::super::command::Command;
use super::super::command::Target;
use super::super::path;
use super::Walker;
use super::arithmetic::NAMED;
use super::simple::ExpandedCommand;
use crate::catalog::{Effect, EffectKind, Word};
use crate::inspect::{Axis, Finding, Weight};
use crate::shell::ast::{self, Redirect, RedirectKind};
use crate::shell::evaluated::{is_plain_reference, word_text};
use crate::shell::expand::{Field, SUBSTITUTED};
use crate::shell::state::State;

/// The effect of a redirection on its target; `None` if that is not a file.
pub(super) fn redirected(kind: RedirectKind) -> Option<&'static [EffectKind]> {
    match kind {
        RedirectKind::Read => Some(&[EffectKind::Read]),
        RedirectKind::Write => Some(&[EffectKind::Write]),
        RedirectKind::ReadWrite => Some(&[EffectKind::Read, EffectKind::Write]),
        RedirectKind::Copy | RedirectKind::HereDocument | RedirectKind::HereString => None,
    }
}

impl Walker<'_> {
    /// The variable in `{name}> file`, which gets the number of the descriptor.
    pub(super) fn redirect_variable(&self, redirect: &Redirect) -> Option<String> {
        let before = self.source.before(redirect.span.start);
        let word = before.rsplit([' ', '\t', '\n', ';', '|', '&', '(', ')']).next()?;
        let name = word.strip_prefix('{')?.strip_suffix('}')?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && !name.is_empty()).then(|| name.to_owned())
    }

    /// `{name[…]}> file`: the parser reads the element's name as a word.
    pub(super) fn redirect_names(
        &mut self,
        words: &[ast::Word],
        redirects: &[Redirect],
        state: &State,
    ) {
        for word in words {
            let written = self.source.slice(word.span);
            let is_before = redirects.iter().any(|one| one.span.start == word.span.end);
            if !is_before || !written.starts_with('{') || !written.ends_with('}') {
                continue;
            }
            let text = word_text(word, state);
            let name = text.as_deref().and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
            if !name.is_some_and(|name| is_plain_reference(name, state)) {
                self.evaluates(word.span, NAMED);
            }
        }
    }

    /// Records the target of a redirection: a path, or a host.
    pub(super) fn judge_target(&mut self, field: &Field, state: &State) {
        let Some(text) = field.likely() else { return };
        if let Some(host) = device_host(&text) {
            let text = format!("the shell itself connects to {host:?}");
            let instead = "ask the person to fetch what is needed";
            self.find(Axis::Shell, "network", text, instead, Weight::Boxed, field.span);
            return;
        }
        if text == SUBSTITUTED || self.is_remote {
            return;
        }
        let settings = self.inspector.settings;
        for folder in state.folders() {
            let Some(resolver) = self.view_from(folder) else { continue };
            if let Some(finding) = path::judge(text.as_ref(), text.as_ref(), 0, &resolver, settings)
            {
                let Finding { rule, text, .. } = finding;
                let text =
                    text.replace("path argument", "redirection").replace(" (argument 0)", "");
                let instead = "name a path beneath the project root";
                self.find(Axis::Path, rule, text, instead, Weight::Boxed, field.span);
            }
        }
    }

    /// A word that names a file.
    pub(super) fn target(&self, kind: EffectKind, field: &Field) -> Target {
        let span = Some(self.source.place(field.span));
        let likely = field.likely();
        if let Some(host) = likely.as_deref().and_then(device_host) {
            let text = OsString::from(host);
            let (kind, known) = (EffectKind::Host, true);
            return Target { kind, text, known, field: None, span, redirected: false };
        }
        let text = match &likely {
            Some(text) => text.clone(),
            None if field.is_pattern() => field.shown(),
            None => self.source.slice(field.span),
        };
        let known = likely.is_some();
        let field = (!known).then(|| field.clone());
        Target { kind, text: text.into(), known, field, span, redirected: false }
    }

    /// The effects of a command according to the catalog.
    pub(super) fn targets_of(
        &self,
        made: &ExpandedCommand<'_>,
        command: &Command<'static>,
    ) -> Vec<Target> {
        let mut seen = HashSet::new();
        let mut targets: Vec<Target> = Vec::new();
        for effect in command.readings.iter().flat_map(|reading| &reading.effects) {
            let target = self.target_of(made, command, effect);
            let span = target.span.map(|span| (span.start, span.end));
            if seen.insert((target.kind, target.text.clone(), span)) {
                targets.push(target);
            }
        }
        targets
    }

    fn target_of(
        &self,
        made: &ExpandedCommand<'_>,
        command: &Command<'static>,
        effect: &Effect,
    ) -> Target {
        let word = effect.word.and_then(|at| command.words.get(at));
        let field = word.and_then(|word| made.fields.get(word.argument));
        let is_all = |word: &Word<'static>| word.is_whole() && *word.text == *effect.target;
        let is_whole = word.is_some_and(is_all);
        match (field, effect.kind) {
            (Some(field), kind) if is_whole && kind != EffectKind::Host => self.target(kind, field),
            (field, kind) => Target {
                kind,
                text: effect.target.clone(),
                known: field.is_none_or(|field| field.likely().is_some()),
                field: None,
                span: field.map(|field| self.source.place(field.span)),
                redirected: false,
            },
        }
    }
}

/// The host in a path to which bash connects.
fn device_host(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    rest.split('/').next().filter(|host| !host.is_empty())
}
