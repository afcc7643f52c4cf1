//! Writes lines by the forms of `grammar.txt`.

use std::collections::BTreeMap;

use crate::choices::{Choices, Chooser};

/// Forms in forms, after which each is written in its first way.
const DEPTH_MAX: usize = 6;
/// Forms in one line, after which the same holds.
const FORMS_MAX: usize = 50;
/// Programs of one sort in the project; every second one fails.
pub(crate) const PROGRAMS: usize = 80;

/// A line to be tried.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) choices: Choices,
}

/// All forms by name.
pub(crate) struct Grammar(BTreeMap<&'static str, Vec<Way>>);

/// One way to write a form.
struct Way {
    weight: u32,
    parts: Vec<Part>,
}

enum Part {
    Text(String),
    Form { name: &'static str, quotes: Quotes, is_data: bool },
}

#[derive(Clone, Copy)]
enum Quotes {
    None,
    Single,
    Double,
    Ansi,
    Backticks,
}

impl Grammar {
    pub(crate) fn new() -> Self {
        let mut forms: BTreeMap<&str, Vec<Way>> = BTreeMap::new();
        let mut name = "";
        for line in include_str!("grammar.txt").lines() {
            if let Some(new) = line.strip_prefix("= ") {
                name = new;
            } else if !line.is_empty() && !name.is_empty() {
                forms.entry(name).or_default().push(Way::parse(line));
            }
        }
        let grammar = Self(forms);
        grammar.check();
        grammar
    }

    /// Every form that is named is there.
    fn check(&self) {
        let parts = self.0.values().flatten().flat_map(|way| &way.parts);
        for part in parts {
            if let Part::Form { name, .. } = part {
                let is_there = self.0.contains_key(name) || BUILT_IN.contains(name);
                assert!(is_there, "there is no form {name:?}");
            }
        }
    }

    /// The line of a seed.
    pub(crate) fn line(&self, seed: u64) -> Line {
        self.written(Chooser::drawing(seed))
    }

    /// Every way of every form once, with the simplest in it.
    pub(crate) fn each_way(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (form, before, after) in HOSTS {
            for number in 0..self.0[form].len() {
                let chooser = Chooser::repeating(&Choices(Vec::new()));
                let mut writer = Writer { grammar: self, chooser, programs: 0, forms: 1 };
                let way = &self.0[form][number];
                let text = format!("{before}{}{after}", writer.way(way, 0, false));
                lines.push(Line { text, choices: Choices(Vec::new()) });
            }
        }
        lines
    }

    /// The line of these choices.
    pub(crate) fn again(&self, choices: &Choices) -> Line {
        self.written(Chooser::repeating(choices))
    }

    fn written(&self, chooser: Chooser) -> Line {
        let mut writer = Writer { grammar: self, chooser, programs: 0, forms: 0 };
        let text = writer.script(0, false);
        Line { text, choices: writer.chooser.choices() }
    }
}

/// Lines around a form, to try each of its ways.
const HOSTS: [(&str, &str, &str); 21] = [
    ("line", "", ""),
    ("statement", "", ""),
    ("simple", "", ""),
    ("assign", "", ""),
    ("wrapper", "", ""),
    ("variable", "", ""),
    ("function", "", ""),
    ("trick", "", ""),
    ("name", "", " a"),
    ("redirect", "m070 ", " a"),
    ("arg", "m070 ", " b"),
    ("arg", "y=a; m070 \"c\" ", ""),
    ("word", "y=", "; m070"),
    ("heretext", "m070 << E\n", "\nE\n"),
    ("pattern", "case a in ", ") m070 ;; esac"),
    ("test", "[[ ", " ]] && m070"),
    ("arith", "(( ", " )); m070"),
    ("code", "v=", "; : $((v))"),
    ("carry", "", "; : $((v))"),
    ("sink", "v='a[$(d070)]'; ", ""),
    ("into", "declare -i n; ", ""),
];

/// The forms that are no text of the grammar.
const BUILT_IN: [&str; 5] = ["m", "d", "i", "script", "script;"];

impl Way {
    fn parse(line: &'static str) -> Self {
        let weighted = line.split_once(": ").and_then(|(weight, rest)| {
            let weight = weight.parse::<u32>().ok()?;
            Some((weight, rest))
        });
        let (weight, mut rest) = weighted.unwrap_or((1, line));
        let mut parts = Vec::new();
        while let Some((text, after)) = rest.split_once('«') {
            let (form, after) = after.split_once('»').unwrap();
            parts.push(Part::Text(text.replace('⏎', "\n")));
            let (is_data, form) = match form.strip_prefix('!') {
                Some(form) => (true, form),
                None => (false, form),
            };
            let quotes = match form.chars().next() {
                Some('\'') => Quotes::Single,
                Some('"') => Quotes::Double,
                Some('$') => Quotes::Ansi,
                Some('`') => Quotes::Backticks,
                Some(_) | None => Quotes::None,
            };
            let name = form.trim_start_matches(['\'', '"', '$', '`']);
            parts.push(Part::Form { name, quotes, is_data });
            rest = after;
        }
        parts.push(Part::Text(rest.replace('⏎', "\n")));
        Self { weight, parts }
    }
}

impl Quotes {
    fn around(self, text: &str) -> String {
        let escaped = |special: &[char]| {
            let escape = |c: char| if special.contains(&c) { format!("\\{c}") } else { c.into() };
            text.chars().map(escape).collect::<String>()
        };
        match self {
            Self::None => text.to_owned(),
            Self::Single => format!("'{}'", text.replace('\'', r"'\''")),
            Self::Double => format!("\"{}\"", escaped(&['\\', '"', '$', '`'])),
            Self::Ansi => format!("$'{}'", escaped(&['\\', '\'']).replace('\n', "\\n")),
            Self::Backticks => format!("`{}`", escaped(&['\\', '`'])),
        }
    }
}

struct Writer<'g> {
    grammar: &'g Grammar,
    chooser: Chooser,
    programs: usize,
    forms: usize,
}

impl Writer<'_> {
    /// Lines one after the other.
    fn script(&mut self, depth: usize, is_data: bool) -> String {
        let most = if depth == 0 { 4 } else { 2 };
        let count = if self.chooser.below(2) == 0 { 0 } else { self.chooser.below(most) };
        let mut text = self.form("line", depth + 1, is_data);
        for _ in 0..count {
            let separators = ["; ", "\n", "; ", "\n\n"];
            let separator = separators[usize::try_from(self.chooser.below(4)).unwrap()];
            match text.chars().last() {
                Some('\n') => {}
                Some('&') => text.push(' '),
                Some(_) | None => text.push_str(separator),
            }
            text.push_str(&self.form("line", depth + 1, is_data));
        }
        text
    }

    fn form(&mut self, name: &str, depth: usize, is_data: bool) -> String {
        let grammar = self.grammar;
        let ways = &grammar.0[name];
        self.forms += 1;
        let is_deep = depth > DEPTH_MAX || self.forms > FORMS_MAX;
        let total: u32 = ways.iter().map(|way| way.weight).sum();
        let mut chosen = if is_deep { 0 } else { self.chooser.below(total) };
        let way = ways.iter().find(|way| {
            let is_it = chosen < way.weight;
            chosen = chosen.saturating_sub(way.weight);
            is_it
        });
        self.way(way.unwrap(), depth, is_data)
    }

    fn way(&mut self, way: &Way, depth: usize, is_data: bool) -> String {
        let number = self.forms;
        let mut text = String::new();
        for part in &way.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Form { name, quotes, is_data: own } => {
                    let is_data = is_data || *own;
                    let inner = match *name {
                        "m" => self.program(if is_data { 'd' } else { 'm' }),
                        "d" => self.program('d'),
                        "i" => number.to_string(),
                        "script" => self.script(depth, is_data),
                        "script;" => terminated(self.script(depth, is_data)),
                        name => self.form(name, depth + 1, is_data),
                    };
                    text.push_str(&quotes.around(&inner));
                }
            }
        }
        text
    }

    /// A program that the line has not named yet, as long as there are any.
    fn program(&mut self, sort: char) -> String {
        let fails = usize::from(self.chooser.below(4) == 1);
        self.programs = (self.programs + 2) % PROGRAMS;
        format!("{sort}{:03}", self.programs + fails)
    }
}

/// A script before a word that closes it.
fn terminated(script: String) -> String {
    match script.chars().last() {
        Some('\n') => script,
        Some('&') => script + " ",
        Some(_) | None => script + "; ",
    }
}
