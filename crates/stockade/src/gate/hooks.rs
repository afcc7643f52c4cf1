//! Hooks before a call: they run after inspection and before the decision is final.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::Gate;
use super::examiner::Examiner;
use super::facts::CallFacts;
use super::judge::Assessment;
use super::judge::QuestionBasis;
use crate::call::ToolCall;
use crate::hooks::{
    HookFault, HookId, HookMessage, HookQuery, Hooks, Opinion, PreDecision, input, pre_decision,
};
use crate::inspect::PathResolver;
use crate::policy::decide::Basis;
use crate::policy::hooks::Event;
use crate::policy::rules::Facts;
use crate::policy::{Decision, Mode, silenced};

/// A call after its hooks: the call to judge, and what the hooks said.
pub(super) struct HookOutcome<'c> {
    pub(super) call: Cow<'c, ToolCall>,
    pub(super) examined: Assessment,
    pub(super) said: HookMessages,
    /// How long inspection took, without the time of the hooks.
    pub(super) spent: Duration,
}

/// What hooks say beside their decision, for the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookMessages {
    /// For the agent.
    pub context: Vec<HookMessage>,
    /// For the person.
    pub messages: Vec<HookMessage>,
    /// Why the agent should stop.
    pub stop: Option<HookMessage>,
    /// Set where a hook rewrote the call.
    pub rewritten: Option<Box<RewrittenCall>>,
}

/// A call that a hook rewrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenCall {
    /// The hook.
    pub by: HookId,
    /// The words of the original call.
    pub words: Vec<OsString>,
    /// The call that was judged instead.
    pub call: ToolCall,
}

impl Examiner {
    /// The names of the hook commands that would run for a call, as far as its tool tells.
    pub fn hooks_for(&self, call: &ToolCall) -> Vec<String> {
        let forms = input::forms(call).unwrap_or_default();
        let tools: Vec<&str> = forms.iter().map(|seen| seen.tool.as_ref()).collect();
        Hooks::new(self.policy().hooks.clone()).names_for(Event::Pre, &tools)
    }
}

