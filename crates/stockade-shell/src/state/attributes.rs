//! Attributes of variables: what makes them behave other than their assignments say.

use std::rc::Rc;

use super::State;
use crate::special::NUMBERS;

/// What makes a variable behave other than its assignments say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attribute {
    /// It may keep its value, or take another than it is given: read-only, in small letters.
    Unruly,
    /// What it is given is evaluated as arithmetic.
    Integer,
    /// An array whose subscripts are text and not arithmetic, for certain.
    Keyed,
    /// An array: `declare` takes a text in parentheses for its elements.
    Array,
    /// A name for another variable: what it is given may be evaluated as a name.
    Reference,
}

impl State {
    /// Gives a variable an attribute, for good.
    pub fn give(&mut self, name: &str, attribute: Attribute) {
        Rc::make_mut(&mut self.attributes).insert((name.to_owned(), attribute));
    }

    /// Whether a variable has an attribute, or may have; an array has keys only for certain.
    pub fn is(&self, name: &str, attribute: Attribute) -> bool {
        let is_number = attribute == Attribute::Integer && NUMBERS.contains(&name);
        is_number
            || !self.attributes.is_empty()
                && self.attributes.contains(&(name.to_owned(), attribute))
    }

    /// Subscripts of this array may be arithmetic.
    pub fn lose_keys(&mut self, name: &str) {
        if self.is(name, Attribute::Keyed) {
            Rc::make_mut(&mut self.attributes).remove(&(name.to_owned(), Attribute::Keyed));
        }
    }

    /// The same for every array.
    pub(super) fn lose_all_keys(&mut self) {
        if self.attributes.iter().any(is_keyed) {
            Rc::make_mut(&mut self.attributes).retain(|one| !is_keyed(one));
        }
    }

    /// What holds whichever of the two it is. Attributes that make values mean more hold if either
    /// state has them, the one that makes subscripts mean less only if both have it.
    pub(super) fn join_attributes(&mut self, other: &Self) {
        if self.attributes == other.attributes {
            return;
        }
        let theirs = other.attributes.iter().filter(|one| !is_keyed(one)).cloned();
        let own = Rc::make_mut(&mut self.attributes);
        own.retain(|one| !is_keyed(one) || other.attributes.contains(one));
        own.extend(theirs);
    }
}

fn is_keyed((_, attribute): &(String, Attribute)) -> bool {
    *attribute == Attribute::Keyed
}
