//! The last look, of which the names of a folder hold for as long as the folder is not touched: in a
//! process that lives on, most folders are then not read again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::listing::{Folder, Listing, Start, State};
use crate::files::digest::Moment;

/// A look at more names than these is not kept: it would be memory for good.
const NAMES_MAX: usize = 10_000;

static LAST: Mutex<Option<Arc<Past>>> = Mutex::new(None);

/// A look that is over.
#[derive(Debug)]
pub(super) struct Past {
    /// Where it began, as it is told.
    starts: Vec<PathBuf>,
    pub(super) listing: Arc<Listing>,
    /// Folders that were read whole, as they were then.
    by_moment: HashMap<Moment, usize>,
}

impl Past {
    pub(super) fn last() -> Option<Arc<Self>> {
        LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps a look for the next one.
    pub(super) fn keep(starts: &[Start], listing: &Arc<Listing>) {
        if listing.entries_len() <= NAMES_MAX {
            let past = Some(Arc::new(Self::of(starts, listing)));
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = past;
        }
    }

    pub(super) fn of(starts: &[Start], listing: &Arc<Listing>) -> Self {
        let folders = listing.folders.iter().enumerate();
        let whole = folders.filter(|(_, folder)| folder.state == State::Whole);
        let by_moment = whole.filter_map(|(at, folder)| Some((folder.moment?, at))).collect();
        let starts = starts.iter().map(|start| start.told.clone()).collect();
        Self { starts, listing: Arc::clone(listing), by_moment }
    }

    /// A folder as it was, if it has this path and was not touched since.
    pub(super) fn same(&self, folder: &Folder, starts: &[Start], now: Moment) -> Option<&Folder> {
        let then = self.listing.folders.get(*self.by_moment.get(&now)?)?;
        let from = starts.get(folder.start).map(|start| &start.told);
        let is_there = self.starts.get(then.start) == from && then.below == folder.below;
        is_there.then_some(then)
    }
}
