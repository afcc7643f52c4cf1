//! A tree on one line, for people to compare.
//!
//! `(…)` is a command with its words in it; `'…'` is text that a quote or backslash protects; `~$x`
//! is a variable that is split; `$[…]`, `<[…]`, `#[…]` and `@[…]` are a command, a process,
//! arithmetic and an array inside of a word; `?` is what cannot be known.

use std::fmt::Write as _;

use stockade::shell::ast::{
    Assignment, Connector, Operation, Piece, Redirect, RedirectKind, Script, Simple, Statement,
    StatementKind, Word,
};

pub(crate) fn script(script: &Script) -> String {
    let statements: Vec<String> = script.statements.iter().map(statement).collect();
    statements.join(" ; ")
}

fn statement(statement: &Statement) -> String {
    let mut out = kind(&statement.kind);
    for found in &statement.redirects {
        out.push(' ');
        out.push_str(&redirect(found));
    }
    if statement.background {
        out.push_str(" &");
    }
    out
}

fn kind(kind: &StatementKind) -> String {
    match kind {
        StatementKind::Simple(it) => simple(it),
        StatementKind::Pipeline(stages) => {
            let stages: Vec<String> = stages.iter().map(statement).collect();
            format!("(pipe {})", stages.join(" "))
        }
        StatementKind::Chain { first, rest } => {
            let mut out = format!("(chain {}", statement(first));
            for (connector, next) in rest {
                let sign = match connector {
                    Connector::And => "&&",
                    Connector::Or => "||",
                };
                write!(out, " {sign} {}", statement(next)).unwrap();
            }
            out + ")"
        }
        StatementKind::Subshell(inner) => format!("(subshell {})", script(inner)),
        StatementKind::Group(inner) => format!("(group {})", script(inner)),
        StatementKind::If { arms, otherwise } => {
            let mut out = "(if".to_owned();
            for (condition, body) in arms {
                write!(out, " [{}] then [{}]", script(condition), script(body)).unwrap();
            }
            if let Some(body) = otherwise {
                write!(out, " else [{}]", script(body)).unwrap();
            }
            out + ")"
        }
        StatementKind::For { variable, words: list, body } => {
            let list = list.as_ref().map_or("args".to_owned(), |list| words(list));
            format!("(for {variable} [{list}] [{}])", script(body))
        }
        StatementKind::ArithmeticFor { expressions, body } => {
            format!("(for(( [{}] [{}])", words(expressions), script(body))
        }
        StatementKind::While { condition, body } => {
            format!("(while [{}] [{}])", script(condition), script(body))
        }
        StatementKind::Case { word: subject, arms } => {
            let mut out = format!("(case {}", word(subject));
            for (patterns, body) in arms {
                write!(out, " [{}] [{}]", words(patterns), script(body)).unwrap();
            }
            out + ")"
        }
        StatementKind::Function { name, body } => {
            format!("(function {} {})", word(name), statement(body))
        }
        StatementKind::Coproc { name, body } => {
            let name = name.as_deref().unwrap_or("-");
            format!("(coproc {name} {})", statement(body))
        }
        StatementKind::Time(body) => {
            format!("(time {})", body.as_ref().map(|body| statement(body)).unwrap_or_default())
        }
        StatementKind::Test(list) => {
            let list: Vec<String> = list.iter().map(|(_, inner)| word(inner)).collect();
            format!("(test {})", list.join(" "))
        }
        StatementKind::Arithmetic(list) => format!("(arith {})", words(list)),
    }
}

fn simple(simple: &Simple) -> String {
    let mut parts: Vec<String> = simple.assignments.iter().map(assignment).collect();
    parts.extend(simple.words.iter().map(word));
    format!("({})", parts.join(" "))
}

fn assignment(assignment: &Assignment) -> String {
    let subscript = assignment.subscript.as_ref().map(|inner| format!("[{}]", word(inner)));
    let sign = if assignment.append { "+=" } else { "=" };
    let name = &assignment.name;
    format!("{name}{}:{sign}{}", subscript.unwrap_or_default(), word(&assignment.value))
}

fn redirect(redirect: &Redirect) -> String {
    let sign = match redirect.kind {
        RedirectKind::Read => "read",
        RedirectKind::Write => "write",
        RedirectKind::ReadWrite => "both",
        RedirectKind::Copy => "copy",
        RedirectKind::HereDocument => "here",
        RedirectKind::HereString => "string",
    };
    format!("{sign}:{}", word(&redirect.target))
}

fn words(list: &[Word]) -> String {
    let list: Vec<String> = list.iter().map(word).collect();
    list.join(" ")
}

fn word(word: &Word) -> String {
    word.pieces.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    let split = |quoted: &bool| if *quoted { "" } else { "~" };
    match piece {
        Piece::Text { text, quoted: true } => format!("'{}'", text.escape_debug()),
        Piece::Text { text, quoted: false } => text.escape_debug().to_string(),
        Piece::Variable { name, quoted } => format!("{}${name}", split(quoted)),
        Piece::Parameter { name, operation, quoted } => {
            let operation = match operation {
                Operation::Default(inner) => format!("default {}", word(inner)),
                Operation::Assign(inner) => format!("assign {}", word(inner)),
                Operation::Alternative(inner) => format!("alternative {}", word(inner)),
                Operation::Error(inner) => format!("error {}", word(inner)),
                Operation::Length(Some(inner)) => format!("other {} ", word(inner)),
                Operation::Length(None) => "other ".to_owned(),
                Operation::Other { expressions, words: list, .. } => {
                    let all: Vec<Word> = expressions.iter().chain(list).cloned().collect();
                    format!("other {}", words(&all))
                }
            };
            format!("{}${{{name} {operation}}}", split(quoted))
        }
        Piece::Command { script: inner, quoted } => {
            format!("{}$[{}]", split(quoted), script(inner))
        }
        Piece::Process { script: inner } => format!("<[{}]", script(inner)),
        Piece::Arithmetic(list) => format!("#[{}]", words(list)),
        Piece::Array(list) => format!("@[{}]", words(list)),
        Piece::Opaque => "?".to_owned(),
    }
}
