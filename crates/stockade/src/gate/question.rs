//! Questions: what a person is shown, the permit that a yes releases, and the answer, which is in
//! the journal before anything runs.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::examiner::Examination;
use super::judge::QuestionBasis;
use super::permit::Permit;
use super::verdict::Refusal;
use super::{Gate, unrecorded};
use crate::call::CallId;
use crate::journal::record::{Event, Hash};
use crate::journal::{preview, record};
use crate::policy::decide::Basis;
use crate::policy::rules::{Facts, Rule, Rules};
use crate::policy::{By, Decision, Ruling};

/// A call that needs a person's answer.
///
/// It owns the permit of the call. Only [`Gate::settle`](super::Gate::settle) releases it, if the
/// approver that the host installed says yes.
///
/// ```
/// use stockade::gate::{Prompt, Question};
/// fn what_is_asked(question: &Question) -> &Prompt {
///     question.prompt()
/// }
/// ```
///
/// ```compile_fail,E0616
/// use stockade::gate::{Prompt, Question};
/// fn what_is_asked(question: &Question) -> &Prompt {
///     &question.permit
/// }
/// ```
#[derive(Debug)]
#[must_use = "a question that nobody settles lets nothing run"]
pub struct Question {
    prompt: Arc<Prompt>,
    permit: Box<Permit>,
    doubt: QuestionBasis,
}

/// What a person is shown. Plain data: nothing can be run with it.
#[derive(Debug)]
pub struct Prompt {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The words of the call; a shell line is one word.
    pub words: Vec<OsString>,
    /// The working directory.
    pub cwd: PathBuf,
    /// What asks and why, and all findings.
    pub examination: Examination,
    /// The possible answers besides once and no.
    pub offer: Offer,
}

/// Answers that last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// None: such a call is asked about each time.
    Once,
    /// For the session: calls that these rules would allow, or exactly this call if there are none.
    Session(Vec<String>),
    /// For the session or permanently: the rules would go into the person's own policy file.
    Always(Vec<String>),
}

impl Question {
    /// Only the gate creates questions, after the verdict is in the journal.
    pub(super) fn new(prompt: Prompt, permit: Box<Permit>, doubt: QuestionBasis) -> Self {
        Self { prompt: Arc::new(prompt), permit, doubt }
    }

    /// What a person is shown.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    pub(super) fn into_parts(self) -> (Arc<Prompt>, Box<Permit>, QuestionBasis) {
        (self.prompt, self.permit, self.doubt)
    }
}

/// Answers questions: a person, asked by the host program.
///
/// The host installs it with [`Gate::with_approver`]. It never comes from the agent's side.
pub trait Approver: fmt::Debug + Send + Sync {
    /// The name for the journal and the report, such as `terminal`. ASCII letters.
    fn name(&self) -> &str;

    /// Asks, and returns within this time. Later answers are ignored.
    fn answer(&self, prompt: &Prompt, patience: Duration) -> ApproverAnswer;
}

/// The approver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverAnswer {
    /// This call, once.
    Once,
    /// This call and similar ones, as long as this gate lives.
    Session,
    /// Like `Session`, and the approver has added the offered rules to the person's policy file.
    Always,
    /// No.
    No,
    /// No, with a message for the agent.
    NoBecause(String),
    /// Nobody answered in time.
    Silence,
    /// There is nobody to ask.
    Nobody,
}

/// The result of a question.
#[derive(Debug)]
pub struct Settlement {
    /// The permit, or the refusal.
    pub result: Result<Box<Permit>, Refusal>,
    /// The answer.
    pub answer: record::Reply,
    /// The approver; none if nobody was asked.
    pub by: Option<String>,
}

/// How much later than the time limit an approver may return.
const GRACE: Duration = Duration::from_millis(500);
/// The most characters of a person's message that the agent gets.
const WORDS_MAX: usize = 500;

impl Gate {
    /// Asks the approver, journals the answer and acts on it. Without an approver, an answer in
    /// time or a journal, the answer is no.
    pub fn settle(&self, question: Question) -> Settlement {
        let (prompt, permit, doubt) = question.into_parts();
        let answer = self.ask(&prompt);
        let (reply, answer) = reply(answer, &prompt.offer);
        let by = self.approver.as_ref().map(|approver| plain(approver.name()));
        let event = Event::Answer(record::Answer {
            call: prompt.call.to_string(),
            entry: permit.entry().seq(),
            answer: reply,
            by: by.clone(),
        });
        if let Err(error) = self.journal.append(&event) {
            return Settlement { result: Err(unrecorded(&error)), answer: reply, by };
        }
        let result = match answer {
            ApproverAnswer::Once => Ok(permit.allowed()),
            ApproverAnswer::Session | ApproverAnswer::Always => {
                self.granted().grant(&prompt, &doubt.facts, &self.examiner.policy().rules);
                Ok(permit.allowed())
            }
            ApproverAnswer::No
            | ApproverAnswer::NoBecause(_)
            | ApproverAnswer::Silence
            | ApproverAnswer::Nobody => {
                let refusal = refusal(&prompt, &answer, self.examiner.policy().patience);
                Err(self.again(refusal, permit.entry()))
            }
        };
        Settlement { result, answer: reply, by }
    }

