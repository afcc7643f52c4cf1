//! Questions to an approver: what each answer leads to, and what is no answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stockade::call::ToolCall;
use stockade::gate::{
    Approver, ApproverAnswer, Examiner, Gate, Offer, Prompt, Refusal, Settlement, Verdict,
};
use stockade::inspect::Root;
use stockade::journal::record::{Event, Reply};
use stockade::journal::{Durability, Journal, audit};
use stockade::policy::{Mode, Policy};

use crate::project::{Project, unboxed};

/// Gives one answer to everything, and remembers what it was offered.
#[derive(Debug)]
struct Says {
    answer: ApproverAnswer,
    asked: AtomicUsize,
    offers: Mutex<Vec<Offer>>,
}

impl Says {
    fn new(answer: ApproverAnswer) -> Arc<Self> {
        Arc::new(Self { answer, asked: AtomicUsize::new(0), offers: Mutex::default() })
    }
}

impl Approver for Says {
    fn name(&self) -> &'static str {
        "a friend\n"
    }

    fn answer(&self, prompt: &Prompt, _patience: Duration) -> ApproverAnswer {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.offers.lock().unwrap().push(prompt.offer.clone());
        self.answer.clone()
    }
}

/// Never comes to an answer.
#[derive(Debug)]
struct Hangs;

impl Approver for Hangs {
    fn name(&self) -> &'static str {
        "hangs"
    }

    fn answer(&self, _prompt: &Prompt, _patience: Duration) -> ApproverAnswer {
        std::thread::sleep(Duration::from_secs(600));
        ApproverAnswer::Once
    }
}

/// Breaks.
#[derive(Debug)]
struct Panics;

impl Approver for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn answer(&self, _prompt: &Prompt, _patience: Duration) -> ApproverAnswer {
        panic!("an approver of the host")
    }
}

fn asking(text: &str) -> Policy {
    let text = format!("mode = 'default'\nbox.tier = 'process'\n{text}");
    Policy::from_text(std::path::Path::new("questions.toml"), &text).unwrap()
}

fn gate(project: &Project, policy: Policy) -> Gate {
    let journal = Journal::open(&project.beside("journal"), Durability::Each).unwrap();
    Gate::new(Examiner::new(Root::open(&project.beside("work")).unwrap(), policy), journal)
}

/// What came of a call: whether it may run, and the answer where there was a question.
fn put(gate: &Gate, argv: &[&str]) -> (Result<(), Refusal>, Option<Reply>) {
    match gate.judge(&ToolCall::exec(argv)) {
        Verdict::Allowed(_) => (Ok(()), None),
        Verdict::Refused(refusal) => (Err(refusal), None),
        Verdict::Ask(question) => {
            let Settlement { result, answer, .. } = gate.settle(*question);
            (result.map(drop), Some(answer))
        }
        Verdict::Impossible(failure) => panic!("{failure:?}"),
    }
}

fn answers(project: &Project) -> Vec<(Reply, Option<String>)> {
    let records = audit::read(&project.beside("journal")).unwrap();
    let answer = |record: stockade::journal::record::Record| match record.event {
        Event::Answer(answer) => Some((answer.answer, answer.by)),
        Event::Verdict(_) | Event::Outcome(_) | Event::Failure(_) | Event::Repaired(_) | _ => None,
    };
    records.filter_map(|record| answer(record.unwrap())).collect()
}

#[test]
fn yes_is_a_permit_with_the_answer_in_the_journal_before_it() {
    let project = Project::new();
    let gate = gate(&project, asking("")).with_approver(Says::new(ApproverAnswer::Once));
    let Verdict::Ask(question) = gate.judge(&ToolCall::exec(["touch", "x"])) else {
        panic!("no question");
    };
    let permit = gate.settle(*question).result.unwrap();
    assert_eq!(permit.ruling().rule.as_deref(), Some("mode/default"));
    assert_eq!(answers(&project), [(Reply::Once, Some("afriend".to_owned()))]);
    assert!(audit::verify(&project.beside("journal")).is_ok());
}

#[test]
fn nobody_silence_and_no_are_refusals_in_words() {
    let project = Project::new();
    for (approver, reply, words) in [
        (None, Reply::Nobody, message!("question.person-allow-nobody-can")),
        (Some(Says::new(ApproverAnswer::No)), Reply::No, message!("question.person-said-no")),
        (
            Some(Says::new(ApproverAnswer::NoBecause("it is late".into()))),
            Reply::No,
            "said no: it is late",
        ),
        (
            Some(Says::new(ApproverAnswer::Silence)),
            Reply::Silence,
            message!("question.did-not-answer-within", "60"),
        ),
    ] {
        let gate = gate(&project, asking(""));
        let gate = match approver {
            Some(approver) => gate.with_approver(approver),
            None => gate,
        };
        let (result, answer) = put(&gate, &["touch", "x"]);
        let refusal = result.unwrap_err();
        assert_eq!(answer, Some(reply));
        assert!(refusal.reason.contains(words), "{}", refusal.reason);
        assert!(refusal.instead.is_some());
    }
}

