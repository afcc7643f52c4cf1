//! What the attacks share: how one is declared, planted, run bare and boxed, and judged.

mod attack;
mod attacker;
mod boxes;
mod calls;
mod check;
mod run;
mod scene;

pub(crate) use attack::{Attack, Need, Reason, Tried};
pub(crate) use attacker::Aim;
pub(crate) use calls::{address, call, done, errno_now, in_child, lend_capabilities};
pub(crate) use check::{holds, turns_red};
pub(crate) use scene::Scene;

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

        mod sabotaged {
            $(#[test]
            fn $name() {
                crate::support::turns_red(&super::$name::ATTACK);
            })*
        }
    };
}
pub(crate) use suite;