    /// Asks on a thread of its own, so that an approver that hangs or panics counts as silent.
    fn ask(&self, prompt: &Arc<Prompt>) -> ApproverAnswer {
        let Some(approver) = &self.approver else { return ApproverAnswer::Nobody };
        // One question at a time, each with its whole time.
        let _turn = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = self.examiner.policy().patience;
        let (sender, receiver) = sync_channel(1);
        let (approver, prompt) = (Arc::clone(approver), Arc::clone(prompt));
        let asked = std::thread::Builder::new().name("question".to_owned()).spawn(move || {
            let _unheard = sender.send(approver.answer(&prompt, patience)).is_err();
        });
        if asked.is_err() {
            return ApproverAnswer::Nobody;
        }
        match receiver.recv_timeout(patience.saturating_add(GRACE)) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                ApproverAnswer::Silence
            }
        }
    }
}

/// The answer, limited to what was offered, and as it is recorded.
fn reply(answer: ApproverAnswer, offer: &Offer) -> (record::Reply, ApproverAnswer) {
    match (answer, offer) {
        (ApproverAnswer::Session | ApproverAnswer::Always, Offer::Once)
        | (ApproverAnswer::Once, _) => (record::Reply::Once, ApproverAnswer::Once),
        (ApproverAnswer::Always, Offer::Always(_)) => {
            (record::Reply::Always, ApproverAnswer::Always)
        }
        (ApproverAnswer::Session | ApproverAnswer::Always, _) => {
            (record::Reply::Session, ApproverAnswer::Session)
        }
        (no @ (ApproverAnswer::No | ApproverAnswer::NoBecause(_)), _) => (record::Reply::No, no),
        (ApproverAnswer::Silence, _) => (record::Reply::Silence, ApproverAnswer::Silence),
        (ApproverAnswer::Nobody, _) => (record::Reply::Nobody, ApproverAnswer::Nobody),
    }
}

fn refusal(prompt: &Prompt, answer: &ApproverAnswer, patience: Duration) -> Refusal {
    let asked = prompt.examination.ruling.reason.clone().unwrap_or_default();
    let seconds = patience.as_secs();
    let said = match answer {
        ApproverAnswer::NoBecause(why) => {
            let why: String = why.chars().take(WORDS_MAX).collect();
            format!("a person said no: {why}")
        }
        ApproverAnswer::Silence => {
            format!("a person was asked and did not answer within {seconds} s")
        }
        ApproverAnswer::Nobody => {
            "a person has to allow it, and nobody can be asked here".to_owned()
        }
        ApproverAnswer::No
        | ApproverAnswer::Once
        | ApproverAnswer::Session
        | ApproverAnswer::Always => "a person said no".to_owned(),
    };
    let instead = match (answer, &prompt.offer) {
        (ApproverAnswer::Nobody | ApproverAnswer::Silence, Offer::Always(rules)) => {
            let rules = rules.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>().join(", ");
            format!(
                "the person can run it at a terminal and say yes, or put {rules} under rules.allow \
                 in their own policy file"
            )
        }
        (ApproverAnswer::Nobody | ApproverAnswer::Silence, Offer::Once | Offer::Session(_)) => {
            "the person can run it at a terminal and say yes".to_owned()
        }
        _ => "do without it, or ask the person what they want instead".to_owned(),
    };
    let ruling = Ruling { decision: Decision::Deny, ..prompt.examination.ruling.clone() };
    Refusal { reason: format!("{asked}; {said}"), instead: Some(instead), ..Refusal::from(ruling) }
}

/// A name with safe characters only.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "_-.@".contains(*c)).take(64).collect()
}

/// The source of rules that were allowed for the session.
const SOURCE: &str = "this session";

/// The calls and rules that were allowed for this session.
#[derive(Debug, Default)]
pub(super) struct SessionGrants {
    added: Vec<Rule>,
    /// The added rules together with the policy's deny and allow rules.
    rules: Rules,
    calls: HashSet<Hash>,
}

impl SessionGrants {
    /// Remembers a yes: the offered rules, or the call itself if there are none.
    pub(super) fn grant(&mut self, prompt: &Prompt, facts: &Facts, policy: &Rules) {
        let (Offer::Session(rules) | Offer::Always(rules)) = &prompt.offer else { return };
        let parsed = rules.iter().filter_map(|text| Rule::parse(text, Decision::Allow).ok());
        self.added.extend(parsed);
        self.rules = without_questions(policy).and(self.added.clone());
        if rules.is_empty() {
            self.calls.insert(identity(facts, &prompt.words));
        }
    }

    /// The ruling on a question that an earlier yes answers. Questions about findings, hooks and
    /// protected paths are always asked.
    pub(super) fn ruling(&self, doubt: &QuestionBasis, words: &[OsString]) -> Option<Ruling> {
        if matches!(doubt.basis, Basis::Finding | Basis::Protected | Basis::Hook) {
            return None;
        }
        let by_rule = self.rules.decide(&doubt.facts);
        let rule = match by_rule.filter(|found| found.decision == Decision::Allow) {
            Some(found) => found.rule,
            None if self.calls.contains(&identity(&doubt.facts, words)) => doubt.facts.tool.clone(),
            None => return None,
        };
        let source = Some(SOURCE.to_owned());
        Some(Ruling { rule: Some(rule), source, ..Ruling::allow(By::Rule) })
    }
}

/// The rules of a policy without its `ask` rules.
pub(super) fn without_questions(policy: &Rules) -> Rules {
    let keep = policy.all().iter().filter(|rule| rule.list() != Decision::Ask);
    Rules::compile(keep.cloned().collect())
}

/// The identity of a call in its folder.
fn identity(facts: &Facts, words: &[OsString]) -> Hash {
    let place = [facts.tool.clone().into(), facts.cwd.real.clone().into_os_string()];
    let all: Vec<OsString> = place.into_iter().chain(words.iter().cloned()).collect();
    preview::digest(&all)
}
