//! From the text of a rule to what it means: `Tool`, `Tool(pattern)`, `Tool(field:value)`.

use std::path::Path;

use stockade_shell::pattern::{Dialect, Pattern};

use super::error::RuleError;
use super::host::HostPattern;
use super::line::{LinePattern, Stray};
use super::path::{Anchor, RulePath, Width};
use super::tool::{self, Family, Shell};
use crate::Decision;
use crate::model::finding::RULED;

/// In place of a tool's name: the rule is about something that inspection found.
const FINDING: &str = "Finding";

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meaning {
    /// The tool by its own name, or a pattern of names.
    pub(super) tool: Name,
    pub(super) content: Content,
    /// What a person should know about it: why it never matches, or what it means beyond its words.
    pub(super) note: Option<String>,
}

/// Which tools a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    One(String),
    Any(Pattern),
}

/// What of their calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// All of them.
    Whole,
    /// These command lines; and, if it can be read so, calls with this value of a field.
    Line(Shell, LinePattern, Option<Field>),
    Read(RulePath, Option<Field>),
    Write(RulePath, Option<Field>),
    Host(HostPattern),
    Field(Field),
    /// A finding of this name, whatever the tool.
    Finding(String),
    /// None: the rule is kept to be shown, and the note says why it never matches.
    Nothing,
}

/// A field of the input and the values that are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: Pattern,
}

impl Meaning {
    pub(super) fn parse(
        text: &str,
        list: Decision,
        base: Option<&Path>,
    ) -> Result<Self, RuleError> {
        let (name, pattern) = split(text)?;
        let named = tool::canonical(name);
        let tool = if name.contains('*') {
            Name::Any(Pattern::new(name, Dialect::Stars))
        } else {
            Name::One(named.to_owned())
        };
        let meaning = |content, note| Self { tool: tool.clone(), content, note };
        if list == Decision::Allow && !may_allow(name) {
            let note = "an allow rule may have a `*` in its tool only behind mcp__SERVER__";
            return Ok(meaning(Content::Nothing, Some(note.to_owned())));
        }
        let Some((at, pattern)) = pattern.filter(|(_, pattern)| pattern.trim() != "*") else {
            if named == FINDING {
                return Err(RuleError::new(name.len(), "a rule about findings names one")
                    .suggest(format!("write {FINDING}(NAME): {}", RULED.join(", "))));
            }
            return Ok(meaning(Content::Whole, unknown(named, list)));
        };
        if pattern.trim().is_empty() {
            return Err(RuleError::new(at, "there is nothing between the parentheses")
                .suggest(format!("write {name} to mean every call of it")));
        }
        let reading = ContentReader { tool: named, pattern, list, base };
        let (content, note) = reading.content().map_err(|error| error.behind(at))?;
        Ok(meaning(content, note))
    }

    /// Whether it is about the home folder.
    pub(super) fn needs_home(&self) -> bool {
        match &self.content {
            Content::Read(path, _) | Content::Write(path, _) => {
                matches!(path.anchor, Anchor::Home(_))
            }
            Content::Whole
            | Content::Line(..)
            | Content::Host(_)
            | Content::Field(_)
            | Content::Finding(_)
            | Content::Nothing => false,
        }
    }
}

/// A part of a text, and the byte where it begins.
type TextPart<'t> = (usize, &'t str);

