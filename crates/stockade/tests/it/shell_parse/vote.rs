//! The opinion of a second parser: it may see no command that our tree lacks.

use std::collections::BTreeMap;

use rable::{Node, NodeKind};
use stockade::shell::ast::{Piece, Word};
use stockade::shell::parse;

use super::names::commands;
use super::records::{self, Record};

#[test]
fn a_second_parser_sees_no_command_that_is_not_in_the_tree() {
    let mut compared = 0;
    let mut lacking = Vec::new();
    for Record { name, line, .. } in records::all() {
        let parsed = parse(&line);
        let Ok(nodes) = rable::parse(&line, true) else { continue };
        if !parsed.faults.is_empty() {
            continue;
        }
        compared += 1;
        let mut left = BTreeMap::<String, usize>::new();
        for command in commands(&parsed.script) {
            let Some(first) = command.words.first() else { continue };
            *left.entry(plain(first)).or_default() += 1;
        }
        for wanted in nodes.iter().flat_map(names) {
            match left.get_mut(&wanted).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => lacking.push(format!("{name}: {wanted:?} in {line:?}")),
            }
        }
    }
    assert!(compared > 600, "{compared}");
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}

/// The text of a word, if it has nothing else.
fn plain(word: &Word) -> String {
    let text = |piece: &Piece| {
        if let Piece::Text { text, .. } = piece { text.clone() } else { "$".to_owned() }
    };
    word.pieces.iter().map(text).collect()
}

/// The plain names of commands in the other parser's tree.
fn names(node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if let NodeKind::Command { words, .. } = &node.kind
            && let Some(Node { kind: NodeKind::Word { value, .. }, .. }) = words.first()
            && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        {
            found.push(value.clone());
        }
        open.extend(inside(&node.kind));
    }
    found
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds have no words in them")]
fn inside(kind: &NodeKind) -> Vec<&Node> {
    match kind {
        NodeKind::Word { parts, .. } => parts.iter().collect(),
        NodeKind::Command { assignments, words, redirects } => {
            assignments.iter().chain(words).chain(redirects).collect()
        }
        NodeKind::Pipeline { commands, .. } => commands.iter().collect(),
        NodeKind::List { items } => items.iter().map(|item| &item.command).collect(),
        NodeKind::If { condition, then_body, else_body, redirects } => {
            let bodies = [&**condition, &**then_body].into_iter().chain(else_body.as_deref());
            bodies.chain(redirects).collect()
        }
        NodeKind::While { condition, body, redirects }
        | NodeKind::Until { condition, body, redirects } => {
            [&**condition, &**body].into_iter().chain(redirects).collect()
        }
        NodeKind::For { words, body, redirects, .. }
        | NodeKind::Select { words, body, redirects, .. } => {
            words.iter().flatten().chain([&**body]).chain(redirects).collect()
        }
        NodeKind::ForArith { body, redirects, .. }
        | NodeKind::Subshell { body, redirects }
        | NodeKind::BraceGroup { body, redirects }
        | NodeKind::ConditionalExpr { body, redirects } => {
            std::iter::once(&**body).chain(redirects).collect()
        }
        NodeKind::Case { word, patterns, redirects } => {
            let arms = patterns.iter().flat_map(|arm| arm.patterns.iter().chain(&arm.body));
            std::iter::once(&**word).chain(arms).chain(redirects).collect()
        }
        NodeKind::Function { body, .. } => vec![body],
        NodeKind::Coproc { command, .. }
        | NodeKind::CommandSubstitution { command, .. }
        | NodeKind::ProcessSubstitution { command, .. } => vec![command],
        NodeKind::Redirect { target, .. } => vec![target],
        NodeKind::ArithmeticExpansion { expression } => expression.as_deref().into_iter().collect(),
        NodeKind::ArithmeticCommand { expression, redirects, .. } => {
            expression.as_deref().into_iter().chain(redirects).collect()
        }
        NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => vec![operand],
        NodeKind::CondParen { inner } => vec![inner],
        NodeKind::BinaryTest { left, right, .. }
        | NodeKind::CondAnd { left, right }
        | NodeKind::CondOr { left, right } => vec![left, right],
        NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => vec![pipeline],
        NodeKind::Array { elements } | NodeKind::ArithConcat { parts: elements } => {
            elements.iter().collect()
        }
        _ => Vec::new(),
    }
}
