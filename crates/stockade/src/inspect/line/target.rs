//! What a command does, as targets: from redirections, and from what is known about programs.

use std::ffi::OsString;

use super::super::command::Command;
use super::super::found::Target;
use super::Walker;
use super::simple::Made;
use crate::knowledge::{Effect, EffectKind};
use crate::shell::expand::Field;
use crate::shell::tree::RedirectKind;

/// What a redirection does to its target; `None` where that is no file.
pub(super) fn redirected(kind: RedirectKind) -> Option<&'static [EffectKind]> {
    match kind {
        RedirectKind::Read => Some(&[EffectKind::Read]),
        RedirectKind::Write => Some(&[EffectKind::Write]),
        RedirectKind::ReadWrite => Some(&[EffectKind::Read, EffectKind::Write]),
        RedirectKind::Copy | RedirectKind::HereDocument | RedirectKind::HereString => None,
    }
}

impl Walker<'_> {
    /// A word that names a file.
    pub(super) fn target(&self, kind: EffectKind, field: &Field) -> Target {
        let span = Some(self.source.place(field.span));
        let likely = field.likely();
        if let Some(host) = likely.as_deref().and_then(device_host) {
            let text = OsString::from(host);
            return Target { kind: EffectKind::Host, text, known: true, field: None, span };
        }
        let text = match &likely {
            Some(text) => text.clone(),
            None if field.is_pattern() => field.shown(),
            None => self.source.slice(field.span),
        };
        let known = likely.is_some();
        let field = (!known).then(|| field.clone());
        Target { kind, text: text.into(), known, field, span }
    }

    /// What the knowledge base says that a command does.
    pub(super) fn targets_of(&self, made: &Made<'_>, command: &Command<'static>) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        for effect in command.readings.iter().flat_map(|reading| &reading.effects) {
            let target = self.target_of(made, command, effect);
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }

    fn target_of(&self, made: &Made<'_>, command: &Command<'static>, effect: &Effect) -> Target {
        let word = effect.word.and_then(|at| command.words.get(at));
        let field = word.and_then(|word| made.fields.get(word.argument));
        let is_whole = word.is_some_and(|word| word.text == effect.target.as_os_str());
        match (field, effect.kind) {
            (Some(field), kind) if is_whole && kind != EffectKind::Host => self.target(kind, field),
            (field, kind) => Target {
                kind,
                text: effect.target.clone(),
                known: field.is_none_or(|field| field.likely().is_some()),
                field: field.filter(|field| field.likely().is_none()).cloned(),
                span: field.map(|field| self.source.place(field.span)),
            },
        }
    }
}

/// The host in a path that bash connects to.
fn device_host(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    rest.split('/').next().filter(|host| !host.is_empty())
}