/// The tool's name, and the text between the parentheses.
fn split(text: &str) -> Result<(&str, Option<TextPart<'_>>), RuleError> {
    let end = text.find('(').unwrap_or(text.len());
    let name = text.get(..end).unwrap_or_default();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.:/*".contains(letter);
    if name.is_empty() {
        return Err(RuleError::new(0, "a rule begins with the name of a tool")
            .suggest("write Tool or Tool(pattern), as in Bash(git status)"));
    }
    if let Some(at) = name.find(|letter| !fits(letter)) {
        let error = RuleError::new(at, "no tool has this character in its name");
        let first = name.split_whitespace().next().unwrap_or_default();
        let guess = match tool::nearest(first) {
            Some(tool) => format!("did you mean {tool}(…)?"),
            None => format!("did you mean Bash({text})?"),
        };
        return Err(error.suggest(guess));
    }
    let Some(rest) = text.get(end..).and_then(|rest| rest.strip_prefix('(')) else {
        return Ok((name, None));
    };
    let Some((pattern, behind)) = rest.rsplit_once(')') else {
        return Err(RuleError::new(text.len(), "the parenthesis is not closed")
            .suggest(format!("write {text})")));
    };
    if !behind.is_empty() {
        let at = text.len().saturating_sub(behind.len());
        return Err(RuleError::new(at, "there is more behind the parenthesis"));
    }
    Ok((name, Some((end.saturating_add(1), pattern))))
}

/// Whether an allow rule may name tools like this.
fn may_allow(name: &str) -> bool {
    let Some((before, _)) = name.split_once('*') else { return true };
    let server = before.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    server.is_some_and(|(server, _)| !server.is_empty())
}

/// A note about a tool that is probably misspelt. A rule that allows it is harmless.
fn unknown(name: &str, list: Decision) -> Option<String> {
    if list == Decision::Allow || tool::is_known(name) || name.contains(['_', '*']) {
        return None;
    }
    let guess = tool::nearest(name).map(|tool| format!("; did you mean {tool}?"));
    Some(format!("no tool is known by the name {name}{}", guess.unwrap_or_default()))
}

/// What stands between commands.
const OPERATORS: [&str; 6] = ["&&", "||", "|", "|&", "&", ";"];
/// Folders that are rarely meant to be in a project.
const ROOT_FOLDERS: [&str; 11] =
    ["Users", "dev", "etc", "home", "mnt", "opt", "proc", "root", "sys", "usr", "var"];

type ContentAndHint = (Content, Option<String>);

/// A rule that never matches, and why.
fn nothing(why: impl Into<String>) -> ContentAndHint {
    (Content::Nothing, Some(why.into()))
}

/// A pattern on its way to a meaning.
struct ContentReader<'r> {
    tool: &'r str,
    pattern: &'r str,
    list: Decision,
    base: Option<&'r Path>,
}

impl ContentReader<'_> {
    fn content(&self) -> Result<ContentAndHint, RuleError> {
        if self.tool == "Cd" {
            return Ok(nothing("Cd is a command of the agent's own and never a call"));
        }
        if self.tool == FINDING {
            return self.finding();
        }
        match tool::family(self.tool) {
            Family::Shell(shell) => self.line(shell),
            Family::Reads => self.path(Width::Narrow),
            Family::Writes => self.path(Width::Narrowest),
            Family::Hosts => self.host(),
            Family::Field(name) => Ok(match self.field()? {
                Some(field) if self.refuses() => (Content::Field(field), None),
                _ => {
                    let value = Pattern::new(self.pattern.trim(), Dialect::Stars);
                    (Content::Field(Field { name: name.to_owned(), value }), None)
                }
            }),
            Family::Other => self.other(),
        }
    }

    fn finding(&self) -> Result<ContentAndHint, RuleError> {
        let name = self.pattern.trim();
        if !RULED.contains(&name) {
            let error = RuleError::new(0, format!("unknown finding {name:?}"));
            let guess = crate::config::nearest::nearest(name, RULED);
            return Err(error.suggest(match guess {
                Some(guess) => format!("did you mean {guess}?"),
                None => format!("expected one of {}", RULED.join(", ")),
            }));
        }
        if !self.refuses() {
            return Ok(nothing("a finding cannot be allowed; rules.drop removes a shipped rule"));
        }
        Ok((Content::Finding(name.to_owned()), None))
    }

    fn refuses(&self) -> bool {
        self.list != Decision::Allow
    }

    fn line(&self, shell: Shell) -> Result<ContentAndHint, RuleError> {
        // `command:*` is the command `command` with any words, as `ls:*` is `ls`.
        let prefix = self.named_field().is_some_and(|field| field.value.is_any());
        if let Some(found) = self.primary("write the command itself").filter(|_| !prefix) {
            return Ok(found);
        }
        let is_operator = |word: &&str| OPERATORS.contains(word) || word.ends_with(';');
        if let Some(operator) = self.pattern.split_whitespace().find(is_operator) {
            let why = "a rule is held against one command at a time, and none has";
            return Ok(nothing(format!("{why} {operator:?} in it; write a rule for each")));
        }
        let lower;
        let text = if shell == Shell::Windows {
            lower = self.pattern.to_ascii_lowercase();
            &lower
        } else {
            self.pattern
        };
        let stray = if self.refuses() { Stray::Dropped } else { Stray::Kept };
        let pattern = LinePattern::parse(text, stray)?;
        Ok((Content::Line(shell, pattern, self.second_reading()), None))
    }

    fn path(&self, width: Width) -> Result<ContentAndHint, RuleError> {
        if let Some(found) = self.primary("write the path itself") {
            return Ok(found);
        }
        let judge = if width == Width::Narrow { "Read" } else { "Edit" };
        let own = self.tool == judge;
        let advice = format!("paths of {} are judged by {judge} rules", self.tool);
        if !own && !self.refuses() {
            return Ok(nothing(format!("{advice}; write {judge}({})", self.pattern)));
        }
        let note = if own {
            self.path_note()
        } else {
            Some(format!("{advice}: taken as {judge}({})", self.pattern))
        };
        let wide = if self.refuses() { Width::Wide } else { width };
        let pattern = RulePath::parse(self.pattern, self.base, wide)?;
        let field = self.second_reading();
        Ok(match width {
            Width::Narrow => (Content::Read(pattern, field), note),
            Width::Narrowest | Width::Wide => (Content::Write(pattern, field), note),
        })
    }

    /// What a path may have been meant to be.
    fn path_note(&self) -> Option<String> {
        let first = self.pattern.strip_prefix('/').and_then(|rest| rest.split('/').next());
        if first.is_some_and(|name| ROOT_FOLDERS.contains(&name)) {
            let root = format!("for the one of the file system write /{}", self.pattern);
            return Some(format!("this is a folder beside the file that the rule is in; {root}"));
        }
        let braces = self.pattern.contains('{') && self.pattern.contains(',');
        braces.then(|| "braces are plain text in a path; write a rule for each".to_owned())
    }

    fn host(&self) -> Result<ContentAndHint, RuleError> {
        if let Some(found) = self.primary("write domain: and the host") {
            return Ok(found);
        }
        match self.field()? {
            Some(field) if field.name == "domain" => {
                let text = self.pattern.split_once(':').map_or("", |(_, host)| host);
                let at = self.pattern.len().saturating_sub(text.len());
                let host = HostPattern::parse(text.trim()).map_err(|error| error.behind(at))?;
                Ok((Content::Host(host), None))
            }
            Some(_) => self.other(),
            None => Err(RuleError::new(0, "a WebFetch rule names a domain")
                .suggest(format!("write WebFetch(domain:{})", self.pattern))),
        }
    }

    /// Tools whose rules can only ask for a field.
    fn other(&self) -> Result<ContentAndHint, RuleError> {
        match self.field()? {
            Some(field) if self.refuses() => {
                Ok((Content::Field(field), unknown(self.tool, self.list)))
            }
            Some(_) => Ok(nothing("a field of the input is compared only to deny or ask")),
            None => {
                let error = RuleError::new(
                    0,
                    format!("rules of {} ask for a field, as in (model:opus)", self.tool),
                );
                Err(match tool::nearest(self.tool) {
                    Some(tool) if tool != self.tool => {
                        error.suggest(format!("did you mean {tool}({})?", self.pattern))
                    }
                    _ => error,
                })
            }
        }
    }

    /// `command:…` and the like: what the pattern is about anyway.
    fn primary(&self, instead: &str) -> Option<ContentAndHint> {
        let field = self.named_field()?;
        tool::is_primary(self.tool, &field.name).then(|| {
            nothing(format!("{} is what a {} rule is about: {instead}", field.name, self.tool))
        })
    }

    /// The pattern read as a field, where that can be meant beside the first reading.
    fn second_reading(&self) -> Option<Field> {
        self.field().ok().flatten().filter(|_| self.refuses())
    }

    fn field(&self) -> Result<Option<Field>, RuleError> {
        match self.named_field() {
            Some(field) if field.value.literal() == Some("") => {
                let at = self.pattern.len();
                Err(RuleError::new(at, "there is no value behind the colon"))
            }
            other => Ok(other),
        }
    }

    fn named_field(&self) -> Option<Field> {
        let (name, value) = self.pattern.split_once(':')?;
        let name = name.trim();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        let named = !name.is_empty() && name.chars().all(fits);
        named.then(|| Field {
            name: name.to_owned(),
            value: Pattern::new(value.trim(), Dialect::Stars),
        })
    }
}
