//! Builtins that take the names of variables or arithmetic, and which of their words those are.
//!
//! Drawn from the source of bash 5.2: every caller of `evalexp`, `valid_array_reference`,
//! `bind_int_variable` and `builtin_bind_variable`. Numbers that other builtins take (`shift`,
//! `exit`, `return`, `ulimit`, `read -t`, `printf %d`, `test -eq`) are read with `legal_number`, which
//! evaluates nothing. `declare` and its like and `test` have a syntax of their own, and stand with
//! the code that follows them.

use super::expand::{Bit, Field};

/// How a builtin reads one of its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Text that is never evaluated.
    Data,
    /// A variable that is given text which is known in the run alone.
    Filled,
    /// An array that is given such text.
    FilledArray,
    /// A variable that is given a number.
    Counted,
    /// A variable that is removed.
    Removed,
    /// Arithmetic.
    Expression,
}

/// One word, or the part of one behind the letter of its option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// How it is read.
    pub role: Role,
    /// What it is.
    pub field: Field,
}

/// A builtin of the table.
#[derive(Debug)]
pub struct Builtin {
    name: &'static str,
    /// The options that take a word.
    options: &'static [(char, Role)],
    /// How the words after the options are read; the last holds for all that follow.
    operands: &'static [Role],
    /// The variables that it sets without being told to, and those that it sets where no word
    /// names one.
    always: &'static [(&'static str, Role)],
    otherwise: Option<(&'static str, Role)>,
}

const MAPFILE: Builtin = Builtin {
    name: "mapfile",
    options: &[
        ('C', Role::Data),
        ('O', Role::Data),
        ('c', Role::Data),
        ('d', Role::Data),
        ('n', Role::Data),
        ('s', Role::Data),
        ('u', Role::Data),
    ],
    operands: &[Role::FilledArray],
    always: &[],
    otherwise: Some(("MAPFILE", Role::FilledArray)),
};

const BUILTINS: [Builtin; 8] = [
    Builtin {
        name: "getopts",
        options: &[],
        operands: &[Role::Data, Role::Filled, Role::Data],
        always: &[("OPTARG", Role::Filled), ("OPTIND", Role::Counted)],
        otherwise: None,
    },
    Builtin {
        name: "let",
        options: &[],
        operands: &[Role::Expression],
        always: &[],
        otherwise: None,
    },
    MAPFILE,
    Builtin {
        name: "printf",
        options: &[('v', Role::Filled)],
        operands: &[Role::Data],
        always: &[],
        otherwise: None,
    },
    Builtin {
        name: "read",
        options: &[
            ('N', Role::Data),
            ('a', Role::FilledArray),
            ('d', Role::Data),
            ('i', Role::Data),
            ('n', Role::Data),
            ('p', Role::Data),
            ('t', Role::Data),
            ('u', Role::Data),
        ],
        operands: &[Role::Filled],
        always: &[],
        otherwise: Some(("REPLY", Role::Filled)),
    },
    Builtin { name: "readarray", ..MAPFILE },
    Builtin {
        name: "unset",
        options: &[],
        operands: &[Role::Removed],
        always: &[],
        otherwise: None,
    },
    Builtin {
        name: "wait",
        options: &[('p', Role::Counted)],
        operands: &[Role::Data],
        always: &[],
        otherwise: None,
    },
];

/// The builtin of this name, if any of its words is evaluated.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// How each of these words is read, or nothing if that cannot be known: a word that may be an
    /// option, or several, stands where it matters.
    pub fn read(&self, words: &[Field]) -> Option<Vec<Operand>> {
        let mut read = Vec::new();
        let (mut rest, mut is_ended) = (words, self.options.is_empty());
        if !is_ended || self.name == "unset" {
            (rest, is_ended) = self.read_options(words, &mut read)?;
        }
        if self.name == "unset" && words.first().is_some_and(names_functions) {
            return Some(read);
        }
        let mut roles = self.operands.iter();
        let mut role = Role::Data;
        for (at, field) in rest.iter().enumerate() {
            role = roles.next().copied().unwrap_or(role);
            let shifts = !field.single && roles.len() > 0;
            let may_be_option = at == 0 && !is_ended && self.may_be_option(field, rest.len());
            if shifts || may_be_option {
                return None;
            }
            read.push(Operand { role, field: field.clone() });
        }
        let span = words.first().map(|field| field.span).unwrap_or_default();
        let named = read.iter().any(|operand| operand.role != Role::Data);
        let own = self.otherwise.iter().filter(|_| !named).chain(self.always);
        read.extend(own.map(|(name, role)| Operand { role: *role, field: Field::of(*name, span) }));
        Some(read)
    }

    /// Reads the options; gives the words behind them, and whether `--` ended them.
    fn read_options<'f>(
        &self,
        words: &'f [Field],
        read: &mut Vec<Operand>,
    ) -> Option<(&'f [Field], bool)> {
        let mut rest = words;
        while let Some((first, after)) = rest.split_first() {
            let Some(Bit::Text(text)) = first.bits.first() else { break };
            let Some(letters) = text.strip_prefix('-') else { break };
            let is_whole = first.bits.len() == 1;
            if letters.is_empty() && is_whole {
                break;
            }
            rest = after;
            if text == "--" && is_whole {
                return Some((rest, true));
            }
            let takes = |letter: char| self.options.iter().find(|(option, _)| *option == letter);
            let found = letters.char_indices().find_map(|(at, c)| Some((at, c, takes(c)?)));
            let Some((at, letter, (_, role))) = found else {
                // Letters that are not known may be options with a word.
                if is_whole {
                    continue;
                }
                return None;
            };
            let glued = letters.get(at.saturating_add(letter.len_utf8())..).unwrap_or_default();
            let mut bits: Vec<Bit> = first.bits.iter().skip(1).cloned().collect();
            if !glued.is_empty() {
                bits.insert(0, Bit::Text(glued.to_owned()));
            }
            let mut field = Field { bits, ..first.clone() };
            if field.bits.is_empty() {
                let (next, after) = rest.split_first()?;
                field = next.clone();
                rest = after;
            }
            if !field.single {
                return None;
            }
            read.push(Operand { role: *role, field });
        }
        Some((rest, false))
    }

    /// Whether the first word that is no option may be one all the same.
    fn may_be_option(&self, field: &Field, words: usize) -> bool {
        let is_open = matches!(field.bits.first(), Some(Bit::Unknown)) || field.assumed;
        // `printf "$x"` alone has a format and nothing to set.
        let is_alone = self.name == "printf" && words == 1 && field.single;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let may_end_in_name = match field.bits.last() {
            Some(Bit::Text(text)) => text.ends_with(']') || text.chars().all(is_name),
            Some(_) | None => true,
        };
        is_open && !is_alone && (may_end_in_name || !field.single)
    }
}

/// `unset -f`
fn names_functions(word: &Field) -> bool {
    word.known().is_some_and(|text| text.starts_with('-') && text.contains('f'))
}
