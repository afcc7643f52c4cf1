//! An argument vector that the kernel accepts: not empty, no NUL bytes, no argument too long.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The longest single argument that Linux passes to a program (`MAX_ARG_STRLEN`), NUL included.
pub(crate) const ARGUMENT_BYTES_MAX: usize = 128 * 1024;
/// The most bytes of all arguments and their pointers: a quarter of the usual 8 MiB stack.
const TOTAL_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The overhead of an argument: a NUL and a pointer.
const POINTER_BYTES: usize = 1 + size_of::<usize>();

/// A checked argument vector. The gate and the launcher use no other form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argv(Vec<OsString>);

impl Argv {
    /// Checks an argument vector.
    pub fn parse(argv: Vec<OsString>) -> Result<Self, BadArgv> {
        if argv.is_empty() {
            return Err(BadArgv::Empty);
        }
        let mut total = 0_usize;
        for (argument, text) in argv.iter().enumerate() {
            if text.as_bytes().contains(&0) {
                return Err(BadArgv::Nul { argument });
            }
            if text.len() >= ARGUMENT_BYTES_MAX {
                return Err(BadArgv::LongArgument { argument, bytes: text.len() });
            }
            total = total.saturating_add(text.len()).saturating_add(POINTER_BYTES);
        }
        if argv.first().is_some_and(|program| program.is_empty()) {
            return Err(BadArgv::NoProgram);
        }
        if total > TOTAL_BYTES_MAX {
            return Err(BadArgv::TooLarge { bytes: total });
        }
        Ok(Self(argv))
    }

    /// The program as it was written.
    pub fn program(&self) -> &OsStr {
        self.0.first().map(OsString::as_os_str).unwrap_or_default()
    }

    /// All words, the program first.
    pub fn words(&self) -> &[OsString] {
        &self.0
    }

    /// The words as C strings.
    pub fn to_c_strings(&self) -> Vec<CString> {
        self.0.iter().filter_map(|word| CString::new(word.clone().into_vec()).ok()).collect()
    }
}

/// Why an argument vector cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadArgv {
    /// There are no words.
    #[error("empty argv: there is no program to run")]
    Empty,
    /// The program's name is empty.
    #[error("the program (argument 0) is an empty string")]
    NoProgram,
    /// A NUL byte, which would cut the argument short silently.
    #[error("argument {argument} contains a NUL byte")]
    Nul {
        /// The argument.
        argument: usize,
    },
    /// One argument is longer than Linux accepts.
    #[error("argument {argument} is {bytes} bytes long; Linux takes at most 131071")]
    LongArgument {
        /// The argument.
        argument: usize,
        /// Its length.
        bytes: usize,
    },
    /// All arguments together are larger than Linux accepts.
    #[error("the arguments take {bytes} bytes together; at most 2097152 are passed on")]
    TooLarge {
        /// Their size, including pointers.
        bytes: usize,
    },
}

impl BadArgv {
    /// The argument at fault, if it is a single one.
    pub fn argument(&self) -> Option<usize> {
        match self {
            Self::Empty | Self::TooLarge { .. } => None,
            Self::NoProgram => Some(0),
            Self::Nul { argument } | Self::LongArgument { argument, .. } => Some(*argument),
        }
    }
}
