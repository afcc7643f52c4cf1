//! What tiers above the jail need besides: an image, and the program that makes boxes of it.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The image of a box and who makes the box.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Oci {
    /// The image. The `container` tier needs one; without it `gvisor` shows the machine's own
    /// system folders.
    pub image: Option<ImageName>,
    /// The engine of the `container` tier; the first that answers, unless told.
    pub engine: Option<EngineName>,
    /// The runtime that the engine uses; its own choice, unless told.
    pub runtime: Option<String>,
    /// Whether an image that is not there may be fetched from a registry.
    pub pull: Pull,
    /// After how many calls a container is replaced; without it each call has its own.
    pub warm: Option<NonZeroU32>,
}

impl Oci {
    /// Whether the engine is told to use a runtime that has a kernel of its own.
    pub fn has_own_kernel(&self) -> bool {
        let name = self.runtime.as_deref().and_then(|runtime| runtime.rsplit('/').next());
        name.is_some_and(|name| name == "runsc" || name.starts_with("runsc-"))
    }
}

/// The name of an image: what an engine takes, and nothing that could be an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageName(String);

impl ImageName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ImageName {
    type Err = NotAnImage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+".contains(c);
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let leads_up = text.split('/').any(|part| part == ".." || part == "." || part.is_empty());
        if !starts_well || leads_up || text.len() > 255 || !text.chars().all(plain) {
            return Err(NotAnImage(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A text that names no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name of an image: letters, digits, and - _ . / : @ + between them, as in \
     localhost/tools:1"
)]
pub struct NotAnImage(String);

/// The engines that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineName {
    /// Podman.
    Podman,
    /// Docker.
    Docker,
}

impl EngineName {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 2] = [Self::Podman, Self::Docker];

    /// The name in policy files, which is that of its program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

impl FromStr for EngineName {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|engine| engine.name() == text);
        named.ok_or_else(|| UnknownEngine(text.to_owned()))
    }
}

/// A text that names no engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine {0:?}; expected podman or docker")]
pub struct UnknownEngine(String);

/// Whether an image may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Pull {
    /// It may not: what is not there is a failure.
    #[default]
    Never,
    /// It may, if it is not there.
    Missing,
}

impl Pull {
    /// The name in policy files and for engines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Missing => "missing",
        }
    }
}

impl FromStr for Pull {
    type Err = UnknownPull;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = [Self::Never, Self::Missing].into_iter().find(|pull| pull.name() == text);
        named.ok_or_else(|| UnknownPull(text.to_owned()))
    }
}

/// A text that says nothing about fetching.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown time to fetch an image {0:?}; expected never or missing")]
pub struct UnknownPull(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_an_image_can_be_no_option_and_lead_nowhere() {
        for good in ["busybox", "localhost/tools:1", "docker.io/library/a@sha256:ab12"] {
            assert_eq!(ImageName::from_str(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "-v", "--privileged", "/etc", "../x", "a/../b", "a//b", "a b", "a\n", "a/"]
        {
            assert!(ImageName::from_str(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_runtime_is_known_by_the_last_part_of_its_path() {
        let with = |runtime: &str| Oci { runtime: Some(runtime.to_owned()), ..Oci::default() };
        assert!(with("runsc").has_own_kernel() && with("/usr/bin/runsc").has_own_kernel());
        assert!(!with("runc").has_own_kernel() && !with("/runsc/runc").has_own_kernel());
        assert!(!Oci::default().has_own_kernel());
    }
}
