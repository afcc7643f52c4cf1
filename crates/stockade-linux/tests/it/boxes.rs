//! Boxes that the tests share.

use stockade_linux::Jail;

use crate::support::text;

/// The closed form of a box around a program.
pub(crate) fn closed(program: &str) -> Jail {
    Jail::new(&text(program), c"/")
}
