//! `Calc`: parses and evaluates arithmetic. Nothing is executed.

use std::fmt;

use serde_json::{Value, json};

/// Maximum input length.
const CHARS_MAX: usize = 4096;
/// Maximum nesting of parentheses and signs.
const DEPTH_MAX: usize = 64;
/// Maximum exponent.
const POWER_MAX: i128 = 4096;

/// The value of an expression: exact for integers, otherwise floating point.
pub fn evaluate(text: &str) -> Result<Number, CalcError> {
    if text.chars().count() > CHARS_MAX {
        return Err(CalcError {
            at: CHARS_MAX,
            message: "it is longer than 4096 characters".into(),
        });
    }
    let mut parser = Parser { rest: text, whole: text.len(), depth: 0 };
    let number = parser.sum()?;
    match parser.peek() {
        None => Ok(number),
        Some(c) => Err(parser.wrong(format!("{c:?} is not expected here"))),
    }
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer.
    Whole(i128),
    /// A floating point number, never infinite.
    Real(f64),
}

impl Number {
    /// As JSON: a number if JSON can hold it, else its digits as text.
    pub fn to_json(self) -> Value {
        match self {
            Self::Whole(whole) => {
                i64::try_from(whole).map_or_else(|_large| json!(whole.to_string()), |n| json!(n))
            }
            Self::Real(real) => json!(real),
        }
    }

    #[expect(
        clippy::as_conversions,
        clippy::cast_precision_loss,
        reason = "a whole number in a sum of reals is rounded as they are"
    )]
    fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(whole) => whole.fmt(f),
            Self::Real(real) => real.fmt(f),
        }
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (character {at})")]
pub struct CalcError {
    /// The position of the character, from 1.
    pub at: usize,
    /// What is wrong there.
    pub message: String,
}

struct Parser<'t> {
    rest: &'t str,
    whole: usize,
    depth: usize,
}

type CalcResult = Result<Number, CalcError>;

