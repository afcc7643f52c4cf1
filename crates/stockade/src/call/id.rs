//! Ids of calls. They sort by time: 48 bits of milliseconds, 80 random bits, as a ULID.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The id of a call: 26 characters created here, or the caller's own if it is plain enough.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallId(String);

impl CallId {
    /// A new id.
    pub fn new() -> Self {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let value = (millis << 80) | (random_u128() >> 48);
        let digit = |place: u32| {
            let index =
                usize::try_from((value >> place.saturating_mul(5)) & 31).unwrap_or_default();
            char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
        };
        Self((0..26).rev().map(digit).collect())
    }

    /// Accepts a caller's own id: 1 to 64 letters, digits, `-`, `_`, `.` or `:`.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        ((1..=64).contains(&text.len()) && text.chars().all(plain)).then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for CallId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sixteen random bytes from the kernel. Before Linux 3.17 the process id and the clock keep ids
/// apart; no secret depends on them.
pub(crate) fn random_u128() -> u128 {
    let mut bytes = [0_u8; 16];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(16) => u128::from_ne_bytes(bytes),
        Ok(_) | Err(_) => {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (u128::from(std::process::id()) << 96) ^ clock.as_nanos().rotate_left(48)
        }
    }
}
