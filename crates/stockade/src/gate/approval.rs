//! From a question and its answer to a permit or a refusal. The answer is in the journal first.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::permit::Permit;
use super::question::{Offer, Prompt, Question};
use super::verdict::Refusal;
use super::{Gate, unrecorded};
use crate::journal::record::{self, Event};
use crate::policy::{Decision, Ruling};

/// Who says whether a call may run: a person, asked by the program that installed this.
///
/// It is installed by the host, with [`Gate::with_approver`], and never comes from the agent's side.
pub trait Approver: fmt::Debug + Send + Sync {
    /// Who answers, for the journal and the report: `terminal`, a name. Plain letters.
    fn name(&self) -> &str;

    /// Puts the question, and waits no longer than this. Later answers count for nothing.
    fn answer(&self, prompt: &Prompt, patience: Duration) -> Answer;
}

/// What the approver said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This call, once.
    Once,
    /// This call and others like it, as long as this gate lives.
    Session,
    /// The same, and the approver has put the offered rules into the person's policy file.
    Always,
    /// No.
    No,
    /// No, and this is what the agent should know.
    NoBecause(String),
    /// Nobody said anything in time.
    Silence,
    /// There is nobody to ask.
    Nobody,
}

/// What became of a question.
#[derive(Debug)]
pub struct Settled {
    /// The permit, or why there is none.
    pub result: Result<Box<Permit>, Refusal>,
    /// What was answered.
    pub answer: record::Reply,
    /// By whom; none where nobody was asked.
    pub by: Option<String>,
}

/// How long an approver may be late with its own silence.
const GRACE: Duration = Duration::from_millis(500);
/// What an agent is told of a person's words.
const WORDS_MAX: usize = 500;

impl Gate {
    /// Puts a question to the approver and acts on the answer, which is recorded before anything
    /// runs. Without an approver, without an answer in time and without a journal it is no.
    pub fn settle(&self, question: Question) -> Settled {
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
            return Settled { result: Err(unrecorded(&error)), answer: reply, by };
        }
        let result = match answer {
            Answer::Once => Ok(permit.allowed()),
            Answer::Session | Answer::Always => {
                self.granted().grant(&prompt, &doubt.facts, &self.examiner.policy().rules);
                Ok(permit.allowed())
            }
            Answer::No | Answer::NoBecause(_) | Answer::Silence | Answer::Nobody => {
                let refusal = refusal(&prompt, &answer, self.examiner.policy().patience);
                Err(self.again(refusal, permit.entry()))
            }
        };
        Settled { result, answer: reply, by }
    }

    /// The answer, from a thread of its own: an approver that hangs or panics is silent.
    fn ask(&self, prompt: &Arc<Prompt>) -> Answer {
        let Some(approver) = &self.approver else { return Answer::Nobody };
        // One question at a time, each with its whole time.
        let _turn = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = self.examiner.policy().patience;
        let (sender, receiver) = sync_channel(1);
        let (approver, prompt) = (Arc::clone(approver), Arc::clone(prompt));
        let asked = std::thread::Builder::new().name("question".to_owned()).spawn(move || {
            let _unheard = sender.send(approver.answer(&prompt, patience)).is_err();
        });
        if asked.is_err() {
            return Answer::Nobody;
        }
        match receiver.recv_timeout(patience.saturating_add(GRACE)) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Answer::Silence,
        }
    }
}

/// The answer as far as it was offered, and as it is recorded.
fn reply(answer: Answer, offer: &Offer) -> (record::Reply, Answer) {
    match (answer, offer) {
        (Answer::Session | Answer::Always, Offer::Once) | (Answer::Once, _) => {
            (record::Reply::Once, Answer::Once)
        }
        (Answer::Always, Offer::Always(_)) => (record::Reply::Always, Answer::Always),
        (Answer::Session | Answer::Always, _) => (record::Reply::Session, Answer::Session),
        (no @ (Answer::No | Answer::NoBecause(_)), _) => (record::Reply::No, no),
        (Answer::Silence, _) => (record::Reply::Silence, Answer::Silence),
        (Answer::Nobody, _) => (record::Reply::Nobody, Answer::Nobody),
    }
}

fn refusal(prompt: &Prompt, answer: &Answer, patience: Duration) -> Refusal {
    let asked = prompt.examination.ruling.reason.clone().unwrap_or_default();
    let seconds = patience.as_secs();
    let said = match answer {
        Answer::NoBecause(why) => {
            let why: String = why.chars().take(WORDS_MAX).collect();
            format!("a person said no: {why}")
        }
        Answer::Silence => format!("a person was asked and did not answer within {seconds} s"),
        Answer::Nobody => "a person has to allow it, and nobody can be asked here".to_owned(),
        Answer::No | Answer::Once | Answer::Session | Answer::Always => {
            "a person said no".to_owned()
        }
    };
    let instead = match (answer, &prompt.offer) {
        (Answer::Nobody | Answer::Silence, Offer::Always(rules)) => {
            let rules = rules.iter().map(|rule| format!("{rule:?}")).collect::<Vec<_>>().join(", ");
            format!(
                "the person can run it at a terminal and say yes, or put {rules} under rules.allow \
                 in their own policy file"
            )
        }
        (Answer::Nobody | Answer::Silence, Offer::Once | Offer::Session(_)) => {
            "the person can run it at a terminal and say yes".to_owned()
        }
        _ => "do without it, or ask the person what they want instead".to_owned(),
    };
    let ruling = Ruling { decision: Decision::Deny, ..prompt.examination.ruling.clone() };
    Refusal { reason: format!("{asked}; {said}"), instead: Some(instead), ..Refusal::from(ruling) }
}

/// A name that can be recorded.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "_-.@".contains(*c)).take(64).collect()
}
