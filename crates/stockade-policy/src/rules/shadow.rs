//! Rules that can never decide, because a rule of a stricter list meets every call that they meet.

use super::Rule;
use super::matching::Rules;
use super::text::{Content, Name};
use super::tool::{self, Family, Shell};
use crate::Decision;

/// A rule that never decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shadow<'r> {
    /// It.
    pub rule: &'r Rule,
    /// The one that decides in its place.
    pub by: &'r Rule,
}

impl Rules {
    /// The rules that never decide. Only what can be seen from the words of two rules is found.
    pub fn shadows(&self) -> Vec<Shadow<'_>> {
        let all = self.all();
        let shadow = |rule| {
            let by = all.iter().find(|by: &&Rule| by.covers(rule))?;
            Some(Shadow { rule, by })
        };
        all.iter().filter(|rule| rule.is_effective()).filter_map(shadow).collect()
    }
}

impl Rule {
    /// Whether it is of a stricter list and meets every call that the other meets.
    fn covers(&self, other: &Self) -> bool {
        if self.list <= other.list {
            return false;
        }
        match (&self.meaning.content, &other.meaning.content) {
            (Content::Whole, _) => self.covers_tool(other),
            (Content::Line(shell, wide, _), Content::Line(other, narrow, _)) => {
                (shell == other || (*shell, *other) == (Shell::Bash, Shell::Exec))
                    && wide.covers(narrow)
            }
            (Content::Read(wide, _), Content::Read(narrow, _))
            | (Content::Write(wide, _), Content::Write(narrow, _)) => wide.covers(narrow),
            // What must not be read must not be written, either.
            (Content::Read(wide, _), Content::Write(narrow, _)) => {
                self.list == Decision::Deny && wide.covers(narrow)
            }
            (Content::Host(wide), Content::Host(narrow)) => wide.covers(narrow),
            (Content::Finding(wide), Content::Finding(narrow)) => wide == narrow,
            (Content::Field(wide), Content::Field(narrow)) => {
                self.meaning.tool == other.meaning.tool
                    && wide.name == narrow.name
                    && wide.value.covers(&narrow.value)
            }
            _ => false,
        }
    }

    /// Whether every call that the other rule can be about is a call of this rule's tool. A rule
    /// about lines, paths or hosts is about other tools, too; what it says of its own is covered.
    fn covers_tool(&self, other: &Self) -> bool {
        match (&self.meaning.tool, &other.meaning.tool) {
            (Name::Any(wide), Name::One(name)) => wide.matches(name.as_bytes()),
            (Name::Any(wide), Name::Any(narrow)) => wide.covers(narrow),
            (Name::One(wide), Name::One(name)) => {
                let server = || {
                    let rest = name.strip_prefix(wide.as_str())?;
                    rest.strip_prefix("__").filter(|_| wide.starts_with("mcp__"))
                };
                wide == name || server().is_some() || tool::judged_as(name).contains(&wide.as_str())
            }
            (Name::One(_), Name::Any(_)) => false,
        }
    }

    /// Whether a call of this tool can meet the rule: by the tool's name, or by what it does.
    pub fn judges(&self, tool: &str) -> bool {
        let name = tool::canonical(tool);
        let family = tool::family(name);
        let runs = matches!(family, Family::Shell(_));
        let (reads, writes) = (family == Family::Reads, family == Family::Writes);
        let is_named = |name: &str| match &self.meaning.tool {
            Name::One(own) => {
                let server = || name.strip_prefix(own.as_str())?.strip_prefix("__");
                own == name || (own.starts_with("mcp__") && server().is_some())
            }
            Name::Any(glob) => glob.matches(name.as_bytes()),
        };
        let named = is_named(name) || tool::judged_as(name).iter().any(|name| is_named(name));
        match &self.meaning.content {
            Content::Nothing => false,
            Content::Finding(_) => runs,
            Content::Whole => {
                let any_read = is_named("Read") && runs;
                let any_write = is_named("Edit") && runs;
                let glob = matches!(self.meaning.tool, Name::Any(_));
                named || (!glob && (any_read || any_write))
            }
            Content::Line(..) | Content::Field(_) => named,
            Content::Read(..) => named || runs || reads || (writes && self.list == Decision::Deny),
            Content::Write(..) => named || runs || writes,
            Content::Host(_) => named || runs || family == Family::Hosts,
        }
    }
}