#[test]
fn an_approver_that_hangs_or_breaks_says_no() {
    let project = Project::new();
    let policy = || asking("questions.timeout = '100ms'");
    let started = Instant::now();
    let (result, answer) =
        put(&gate(&project, policy()).with_approver(Arc::new(Hangs)), &["touch", "x"]);
    assert!(result.is_err() && answer == Some(Reply::Silence));
    assert!(started.elapsed() < Duration::from_secs(120));
    let (result, answer) =
        put(&gate(&project, policy()).with_approver(Arc::new(Panics)), &["touch", "x"]);
    assert!(result.is_err() && answer == Some(Reply::Silence));
}

#[test]
fn a_session_covers_the_like_and_nothing_else() {
    let project = Project::new();
    let says = Says::new(ApproverAnswer::Session);
    let gate = gate(&project, asking("rules.deny = ['Bash(sh build.sh never)']"))
        .with_approver(says.clone());
    assert_eq!(put(&gate, &["sh", "build.sh", "a"]), (Ok(()), Some(Reply::Session)));
    assert_eq!(put(&gate, &["sh", "build.sh", "b"]), (Ok(()), None));
    assert!(put(&gate, &["sh", "build.sh", "never"]).0.is_err());
    assert_eq!(put(&gate, &["touch", "x"]).1, Some(Reply::Session));
    // What cannot be generalised is remembered as it is.
    assert_eq!(put(&gate, &["cp", "f.txt", "g.txt"]), (Ok(()), Some(Reply::Session)));
    assert_eq!(put(&gate, &["cp", "f.txt", "g.txt"]), (Ok(()), None));
    assert_eq!(put(&gate, &["cp", "f.txt", "h.txt"]).1, Some(Reply::Session));
    assert_eq!(says.asked.load(Ordering::SeqCst), 4);
}

#[test]
fn a_rule_that_asks_is_answered_for_the_session_and_never_for_good() {
    let project = Project::new();
    let says = Says::new(ApproverAnswer::Always);
    let gate = gate(&project, asking("rules.ask = ['Bash(sh *)']\nrules.allow = ['Bash']"))
        .with_approver(says.clone());
    assert_eq!(put(&gate, &["sh", "build.sh"]), (Ok(()), Some(Reply::Session)));
    assert_eq!(put(&gate, &["sh", "build.sh", "more"]), (Ok(()), None));
    let offered = says.offers.lock().unwrap().clone();
    assert!(matches!(offered.as_slice(), [Offer::Session(_)]), "{offered:?}");
}

#[test]
fn critical_deletes_and_protected_paths_are_asked_about_each_time() {
    let project = Project::new();
    let says = Says::new(ApproverAnswer::Always);
    let mut policy = asking("exec.deny = []\nrules.allow = ['Bash']");
    policy.shell_profile = stockade::policy::Profile::Contained;
    let gate = gate(&project, policy).with_approver(says.clone());
    for line in ["rm -rf .", "touch .git/config"] {
        for _ in 0..2 {
            let Verdict::Ask(question) = gate.judge(&ToolCall::line(line)) else {
                panic!("no question about {line}");
            };
            assert_eq!(question.prompt().offer, Offer::Once, "{line}");
            assert_eq!(gate.settle(*question).answer, Reply::Once, "{line}");
        }
    }
}

#[test]
fn a_box_spares_the_question_and_the_permit_says_so() {
    let project = Project::new();
    let spared = |policy: Policy, call: ToolCall| match gate(&project, policy).judge(&call) {
        Verdict::Allowed(permit) => Some(permit.is_spared()),
        Verdict::Ask(_) => None,
        Verdict::Refused(_) | Verdict::Impossible(_) => panic!("{call:?}"),
    };
    let line = |text: &str| ToolCall::line(text);
    assert_eq!(spared(Policy::shipped(), line("sh build.sh")), Some(true));
    assert_eq!(spared(Policy::shipped(), line("cat f.txt")), Some(false));
    assert_eq!(spared(Policy::shipped(), ToolCall::exec(["sh", "build.sh"])), Some(false));
    assert_eq!(spared(unboxed(), line("sh build.sh")), None);
    let records = audit::read(&project.beside("journal")).unwrap();
    let recorded = records.map(|record| {
        let Event::Verdict(verdict) = record.unwrap().event else { panic!("no verdict") };
        verdict.spared
    });
    assert_eq!(recorded.collect::<Vec<_>>(), [true, false, false, false]);
    let lowered = Policy { require: stockade::policy::Require::only([]), ..Policy::shipped() };
    assert_eq!(spared(lowered, line("sh build.sh")), None);
    let bypass = Policy { mode: Mode::Bypass, ..Policy::shipped() };
    assert_eq!(spared(bypass, line("sh build.sh")), Some(false));
}
