//! The hook in a text of settings: put in and taken out, and not a byte besides.

mod written;

use std::ops::Range;
use std::path::Path;

use super::document::{BadFile, Node, What, comma_after, end_of_line_comment};
use written::{NewValue, Style};

/// A text, and whether it is exactly what it would be if the hook had never been put in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedText {
    /// None for a file that is not there.
    pub(super) text: Option<String>,
    pub(super) exact: bool,
}

/// The event that decides.
const EVENT: &str = "PreToolUse";

/// The text with the hook in it, once. One that is there already gets this command.
///
/// Containers that were empty get the hook in one line, and what is made for it has lines of its own,
/// or spaces inside of its brackets: so it can be told afterwards what was there before.
pub(super) fn with_hook(path: &Path, text: Option<&str>, command: &str) -> Result<String, BadFile> {
    let Some(text) = text else {
        let whole = NewValue::Object(vec![("hooks", NewValue::hooks(command))]);
        return Ok(format!("{}\n", whole.pretty("", &Style::default())));
    };
    let root = root(path, text)?;
    if let Some(ours) = ours(&root).first() {
        let quoted = NewValue::Text(command.to_owned()).compact();
        return Ok(spliced(text, ours.command.span.clone(), &quoted));
    }
    let style = Style::of(text, &root);
    let Some(hooks) = root.member("hooks") else {
        return Ok(inserted(text, &root, ("hooks", NewValue::hooks(command)), &style));
    };
    let What::Object(_) = hooks.value.what else {
        return Err(hooks.value.wrong(path, text, "`hooks` is no object"));
    };
    let Some(event) = hooks.value.member(EVENT) else {
        return Ok(inserted(text, &hooks.value, (EVENT, NewValue::groups(command)), &style));
    };
    let What::List(_) = event.value.what else {
        return Err(event.value.wrong(path, text, "`PreToolUse` is no list"));
    };
    Ok(inserted(text, &event.value, ("", NewValue::group(command)), &style))
}

/// The text without the hook.
pub(super) fn without_hook(path: &Path, text: Option<&str>) -> Result<EditedText, BadFile> {
    let Some(text) = text else { return Ok(EditedText { text: None, exact: true }) };
    let parsed = root(path, text)?;
    let Some(found) = ours(&parsed).into_iter().next() else {
        return Ok(EditedText { text: Some(text.to_owned()), exact: true });
    };
    let What::Text(command) = &found.command.what else {
        return Ok(EditedText { text: Some(text.to_owned()), exact: true });
    };
    if with_hook(path, None, command)? == text {
        return Ok(EditedText { text: None, exact: true });
    }
    // From the outside in: what was made for the hook goes with it.
    let places = [
        (&parsed, place_of(&parsed, "hooks")),
        (found.hooks, place_of(found.hooks, EVENT)),
        (found.groups, Some(found.group)),
    ];
    for (container, at) in places {
        let before = at.map(|at| removed(text, container, at));
        if let Some(before) = before
            && with_hook(path, Some(&before), command).is_ok_and(|again| again == text)
        {
            return without_others(path, before, Exactness::Kept);
        }
    }
    let has_company = found.groups.items().len() > 1 || found.handlers.items().len() > 1;
    let before = if found.handlers.items().len() > 1 {
        removed(text, found.handlers, found.handler)
    } else {
        removed(text, found.groups, found.group)
    };
    if has_company {
        return without_others(path, before, Exactness::Kept);
    }
    without_others(path, pruned(path, before)?, Exactness::Lost)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Exactness {
    Kept,
    Lost,
}

/// The same for further copies of the hook, which a person may have made.
fn without_others(path: &Path, text: String, so_far: Exactness) -> Result<EditedText, BadFile> {
    if ours(&root(path, &text)?).is_empty() {
        return Ok(EditedText { text: Some(text), exact: so_far == Exactness::Kept });
    }
    let edited = without_hook(path, Some(&text))?;
    Ok(EditedText { exact: edited.exact && so_far == Exactness::Kept, ..edited })
}

/// The text without a list for the event and an object for hooks that hold nothing any more.
fn pruned(path: &Path, text: String) -> Result<String, BadFile> {
    let parsed = root(path, &text)?;
    let hooks = parsed.member("hooks").map(|item| &item.value);
    let Some((hooks, at)) = hooks.and_then(|hooks| Some((hooks, place_of(hooks, EVENT)?))) else {
        return Ok(text);
    };
    if hooks.items().len() > 1 {
        return Ok(removed(&text, hooks, at));
    }
    let at = place_of(&parsed, "hooks");
    Ok(at.map_or_else(|| text.clone(), |at| removed(&text, &parsed, at)))
}

fn place_of(object: &Node, key: &str) -> Option<usize> {
    object.items().iter().position(|item| item.key == key)
}

fn root(path: &Path, text: &str) -> Result<Node, BadFile> {
    let root = Node::parse(path, text)?;
    match root.what {
        What::Object(_) => Ok(root),
        What::List(_) | What::Text(_) | What::Other => {
            Err(root.wrong(path, text, "settings are an object, as {\"key\": …}"))
        }
    }
}

/// A hook of ours, and what it is in.
struct Ours<'n> {
    hooks: &'n Node,
    groups: &'n Node,
    group: usize,
    handlers: &'n Node,
    handler: usize,
    command: &'n Node,
}

