//! The paths of `[box]`: those that are meant as they are written, and patterns, which `box.hide` and
//! `box.protect` take in the form of path rules.

use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use toml::Spanned;

use crate::config::file::{BoxTable, Names, PolicyFile};
use crate::config::source::Source;
use crate::rules::{Rule, RuleError};
use crate::{Decision, LoadError, Policy};
use stockade_shell::pattern::{Dialect, PathPart, Pattern};

use crate::config::folders::real_folder;
use crate::confine::{self, Keep, ListedChanges, Network, Origin, Toolchain};

/// A pattern of `box.hide` or `box.protect`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BoxPattern {
    keep: Keep,
    /// In the form of a path rule whose file lies in the project root.
    text: String,
    file: PathBuf,
    line: usize,
    origin: Origin,
}

impl BoxPattern {
    /// The rule that denies what the pattern means, in this project.
    pub(crate) fn rule(&self, root: &Path) -> Result<Rule, RuleError> {
        let (tool, key) = match self.keep {
            Keep::Hidden => ("Read", "box.hide"),
            Keep::Protected => ("Edit", "box.protect"),
        };
        let rule = Rule::parse_in(&format!("{tool}({})", self.text), Decision::Deny, root)?;
        let rule = rule.written_in(&self.file, self.line).with_origin(self.origin);
        Ok(rule.because(format!("a pattern in {key} means this path")))
    }

    /// What a box makes of the paths.
    pub(crate) fn keep(&self) -> Keep {
        self.keep
    }
}

/// An entry of a list of paths.
enum Entry {
    Path(PathBuf),
    Pattern(String),
}

impl Source {
    /// Takes the paths, the network and what is told from a trusted file.
    pub(crate) fn apply_box(&self, boxed: &BoxTable, policy: &mut Policy) -> Result<(), LoadError> {
        let files = &mut policy.files;
        for (key, names, paths) in [
            ("box.write", &boxed.write, &mut files.write),
            ("box.read", &boxed.read, &mut files.read),
        ] {
            if let Some(names) = names {
                *paths = self.plain_paths(key, names)?;
            }
        }
        for keep in [Keep::Hidden, Keep::Protected] {
            let Some(names) = names_of(keep, boxed) else { continue };
            let (paths, patterns) = self.covered(keep, names, Origin::Trusted)?;
            match keep {
                Keep::Hidden => files.hide = paths,
                Keep::Protected => files.protect = paths,
            }
            files.patterns.retain(|pattern| pattern.keep != keep);
            files.patterns.extend(patterns);
        }
        if let Some(names) = &boxed.toolchains {
            let toolchain = |text: &str| Toolchain::from_str(text).map_err(|e| e.to_string());
            let all = names.get_ref().iter().map(|name| self.value(name, toolchain));
            files.toolchains = all.collect::<Result<_, _>>()?;
        }
        if let Some(changes) = &boxed.changes {
            policy.files.watched = self.watched(changes)?;
        }
        if let Some(net) = &boxed.net {
            policy.network = self.network(net)?;
        }
        Ok(())
    }

    /// Adds what an untrusted project file hides and protects, which has to be in the project: the
    /// supervisor does nothing elsewhere because a repository says so.
    pub(crate) fn tighten_box(
        &self,
        boxed: &BoxTable,
        policy: &mut Policy,
    ) -> Result<(), LoadError> {
        for keep in [Keep::Hidden, Keep::Protected] {
            let Some(names) = names_of(keep, boxed) else { continue };
            for name in names.get_ref() {
                self.refuse_outside(keep, name)?;
            }
            let (paths, patterns) = self.covered(keep, names, Origin::Project)?;
            match keep {
                Keep::Hidden => policy.files.hide.extend(paths),
                Keep::Protected => policy.files.protect_for_project(paths),
            }
            policy.files.patterns.extend(patterns);
        }
        if let Some(changes) = &boxed.changes {
            policy.files.watched = policy.files.watched.max(self.watched(changes)?);
        }
        if let Some(net) = &boxed.net {
            policy.network = policy.network.min(self.network(net)?);
        }
        Ok(())
    }

    pub(crate) fn network(&self, net: &Spanned<String>) -> Result<Network, LoadError> {
        self.value(net, |text| {
            let unknown = || format!("unknown network {text:?}; expected none, loopback or host");
            Network::named(text).ok_or_else(unknown)
        })
    }

