//! Patterns of segments in one tree, so that a path is held against all of them at once: what it
//! costs depends on the path and on the patterns that it meets, not on how many there are.

use std::collections::HashMap;

use super::prefixes::Prefixes;
use crate::confine::{Parsed, Part, Segment};

/// Where a pattern ends, and what of that it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// The rule, by its place in the list.
    pub(super) rule: usize,
    /// Whether it means what is exactly there.
    pub(super) itself: bool,
    /// Whether it means what lies beneath.
    pub(super) beneath: bool,
}

/// The patterns of one anchor.
#[derive(Debug, Clone)]
pub(super) struct Trie {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    names: HashMap<String, usize>,
    by_prefix: Prefixes<(Segment, usize)>,
    by_suffix: Prefixes<(Segment, usize)>,
    deep: Option<usize>,
    is_deep: bool,
    ends: Vec<End>,
    /// The first rule that ends somewhere beneath.
    first_beneath: Option<usize>,
}

const ROOT: usize = 0;

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::new(false)] }
    }
}

impl Node {
    fn new(is_deep: bool) -> Self {
        Self {
            names: HashMap::new(),
            by_prefix: Prefixes::default(),
            by_suffix: Prefixes::default(),
            deep: None,
            is_deep,
            ends: Vec::new(),
            first_beneath: None,
        }
    }

    fn child(&self, part: &Part) -> Option<usize> {
        let same =
            |segment: &Segment, (other, at): &(Segment, usize)| (segment == other).then_some(*at);
        match part {
            Part::Deep => self.deep,
            Part::Name(Parsed::Plain(name)) => self.names.get(name).copied(),
            Part::Name(Parsed::Wild(segment)) => {
                let prefix = segment.prefix();
                let suffix = segment.reversed_suffix();
                let by_prefix = self.by_prefix.beginning(prefix.as_bytes());
                let by_suffix = self.by_suffix.beginning(suffix.as_bytes());
                let mut children = by_prefix.chain(by_suffix);
                children.find_map(|child| same(segment, child))
            }
        }
    }

    fn link(&mut self, part: Part, to: usize) {
        match part {
            Part::Deep => self.deep = Some(to),
            Part::Name(Parsed::Plain(name)) => {
                self.names.insert(name, to);
            }
            Part::Name(Parsed::Wild(segment)) => {
                let (prefix, suffix) = (segment.prefix(), segment.reversed_suffix());
                if prefix.is_empty() {
                    self.by_suffix.insert(suffix.as_bytes(), (segment, to));
                } else {
                    self.by_prefix.insert(prefix.as_bytes(), (segment, to));
                }
            }
        }
    }

    fn first_end(&self, fits: impl Fn(&End) -> bool) -> Option<usize> {
        self.ends.iter().filter(|end| fits(end)).map(|end| end.rule).min()
    }

    /// The nodes that a segment leads to from here.
    fn follow(&self, name: &str, mut found: impl FnMut(usize)) {
        self.names.get(name).copied().into_iter().for_each(&mut found);
        let mut wild = |children: &Prefixes<(Segment, usize)>, key: &[u8]| {
            let fits = children.beginning(key).filter(|(segment, _)| segment.matches(name));
            fits.for_each(|(_, to)| found(*to));
        };
        if !self.by_prefix.is_empty() {
            wild(&self.by_prefix, name.as_bytes());
        }
        if !self.by_suffix.is_empty() {
            let reversed: String = name.chars().rev().collect();
            wild(&self.by_suffix, reversed.as_bytes());
        }
    }
}

impl Trie {
    /// Adds a pattern.
    pub(super) fn insert(&mut self, parts: Vec<Part>, end: End) {
        let mut at = ROOT;
        for part in parts {
            self.note(at, end.rule);
            let next = self.nodes.get(at).and_then(|node| node.child(&part));
            at = next.unwrap_or_else(|| {
                let to = self.nodes.len();
                self.nodes.push(Node::new(part == Part::Deep));
                if let Some(node) = self.nodes.get_mut(at) {
                    node.link(part, to);
                }
                to
            });
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.ends.push(end);
        }
    }

    fn note(&mut self, at: usize, rule: usize) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.first_beneath = Some(node.first_beneath.map_or(rule, |first| first.min(rule)));
        }
    }

    /// The first rule whose pattern means this.
    pub(super) fn find<S: AsRef<str>>(&self, names: &[S]) -> Option<usize> {
        self.walk(names, |node| node.first_end(|end| end.itself))
    }

    /// The first rule whose pattern means this and all that is beneath it.
    pub(super) fn find_whole<S: AsRef<str>>(&self, names: &[S]) -> Option<usize> {
        self.walk(names, |node| node.first_end(|end| end.itself && end.beneath))
    }

    /// The first rule whose pattern means this or something beneath it. A pattern that may match
    /// at any depth is not looked for there: nobody has said that there is such a thing.
    pub(super) fn find_in_tree<S: AsRef<str>>(&self, names: &[S]) -> Option<usize> {
        self.walk(names, |node| {
            let itself = node.first_end(|end| end.itself);
            let beneath = node.first_beneath.filter(|_| !node.is_deep);
            itself.into_iter().chain(beneath).min()
        })
    }

    /// The first rule of all.
    pub(super) fn first(&self) -> Option<usize> {
        let root = self.nodes.get(ROOT)?;
        root.ends.iter().map(|end| end.rule).chain(root.first_beneath).min()
    }

    fn walk<S: AsRef<str>>(
        &self,
        names: &[S],
        at_the_end: impl Fn(&Node) -> Option<usize>,
    ) -> Option<usize> {
        let mut found: Option<usize> = None;
        let mut keep = |rule: usize| found = Some(found.map_or(rule, |first| first.min(rule)));
        let (mut here, mut next) = (Vec::new(), Vec::new());
        self.enter(ROOT, &mut here);
        for name in names {
            for node in here.iter().filter_map(|at| self.nodes.get(*at)) {
                node.ends.iter().filter(|end| end.beneath).for_each(|end| keep(end.rule));
                node.follow(name.as_ref(), |to| self.enter(to, &mut next));
            }
            let stay = |at: &&usize| self.nodes.get(**at).is_some_and(|node| node.is_deep);
            for at in here.iter().filter(stay) {
                self.enter(*at, &mut next);
            }
            std::mem::swap(&mut here, &mut next);
            next.clear();
        }
        for node in here.iter().filter_map(|at| self.nodes.get(*at)) {
            at_the_end(node).into_iter().for_each(&mut keep);
        }
        found
    }

    /// A node, and the one that `**` leads to without a segment.
    fn enter(&self, at: usize, nodes: &mut Vec<usize>) {
        let mut next = Some(at);
        while let Some(at) = next.filter(|at| !nodes.contains(at)) {
            nodes.push(at);
            next = self.nodes.get(at).and_then(|node| node.deep);
        }
    }
}
