//! The hosts of rules: `domain:example.com`, `domain:*.example.com`, `domain:*`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use stockade_shell::pattern::{PathGlob, PathPart};

use super::error::RuleError;
use super::facts::HostFacts;

/// A pattern of hosts, from its last label to its first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    labels: PathGlob,
    /// Whether it means every host below those labels, and not them.
    below: bool,
}

impl HostPattern {
    /// Reads what stands behind `domain:`.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let host = normal(text);
        if host == "*" {
            return Ok(Self { labels: PathGlob::new(Vec::new()), below: true });
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
        Ok(Self { labels: PathGlob::new(labels(host).map(PathPart::new).collect()), below })
    }
}

impl HostPattern {
    /// Whether every host that the other means is meant by this. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let (labels, own) = (other.labels.parts(), self.labels.parts());
        self.below && labels.starts_with(own) && (other.below || labels.len() > own.len())
    }
}

/// The host rules of one list.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts(Vec<(HostPattern, usize)>);

impl Hosts {
    /// Adds a pattern.
    pub(super) fn insert(&mut self, pattern: HostPattern, rule: usize) {
        self.0.push((pattern, rule));
    }

    /// The first rule that refuses a host.
    pub(super) fn refusing(&self, host: &HostFacts) -> Option<usize> {
        if host.known && !self.0.is_empty() { self.find(&normal(&host.name)) } else { None }
    }

    /// The first rule that allows a host. A name with bytes that no host has is nobody's: what a
    /// resolver makes of it is not what is compared here.
    pub(super) fn allowing(&self, host: &HostFacts) -> Option<usize> {
        let name = normal(&host.name);
        let odd = labels(&name).any(str::is_empty) || !name.chars().all(is_host_letter);
        if odd || !host.known { None } else { self.find(&name) }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let names: Vec<&str> = labels(name).collect();
        let matches = |HostPattern { labels, below }: &HostPattern| {
            if *below { labels.matches_above(&names) } else { labels.matches(&names) }
        };
        let found = self.0.iter().filter(|(pattern, _)| matches(pattern));
        found.map(|(_, rule)| *rule).min()
    }
}

/// Small letters, without the dot at the end and without the brackets of an address, which has one
/// spelling: `0x7f.1` is 127.0.0.1 to every program.
fn normal(host: &str) -> String {
    let host = host.trim().strip_suffix('.').unwrap_or(host.trim());
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host = inner.unwrap_or(host).to_lowercase();
    address(&host).map_or(host, |address| address.to_string())
}

/// The address that a host is, in any of the forms that `inet_aton` takes.
fn address(host: &str) -> Option<IpAddr> {
    if let Ok(long) = host.parse::<Ipv6Addr>() {
        return Some(short(long).map_or(IpAddr::V6(long), IpAddr::V4));
    }
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u32::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    };
    let numbers: Option<Vec<u32>> = host.split('.').map(number).collect();
    let (last, first) = numbers.as_ref()?.split_last()?;
    // The last number takes the bytes that are left, and no more.
    let last = last.to_be_bytes();
    let (zeros, rest) = last.split_at_checked(first.len())?;
    if rest.is_empty() || zeros.iter().any(|byte| *byte != 0) {
        return None;
    }
    let first: Option<Vec<u8>> = first.iter().map(|number| u8::try_from(*number).ok()).collect();
    let address: [u8; 4] = [first?.as_slice(), rest].concat().try_into().ok()?;
    Some(IpAddr::V4(Ipv4Addr::from(address)))
}

/// The short address to which a long one leads: mapped, compatible, or behind a translator (RFC 6052).
fn short(long: Ipv6Addr) -> Option<Ipv4Addr> {
    let is_translated = long.segments().starts_with(&[0x64, 0xff9b, 0, 0, 0, 0]);
    let is_compatible = long.segments().starts_with(&[0; 6]) && u128::from(long) > 0xffff;
    let [.., a, b, c, d] = long.octets();
    let within = (is_translated || is_compatible).then(|| Ipv4Addr::new(a, b, c, d));
    long.to_ipv4_mapped().or(within)
}

/// From the last to the first; an address with colons is one.
fn labels(host: &str) -> impl Iterator<Item = &str> {
    let mark = if host.contains(':') { '\0' } else { '.' };
    host.rsplit(mark)
}

fn is_host_letter(letter: char) -> bool {
    letter.is_alphanumeric() || ['-', '_', '.', ':'].contains(&letter)
}
