//! A box in which nothing runs, and from which others are copied in a fraction of the time.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;

use crate::booting::Booting;
use crate::cgroup::{Cgroup, Hierarchies};
use crate::control::Line;
use crate::creations::Creations;
use crate::hearing::hear_first;
use crate::jail::Jail;
use crate::jail::pack::{self, Fittings, Sheet};
use crate::keeper::step::Step;
use crate::ready::{Ordered, Outlook, Ready};
use crate::remains::Remains;
use crate::start::{At, StartError, supervisor};

/// A template. Dropping it ends it, and with it every box that was copied from it.
#[derive(Debug)]
pub(crate) struct Template {
    // Closed first when dropped, so that the template ends before it is waited for.
    line: Line,
    copy: Sheet<'static>,
    outlook: Outlook,
    hierarchies: Result<Hierarchies, Errno>,
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
            cgroup: None,
            supervisor: Some(supervisor.as_fd()),
            creation_log: None,
        };
        let mut remains = Booting::begin()?.order(&sheet, &fittings)?;
        drop(far);
        let (_, pidfd, _) = hear_first(&line, &mut remains)?;
        remains.has_first(pidfd);
        let hierarchies = Hierarchies::read();
        Ok(Some(Self { line, copy, outlook, hierarchies, _remains: remains }))
    }

    /// Where the cgroups of its copies are made, as long as the host's mounts are as they were.
    pub(crate) fn hierarchies(&self) -> Result<Hierarchies, Errno> {
        self.hierarchies.as_ref().map_err(|errno| *errno).and_then(Hierarchies::again)
    }

    /// Makes a box.
    pub(crate) fn copy(self: &Arc<Self>, cgroup: Cgroup) -> Result<Ready, StartError> {
        self.order(cgroup)?.meet()
    }

    /// Lets a box be made.
    pub(crate) fn order(self: &Arc<Self>, cgroup: Cgroup) -> Result<Ordered, StartError> {
        let (line, line_far) = Line::pair().at(Step::OpenControl)?;
        let (gate, gate_far) = Line::pair().at(Step::OpenControl)?;
        let creations = Creations::begin(&self.outlook.refused).at(Step::PrepareBox)?;
        let fittings = Fittings {
            line: Some(line_far.as_fd()),
            gate: Some(gate_far.as_fd()),
            cgroup: Some(&cgroup),
            supervisor: None,
            creation_log: creations.as_ref().map(Creations::file),
        };
        let packed = self.copy.fit(&fittings).at(Step::PrepareBox)?;
        self.line.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        drop(packed);
        drop((line_far, gate_far));
        let template = Some(Arc::clone(self));
        let remains = Remains { _template: template, limits: Some(cgroup), ..Remains::default() };
        let outlook = self.outlook.clone();
        Ok(Ordered { gate, line, outlook, remains, creations })
    }
}