fn ours(root: &Node) -> Vec<Ours<'_>> {
    let mut found = Vec::new();
    let Some(hooks) = root.member("hooks").map(|item| &item.value) else { return found };
    let Some(groups) = hooks.member(EVENT).map(|item| &item.value) else { return found };
    for (group, item) in groups.items().iter().enumerate() {
        let Some(handlers) = item.value.member("hooks").map(|item| &item.value) else { continue };
        for (handler, item) in handlers.items().iter().enumerate() {
            let command = item.value.member("command").map(|item| &item.value);
            if let Some(command) = command.filter(|command| is_ours(command)) {
                found.push(Ours { hooks, groups, group, handlers, handler, command });
            }
        }
    }
    found
}

fn is_ours(command: &Node) -> bool {
    match &command.what {
        // The program may have another name.
        What::Text(text) => {
            let rest = text.split_once(" hook pre").map(|(_, rest)| rest);
            let is_word = rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
            is_word && (text.contains("stockade") || text.contains(" hook pre --format "))
        }
        What::Object(_) | What::List(_) | What::Other => false,
    }
}

/// The text with one more item at the end of a container.
fn inserted(text: &str, container: &Node, (key, value): (&str, NewValue), style: &Style) -> String {
    let Some(last) = container.items().last() else {
        let inside = container.span.start.saturating_add(1);
        return spliced(text, inside..inside, &value.compact_member(key));
    };
    let before = whitespace_before(text, last.start);
    let Some(indent) = text.get(before..last.start).filter(|space| space.contains('\n')) else {
        let end = last.value.span.end;
        return spliced(text, end..end, &format!(", {}", value.compact_member(key)));
    };
    let indent = indent.rsplit('\n').next().unwrap_or_default();
    let item = format!("{}{indent}{}", style.newline, value.pretty_member(key, indent, style));
    let end = last.value.span.end;
    match comma_after(text, end) {
        Some(comma) => {
            let place = end_of_line_comment(text, comma);
            spliced(text, place..place, &format!("{item},"))
        }
        None => {
            let place = end_of_line_comment(text, end);
            let text = spliced(text, place..place, &item);
            spliced(&text, end..end, ",")
        }
    }
}

/// The text without one item of a container: with its comma, or else the one before it.
fn removed(text: &str, container: &Node, at: usize) -> String {
    let items = container.items();
    let Some(item) = items.get(at) else { return text.to_owned() };
    let from = whitespace_before(text, item.start);
    let end = item.value.span.end;
    if let Some(comma) = comma_after(text, end) {
        return spliced(text, from..comma, "");
    }
    let shorter = spliced(text, from..end, "");
    let before = at.checked_sub(1).and_then(|at| items.get(at)).map(|item| item.value.span.end);
    match before.and_then(|end| comma_after(&shorter, end)) {
        Some(comma) => spliced(&shorter, comma.saturating_sub(1)..comma, ""),
        None => shorter,
    }
}

fn whitespace_before(text: &str, at: usize) -> usize {
    text.get(..at).map_or(at, |before| before.trim_end_matches([' ', '\t', '\n', '\r']).len())
}

fn spliced(text: &str, place: Range<usize>, new: &str) -> String {
    let (before, after) = (text.get(..place.start), text.get(place.end..));
    format!("{}{new}{}", before.unwrap_or_default(), after.unwrap_or_default())
}

#[cfg(test)]
mod tests;
