//! What a shell knows in another place or at another time: a shell that it starts, a handler.

use std::rc::Rc;

use super::{Attribute, Certainty, State, Value};

impl State {
    /// The state of another shell that this one starts: it has the variables that are exported,
    /// and nobody has kept count of those.
    #[must_use]
    pub fn of_a_shell_of_its_own(&self) -> Self {
        let mut own = self.clone();
        let is_changed = |(name, value): &(&String, &Value)| {
            self.inherited.get(*name) != Some(value) && !matches!(name.as_str(), "PWD" | "OLDPWD")
        };
        for (name, _) in self.variables.iter().filter(is_changed) {
            own.set(name, None);
        }
        own.set("IFS", Some(" \t\n".to_owned()));
        own.set_positional(None);
        own.lose_all_keys();
        own.stops = false;
        own
    }

    /// The state in which a handler runs: whatever the line has made of it by then.
    #[must_use]
    pub fn at_another_time(&self) -> Self {
        let mut later = self.clone();
        later.set_positional(None);
        later.lose_all_keys();
        later.move_to(Vec::new());
        later.variables = Rc::default();
        later.settled = later.settled.max(Certainty::Apart);
        later
    }

    /// What a handler sets may be set at any time from now on.
    pub fn may_become(&mut self, later: &Self) {
        for name in later.variables.keys() {
            self.give(name, Attribute::Unruly);
            self.set(name, None);
        }
        if later.variables.contains_key("PWD") {
            self.forget();
        }
        for (name, body) in
            later.functions.iter().flat_map(|(n, all)| all.iter().map(move |b| (n, b)))
        {
            self.define(name, Rc::clone(body));
        }
        for (name, text) in later.aliases.iter() {
            self.set_alias(name, text.clone());
        }
        if later.settled == Certainty::Not {
            self.forget();
        }
        if let Some(why) = &later.altered {
            self.alter(why);
        }
        self.join_attributes(later);
        self.last_pipes |= later.last_pipes;
    }
}
