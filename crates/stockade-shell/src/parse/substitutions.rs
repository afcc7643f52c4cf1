//! Commands inside of words: `$(…)`, backticks, `<(…)` and `>(…)`.

use super::closers::Closers;
use super::front::{NotWhole, Origin};
use super::reader::{Pieces, Reader, Setting};
use super::{Fault, FaultKind, decode};
use crate::ast::{Piece, Script};

/// How many parentheses are tried as the closing one; the others belong to `case`.
const CLOSERS_MAX: usize = 64;

impl Reader<'_, '_> {
    /// `$(…)`
    pub(super) fn command(&mut self, quoted: bool, pieces: &mut Pieces) {
        match self.parenthesised() {
            Some(script) => pieces.list.push(Piece::Command { script, quoted }),
            None => pieces.list.push(Piece::Opaque),
        }
    }

    /// `<(…)` and `>(…)`
    pub(super) fn process(&mut self, pieces: &mut Pieces) {
        match self.parenthesised() {
            Some(script) => pieces.list.push(Piece::Process { script }),
            None => pieces.list.push(Piece::Opaque),
        }
    }

    /// Reads a script from the second byte on to the parenthesis that closes it: the first one
    /// before which there is a whole script, which is where bash ends it too.
    fn parenthesised(&mut self) -> Option<Script> {
        let start = self.at;
        let open = start.saturating_add(2);
        let mut first: Option<Fault> = None;
        for close in Closers::new(self.text.whole, open, self.end).take(CLOSERS_MAX) {
            let origin = match self.text.origin {
                Origin::At(base) => Origin::At(base.saturating_add(open)),
                Origin::Of(span) => Origin::Of(span),
            };
            match self.front.script(self.slice(open, close), origin) {
                Ok(script) => {
                    self.at = close.saturating_add(1);
                    self.substitutions.push((start, self.at));
                    return Some(script);
                }
                Err(NotWhole::Broken(fault)) => {
                    first.get_or_insert(fault);
                }
                Err(NotWhole::Refused(fault)) => {
                    first = Some(fault);
                    break;
                }
            }
        }
        self.at = self.end;
        match first {
            Some(fault) => self.front.add(fault),
            None => self.fault(start, FaultKind::Syntax, "it is not closed"),
        }
        None
    }

    /// Backticks: the text between them has backslashes of its own.
    pub(super) fn backticks(&mut self, setting: Setting, pieces: &mut Pieces) {
        let start = self.at;
        let open = start.saturating_add(1);
        let Ok(after) = self.extent().escaped_until(open, b'`') else {
            return self.unclosed(start, pieces);
        };
        self.at = after;
        self.substitutions.push((start, after));
        let in_double_quotes = matches!(setting, Setting::Double | Setting::QuotedOperand);
        let inner = self.slice(open, after.saturating_sub(1));
        let cooked = decode::backticks(inner, in_double_quotes);
        let origin = match self.text.origin {
            Origin::At(base) if cooked == inner => Origin::At(base.saturating_add(open)),
            Origin::At(_) => Origin::Of(self.span_from(start)),
            Origin::Of(span) => Origin::Of(span),
        };
        match self.front.script(&cooked, origin) {
            Ok(script) => {
                let quoted = setting.is_quoted();
                pieces.list.push(Piece::Command { script, quoted });
            }
            Err(NotWhole::Broken(fault) | NotWhole::Refused(fault)) => {
                self.front.add(fault);
                pieces.list.push(Piece::Opaque);
            }
        }
    }
}
