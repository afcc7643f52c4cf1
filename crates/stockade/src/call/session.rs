//! Names of sessions.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// The name of a session: 1 to 64 letters, digits, `-` and `_`.
///
/// ```
/// use stockade::call::SessionName;
/// assert!("plots_2".parse::<SessionName>().is_ok());
/// assert!("../plots".parse::<SessionName>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionName(String);

/// The longest name.
const BYTES_MAX: usize = 64;

impl SessionName {
    /// The session of an agent by its own id for it; by a hash of that, if it cannot be a name.
    ///
    /// ```
    /// use stockade::call::SessionName;
    /// assert_eq!(SessionName::of_agent("01-ab").as_str(), "01-ab");
    /// assert_eq!(SessionName::of_agent("../x").as_str().len(), 64);
    /// ```
    pub fn of_agent(id: &str) -> Self {
        id.parse().unwrap_or_else(|_unfit| Self(HEXLOWER.encode(&Sha256::digest(id))))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionName {
    type Err = BadSessionName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if (1..=BYTES_MAX).contains(&text.len()) && text.bytes().all(is_of_name) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadSessionName)
        }
    }
}

/// A text that is not a valid session name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name of a session is 1 to 64 letters, digits, - or _")]
pub struct BadSessionName;
