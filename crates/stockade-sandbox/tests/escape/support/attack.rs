//! An attack, declared.

use std::io;

use stockade_sandbox::Mechanism;

use super::attacker::Aim;
use super::scene::Scene;

/// One attack of the catalogue.
#[derive(Debug)]
pub(crate) struct Attack {
    /// The module that it is in; its last part is its name.
    pub(crate) module: &'static str,
    /// Its number in the catalogue of attacks.
    pub(crate) number: u16,
    /// What this machine must have so that it can succeed without a sandbox.
    pub(crate) needs: &'static [Need],
    /// Plants what it aims at, besides what every scene has.
    pub(crate) plant: fn(&mut Scene),
    /// The attack itself, which runs as another program.
    pub(crate) attempt: fn(&Aim) -> Tried,
    /// Whether it was reached, as the harness sees it; it also gets the attacker's loot.
    pub(crate) reached: fn(&Scene, &str) -> bool,
    /// How it ends in the sandbox, one of these.
    pub(crate) refused: &'static [Reason],
    /// The locks of which each alone stops it. A lock may be made of several mechanisms, and is
    /// open once one of them is left out.
    pub(crate) locks: &'static [&'static [Mechanism]],
    /// The Landlock ABI from which on Landlock is a lock, where it is one.
    pub(crate) landlock_since: u32,
    /// Paths of the scene that must not be made, which takes a broker.
    pub(crate) forbids: &'static [&'static str],
    /// Why the kernel stops it whatever is left out, where that is so: it then says nothing about
    /// the sandbox.
    pub(crate) kernel_default: Option<&'static str>,
    /// Why it succeeds in the sandbox all the same, where it does.
    pub(crate) known_gap: Option<&'static str>,
}

impl Attack {
    /// An attack that only wants to be told that a call succeeded.
    pub(crate) const CALL: Self = Self {
        module: "",
        number: 0,
        needs: &[],
        plant: |_| {},
        attempt: |_| Err(io::Error::other("nothing was tried")),
        reached: |_, loot| loot == "done",
        refused: &[],
        locks: &[],
        landlock_since: 1,
        forbids: &[],
        kernel_default: None,
        known_gap: None,
    };

    /// An attack that wants to read the scene's secret.
    pub(crate) const READ: Self =
        Self { reached: |scene, loot| loot == scene.secret(), ..Self::CALL };

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.module.rsplit("::").next().unwrap_or(self.module)
    }
}

/// What the attacker got: its loot, or the error that stopped it.
pub(crate) type Tried = io::Result<String>;

/// How an attack ends in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A system call gives this error.
    Errno(i32),
    /// The attacker is killed by this signal.
    Signal(i32),
    /// The attacker got something, and it is not what was planted; it may have seen that itself.
    Nothing,
}

/// What an attack needs of the machine, or of the user, to succeed without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// To be root.
    Root,
    /// Cgroups that this user can make.
    Cgroup,
    /// A Landlock that stops it, where nothing else does.
    Landlock,
    /// The kernel or the machine to have it: without it the control ends with this error.
    Kernel(i32),
}
