//! Judges a sed script command by command: it may edit and print, not run, read or write.
//!
//! What is not understood is refused.

use super::awk::after_bracket;

/// Whether the script only edits and prints; the reason if not.
pub(super) fn judge(script: &[u8]) -> Result<(), &'static str> {
    let mut reader = SedReader { rest: script };
    loop {
        reader.skip(b" \t\n;\r}");
        if reader.rest.is_empty() {
            return Ok(());
        }
        if reader.rest.starts_with(b"#") {
            reader.line();
            continue;
        }
        reader.addresses()?;
        reader.command()?;
    }
}

/// Whether a script is understood, and runs nothing.
pub fn sed_edits_only(script: &str) -> bool {
    judge(script.as_bytes()).is_ok()
}

const RUNS: &str = "this sed script runs commands";
const WRITES: &str = "this sed script writes to a file";
const READS: &str = "this sed script reads a file that is not in the arguments";
const UNCLEAR: &str = "this sed script cannot be read with certainty";

struct SedReader<'t> {
    rest: &'t [u8],
}

impl SedReader<'_> {
    /// `1`, `$`, `/re/I`, `\cREc`, `1~2`, two of them with a comma, and `!`.
    fn addresses(&mut self) -> Result<(), &'static str> {
        if self.address()? {
            self.skip(b" \t");
            if self.skip_one(b",") {
                self.skip(b" \t");
                if self.skip_one(b"+") || self.skip_one(b"~") {
                    self.digits()?;
                } else if !self.address()? {
                    return Err(UNCLEAR);
                }
            }
        }
        self.skip(b" \t!");
        Ok(())
    }

    fn address(&mut self) -> Result<bool, &'static str> {
        match self.rest.first() {
            Some(b'0'..=b'9') => {
                self.digits()?;
                if self.skip_one(b"~") {
                    self.digits()?;
                }
            }
            Some(b'$') => {
                self.take();
            }
            Some(b'/') => {
                self.take();
                self.pattern(b'/')?;
                self.skip(b"IM");
            }
            Some(b'\\') => {
                self.take();
                let mark = self.mark()?;
                self.pattern(mark)?;
                self.skip(b"IM");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn command(&mut self) -> Result<(), &'static str> {
        match self.take() {
            Some(b'{') => Ok(()),
            Some(
                b'=' | b'd' | b'D' | b'g' | b'G' | b'h' | b'H' | b'n' | b'N' | b'p' | b'P' | b'x'
                | b'z' | b'F',
            ) => self.end(),
            Some(b'l' | b'L' | b'q' | b'Q') => {
                self.skip(b" \t0123456789");
                self.end()
            }
            Some(b':' | b'b' | b't' | b'T') => {
                self.skip(b" \t");
                self.label()
            }
            Some(b'a' | b'i' | b'c') => self.text(),
            Some(b's') => self.substitute(),
            Some(b'y') => {
                let mark = self.mark()?;
                self.plain(mark)?;
                self.plain(mark)?;
                self.end()
            }
            Some(b'e') => Err(RUNS),
            Some(b'w' | b'W') => Err(WRITES),
            Some(b'r' | b'R') => Err(READS),
            _ => Err(UNCLEAR),
        }
    }

    fn substitute(&mut self) -> Result<(), &'static str> {
        let mark = self.mark()?;
        self.pattern(mark)?;
        self.plain(mark)?;
        loop {
            match self.rest.first() {
                Some(b'g' | b'p' | b'i' | b'I' | b'm' | b'M' | b'0'..=b'9') => {
                    self.take();
                }
                Some(b'e') => return Err(RUNS),
                Some(b'w') => return Err(WRITES),
                _ => return self.end(),
            }
        }
    }

    /// A delimiter: any byte but the few that seds treat differently.
    fn mark(&mut self) -> Result<u8, &'static str> {
        match self.take() {
            Some(mark) if mark.is_ascii_graphic() && !b"\\[]^;{}".contains(&mark) => Ok(mark),
            _ => Err(UNCLEAR),
        }
    }

    /// A regular expression up to the delimiter. Whether a delimiter in brackets ends it differs
    /// between seds, so that is not read.
    fn pattern(&mut self, mark: u8) -> Result<(), &'static str> {
        let body = self.rest;
        self.plain(mark)?;
        let length = body.len().saturating_sub(self.rest.len()).saturating_sub(1);
        let mut inside = body.get(..length).unwrap_or_default();
        while let [byte, after @ ..] = inside {
            inside = match (byte, after) {
                (b'\\', [_, after @ ..]) => after,
                (b'[', _) => after_bracket(after).ok_or(UNCLEAR)?,
                _ => after,
            };
        }
        Ok(())
    }

    /// Text up to the delimiter, with escapes; a bare line end inside is an error in sed.
    fn plain(&mut self, mark: u8) -> Result<(), &'static str> {
        loop {
            match self.take() {
                Some(byte) if byte == mark => return Ok(()),
                Some(b'\\') => {
                    self.take().ok_or(UNCLEAR)?;
                }
                Some(b'\n' | 0) | None => return Err(UNCLEAR),
                Some(_) => {}
            }
        }
    }

    /// The text of `a`, `i` or `c`: up to a line end that no backslash hides.
    fn text(&mut self) -> Result<(), &'static str> {
        self.skip(b" \t");
        if self.rest.is_empty() || self.rest.starts_with(b"}") {
            return Err(UNCLEAR);
        }
        loop {
            match self.take() {
                Some(b'\\') => {
                    self.take();
                }
                Some(b'\n') | None => return Ok(()),
                Some(_) => {}
            }
        }
    }

    /// A label. It ends where the strictest sed would end it, so what follows is judged too.
    fn label(&mut self) -> Result<(), &'static str> {
        while let [byte, rest @ ..] = self.rest {
            if !byte.is_ascii_alphanumeric() && !b"_-.".contains(byte) {
                break;
            }
            self.rest = rest;
        }
        self.end()
    }

    /// The end of a command.
    fn end(&mut self) -> Result<(), &'static str> {
        self.skip(b" \t\r");
        match self.rest.first() {
            None | Some(b';' | b'\n' | b'}' | b'#') => Ok(()),
            Some(_) => Err(UNCLEAR),
        }
    }

    fn digits(&mut self) -> Result<(), &'static str> {
        match self.rest.first() {
            Some(b'0'..=b'9') => {
                self.skip(b"0123456789");
                Ok(())
            }
            _ => Err(UNCLEAR),
        }
    }

    fn line(&mut self) {
        while !matches!(self.take(), None | Some(b'\n')) {}
    }

    fn take(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn skip(&mut self, bytes: &[u8]) {
        while let [byte, rest @ ..] = self.rest
            && bytes.contains(byte)
        {
            self.rest = rest;
        }
    }

    fn skip_one(&mut self, prefix: &'static [u8]) -> bool {
        self.rest.strip_prefix(prefix).map(|rest| self.rest = rest).is_some()
    }
}
