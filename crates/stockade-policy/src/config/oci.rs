//! Keys of `[box]` for tiers on an engine or on runsc: the image, and who makes the box.

use std::num::NonZeroU32;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;

use crate::config::file::BoxTable;
use crate::config::source::Source;
use crate::confine::{EngineName, ImageName, Pull};
use crate::{LoadError, Policy};

/// The keys of a file that are about this, each with its place. All of them choose which code is in
/// the box, so that a project's file cannot have them until it is trusted.
pub(crate) fn keys(boxed: &BoxTable) -> [(&'static str, Option<Range<usize>>); 5] {
    let place = |text: &Option<Spanned<String>>| text.as_ref().map(Spanned::span);
    [
        ("box.image", place(&boxed.image)),
        ("box.engine", place(&boxed.engine)),
        ("box.runtime", place(&boxed.runtime)),
        ("box.pull", place(&boxed.pull)),
        ("box.warm", boxed.warm.as_ref().map(Spanned::span)),
    ]
}

impl Source {
    /// Takes over what a trusted file says. An empty text, or no calls, is as if it said nothing.
    pub(crate) fn apply_oci(&self, boxed: &BoxTable, policy: &mut Policy) -> Result<(), LoadError> {
        let oci = &mut policy.oci;
        if let Some(text) = &boxed.image {
            oci.image = self.unless_empty(text, |text| {
                ImageName::from_str(text).map_err(|error| error.to_string())
            })?;
        }
        if let Some(text) = &boxed.engine {
            oci.engine = self.unless_empty(text, |text| {
                EngineName::from_str(text).map_err(|error| error.to_string())
            })?;
        }
        if let Some(text) = &boxed.runtime {
            oci.runtime = self.unless_empty(text, runtime)?;
        }
        if let Some(text) = &boxed.pull {
            oci.pull =
                self.value(text, |text| Pull::from_str(text).map_err(|error| error.to_string()))?;
        }
        if let Some(calls) = &boxed.warm {
            oci.warm = NonZeroU32::new(*calls.get_ref());
        }
        Ok(())
    }

    fn unless_empty<T>(
        &self,
        text: &Spanned<String>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, LoadError> {
        if text.get_ref().is_empty() { Ok(None) } else { self.value(text, parse).map(Some) }
    }
}

/// A name that the engine knows, or a path; nothing that it could take for an option.
fn runtime(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if text.starts_with('-') || !text.chars().all(plain) {
        return Err(format!("invalid runtime {text:?}; expected a name such as runsc, or a path"));
    }
    Ok(text.to_owned())
}
