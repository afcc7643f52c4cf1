//! Judges an awk program by its tokens: it may compute and print, no more.
//!
//! What cannot be told apart with certainty (a division or a pattern, a quote out of place) is
//! refused, because different awks read it differently.

/// A token, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t [u8]),
    Number,
    String(&'t [u8]),
    Pattern,
    Newline,
    /// A mark of one or two bytes.
    Mark(&'t [u8]),
}

/// Whether the program only computes and prints; the reason if not.
pub(super) fn judge(text: &[u8]) -> Result<(), &'static str> {
    let mut lexer = Lexer { rest: text, operand: false, parens: Vec::new(), before: None };
    let mut state = State::default();
    let mut token = lexer.next()?;
    while let Some(current) = token {
        state.judge(current)?;
        token = lexer.next()?;
    }
    // A redirection may be the very last thing.
    state.at_end()
}

/// Where in a statement the judge is.
#[derive(Debug, Default)]
struct State {
    depth: usize,
    /// The depth of the `print` whose statement is not over.
    print: Option<usize>,
    /// After `getline`, where `<` reads a file.
    getline: bool,
    /// After `print … >`: only the standard streams may follow, and nothing after them.
    target: Target,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Target {
    #[default]
    None,
    Awaited,
    Given,
}

const WRITES: &str = "this awk program writes to a file";
const READS: &str = "this awk program reads files that are not in the arguments";
const RUNS: &str = "this awk program runs commands";
const LOADS: &str = "this awk program loads code or calls by name";
const UNCLEAR: &str = "this awk program cannot be read with certainty";

impl State {
    fn judge(&mut self, token: Token<'_>) -> Result<(), &'static str> {
        self.judge_target(token)?;
        match token {
            Token::Name(b"ARGV" | b"ARGC") => return Err(READS),
            Token::Name(b"SYMTAB" | b"FUNCTAB" | b"extension") | Token::Mark(b"@") => {
                return Err(LOADS);
            }
            Token::Name(b"getline") => self.getline = true,
            Token::Name(b"print" | b"printf") => self.print = Some(self.depth),
            Token::Name(b"system") | Token::Mark(b"|" | b"|&") => return Err(RUNS),
            Token::Mark(b">>") => return Err(WRITES),
            Token::Mark(b"<") if self.getline => return Err(READS),
            Token::Mark(b">") if self.print == Some(self.depth) => self.target = Target::Awaited,
            Token::Mark(b"(" | b"[") => self.depth = self.depth.saturating_add(1),
            Token::Mark(b"]") => self.depth = self.depth.saturating_sub(1),
            Token::Mark(b")") => {
                self.depth = self.depth.saturating_sub(1);
                self.getline = false;
            }
            Token::Mark(b";" | b"{" | b"}") => self.end_statement(),
            // A line end does not always end a statement, so a `print` stays open over it.
            Token::Newline => self.getline = false,
            Token::Name(_) | Token::Number | Token::String(_) | Token::Pattern | Token::Mark(_) => {
            }
        }
        Ok(())
    }

    /// `> "/dev/stderr"` and nothing else in the statement.
    fn judge_target(&mut self, token: Token<'_>) -> Result<(), &'static str> {
        match (self.target, token) {
            (Target::None, _) => {}
            (Target::Awaited, Token::String(b"/dev/stderr" | b"/dev/stdout")) => {
                self.target = Target::Given;
            }
            (Target::Given, Token::Newline | Token::Mark(b";" | b"}")) => {
                self.target = Target::None;
            }
            (Target::Awaited | Target::Given, _) => return Err(WRITES),
        }
        Ok(())
    }

    fn end_statement(&mut self) {
        self.print = None;
        self.getline = false;
        self.depth = 0;
    }

    fn at_end(&self) -> Result<(), &'static str> {
        if self.target == Target::Awaited { Err(WRITES) } else { Ok(()) }
    }
}

struct Lexer<'t> {
    rest: &'t [u8],
    /// Whether the last token ends an operand, so that `/` divides.
    operand: bool,
    /// For each open parenthesis whether it is the head of `if`, `while` or `for`.
    parens: Vec<bool>,
    before: Option<Token<'t>>,
}

impl<'t> Lexer<'t> {
    fn next(&mut self) -> Result<Option<Token<'t>>, &'static str> {
        self.skip_blank();
        let Some(&byte) = self.rest.first() else { return Ok(None) };
        let token = match byte {
            b'\n' => {
                self.take(1);
                Token::Newline
            }
            b'"' => Token::String(self.quoted(b'"')?),
            b'/' if self.before == Some(Token::Name(b"length")) => return Err(UNCLEAR),
            b'/' if !self.operand => {
                if matches!(self.before, Some(Token::Name(b"getline"))) {
                    return Err(UNCLEAR);
                }
                let body = self.quoted(b'/')?;
                if leaves_bracket_open(body) {
                    return Err(UNCLEAR);
                }
                Token::Pattern
            }
            b'0'..=b'9' => {
                self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
                Token::Number
            }
            b'.' if self.rest.get(1).is_some_and(u8::is_ascii_digit) => {
                self.take(1);
                self.take_while(|byte| byte.is_ascii_alphanumeric());
                Token::Number
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                Token::Name(self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
            }
            _ => self.mark(byte)?,
        };
        self.operand = self.ends_operand(token);
        self.before = Some(token);
        Ok(Some(token))
    }

    fn mark(&mut self, byte: u8) -> Result<Token<'t>, &'static str> {
        const PAIRS: [&[u8]; 15] = [
            b"||", b"|&", b"&&", b">>", b">=", b"<=", b"==", b"!=", b"!~", b"++", b"--", b"**",
            b"+=", b"-=", b"/=",
        ];
        const MARKS: &[u8] = b"{}()[];,+-*/%^!<>|?:~$=@&";
        let pair = PAIRS.iter().find(|pair| self.rest.starts_with(pair));
        match pair {
            Some(pair) => Ok(Token::Mark(self.take(pair.len()))),
            None if MARKS.contains(&byte) => Ok(Token::Mark(self.take(1))),
            None => Err(UNCLEAR),
        }
    }

    fn ends_operand(&mut self, token: Token<'t>) -> bool {
        match token {
            Token::Name(name) => !matches!(
                name,
                b"return"
                    | b"print"
                    | b"printf"
                    | b"in"
                    | b"case"
                    | b"delete"
                    | b"else"
                    | b"do"
                    | b"exit"
                    | b"getline"
                    | b"if"
                    | b"while"
                    | b"for"
            ),
            Token::Number | Token::String(_) | Token::Pattern | Token::Mark(b"]") => true,
            Token::Mark(b"(") => {
                let head = matches!(self.before, Some(Token::Name(b"if" | b"while" | b"for")));
                self.parens.push(head);
                false
            }
            Token::Mark(b")") => !self.parens.pop().unwrap_or(false),
            Token::Mark(b"++" | b"--") => self.operand,
            Token::Mark(_) | Token::Newline => false,
        }
    }

    /// Blanks, comments and continued lines.
    fn skip_blank(&mut self) {
        loop {
            match self.rest {
                [b' ' | b'\t' | b'\r', rest @ ..] | [b'\\', b'\n', rest @ ..] => self.rest = rest,
                [b'#', ..] => {
                    self.take_while(|byte| byte != b'\n');
                }
                _ => return,
            }
        }
    }

    /// The text up to the closing mark, on one line.
    fn quoted(&mut self, mark: u8) -> Result<&'t [u8], &'static str> {
        self.take(1);
        let mut length = 0_usize;
        loop {
            match self.rest.get(length..).unwrap_or_default() {
                [] | [b'\n' | 0, ..] | [b'\\', b'\n', ..] | [b'\\'] => return Err(UNCLEAR),
                [b'\\', ..] => length = length.saturating_add(2),
                [byte, ..] if *byte == mark => {
                    let body = self.take(length);
                    self.take(1);
                    return Ok(body);
                }
                _ => length = length.saturating_add(1),
            }
        }
    }

    fn take(&mut self, count: usize) -> &'t [u8] {
        let (taken, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, is: impl Fn(u8) -> bool) -> &'t [u8] {
        self.take(self.rest.iter().take_while(|&&byte| is(byte)).count())
    }
}

/// Whether a pattern ends inside `[…]`: some awks let a slash stand there, others do not.
pub(super) fn leaves_bracket_open(pattern: &[u8]) -> bool {
    let mut rest = pattern;
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'\\', [_, after @ ..]) => after,
            (b'[', _) => match after_bracket(after) {
                Some(after) => after,
                None => return true,
            },
            _ => after,
        };
    }
    false
}

/// What follows the bracket expression whose inside begins here.
pub(super) fn after_bracket(inside: &[u8]) -> Option<&[u8]> {
    let mut rest = inside.strip_prefix(b"^").unwrap_or(inside);
    rest = rest.strip_prefix(b"]").unwrap_or(rest);
    loop {
        rest = match rest {
            [] => return None,
            [b']', after @ ..] => return Some(after),
            [b'[', mark @ (b':' | b'.' | b'='), after @ ..] => {
                let end = after.windows(2).position(|pair| pair == [*mark, b']'])?;
                after.get(end.saturating_add(2)..)?
            }
            [b'\\', _, after @ ..] | [_, after @ ..] => after,
        };
    }
}
