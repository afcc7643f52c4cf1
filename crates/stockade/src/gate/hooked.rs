//! Hooks before a call: asked after inspection, heeded before the decision is final.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::Gate;
use super::examine::{Examined, Examiner};
use super::facts::Shown;
use super::ruled::Doubt;
use crate::call::ToolCall;
use crate::hooks::{Counsel, Fault, Hooks, Occasion, Opinion, Spoken, Voice, counsel, input};
use crate::inspect::View;
use crate::policy::hook::Event;
use crate::policy::rule::Facts;
use crate::policy::weigh::Ground;
use crate::policy::{Decision, Mode, silenced};

/// A call after its hooks: what is judged, and what they said.
pub(super) struct Hooked<'c> {
    pub(super) call: Cow<'c, ToolCall>,
    pub(super) examined: Examined,
    pub(super) said: Said,
    /// How long inspection took, without what hooks took.
    pub(super) spent: Duration,
}

/// What hooks say besides their decision, for the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// What the agent should know.
    pub context: Vec<Spoken>,
    /// What the person should see.
    pub messages: Vec<Spoken>,
    /// Why the agent should stop altogether.
    pub stop: Option<Spoken>,
    /// Set where a hook rewrote the call.
    pub rewritten: Option<Box<Rewritten>>,
}

/// A call that a hook rewrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// Which hook.
    pub by: Voice,
    /// The words that were asked for.
    pub words: Vec<OsString>,
    /// The call that was judged in their place.
    pub call: ToolCall,
}

impl Examiner {
    /// The names of the commands that would be asked about a call, as far as its tool tells.
    pub fn hooks_for(&self, call: &ToolCall) -> Vec<String> {
        let forms = input::forms(call).unwrap_or_default();
        let tools: Vec<&str> = forms.iter().map(|seen| seen.tool.as_ref()).collect();
        Hooks::new(self.policy().hooks.clone()).names_for(Event::Pre, &tools)
    }
}