impl Parser<'_> {
    fn sum(&mut self) -> CalcResult {
        let mut left = self.product()?;
        loop {
            let Some(operator @ ('+' | '-')) = self.peek() else { return Ok(left) };
            self.skip(1);
            let right = self.product()?;
            left = match operator {
                '+' => self.whole_or(left, right, i128::checked_add, |a, b| a + b)?,
                _ => self.whole_or(left, right, i128::checked_sub, |a, b| a - b)?,
            };
        }
    }

    fn product(&mut self) -> CalcResult {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some('*') if !self.rest.starts_with("**") => "*",
                Some('/') if self.rest.starts_with("//") => "//",
                Some('/') => "/",
                Some('%') => "%",
                _ => return Ok(left),
            };
            self.skip(operator.len());
            let right = self.signed()?;
            if operator != "*" && right.real() == 0.0 {
                return Err(self.wrong("nothing can be divided by zero".to_owned()));
            }
            left = match operator {
                "*" => self.whole_or(left, right, i128::checked_mul, |a, b| a * b)?,
                "//" => self.whole_or(left, right, floor_div, |a, b| (a / b).floor())?,
                "%" => self.whole_or(left, right, floor_mod, |a, b| a - b * (a / b).floor())?,
                _ => self.whole_or(left, right, exact_div, |a, b| a / b)?,
            };
        }
    }

    fn signed(&mut self) -> CalcResult {
        match self.peek() {
            Some('-') => self.nested(|parser| {
                parser.skip(1);
                match parser.signed()? {
                    Number::Whole(whole) => {
                        whole.checked_neg().map(Number::Whole).ok_or_else(|| parser.large())
                    }
                    Number::Real(real) => Ok(Number::Real(-real)),
                }
            }),
            Some('+') => self.nested(|parser| {
                parser.skip(1);
                parser.signed()
            }),
            _ => self.power(),
        }
    }

    fn power(&mut self) -> CalcResult {
        let base = self.atom()?;
        let operator = match self.peek() {
            Some('*') if self.rest.starts_with("**") => 2,
            Some('^') => 1,
            _ => return Ok(base),
        };
        self.skip(operator);
        let exponent = self.nested(Self::signed)?;
        match (base, exponent) {
            (Number::Whole(base), Number::Whole(exponent @ 0..=POWER_MAX)) => {
                let exponent = u32::try_from(exponent).ok();
                let value = exponent.and_then(|exponent| base.checked_pow(exponent));
                value.map(Number::Whole).ok_or_else(|| self.large())
            }
            (base, exponent) => self.real(base.real().powf(exponent.real())),
        }
    }

    fn atom(&mut self) -> CalcResult {
        match self.peek() {
            Some('(') => self.nested(|parser| {
                parser.skip(1);
                let value = parser.sum()?;
                parser.expect(')')?;
                Ok(value)
            }),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.named(),
            Some(c) => Err(self.wrong(format!("{c:?} is not expected here"))),
            None => Err(self.wrong("something is missing at the end".to_owned())),
        }
    }

    fn number(&mut self) -> CalcResult {
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        let whole = self.rest.find(|c: char| !is_digit(c)).unwrap_or(self.rest.len());
        let mut length = whole;
        let tail = |at: usize| self.rest.get(at..).unwrap_or_default();
        if tail(length).starts_with('.') {
            let digits = tail(length.saturating_add(1));
            let more = digits.find(|c: char| !is_digit(c)).unwrap_or(digits.len());
            length = length.saturating_add(1).saturating_add(more);
        }
        let exponent = tail(length).trim_start_matches(['e', 'E']);
        if exponent.len() < tail(length).len() {
            let digits = exponent.trim_start_matches(['+', '-']);
            let more = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let marks = tail(length).len().saturating_sub(digits.len());
            length = length.saturating_add(marks).saturating_add(more);
        }
        let text = self.rest.get(..length).unwrap_or_default().replace('_', "");
        let value = match text.parse::<i128>() {
            Ok(value) if length == whole => Number::Whole(value),
            _ => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Number::Real(value),
                Ok(_) => return Err(self.large()),
                Err(_) => return Err(self.wrong(format!("{text:?} is not a number"))),
            },
        };
        self.skip(length);
        Ok(value)
    }

    fn named(&mut self) -> CalcResult {
        let length =
            self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let name = self.rest.get(..length).unwrap_or_default().to_owned();
        let constant = CONSTANTS.iter().find(|(known, _)| *known == name);
        if let Some((_, value)) = constant {
            self.skip(length);
            return Ok(Number::Real(*value));
        }
        if !FUNCTIONS.contains(&name.as_str()) {
            let known = FUNCTIONS.join(", ");
            return Err(self.wrong(format!("{name:?} is not known: pi, e, {known}")));
        }
        self.skip(length);
        self.expect('(')?;
        let arguments = self.nested(|parser| {
            let mut all = vec![parser.sum()?];
            while parser.peek() == Some(',') {
                parser.skip(1);
                all.push(parser.sum()?);
            }
            Ok(all)
        })?;
        self.expect(')')?;
        self.apply(&name, &arguments)
    }

    fn apply(&self, name: &str, arguments: &[Number]) -> CalcResult {
        match (name, arguments) {
            ("min" | "max", [first, more @ ..]) => Ok(more.iter().fold(*first, |best, one| {
                let is_less = one.real() < best.real();
                if is_less == (name == "min") { *one } else { best }
            })),
            ("abs", [Number::Whole(whole)]) => {
                whole.checked_abs().map(Number::Whole).ok_or_else(|| self.large())
            }
            ("floor" | "ceil" | "round", [whole @ Number::Whole(_)]) => Ok(*whole),
            ("floor" | "ceil" | "round", [Number::Real(real)]) => self.whole(match name {
                "floor" => real.floor(),
                "ceil" => real.ceil(),
                _ => real.round(),
            }),
            (_, [one]) => self.real(match name {
                "sqrt" => one.real().sqrt(),
                "abs" => one.real().abs(),
                "ln" => one.real().ln(),
                "log" => one.real().log10(),
                "exp" => one.real().exp(),
                "sin" => one.real().sin(),
                "cos" => one.real().cos(),
                _ => one.real().tan(),
            }),
            _ => Err(self.wrong(format!("{name} takes one number"))),
        }
    }

    /// Applies the first function to integers if the result fits, else the second.
    fn whole_or(
        &self,
        left: Number,
        right: Number,
        whole: impl Fn(i128, i128) -> Option<i128>,
        real: impl Fn(f64, f64) -> f64,
    ) -> CalcResult {
        if let (Number::Whole(left), Number::Whole(right)) = (left, right)
            && let Some(value) = whole(left, right)
        {
            return Ok(Number::Whole(value));
        }
        self.real(real(left.real(), right.real()))
    }

    fn real(&self, value: f64) -> CalcResult {
        if value.is_nan() {
            return Err(self.wrong("that has no value".to_owned()));
        }
        if value.is_finite() { Ok(Number::Real(value)) } else { Err(self.large()) }
    }

    #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "held to a range")]
    fn whole(&self, value: f64) -> CalcResult {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.abs() <= EXACT { Ok(Number::Whole(value as i128)) } else { self.real(value) }
    }

    /// Counts nesting, which is bounded.
    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, CalcError>,
    ) -> Result<T, CalcError> {
        if self.depth >= DEPTH_MAX {
            return Err(self.wrong("it is nested too deep".to_owned()));
        }
        self.depth = self.depth.saturating_add(1);
        let value = inner(self)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(value)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn expect(&mut self, wanted: char) -> Result<(), CalcError> {
        if self.peek() != Some(wanted) {
            return Err(self.wrong(format!("{wanted:?} is missing")));
        }
        self.skip(wanted.len_utf8());
        Ok(())
    }

    fn large(&self) -> CalcError {
        self.wrong("the number is too large".to_owned())
    }

    fn wrong(&self, message: String) -> CalcError {
        let at = self.whole.saturating_sub(self.rest.len()).saturating_add(1);
        CalcError { at, message }
    }
}

const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

const FUNCTIONS: [&str; 13] = [
    "abs", "ceil", "cos", "exp", "floor", "ln", "log", "max", "min", "round", "sin", "sqrt", "tan",
];

fn floor_div(left: i128, right: i128) -> Option<i128> {
    let rest = floor_mod(left, right)?;
    left.checked_sub(rest)?.checked_div(right)
}

/// The sign is that of the divisor.
fn floor_mod(left: i128, right: i128) -> Option<i128> {
    let rest = left.checked_rem(right)?;
    if rest != 0 && (rest < 0) != (right < 0) { rest.checked_add(right) } else { Some(rest) }
}

fn exact_div(left: i128, right: i128) -> Option<i128> {
    (left.checked_rem(right)? == 0).then(|| left.checked_div(right)).flatten()
}

#[cfg(test)]
mod tests;
