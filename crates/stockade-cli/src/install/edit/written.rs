//! What is written into settings: in one line, or with the indentation of the person.

use super::super::document::Node;

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// One step to the right.
    unit: String,
    pub(super) newline: &'static str,
}

impl Default for Style {
    fn default() -> Self {
        Self { unit: "  ".to_owned(), newline: "\n" }
    }
}

impl Style {
    /// As the first member of a file has it.
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let before = root.items().first().and_then(|item| text.get(..item.start));
        let unit = before.and_then(|before| before.rsplit_once('\n')).map(|(_, unit)| unit);
        let is_indent = |unit: &&str| !unit.is_empty() && unit.chars().all(|c| " \t".contains(c));
        let unit = unit.filter(is_indent).map_or_else(|| Self::default().unit, str::to_owned);
        Self { unit, newline }
    }
}

/// A value to be written.
#[derive(Debug, Clone)]
pub(super) enum NewValue {
    Object(Vec<(&'static str, Self)>),
    List(Vec<Self>),
    Text(String),
    Number(u32),
}

/// Longer than the hook's own deadline: a hook that is not waited for does not refuse.
const TIMEOUT_SECONDS: u32 = 60;

impl NewValue {
    /// What stands behind `hooks`.
    pub(super) fn hooks(command: &str) -> Self {
        Self::Object(vec![(super::EVENT, Self::groups(command))])
    }

    /// What stands behind the event.
    pub(super) fn groups(command: &str) -> Self {
        Self::List(vec![Self::group(command)])
    }

    /// One matcher with our command.
    pub(super) fn group(command: &str) -> Self {
        let handler = Self::Object(vec![
            ("type", Self::Text("command".to_owned())),
            ("command", Self::Text(command.to_owned())),
            ("timeout", Self::Number(TIMEOUT_SECONDS)),
        ]);
        Self::Object(vec![
            ("matcher", Self::Text("*".to_owned())),
            ("hooks", Self::List(vec![handler])),
        ])
    }

    pub(super) fn compact_member(&self, key: &str) -> String {
        format!("{}{}", prefix(key), self.compact())
    }

    pub(super) fn pretty_member(&self, key: &str, indent: &str, style: &Style) -> String {
        format!("{}{}", prefix(key), self.pretty(indent, style))
    }

    /// In one line. There is a space inside of every bracket, which tells it from one that was there.
    pub(super) fn compact(&self) -> String {
        match self {
            Self::Object(members) => {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| value.compact_member(key)).collect();
                format!("{{ {} }}", members.join(", "))
            }
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(Self::compact).collect();
                format!("[ {} ]", values.join(", "))
            }
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::Number(number) => number.to_string(),
        }
    }

    /// Over several lines, of which the first is indented already.
    pub(super) fn pretty(&self, indent: &str, style: &Style) -> String {
        let Style { unit, newline } = style;
        let deeper = format!("{indent}{unit}");
        let (open, items, close) = match self {
            Self::Object(members) => {
                let member = |(key, value): &(&str, Self)| value.pretty_member(key, &deeper, style);
                ('{', members.iter().map(member).collect::<Vec<_>>(), '}')
            }
            Self::List(values) => {
                ('[', values.iter().map(|value| value.pretty(&deeper, style)).collect(), ']')
            }
            Self::Text(_) | Self::Number(_) => return self.compact(),
        };
        let items = items.join(&format!(",{newline}{deeper}"));
        format!("{open}{newline}{deeper}{items}{newline}{indent}{close}")
    }
}

fn prefix(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{}: ", serde_json::Value::from(key)) }
}
