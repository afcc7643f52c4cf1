//! What this machine can keep, found out by trying, with a remedy for each gap.

mod kernels;
mod mechanisms;

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

pub use self::kernels::KnownFault;
pub use self::mechanisms::Diagnosis;
use super::machine::probe;
use crate::confine::{Confinement, Files, Oci, Ports};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::plan::describe::{self, Description};
use crate::policy::Policy;
use crate::tier::Tier;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Checkup {
    /// Whether all that the shipped policy requires can be kept here.
    pub ok: bool,
    /// The kernel's release.
    pub kernel: String,
    /// How the jail is made here, if it can be made.
    pub form: Option<Form>,
    /// Every mechanism that the tiers of this version use.
    pub mechanisms: Vec<Diagnosis>,
    /// What the shipped policy would keep here.
    pub guarantees: Vec<Prospect>,
    /// What this kernel is known to do wrong, by its number.
    pub known_faults: Vec<KnownFault>,
    /// Landlock's own faults that this kernel has not repaired.
    pub landlock_errata: Vec<String>,
}

/// A form of the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A box of namespaces.
    Namespaces,
    /// Landlock and the filter of system calls alone.
    Locks,
}

/// One guarantee, as it would be kept here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prospect {
    /// How it would be kept, and by what.
    #[serde(flatten)]
    pub enforced: Enforced,
    /// How well the shipped policy requires it.
    pub required: Option<Kept>,
}

impl Prospect {
    /// Whether it would be kept as well as it is required.
    pub fn is_enough(&self) -> bool {
        self.required.is_none_or(|required| self.enforced.kept >= required)
    }
}

/// Tries every mechanism that the tiers of this version use, and says what that makes of the
/// shipped policy.
pub fn diagnose() -> Checkup {
    let machine = stockade_sandbox::capabilities();
    let mechanisms = mechanisms::all(&machine);
    let works = |name: &str| mechanisms.iter().any(|one| one.mechanism == name && one.works);
    let has_basis = works("shim") && works("seccomp");
    let form =
        if has_basis && works("namespaces") && works("network-namespace") && works("new-root") {
            Some(Form::Namespaces)
        } else {
            (has_basis && works("landlock")).then_some(Form::Locks)
        };
    let limits_tree = works("cgroup-memory") && works("cgroup-tasks");
    let guarantees = prospects(form, limits_tree);
    Checkup {
        ok: form.is_some() && guarantees.iter().all(Prospect::is_enough),
        form,
        guarantees,
        known_faults: kernels::known_faults(&machine.kernel),
        landlock_errata: kernels::landlock_errata(machine.landlock_abi, machine.landlock_errata),
        kernel: machine.kernel,
        mechanisms,
    }
}

/// What the shipped policy would keep in this form of the jail.
fn prospects(form: Option<Form>, limits_tree: bool) -> Vec<Prospect> {
    let (policy, root) = (Policy::shipped(), Path::new("/project"));
    let confinement = Confinement {
        limits: policy.limits.clone(),
        environment: Vec::new(),
        require: policy.required(),
        shared_network: None,
        files: Files {
            root: root.to_owned(),
            write: vec![root.to_owned()],
            read: Vec::new(),
            toolchains: Vec::new(),
            agent: None,
            hide: Vec::new(),
            protect: policy.files.protect.iter().map(|path| root.join(path)).collect(),
            untrusted: Vec::new(),
            watched: policy.files.watched,
            sought: Arc::default(),
            unkept: Arc::default(),
            own: Arc::default(),
        },
        network: policy.network,
        ports: Ports::default(),
        oci: Oci::default(),
        session: None,
        hints: Vec::new(),
    };
    let description = match form {
        Some(Form::Namespaces) => describe::of_tier(Tier::Jail, &confinement, probe()),
        Some(Form::Locks) => describe::without_namespaces(Tier::Jail, &confinement, probe()),
        None => None,
    };
    let none = |guarantee| Enforced::none(guarantee, "the jail cannot be made here");
    let enforcement = match description {
        Some(Description { enforcement, .. }) => enforcement,
        None => Guarantee::ALL.into_iter().map(none).collect(),
    };
    let prospect = |enforced: Enforced| {
        let is_tree = enforced.guarantee == Guarantee::TreeLimits;
        let required = confinement.require.get(&enforced.guarantee).copied();
        let enforced = if is_tree && limits_tree && form.is_some() {
            Enforced::full(Guarantee::TreeLimits, &["cgroup", "shim-count"])
        } else {
            enforced
        };
        Prospect { enforced, required }
    };
    enforcement.into_iter().map(prospect).collect()
}
