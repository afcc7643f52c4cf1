//! The one reader for JSON from outside: calls, events, replies, settings, answers of engines.
//!
//! A text is scanned before `serde_json` builds anything from it. The scan keeps a hash of each
//! key and nothing else, so a hostile text costs little more than its own length: 16 MiB of `{}` would
//! otherwise become gigabytes of maps.

use std::borrow::Cow;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use memchr::{memchr_iter, memchr2};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

/// The most values in one text, counting each object, list, string, number, boolean and null.
pub const VALUES_MAX: usize = 100_000;
/// The most objects and lists inside each other; `serde_json` has the same limit where it recurses.
const DEPTH_MAX: usize = 128;
/// The most characters of a message of `serde_json`.
const MESSAGE_CHARS_MAX: usize = 400;
/// The most characters of a key that a message quotes.
const QUOTED_CHARS_MAX: usize = 80;

/// Reads a text that may come from anybody.
///
/// A text with more than [`VALUES_MAX`] values, or with the same key twice in one object, is an error
/// that names the place. Two keys are the same if they decode to the same string.
///
/// ```
/// use stockade_policy::json;
///
/// let error = json::from_str::<serde_json::Value>(r#"{"a": 1, "\u0061": 2}"#).unwrap_err();
/// assert_eq!(error.to_string(), "duplicate key \"a\" at line 1 column 10");
/// ```
pub fn from_str<'t, T: Deserialize<'t>>(text: &'t str) -> serde_json::Result<T> {
    check(text.as_bytes())?;
    serde_json::from_str(text).map_err(shortened)
}

/// Reads bytes that may come from anybody, as [`from_str`] does.
pub fn from_slice<'t, T: Deserialize<'t>>(text: &'t [u8]) -> serde_json::Result<T> {
    check(text)?;
    serde_json::from_slice(text).map_err(shortened)
}

/// Reads a text as one raw value, of which the caller then reads parts with [`from_str`]. The number of
/// values is bounded; two equal keys are left to the caller, who can report them in its own words.
pub fn raw_from_str(text: &str) -> serde_json::Result<&RawValue> {
    Scan::new(text.as_bytes(), Keys::Repeatable).run()?;
    serde_json::from_str(text)
}

/// The same error with a message of bounded length. Serde quotes an unknown field or a string of the
/// wrong type as a whole.
fn shortened(error: serde_json::Error) -> serde_json::Error {
    let what = error.to_string();
    match what.char_indices().nth(MESSAGE_CHARS_MAX).and_then(|(end, _)| what.get(..end)) {
        None => error,
        Some(cut) => {
            let (line, column) = (error.line(), error.column());
            serde_json::Error::custom(format!("{cut}… at line {line} column {column}"))
        }
    }
}

/// Checks the bounds of a text. The scan is exact for valid JSON; it leaves every syntax error to
/// `serde_json`, which stops at the first one and so builds no value that was not counted.
fn check(text: &[u8]) -> serde_json::Result<()> {
    Scan::new(text, Keys::Unique).run()
}

/// Whether one object may have a key twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Unique,
    Repeatable,
}

struct Scan<'t> {
    text: &'t [u8],
    rule: Keys,
    /// The objects and lists around the place: the number of an object, none for a list.
    open: Vec<Option<u32>>,
    /// Whether the next string is a key.
    expects_key: bool,
    values: usize,
    objects: u32,
    /// The number of the object and the hash of each key. The hash has a random seed, so that nobody
    /// can choose two keys with the same one.
    keys: HashSet<(u32, u64)>,
    hasher: RandomState,
}

impl<'t> Scan<'t> {
    fn new(text: &'t [u8], rule: Keys) -> Self {
        let (keys, hasher) = (HashSet::new(), RandomState::new());
        Self {
            text,
            rule,
            open: Vec::new(),
            expects_key: false,
            values: 0,
            objects: 0,
            keys,
            hasher,
        }
    }