impl Gate {
    /// Inspects a call and runs its hooks. If a hook rewrites the call, the new call is inspected
    /// and the other hooks run again, once.
    ///
    /// Hooks do not run for a call that is refused already, because no hook can lift a refusal.
    pub(super) fn consult_hooks<'c>(&self, call: &'c ToolCall) -> HookOutcome<'c> {
        let begun = Instant::now();
        let mut examined = self.examiner.assess(call);
        let mut spent = begun.elapsed();
        if is_refused(&examined) || !self.hooks.are_there(Event::Pre) {
            let (call, said) = (Cow::Borrowed(call), HookMessages::default());
            return HookOutcome { call, examined, said, spent };
        }
        let mut said = self.ask_hooks(call, &examined, &BTreeSet::new());
        let Some((new, by)) = rewritten(call, &mut said) else {
            return HookOutcome {
                spent,
                ..self.finished(Cow::Borrowed(call), examined, said, None)
            };
        };
        let begun = Instant::now();
        let old_words = std::mem::replace(&mut examined, self.examiner.assess(&new)).preview.words;
        spent = spent.saturating_add(begun.elapsed());
        if !is_refused(&examined) {
            let authors = said.rewrite.iter().flat_map(|(_, voices)| voices).cloned().collect();
            let mut second = self.ask_hooks(&new, &examined, &authors);
            if let Some((_, other)) = rewritten(&new, &mut second) {
                let why =
                    format!("it rewrites a call that the hook {:?} has rewritten already", by.name);
                second.opinion = Some(Opinion::refusal(&other, &why, false));
            }
            said = said.then(second);
        }
        let rewritten = RewrittenCall { by, words: old_words, call: new.clone() };
        let rewritten = Some(Box::new(rewritten));
        HookOutcome { spent, ..self.finished(Cow::Owned(new), examined, said, rewritten) }
    }

    /// Runs the hooks for a call that another program runs. They cannot rewrite it.
    pub(super) fn consult_hooks_for_agent(
        &self,
        call: &ToolCall,
        examined: Assessment,
    ) -> Assessment {
        if is_refused(&examined) || !self.hooks.are_there(Event::Pre) {
            return examined;
        }
        let mut said = self.ask_hooks(call, &examined, &BTreeSet::new());
        if let Some((_, by)) = rewritten(call, &mut said) {
            let why = "it rewrites the input of a tool that Stockade does not run";
            said.opinion = Some(Opinion::refusal(&by, why, false));
        }
        self.finished(Cow::Borrowed(call), examined, said, None).examined
    }

    /// The combined decision of the hooks, except for these.
    fn ask_hooks(
        &self,
        call: &ToolCall,
        examined: &Assessment,
        except: &BTreeSet<HookId>,
    ) -> PreDecision {
        let root = self.examiner.root();
        let resolver = PathResolver::open(root, call.cwd.as_deref());
        let forms = match (input::forms(call), &resolver) {
            (Ok(forms), Ok(_)) => forms,
            (Err(unseen), _) => return self.unseen(call, &unseen.to_string()),
            (_, Err(error)) => return self.unseen(call, &error.to_string()),
        };
        let commands = &examined.examination.commands;
        let shown = resolver.as_ref().ok().filter(|_| self.hooks.have_conditions(Event::Pre));
        let shown = shown.map(|resolver| {
            CallFacts::new(call.tool.name(), commands, resolver, self.examiner.home())
        });
        let cwd = resolver.as_ref().map_or(root.path(), |resolver| resolver.cwd_path()).to_owned();
        let occasion = HookQuery {
            event: Event::Pre,
            forms: &forms,
            cwd,
            permission_mode: permission_mode(self.examiner.policy().mode),
            call: &call.id,
            done: None,
            facts: shown.as_ref().map(|shown| &shown.facts),
        };
        pre_decision(&self.hooks.ask(&occasion, except))
    }

    /// Applies the decision of the hooks. It is final, but lifts no refusal.
    fn finished<'c>(
        &self,
        call: Cow<'c, ToolCall>,
        mut examined: Assessment,
        decided: PreDecision,
        rewritten: Option<Box<RewrittenCall>>,
    ) -> HookOutcome<'c> {
        let basis = examined.question.as_ref().map(|doubt| doubt.basis);
        let before = examined.examination.ruling.decision;
        let ruling = decided.applied_to(examined.examination.ruling, basis);
        let decision = match (ruling.decision, self.examiner.policy().mode) {
            (Decision::Ask, Mode::DontAsk) => Decision::Deny,
            (decision, _) => decision,
        };
        examined.examination.ruling = silenced(ruling, decision, self.examiner.policy().mode);
        if decision != before {
            let facts = || Facts::new(call.tool.name(), self.examiner.root().path());
            let is_asked = decision == Decision::Ask;
            examined.question =
                is_asked.then(|| QuestionBasis { basis: Basis::Hook, facts: facts() });
            examined.examination.spared &= decision == Decision::Allow;
        }
        let PreDecision { context, messages, stop, .. } = decided;
        let said = HookMessages { context, messages, stop, rewritten };
        HookOutcome { call, examined, said, spent: Duration::ZERO }
    }

    /// The refusal of a call that cannot be shown to its hooks.
    fn unseen(&self, call: &ToolCall, why: &str) -> PreDecision {
        let tools: &[&str] = &[call.tool.name(), "Bash"];
        let named = self.hooks.names_for(Event::Pre, tools).into_iter().min();
        let hook_id = HookId { name: named.unwrap_or_else(|| "pre".to_owned()), source: None };
        let why = HookFault::Unseen(why.to_owned()).to_string();
        PreDecision {
            opinion: Some(Opinion::refusal(&hook_id, &why, true)),
            ..PreDecision::default()
        }
    }
}

/// The call that a hook asks for instead, and the hook. Input that does not fit the tool is a
/// refusal.
fn rewritten(call: &ToolCall, said: &mut PreDecision) -> Option<(ToolCall, HookId)> {
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

fn is_refused(examined: &Assessment) -> bool {
    examined.examination.ruling.decision == Decision::Deny
}

/// The name that coding agents use for a mode.
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
