//! The `[[program.reads]]` rules: whether a command changes nothing.

use super::analysis::{Analysis, EffectKind, Purity, Runner, Word};
use super::call::{Call, Part};
use super::glob;
use super::grammar::Name;
use super::program::Shape;
use super::schema;
use crate::pattern::Pattern;

/// A compiled rule.
#[derive(Debug)]
pub(super) struct ReadsRule {
    nature: Purity,
    subcommands: Vec<String>,
    with: Vec<Name>,
    unless: Vec<Name>,
    except: Vec<Pattern>,
    at_most: Option<usize>,
}

impl ReadsRule {
    pub(super) fn new(data: &schema::Reads, shape: &Shape) -> Result<Self, String> {
        let names = |flags: &[String]| shape.names(flags, &data.subcommands);
        let nature = match (data.always, data.contained) {
            (true, _) => Purity::Reads,
            (false, true) => Purity::ReadsIfContained,
            (false, false) => Purity::ReadsAsWritten,
        };
        Ok(Self {
            nature,
            subcommands: data.subcommands.clone(),
            with: names(&data.with)?,
            unless: names(&data.unless)?,
            except: glob::all(&data.except),
            at_most: data.at_most,
        })
    }

    /// What the rule says of a command, if it is about it.
    pub(super) fn judge(&self, call: &Call<'_, '_>) -> Option<Purity> {
        let part = call.last()?;
        let under = (self.subcommands.is_empty() && part.path.is_empty())
            || self.subcommands.contains(&part.path);
        let excepted = |bytes: &[u8]| glob::cover(&self.except, bytes);
        let holds = under
            && (self.with.is_empty() || part.seen.has(&self.with))
            && !part.has(&self.unless)
            && self.at_most.is_none_or(|most| part.operand_count() <= most)
            && !part.operands(call).any(|(_, bytes)| excepted(bytes));
        holds.then_some(self.nature)
    }
}

/// What the words show, where `claimed` is what the rules of the program say.
///
/// The words have to be known and to mean nothing else: whatever is dangerous in them, writes,
/// starts a program or cannot be read ends the claim.
pub(super) fn shown(
    claimed: Option<Purity>,
    call: &Call<'_, '_>,
    reading: &Analysis<'_>,
) -> Purity {
    if claimed == Some(Purity::Reads) {
        return Purity::Reads;
    }
    let arguments = call.words.get(1..).unwrap_or_default();
    let runs = reading.code.iter().any(|code| code.runner != Runner::Other);
    if runs || !reading.hazards.is_empty() || !arguments.iter().all(Word::is_known) {
        return Purity::Unknown;
    }
    if call.is_harmless() {
        return Purity::ReadsAsWritten;
    }
    let changes = |kind: EffectKind| match kind {
        EffectKind::Write
        | EffectKind::Delete
        | EffectKind::ChangeTree
        | EffectKind::Forget
        | EffectKind::Execute
        | EffectKind::Host => true,
        EffectKind::Read | EffectKind::List | EffectKind::Enter | EffectKind::Pass => false,
    };
    let doubtful = |part: &Part<'_>| part.seen.doubt.is_some() || part.seen.absurd.is_some();
    let sure = !reading.effects.iter().any(|effect| changes(effect.kind))
        && !call.parts.iter().any(doubtful);
    claimed.filter(|_| sure).unwrap_or_default()
}
