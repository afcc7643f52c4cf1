//! The hosts of rules: `domain:example.com`, `domain:*.example.com`, `domain:*`.

use super::error::RuleError;
use super::facts::HostFacts;
use super::trie::{End, Trie};
use crate::confine::{Part, Segment};

/// A pattern of hosts, from its last label to its first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    labels: Vec<Part>,
    /// Whether it means every host below those labels, and not them.
    below: bool,
}

impl HostPattern {
    /// Reads what stands behind `domain:`.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let host = normal(text);
        if host == "*" {
            return Ok(Self { labels: Vec::new(), below: true });
        }
        let (below, host) = match host.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, host.as_str()),
        };
        let wrong = |letter: char| !is_host_letter(letter) && letter != '*';
        if let Some(scheme) = text.find("://") {
            let name = text.get(scheme.saturating_add(3)..).unwrap_or_default();
            let name = name.split(['/', ':']).next().unwrap_or_default();
            return Err(RuleError::new(0, "a domain is a host's name, not an address of a page")
                .suggest(format!("write domain:{name}")));
        }
        if let Some(at) = host.find(wrong) {
            return Err(RuleError::new(at, "no host's name has this character in it"));
        }
        if labels(host).any(str::is_empty) {
            return Err(RuleError::new(0, "a label of the host's name is empty"));
        }
        let label = |label: &str| Part::Name(Segment::parse(label));
        Ok(Self { labels: labels(host).map(label).collect(), below })
    }
}

impl HostPattern {
    /// Whether every host that the other means is meant by this. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let begins = other.labels.starts_with(&self.labels);
        self.below && begins && (other.below || other.labels.len() > self.labels.len())
    }
}

/// The host rules of one list.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    trie: Trie,
}

impl Hosts {
    /// Adds a pattern.
    pub(super) fn insert(&mut self, pattern: HostPattern, rule: usize) {
        let end = End { rule, itself: !pattern.below, beneath: pattern.below };
        self.trie.insert(pattern.labels, end);
    }

    /// The first rule that refuses a host.
    pub(super) fn refusing(&self, host: &HostFacts) -> Option<usize> {
        let name = normal(&host.name);
        let names: Vec<&str> = labels(&name).collect();
        if host.known { self.trie.find(&names) } else { None }
    }

    /// Whether some host would be refused, if it were what is not known.
    pub(super) fn could_refuse(&self) -> bool {
        self.trie.first().is_some()
    }

    /// The first rule that allows a host. A name with bytes that no host has is nobody's: what a
    /// resolver makes of it is not what is compared here.
    pub(super) fn allowing(&self, host: &HostFacts) -> Option<usize> {
        let name = normal(&host.name);
        let names: Vec<&str> = labels(&name).collect();
        let odd = names.contains(&"") || !name.chars().all(is_host_letter);
        if odd || !host.known {
            return None;
        }
        self.trie.find(&names)
    }
}

/// Small letters, without the dot at the end and without the brackets of an address.
fn normal(host: &str) -> String {
    let host = host.trim().strip_suffix('.').unwrap_or(host.trim());
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host).to_lowercase()
}

/// From the last to the first; an address with colons is one.
fn labels(host: &str) -> impl Iterator<Item = &str> {
    let mark = if host.contains(':') { '\0' } else { '.' };
    host.rsplit(mark)
}

fn is_host_letter(letter: char) -> bool {
    letter.is_alphanumeric() || ['-', '_', '.', ':'].contains(&letter)
}
