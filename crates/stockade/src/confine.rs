//! What a run may touch and use, as data: the policy's answer, before any tier is asked.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::guarantee::{Guarantee, Kept};
use crate::limits::Limits;

/// The confinement of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Time, memory, processes and bytes.
    pub limits: Limits,
    /// The whole environment of the run but `HOME` and `TMPDIR`, which are its scratch folder.
    pub environment: Vec<(OsString, OsString)>,
    /// The guarantees without which the call must not run, and how well each has to be kept.
    pub require: BTreeMap<Guarantee, Kept>,
}
