//! A box in which nothing runs, and from which others are copied in a fraction of the time.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::booting::Booting;
use crate::cgroup::{Cgroup, Hierarchies, Limits};
use crate::control::Line;
use crate::hearing::hear_first;
use crate::jail::Jail;
use crate::jail::pack::{self, Fittings, Sheet};
use crate::keeper::step::Step;
use crate::ready::{Ordered, Outlook, Ready};
use crate::remains::Remains;
use crate::start::{At, StartError, supervisor};
use crate::whereabouts::{Where, Whereabouts};

/// A template. Dropping it ends it, and with it every box that was copied from it.
#[derive(Debug)]
pub(crate) struct Template {
    // Closed first when dropped, so that the template ends before it is waited for.
    line: Line,
    copy: Sheet<'static>,
    outlook: Outlook,
    hierarchies: Result<Hierarchies, Errno>,
    whereabouts: Whereabouts,
    _remains: Remains,
}

impl Template {
    /// Makes a template for boxes like this one; `None` if they cannot be copied.
    pub(crate) fn make(jail: &Jail, outlook: Outlook) -> Result<Option<Self>, StartError> {
        let Some(copy) = pack::pack_copy(jail).at(Step::PrepareBox)? else { return Ok(None) };
        let sheet = pack::pack(jail).at(Step::PrepareBox)?.into_template();
        let (line, far) = Line::pair().at(Step::OpenControl)?;
        let supervisor = supervisor()?;
        let fittings = Fittings {
            line: Some(far.as_fd()),
            gate: None,
            limits: &Limits::There(None),
            supervisor: Some(supervisor.as_fd()),
        };
        let mut remains = Booting::begin()?.order(&sheet, &fittings)?;
        drop(far);
        let (pid, pidfd, _) = hear_first(&line, &mut remains)?;
        remains.has_first(pidfd);
        let (hierarchies, whereabouts) = (Hierarchies::read(), Whereabouts::of(pid));
        Ok(Some(Self { line, copy, outlook, hierarchies, whereabouts, _remains: remains }))
    }

    /// Where the cgroups of its copies are made, as long as the host's mounts are as they were.
    pub(crate) fn hierarchies(&self) -> Result<Hierarchies, Errno> {
        self.hierarchies.as_ref().map_err(|errno| *errno).and_then(Hierarchies::again)
    }

    /// Makes a box.
    pub(crate) fn copy(self: &Arc<Self>, cgroup: Cgroup) -> Result<Ready, StartError> {
        self.order(cgroup, Where::Anywhere)?.meet()
    }

    /// Lets a box be made.
    pub(crate) fn order(
        self: &Arc<Self>,
        cgroup: Cgroup,
        place: Where,
    ) -> Result<Ordered, StartError> {
        let limits = Limits::There(Some(cgroup));
        let (line, line_far) = Line::pair().at(Step::OpenControl)?;
        let (gate, gate_far) = Line::pair().at(Step::OpenControl)?;
        let fittings = Fittings {
            line: Some(line_far.as_fd()),
            gate: Some(gate_far.as_fd()),
            limits: &limits,
            supervisor: None,
        };
        let packed = self.copy.fit(&fittings).at(Step::PrepareBox)?;
        self.whereabouts.be(place);
        self.line.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        drop(packed);
        drop((line_far, gate_far));
        let template = Some(Arc::clone(self));
        let remains = Remains { _template: template, limits: limits.made(), ..Remains::default() };
        let outlook = self.outlook.clone();
        Ok(Ordered { gate, line, outlook, remains, handed: None, is_brought: false })
    }
}
