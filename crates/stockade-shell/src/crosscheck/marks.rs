//! Finds what begins a command by looking at quotes and brackets alone.

mod documents;
mod words;

use documents::Pending;

/// Something that begins a command, or text that becomes one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    /// Where it stands.
    pub(super) at: usize,
    /// What it is.
    pub(super) kind: MarkKind,
}

/// What a mark begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// `$(` or a backtick.
    Command,
    /// `<(` or `>(`.
    Process,
    /// `$((` or `$[`.
    Arithmetic,
    /// `(` or `((` where a command may begin.
    Parentheses,
    /// `<<`
    Document,
    /// `${ ` or `${|`: commands that run in this shell.
    Inline,
}

impl MarkKind {
    /// What a person reads if the tree lacks it.
    pub(super) fn says(self) -> &'static str {
        match self {
            Self::Command => "a command begins here that was not read",
            Self::Process => "a process begins here that was not read",
            Self::Arithmetic => "an expression begins here that was not read",
            Self::Parentheses => "a parenthesis opens here that was not read",
            Self::Document => "a here-document begins here that was not read",
            Self::Inline => "commands in `${ …; }` are not followed",
        }
    }
}

/// The marks of a line.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// In no order.
    pub(super) list: Vec<Mark>,
    /// Where it was first uncertain what is open.
    pub(super) lost: Option<usize>,
}

/// What is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Commands: the line, `(…)`, `$(…)`, `<(…)`; with the number of `case` that are open.
    Commands { cases: usize },
    /// Commands in backticks.
    Backticks { cases: usize },
    /// `"…"`
    Double,
    /// `${…}`, in or out of double quotes.
    Braces { quoted: bool },
    /// `((…))` or `[…]`, with the number that is open.
    Pairs { close: u8, depth: usize },
    /// A here-document with expansions.
    Here,
}

/// Here-documents inside of here-documents are followed this deep.
const DOCUMENTS_DEEP: usize = 16;

impl Marks {
    /// Of a whole line.
    pub(super) fn of(line: &str) -> Self {
        let mut marks = Self::default();
        let bytes = line.as_bytes();
        marks.scan(bytes, 0, Open::Commands { cases: 0 }, DOCUMENTS_DEEP);
        marks
    }

    fn scan(&mut self, bytes: &[u8], from: usize, base: Open, deep: usize) {
        let Some(deep) = deep.checked_sub(1) else {
            self.lose(from);
            return;
        };
        let mut scan = Scan { bytes, at: from, open: vec![base], begins: true, pending: vec![] };
        while let Some(c) = scan.byte(0) {
            if c == b'\n' && !scan.pending.is_empty() && scan.commands().is_some() {
                scan.at = self.documents(&mut scan, deep);
                continue;
            }
            if scan.step(c, &mut self.list).is_none() {
                self.lose(scan.at);
                return;
            }
        }
        if scan.open.len() != 1 || !scan.pending.is_empty() {
            self.lose(scan.at.saturating_sub(1));
        }
    }

    fn lose(&mut self, at: usize) {
        self.lost.get_or_insert(at);
    }
}

/// A walk over the bytes.
#[derive(Debug)]
struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
    open: Vec<Open>,
    /// Whether a command may begin here.
    begins: bool,
    pending: Vec<Pending>,
}

