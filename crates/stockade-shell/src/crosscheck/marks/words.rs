//! Follows words and operators as far as `case`, comments and here-documents need it.

use super::documents::Pending;
use super::{Mark, MarkKind, Open, Scan};

/// After these a command may begin.
const BEFORE_COMMANDS: [&[u8]; 11] =
    [b"if", b"then", b"else", b"elif", b"while", b"until", b"do", b"time", b"coproc", b"!", b"{"];

impl Scan<'_> {
    /// One thing where commands are open.
    pub(super) fn command_byte(&mut self, c: u8, marks: &mut Vec<Mark>) -> Option<()> {
        match c {
            b' ' | b'\t' => self.skip(1),
            b'\n' | b';' | b'&' | b'|' => {
                self.begins = true;
                self.skip(1);
            }
            b'#' if self.starts_a_word() => {
                let rest = self.bytes.get(self.at..)?;
                self.skip(rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len()));
            }
            b'(' => self.parenthesis(marks),
            b')' => return self.closing(),
            b'<' if self.byte(1) == Some(b'<') && self.byte(2) == Some(b'<') => self.skip(3),
            b'<' if self.byte(1) == Some(b'<') => {
                marks.push(Mark { at: self.at, kind: MarkKind::Document });
                let (pending, after) = Pending::read(self.bytes, self.at.saturating_add(2))?;
                self.pending.push(pending);
                self.at = after;
            }
            b'<' | b'>' => self.skip(1),
            _ => self.word(),
        }
        Some(())
    }

    fn starts_a_word(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
        before.is_none_or(|c| b" \t\n;&|()<>`".contains(c))
    }

    fn parenthesis(&mut self, marks: &mut Vec<Mark>) {
        let is_double = self.byte(1) == Some(b'(');
        let in_case = self.commands().is_some_and(|cases| *cases > 0);
        if (self.begins || is_double) && !in_case {
            marks.push(Mark { at: self.at, kind: MarkKind::Parentheses });
        }
        if is_double {
            self.enter(Open::Pairs { close: b')', depth: 2 }, 2);
        } else {
            self.enter(Open::Commands { cases: 0 }, 1);
        }
    }

    /// `)` closes, or ends a pattern of `case`.
    fn closing(&mut self) -> Option<()> {
        match self.commands() {
            Some(0) => {
                let before = self.at.checked_sub(1).and_then(|at| self.bytes.get(at));
                let is_function = before == Some(&b'(');
                self.close()?;
                self.begins = is_function;
                Some(())
            }
            _ => {
                self.begins = true;
                self.skip(1);
                Some(())
            }
        }
    }

    /// Characters that belong together.
    fn word(&mut self) {
        let starts = self.starts_a_word();
        let start = self.at;
        while self.byte(0).is_some_and(|c| !b" \t\n;&|()<>\\'\"`$".contains(&c)) {
            self.skip(1);
        }
        if self.at == start {
            self.skip(1);
        }
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        let begins = self.begins && starts;
        if word == b"case" && begins {
            self.commands().into_iter().for_each(|cases| *cases = cases.saturating_add(1));
        } else if word == b"esac" && starts {
            self.commands().into_iter().for_each(|cases| *cases = cases.saturating_sub(1));
        }
        self.begins = begins && BEFORE_COMMANDS.contains(&word);
    }
}
