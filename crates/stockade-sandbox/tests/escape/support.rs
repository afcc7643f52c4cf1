//! What the attacks share: how one is declared, planted, run bare and boxed, and judged.

mod attack;
mod attacker;
mod boxes;
mod calls;
mod check;
mod meanwhile;
mod run;
mod scene;

pub(crate) use attack::{Attack, Need, Reason};
pub(crate) use calls::{address, call, done, in_child, lend_capabilities, room, with_child, word};
pub(crate) use check::{holds, turns_red};
pub(crate) use meanwhile::{Meanwhile, PATIENCE, take, within};
pub(crate) use run::LEAKED;
pub(crate) use scene::{Planted, Scene};

/// Lists the attacks of a group and makes two tests of each.
macro_rules! suite {
    ($($name:ident,)*) => {
        /// The attacks of this group.
        pub(crate) const ALL: &[&crate::support::Attack] = &[$(&$name::ATTACK,)*];

        mod held {
            $(#[test]
            fn $name() {
                crate::support::holds(&super::$name::ATTACK);
            })*
        }

        mod with_faults {
            $(#[test]
            fn $name() {
                crate::support::turns_red(&super::$name::ATTACK);
            })*
        }
    };
}
pub(crate) use suite;