impl Scan<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at.saturating_add(ahead)).copied()
    }

    fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    /// The number of open `case`, if commands are open.
    fn commands(&mut self) -> Option<&mut usize> {
        match self.open.last_mut()? {
            Open::Commands { cases } | Open::Backticks { cases } => Some(cases),
            Open::Double | Open::Braces { .. } | Open::Pairs { .. } | Open::Here => None,
        }
    }

    /// Opens something at a mark of so many bytes.
    fn enter(&mut self, open: Open, length: usize) {
        self.open.push(open);
        self.begins = true;
        self.skip(length);
    }

    /// Goes on by one thing; without an answer it is uncertain what is open.
    fn step(&mut self, c: u8, marks: &mut Vec<Mark>) -> Option<()> {
        let open = *self.open.last()?;
        let single_quotes = match open {
            Open::Commands { .. } | Open::Backticks { .. } | Open::Pairs { .. } => true,
            Open::Braces { quoted } => !quoted,
            Open::Double | Open::Here => false,
        };
        match (c, self.byte(1)) {
            (b'\\', _) => {
                self.begins &= self.byte(1) == Some(b'\n');
                self.skip(2);
            }
            (b'`', _) => self.backtick(marks),
            (b'$', Some(b'(' | b'{' | b'[')) => self.dollar(open, marks),
            (b'$', Some(b'\'')) if single_quotes => {
                self.skip(2);
                while self.byte(0)? != b'\'' {
                    self.skip(if self.byte(0) == Some(b'\\') { 2 } else { 1 });
                }
                self.skip(1);
            }
            (b'\'', _) if single_quotes => {
                let rest = self.bytes.get(self.at.saturating_add(1)..)?;
                self.skip(rest.iter().position(|c| *c == b'\'')?.saturating_add(2));
                self.begins = false;
            }
            (b'"', _) if open == Open::Double => {
                self.open.pop();
                self.skip(1);
                self.begins = false;
            }
            (b'"', _) if open != Open::Here => self.enter(Open::Double, 1),
            (b'<' | b'>', Some(b'(')) if single_quotes && !matches!(open, Open::Pairs { .. }) => {
                marks.push(Mark { at: self.at, kind: MarkKind::Process });
                self.enter(Open::Commands { cases: 0 }, 2);
            }
            _ => return self.bare(c, open, marks),
        }
        Some(())
    }

    fn dollar(&mut self, open: Open, marks: &mut Vec<Mark>) {
        let at = self.at;
        let quoted = !matches!(open, Open::Commands { .. } | Open::Backticks { .. });
        let quoted = quoted && open != Open::Braces { quoted: false };
        match (self.byte(1), self.byte(2)) {
            (Some(b'('), Some(b'(')) => {
                marks.push(Mark { at, kind: MarkKind::Arithmetic });
                self.enter(Open::Pairs { close: b')', depth: 2 }, 3);
            }
            (Some(b'('), _) => {
                marks.push(Mark { at, kind: MarkKind::Command });
                self.enter(Open::Commands { cases: 0 }, 2);
            }
            (Some(b'['), _) => {
                marks.push(Mark { at, kind: MarkKind::Arithmetic });
                self.enter(Open::Pairs { close: b']', depth: 1 }, 2);
            }
            (_, after) => {
                if matches!(after, Some(b' ' | b'\t' | b'\n' | b'|')) {
                    marks.push(Mark { at, kind: MarkKind::Inline });
                }
                self.enter(Open::Braces { quoted }, 2);
            }
        }
    }

    /// The first backtick that is not escaped ends a command, whatever is open in it.
    fn backtick(&mut self, marks: &mut Vec<Mark>) {
        let is_open = |open: &Open| matches!(open, Open::Backticks { .. });
        if let Some(opened) = self.open.iter().rposition(is_open) {
            self.open.truncate(opened);
            self.begins = false;
            self.skip(1);
        } else {
            marks.push(Mark { at: self.at, kind: MarkKind::Command });
            self.enter(Open::Backticks { cases: 0 }, 1);
        }
    }

    /// What is neither quote nor dollar.
    fn bare(&mut self, c: u8, open: Open, marks: &mut Vec<Mark>) -> Option<()> {
        match open {
            Open::Commands { .. } | Open::Backticks { .. } => self.command_byte(c, marks),
            Open::Braces { .. } if c == b'}' => self.close(),
            Open::Pairs { close, depth } => self.pair_byte(c, close, depth),
            Open::Double | Open::Braces { .. } | Open::Here => {
                self.skip(1);
                Some(())
            }
        }
    }

    fn close(&mut self) -> Option<()> {
        self.open.pop();
        self.begins = false;
        self.skip(1);
        (!self.open.is_empty()).then_some(())
    }

    fn pair_byte(&mut self, c: u8, close: u8, depth: usize) -> Option<()> {
        let opening = if close == b')' { b'(' } else { b'[' };
        if c == close {
            let left = depth.saturating_sub(1);
            if left == 0 {
                return self.close();
            }
            // `((a); b)`: it was a subshell, and the rest of it are commands.
            let is_commands = close == b')' && left == 1 && self.byte(1) != Some(b')');
            let pairs = Open::Pairs { close, depth: left };
            let open = if is_commands { Open::Commands { cases: 0 } } else { pairs };
            *self.open.last_mut()? = open;
        } else if c == opening {
            *self.open.last_mut()? = Open::Pairs { close, depth: depth.saturating_add(1) };
        }
        self.skip(1);
        Some(())
    }
}