    fn run(mut self) -> serde_json::Result<()> {
        let mut at = 0;
        while let Some(byte) = self.text.get(at) {
            at = match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b':' => at.saturating_add(1),
                b'"' => match self.string(at)? {
                    Some(after) => after,
                    None => return Ok(()),
                },
                b'{' | b'[' => self.open(at, *byte == b'{')?,
                b'}' | b']' => {
                    self.open.pop();
                    self.expects_key = false;
                    at.saturating_add(1)
                }
                b',' => {
                    self.expects_key = self.open.last().is_some_and(Option::is_some);
                    at.saturating_add(1)
                }
                _ => self.scalar(at)?,
            };
        }
        Ok(())
    }

    fn value(&mut self, at: usize) -> serde_json::Result<()> {
        self.values = self.values.saturating_add(1);
        if self.values > VALUES_MAX {
            return Err(self.too_many(at));
        }
        Ok(())
    }

    fn too_many(&self, at: usize) -> serde_json::Error {
        self.fault(at, &format!("more than {VALUES_MAX} JSON values"))
    }

    fn open(&mut self, at: usize, is_object: bool) -> serde_json::Result<usize> {
        self.value(at)?;
        if self.open.len() >= DEPTH_MAX {
            return Err(self.fault(at, "recursion limit exceeded"));
        }
        self.objects = self.objects.saturating_add(1);
        self.open.push(is_object.then_some(self.objects));
        self.expects_key = is_object;
        Ok(at.saturating_add(1))
    }

    /// Passes over a string and gives the place after it; none if it has no end.
    fn string(&mut self, at: usize) -> serde_json::Result<Option<usize>> {
        let is_key = std::mem::take(&mut self.expects_key);
        if !is_key {
            self.value(at)?;
        }
        let mut end = at.saturating_add(1);
        let mut is_escaped = false;
        loop {
            let rest = self.text.get(end..).unwrap_or_default();
            let Some(found) = memchr2(b'"', b'\\', rest) else { return Ok(None) };
            if rest.get(found) == Some(&b'"') {
                end = end.saturating_add(found).saturating_add(1);
                break;
            }
            is_escaped = true;
            end = end.saturating_add(found).saturating_add(2);
        }
        let object = self.open.last().copied().flatten();
        if let Some(object) = object.filter(|_| is_key && self.rule == Keys::Unique) {
            self.key(object, at..end, is_escaped)?;
        }
        Ok(Some(end))
    }

    fn key(
        &mut self,
        object: u32,
        place: std::ops::Range<usize>,
        is_escaped: bool,
    ) -> serde_json::Result<()> {
        let at = place.start;
        let quoted = self.text.get(place).unwrap_or_default();
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let key: Cow<'_, [u8]> = if is_escaped {
            // A wrong escape is reported with its place when the whole text is read.
            let Ok(decoded) = serde_json::from_slice::<String>(quoted) else { return Ok(()) };
            decoded.into_bytes().into()
        } else {
            inner.into()
        };
        if self.keys.insert((object, self.hasher.hash_one(&key))) {
            // Keys without values are not JSON, but they must not fill the memory either.
            return if self.keys.len() > VALUES_MAX { Err(self.too_many(at)) } else { Ok(()) };
        }
        let key = String::from_utf8_lossy(key.get(..QUOTED_CHARS_MAX).unwrap_or(&key)).into_owned();
        Err(self.fault(at, &format!("duplicate key {key:?}")))
    }

    fn scalar(&mut self, at: usize) -> serde_json::Result<usize> {
        self.value(at)?;
        let rest = self.text.get(at..).unwrap_or_default();
        let is_after =
            |byte: &u8| matches!(byte, b',' | b']' | b'}' | b'"' | b' ' | b'\t' | b'\n' | b'\r');
        // A byte that cannot begin a value is passed over as well: `serde_json` reports it.
        let length = rest.iter().position(is_after).unwrap_or(rest.len()).max(1);
        Ok(at.saturating_add(length))
    }

    /// An error with its place, which `serde_json` takes out of the message for `Error::line`.
    fn fault(&self, at: usize, what: &str) -> serde_json::Error {
        let before = self.text.get(..at).unwrap_or_default();
        let line = memchr_iter(b'\n', before).count().saturating_add(1);
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end.saturating_add(1));
        let column = at.saturating_sub(start).saturating_add(1);
        serde_json::Error::custom(format!("{what} at line {line} column {column}"))
    }
}

#[cfg(test)]
mod tests;