impl Gate {
    /// Inspects a call and asks the hooks about it; if one of them rewrites it, all is inspected
    /// again and the others are asked again, once.
    ///
    /// A call that is refused already is shown to no hook: nothing that one says could change that.
    pub(super) fn hooked<'c>(&self, call: &'c ToolCall) -> Hooked<'c> {
        let begun = Instant::now();
        let mut examined = self.examiner.examined(call);
        let mut spent = begun.elapsed();
        if is_refused(&examined) || !self.hooks.are_there(Event::Pre) {
            let (call, said) = (Cow::Borrowed(call), Said::default());
            return Hooked { call, examined, said, spent };
        }
        let mut said = self.counsel(call, &examined, &BTreeSet::new());
        let Some((new, by)) = rewritten(call, &mut said) else {
            return Hooked { spent, ..self.finished(Cow::Borrowed(call), examined, said, None) };
        };
        let begun = Instant::now();
        let old_words = std::mem::replace(&mut examined, self.examiner.examined(&new)).words;
        spent = spent.saturating_add(begun.elapsed());
        if !is_refused(&examined) {
            let authors = said.rewrite.iter().flat_map(|(_, voices)| voices).cloned().collect();
            let mut second = self.counsel(&new, &examined, &authors);
            if let Some((_, other)) = rewritten(&new, &mut second) {
                let why = format!(
                    "it rewrites what the hook {:?} has rewritten, and once is the limit",
                    by.name
                );
                second.opinion = Some(Opinion::refusal(&other, &why, false));
            }
            said = said.then(second);
        }
        let rewritten = Rewritten { by, words: old_words, call: new.clone() };
        let rewritten = Some(Box::new(rewritten));
        Hooked { spent, ..self.finished(Cow::Owned(new), examined, said, rewritten) }
    }

    /// The same for a call that somebody else runs, of which nothing can be rewritten here.
    pub(super) fn advised(&self, call: &ToolCall, examined: Examined) -> Examined {
        if is_refused(&examined) || !self.hooks.are_there(Event::Pre) {
            return examined;
        }
        let mut said = self.counsel(call, &examined, &BTreeSet::new());
        if let Some((_, by)) = rewritten(call, &mut said) {
            let why = "it rewrites the input, and that of another's tool stays as it is";
            said.opinion = Some(Opinion::refusal(&by, why, false));
        }
        self.finished(Cow::Borrowed(call), examined, said, None).examined
    }

    /// What the hooks say about a call, but for these.
    fn counsel(&self, call: &ToolCall, examined: &Examined, except: &BTreeSet<Voice>) -> Counsel {
        let root = self.examiner.root();
        let view = View::open(root, call.cwd.as_deref());
        let forms = match (input::forms(call), &view) {
            (Ok(forms), Ok(_)) => forms,
            (Err(unseen), _) => return self.unseen(call, &unseen.to_string()),
            (_, Err(error)) => return self.unseen(call, &error.to_string()),
        };
        let commands = &examined.examination.commands;
        let shown = view.as_ref().ok().filter(|_| self.hooks.have_conditions(Event::Pre));
        let shown =
            shown.map(|view| Shown::new(call.tool.name(), commands, view, self.examiner.home()));
        let cwd = view.as_ref().map_or(root.path(), |view| view.cwd_path()).to_owned();
        let occasion = Occasion {
            event: Event::Pre,
            forms: &forms,
            cwd,
            permission_mode: permission_mode(self.examiner.policy().mode),
            call: &call.id,
            done: None,
            facts: shown.as_ref().map(|shown| &shown.facts),
        };
        counsel(&self.hooks.ask(&occasion, except))
    }

    /// The call as the hooks leave it. What they decide is the last word, but for a refusal.
    fn finished<'c>(
        &self,
        call: Cow<'c, ToolCall>,
        mut examined: Examined,
        counsel: Counsel,
        rewritten: Option<Box<Rewritten>>,
    ) -> Hooked<'c> {
        let ground = examined.question.as_ref().map(|doubt| doubt.ground);
        let before = examined.examination.ruling.decision;
        let ruling = counsel.heeded(examined.examination.ruling, ground);
        let decision = match (ruling.decision, self.examiner.policy().mode) {
            (Decision::Ask, Mode::DontAsk) => Decision::Deny,
            (decision, _) => decision,
        };
        examined.examination.ruling = silenced(ruling, decision, self.examiner.policy().mode);
        if decision != before {
            let facts = || Facts::new(call.tool.name(), self.examiner.root().path());
            let is_asked = decision == Decision::Ask;
            examined.question = is_asked.then(|| Doubt { ground: Ground::Hook, facts: facts() });
            examined.examination.spared &= decision == Decision::Allow;
        }
        let Counsel { context, messages, stop, .. } = counsel;
        let said = Said { context, messages, stop, rewritten };
        Hooked { call, examined, said, spent: Duration::ZERO }
    }

    /// What it means that hooks cannot be shown a call that one of them is for.
    fn unseen(&self, call: &ToolCall, why: &str) -> Counsel {
        let tools: &[&str] = &[call.tool.name(), "Bash"];
        let named = self.hooks.names_for(Event::Pre, tools).into_iter().min();
        let voice = Voice { name: named.unwrap_or_else(|| "pre".to_owned()), source: None };
        let why = Fault::Unseen(why.to_owned()).to_string();
        Counsel { opinion: Some(Opinion::refusal(&voice, &why, true)), ..Counsel::default() }
    }
}

/// The call that a hook wants instead, and which hook; what fits no tool is a refusal.
fn rewritten(call: &ToolCall, said: &mut Counsel) -> Option<(ToolCall, Voice)> {
    let (new, authors) = said.rewrite.as_ref()?;
    let by = authors.first()?.clone();
    match input::rewritten(call, new) {
        Ok(new) if new == *call => None,
        Ok(new) => Some((new, by)),
        Err(misfit) => {
            said.opinion = Some(Opinion::refusal(&by, &misfit.to_string(), true));
            None
        }
    }
}

fn is_refused(examined: &Examined) -> bool {
    examined.examination.ruling.decision == Decision::Deny
}

/// The mode by the name that coding agents use.
pub(crate) fn permission_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "default",
        Mode::AcceptEdits => "acceptEdits",
        Mode::Plan => "plan",
        Mode::Auto => "auto",
        Mode::DontAsk => "dontAsk",
        Mode::Bypass => "bypassPermissions",
    }
}