    /// Refuses what a file of the project never sets, trusted or not.
    pub(crate) fn refuse_home(&self, file: &PolicyFile) -> Result<(), LoadError> {
        let Some(home) = &file.project.home else { return Ok(()) };
        let message = "`project.home` is for your own policy file or the machine's: a project cannot \
                       make your home folder part of itself; hint: remove the key here";
        let line = self.line(&home.span());
        Err(LoadError::Value { path: self.path.clone(), line, message: message.to_owned() })
    }

    pub(crate) fn watched(&self, text: &Spanned<String>) -> Result<ListedChanges, LoadError> {
        self.value(text, |text| {
            ListedChanges::named(text)
                .ok_or_else(|| format!("{text:?} is none of none, risky, bounded, all"))
        })
    }

    fn plain_paths(
        &self,
        key: &str,
        names: &Spanned<Vec<Spanned<String>>>,
    ) -> Result<Vec<PathBuf>, LoadError> {
        let path = |name: &Spanned<String>| match self.value(name, entry)? {
            Entry::Path(path) => Ok(path),
            Entry::Pattern(_) => self.value(name, |text| {
                Err(format!(
                    "{text:?} is a pattern, and {key} takes paths only; hint: name the folder that \
                     holds them, or write \\ before each of * ? [ that belongs to the name"
                ))
            }),
        };
        names.get_ref().iter().map(path).collect()
    }

    fn covered(
        &self,
        keep: Keep,
        names: &Spanned<Vec<Spanned<String>>>,
        origin: Origin,
    ) -> Result<(Vec<PathBuf>, Vec<BoxPattern>), LoadError> {
        let (mut paths, mut patterns) = (Vec::new(), Vec::new());
        for name in names.get_ref() {
            match self.value(name, entry)? {
                Entry::Path(path) if path == Path::new(".") => {
                    return self.value(name, |text| Err(whole_project(keep, text)));
                }
                Entry::Path(path) => paths.push(path),
                Entry::Pattern(text) => {
                    let (file, line) = (self.path.clone(), self.line(&name.span()));
                    let pattern = BoxPattern { keep, text, file, line, origin };
                    let tried = pattern.rule(Path::new("/"));
                    let told = |error: RuleError| error.to_string();
                    self.value(name, |_| tried.clone().map(drop).map_err(told))?;
                    patterns.push(pattern);
                }
            }
        }
        Ok((paths, patterns))
    }

    /// Refuses a path or a pattern that leads out of the folder of this file.
    fn refuse_outside(&self, keep: Keep, name: &Spanned<String>) -> Result<(), LoadError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let root = real_folder(folder)
            .map_err(|errno| LoadError::Read { path: folder.to_owned(), source: errno.into() })?;
        self.value(name, |text| {
            let real = match entry(text)? {
                // A link as its last name is covered as the link that it is.
                Entry::Path(path) => {
                    let path = root.join(path);
                    match (path.parent(), path.file_name()) {
                        (Some(above), Some(name)) => confine::real(above).join(name),
                        _ => confine::real(&path),
                    }
                }
                Entry::Pattern(_) => confine::real(&root.join(anchored(&literal_folder(text))?)),
            };
            if real.starts_with(&root) {
                return Ok(());
            }
            let key = match keep {
                Keep::Hidden => "box.hide",
                Keep::Protected => "box.protect",
            };
            Err(format!(
                "`{key}` names {text:?}, which is outside the project; a project's file hides and \
                 protects paths of the project only; hint: put it into your own policy file, or \
                 look at this file and run `stockade trust`"
            ))
        })
    }
}

/// Why an entry cannot mean the whole project.
fn whole_project(keep: Keep, text: &str) -> String {
    match keep {
        Keep::Hidden => format!(
            "`box.hide` names {text:?}, the whole project, of which nothing would be left to work with; \
             hint: name paths in it"
        ),
        Keep::Protected => format!(
            "`box.protect` names {text:?}, the whole project; hint: leave it out of `box.write`"
        ),
    }
}

fn names_of(keep: Keep, boxed: &BoxTable) -> Option<&Spanned<Vec<Spanned<String>>>> {
    let names: &Names = match keep {
        Keep::Hidden => &boxed.hide,
        Keep::Protected => &boxed.protect,
    };
    names.as_ref()
}

