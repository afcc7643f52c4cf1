//! What hooks make of the output of a call that has run: what the caller gets, and nothing else.

use super::counsel::spoken;
use super::{Heard, Replacement, Reply, Spoken, Voice};

/// What stands in place of text that the caller must not get.
const REDACTED: &[u8] = b"[redacted]";

/// What hooks say after a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aftermath {
    /// What the agent should know, sorted.
    pub context: Vec<Spoken>,
    /// What the person should see, sorted.
    pub messages: Vec<Spoken>,
    /// Why the agent should stop.
    pub stop: Option<Spoken>,
    /// The hooks that change the output, sorted.
    pub redacted_by: Vec<Voice>,
    /// Why no output is passed on: a hook that should have seen to it failed, or two disagree.
    pub withheld: Option<String>,
    /// What stands in place of the output.
    pub output: Replacement,
    /// Text that is taken out of it.
    pub redact: Vec<String>,
}

/// Brings together what hooks said after a call.
pub fn aftermath(heard: &[Heard]) -> Aftermath {
    let changes = |reply: &Reply| reply.output.is_some() || !reply.redact.is_empty();
    let mut redacted_by: Vec<Voice> = heard
        .iter()
        .filter(|one| one.result.as_ref().map_or(true, changes))
        .map(|one| one.voice.clone())
        .collect();
    redacted_by.sort();
    redacted_by.dedup();
    let replies = || heard.iter().filter_map(|one| one.result.as_ref().ok());
    let outputs = || replies().filter_map(|reply| reply.output.as_ref());
    let stdout = agreed(outputs().filter_map(|output| output.stdout.as_ref()));
    let stderr = agreed(outputs().filter_map(|output| output.stderr.as_ref()));
    let faults = heard.iter().filter_map(|one| {
        let fault = one.result.as_ref().err()?;
        Some(format!("the hook {:?} failed: {fault}", one.voice.name))
    });
    let quarrel = || "two hooks replace the output with different text".to_owned();
    let disagree = [&stdout, &stderr].into_iter().any(Result::is_err).then(quarrel);
    let withheld = faults.chain(disagree).min();
    let output =
        Replacement { stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default() };
    Aftermath {
        context: spoken(heard, |reply| reply.context.as_ref()),
        messages: spoken(heard, |reply| reply.message.as_ref()),
        stop: spoken(heard, |reply| reply.stop.as_ref()).into_iter().next(),
        redacted_by,
        withheld,
        output,
        redact: replies().flat_map(|reply| reply.redact.clone()).collect(),
    }
}

impl Aftermath {
    /// What the caller gets of these two streams.
    pub fn passed(&self, stdout: &[u8], stderr: &[u8]) -> (Vec<u8>, Vec<u8>) {
        if let Some(why) = &self.withheld {
            return (format!("[stockade: output withheld: {why}]\n").into_bytes(), Vec::new());
        }
        let pass = |written: &[u8], new: &Option<String>| {
            redacted(new.as_ref().map_or(written, |text| text.as_bytes()), &self.redact)
        };
        (pass(stdout, &self.output.stdout), pass(stderr, &self.output.stderr))
    }
}

/// The bytes without any of these texts. Where they overlap, all of them go.
pub fn redacted(bytes: &[u8], texts: &[String]) -> Vec<u8> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for text in texts.iter().map(String::as_bytes).filter(|text| !text.is_empty()) {
        let found = bytes.windows(text.len()).enumerate().filter(|(_, window)| *window == text);
        ranges.extend(found.map(|(at, _)| (at, at.saturating_add(text.len()))));
    }
    ranges.sort_unstable();
    let mut kept = Vec::with_capacity(bytes.len());
    let mut from = 0_usize;
    let mut last_end = None;
    for (start, end) in ranges {
        if last_end.is_none_or(|last| start > last) {
            kept.extend_from_slice(bytes.get(from..start).unwrap_or_default());
            kept.extend_from_slice(REDACTED);
        }
        from = from.max(end);
        last_end = Some(last_end.map_or(end, |last: usize| last.max(end)));
    }
    kept.extend_from_slice(bytes.get(from..).unwrap_or_default());
    kept
}

/// The one text that all of them give, if any of them does.
fn agreed<'t>(mut texts: impl Iterator<Item = &'t String>) -> Result<Option<String>, ()> {
    let Some(first) = texts.next() else { return Ok(None) };
    texts.all(|text| text == first).then(|| Some(first.clone())).ok_or(())
}
