//! Runs the examples that every rule of the data carries.

mod whole;

use std::sync::Arc;

use super::Catalog;
use super::analysis::{Analysis, Hazard, Word};
use super::program::Program;
use super::schema;

/// Inner commands deeper than this are not followed in an example.
const DEPTH_MAX: usize = 4;

/// Checks every example of one program and counts them; the message names the first that fails.
/// `data` is the program with its examples.
pub(super) fn check(
    knowledge: &Catalog,
    program: &Program,
    data: &schema::Program,
) -> Result<usize, String> {
    let bare = data.refuse.is_empty()
        && data.wrapper.is_empty()
        && data.text.is_empty()
        && data.paths.is_empty()
        && data.code.is_empty()
        && data.effect.is_empty()
        && data.reads.is_empty()
        && data.interpreter.is_none();
    if bare {
        return Err(format!("{} has no rule", program.name));
    }
    let all = |argv: &[String]| hazards(knowledge, argv);
    for (data, rule) in data.refuse.iter().zip(&program.rules) {
        let own = |argv: &[String]| {
            let reading = read(knowledge, program, argv)?;
            Ok(reading.hazards.iter().any(|hazard| Arc::ptr_eq(&hazard.why, &rule.why)))
        };
        both(&data.refused, &data.allowed, "refused", own, |argv| Ok(!all(argv)?.is_empty()))?;
    }
    let hazardous = |argv: &[String]| Ok(!all(argv)?.is_empty());
    if let Some(data) = &data.interpreter {
        both(&data.refused, &data.allowed, "refused", hazardous, hazardous)?;
    }
    for data in &data.wrapper {
        both(&data.refused, &data.allowed, "refused", hazardous, hazardous)?;
    }
    let marks = |argv: &[String]| Ok(!read(knowledge, program, argv)?.text.is_empty());
    for data in &data.text {
        both(&data.plain, &data.judged, "plain", marks, marks)?;
    }
    let holds = |argv: &[String]| Ok(!read(knowledge, program, argv)?.paths.is_empty());
    for data in &data.paths {
        both(&data.held, &data.none, "a path", holds, holds)?;
    }
    whole::check(knowledge, program, data)?;
    Ok(count(data))
}

/// Checks that `is` holds for the one list and `is_not` for none of the other.
fn both(
    yes: &[Vec<String>],
    no: &[Vec<String>],
    what: &str,
    is: impl Fn(&[String]) -> Result<bool, String>,
    is_not: impl Fn(&[String]) -> Result<bool, String>,
) -> Result<(), String> {
    if yes.is_empty() || no.is_empty() {
        return Err("a rule lacks examples of both kinds".to_owned());
    }
    for argv in yes {
        if !is(argv)? {
            return Err(format!("{argv:?} should be {what}"));
        }
    }
    for argv in no {
        if is_not(argv)? {
            return Err(format!("{argv:?} should not be {what}"));
        }
    }
    Ok(())
}

fn read<'a>(
    knowledge: &Catalog,
    program: &Program,
    argv: &'a [String],
) -> Result<Analysis<'a>, String> {
    let name = argv.first().map_or("", String::as_str);
    match knowledge.program(name).map_err(|broken| broken.to_string())? {
        Some(found) if std::ptr::eq(found, program) => {
            Ok(found.read(&knowledge.variables, &Word::list(argv)))
        }
        _ => Err(format!("{argv:?} is an example of another program")),
    }
}

/// The hazards of a command and of those inside it.
fn hazards(knowledge: &Catalog, argv: &[String]) -> Result<Vec<Hazard>, String> {
    let mut found = Vec::new();
    let mut commands = vec![(Word::list(argv), 0_usize)];
    while let Some((words, depth)) = commands.pop() {
        let name = words.first().map_or("".into(), |word| word.text.to_string_lossy());
        let name = name.rsplit('/').next().unwrap_or_default();
        let program = knowledge.program(name).map_err(|broken| broken.to_string())?;
        let Some(program) = program else { continue };
        let reading = program.read(&knowledge.variables, &words);
        found.extend(reading.hazards);
        if depth < DEPTH_MAX {
            let deeper = depth.saturating_add(1);
            commands.extend(reading.inner.into_iter().map(|inner| (inner.words, deeper)));
        }
    }
    Ok(found)
}

/// How many examples a program has.
fn count(data: &schema::Program) -> usize {
    let refuse = data.refuse.iter().flat_map(|data| [&data.refused, &data.allowed]);
    let interpreter = data.interpreter.iter().flat_map(|data| [&data.refused, &data.allowed]);
    let wrapper = data.wrapper.iter().flat_map(|data| [&data.refused, &data.allowed]);
    let text = data.text.iter().flat_map(|data| [&data.plain, &data.judged]);
    let paths = data.paths.iter().flat_map(|data| [&data.held, &data.none]);
    let rules: usize =
        refuse.chain(interpreter).chain(wrapper).chain(text).chain(paths).map(Vec::len).sum();
    rules.saturating_add(whole::count(&data.examples))
}