/// Reads an entry: beneath the root, below `~/`, or absolute.
fn entry(text: &str) -> Result<Entry, String> {
    if text.contains('\0') {
        return Err(format!("{text:?} is not a path: it has a NUL in it"));
    }
    if text.starts_with("$HOME") || text.starts_with("${HOME}") {
        return Err(format!("{text:?}: variables are not expanded here; hint: write ~/"));
    }
    if text.starts_with('~') && !text.starts_with("~/") {
        return Err(format!(
            "{text:?}: only ~/ is expanded; hint: write ./{text} for a file of that name"
        ));
    }
    if let Some(why) = unknown_syntax(text) {
        return Err(format!("{text:?}: {why}"));
    }
    let mut is_plain = true;
    for segment in text.split('/') {
        if !Pattern::new(segment, Dialect::Name).is_literal() {
            is_plain = false;
        } else if has_open_class(segment) {
            // A pattern takes a class without an end for text.
            return Err(format!(
                "{text:?}: `[` begins a set of characters that has no end; hint: write \\[ if it \
                 belongs to the name"
            ));
        } else if segment.ends_with('\\') && !segment.ends_with(r"\\") {
            return Err(format!("{text:?}: nothing follows the \\; hint: write \\\\ for one"));
        }
    }
    let is_relative = !(text.starts_with('/') || text.starts_with("~/"));
    if is_relative && (text.is_empty() || text.split('/').any(|part| part == "..")) {
        return Err(format!("{text:?} is not a path beneath the project root"));
    }
    if is_plain {
        return anchored(&unescaped(text)).map(Entry::Path);
    }
    Ok(Entry::Pattern(match text.strip_prefix("./") {
        Some(rest) => format!("/{rest}"),
        None if text.starts_with('/') => format!("/{text}"),
        None if text.starts_with("~/") => text.to_owned(),
        None if text.trim_end_matches('/').contains('/') => format!("/{text}"),
        // A single name means every file of that name, as in a path rule.
        None => format!("/**/{text}"),
    }))
}

/// Why a text is a pattern in other programs and none here. It would otherwise mean a file of that very
/// name, and hide nothing.
fn unknown_syntax(text: &str) -> Option<String> {
    if text.starts_with('!') && !text.starts_with("!(") {
        return Some(format!(
            "`!` excludes nothing here; hint: leave the path out, or write \\{text} for a file of \
             that name"
        ));
    }
    let (mut before, mut in_set) = (None, false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '[' => in_set = true,
            ']' | '/' => in_set = false,
            '{' if !in_set => {
                return Some(
                    "braces are not expanded here; hint: write one entry for each name, or \\{ if \
                     the brace belongs to the name"
                        .to_owned(),
                );
            }
            '(' if !in_set => {
                if let Some(sign @ ('@' | '+' | '?' | '*')) = before {
                    return Some(format!(
                        "{sign}(…) is no pattern here; hint: write one entry for each name, or \
                         {sign}\\( if the parenthesis belongs to the name"
                    ));
                }
            }
            _ => {}
        }
        before = Some(letter).filter(|letter| *letter != '\\');
    }
    None
}

/// A path with its `~/` expanded; one beneath the root stays relative.
fn anchored(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix("~/") {
        Some(rest) => std::env::home_dir()
            .map(|home| home.join(rest))
            .ok_or_else(|| format!("{text:?} needs a home folder, and there is none")),
        None => {
            let parts = Path::new(text).components().filter(|part| *part != Component::CurDir);
            let path: PathBuf = parts.collect();
            Ok(if path.as_os_str().is_empty() { PathBuf::from(".") } else { path })
        }
    }
}

/// The folder that a pattern begins in.
fn literal_folder(text: &str) -> String {
    let is_plain = |segment: &&str| PathPart::new(segment).literal().is_some();
    let plain: Vec<&str> = text.split('/').take_while(is_plain).collect();
    let folder = unescaped(&plain.join("/"));
    match folder.as_str() {
        "" if text.starts_with('/') => "/".to_owned(),
        "~" => "~/".to_owned(),
        _ => folder,
    }
}

fn has_open_class(segment: &str) -> bool {
    let mut letters = segment.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '[' => return true,
            _ => {}
        }
    }
    false
}

fn unescaped(text: &str) -> String {
    let mut letters = text.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next() {
        let meant = if letter == '\\' { letters.next() } else { Some(letter) };
        plain.extend(meant);
    }
    plain
}

#[cfg(test)]
mod tests;
