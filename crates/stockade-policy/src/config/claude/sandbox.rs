//! The sandbox of a settings file as a box: paths that can be written, read, hidden and protected.

use std::path::PathBuf;

use super::{SettingsReader, plain};
use crate::config::jsonc::Json;
use crate::{Decision, LoadError};

/// A path of a sandbox.
enum BoxPath {
    /// As it is.
    Plain(PathBuf),
    /// With wildcards, which a box does not have: in the form of a rule.
    Wild(String),
}

impl<'t> SettingsReader<'_, 't> {
    pub(super) fn sandbox(&mut self, key: &str, value: Json<'t>) -> Result<(), LoadError> {
        let document = self.document;
        match key {
            "filesystem" => {
                for (key, value) in document.object(value, "sandbox.filesystem")? {
                    self.filesystem(&key, value)?;
                }
            }
            "network" => {
                for (key, value) in document.object(value, "sandbox.network")? {
                    self.network(&key, value)?;
                }
            }
            "credentials" => {
                for (key, value) in document.object(value, "sandbox.credentials")? {
                    self.credentials(&key, value)?;
                }
            }
            "excludedCommands" => {
                if !document.list(value, "sandbox.excludedCommands")?.is_empty() {
                    self.remark(
                        value,
                        "`excludedCommands` is not used: these commands run in the box, too",
                    );
                }
            }
            // What the box is made of and whether there is one is not for these files to say.
            "enabled"
            | "failIfUnavailable"
            | "autoAllowBashIfSandboxed"
            | "allowUnsandboxedCommands"
            | "enableWeakerNestedSandbox"
            | "enableWeakerNetworkIsolation"
            | "allowAppleEvents"
            | "ignoreViolations"
            | "ripgrep"
            | "bwrapPath"
            | "socatPath" => {}
            _ => self.is_unknown(format!("sandbox.{key}"), value),
        }
        Ok(())
    }

    fn filesystem(&mut self, key: &str, value: Json<'t>) -> Result<(), LoadError> {
        let name = format!("sandbox.filesystem.{key}");
        match key {
            "allowWrite" | "allowRead" | "denyWrite" | "denyRead" => {
                for (text, value) in self.document.texts(value, &name)? {
                    self.path(key, &text, value)?;
                }
            }
            "disabled" | "allowManagedReadPathsOnly" => {
                if self.document.flag(value, &name)? {
                    self.remark(value, format!("`{key}` is not used"));
                }
            }
            _ => self.is_unknown(name, value),
        }
        Ok(())
    }

    fn path(&mut self, key: &str, text: &str, value: Json<'t>) -> Result<(), LoadError> {
        let path = self.box_path(text, value)?;
        let settings = &mut self.settings;
        match (key, path) {
            ("allowWrite", BoxPath::Plain(path)) => settings.write.push(path),
            ("allowRead", BoxPath::Plain(path)) => settings.read.push(path),
            ("denyWrite", BoxPath::Plain(path)) => settings.protect.push(path),
            ("denyRead", BoxPath::Plain(path)) => settings.hide.push(path),
            (key @ ("denyRead" | "denyWrite"), BoxPath::Wild(pattern)) => {
                let tool = if key == "denyRead" { "Read" } else { "Edit" };
                self.rule(Decision::Deny, &format!("{tool}({pattern})"), value)?;
                let said = "a path with wildcards is a rule only, not kept by the box";
                self.remark(value, format!("{text:?}: {said}"));
            }
            (_, BoxPath::Wild(_) | BoxPath::Plain(_)) => {
                self.remark(value, format!("{text:?} is not used: write a path without wildcards"));
            }
        }
        Ok(())
    }

    fn network(&mut self, key: &str, value: Json<'t>) -> Result<(), LoadError> {
        let name = format!("sandbox.network.{key}");
        match key {
            "deniedDomains" => {
                for (text, value) in self.document.texts(value, &name)? {
                    self.rule(Decision::Deny, &format!("WebFetch(domain:{text})"), value)?;
                }
            }
            "allowedDomains" => {
                if !self.document.list(value, &name)?.is_empty() {
                    self.remark(
                        value,
                        "`allowedDomains` is not used: a box has no network, or the machine's own",
                    );
                }
            }
            "strictAllowlist"
            | "allowManagedDomainsOnly"
            | "allowUnixSockets"
            | "allowAllUnixSockets"
            | "allowLocalBinding"
            | "allowMachLookup"
            | "httpProxyPort"
            | "socksProxyPort"
            | "tlsTerminate" => {}
            _ => self.is_unknown(name, value),
        }
        Ok(())
    }

    /// Files with secrets are hidden, whether they were to be masked or denied. Variables reach a
    /// run only if they are listed.
    fn credentials(&mut self, key: &str, value: Json<'t>) -> Result<(), LoadError> {
        let document = self.document;
        if key != "files" {
            return Ok(());
        }
        for entry in document.list(value, "sandbox.credentials.files")? {
            let members = document.object(entry, "sandbox.credentials.files")?;
            for (key, value) in members.into_iter().filter(|(key, _)| key == "path") {
                let text = document.text(value, &format!("sandbox.credentials.files.{key}"))?;
                self.path("denyRead", &text, value)?;
            }
        }
        Ok(())
    }

    /// `/abs`, `//abs`, `~/x`; what is without an anchor is relative to what the file speaks of.
    fn box_path(&self, text: &str, value: Json<'t>) -> Result<BoxPath, LoadError> {
        let trimmed = text.trim_end_matches("/**").trim_end_matches('/');
        if text.is_empty() || text.contains('\0') {
            return Err(self.document.wrong(value, format!("{text:?} is no path")));
        }
        let path = match (trimmed.strip_prefix("~/"), self.origin.home) {
            (None, _) if trimmed == "~" => self.origin.home.map(ToOwned::to_owned),
            (None, _) if trimmed.is_empty() => Some(PathBuf::from("/")),
            (None, _) if trimmed.starts_with("//") => {
                Some(PathBuf::from(trimmed.trim_start_matches('/')))
                    .map(|rest| PathBuf::from("/").join(rest))
            }
            (None, _) => Some(self.origin.base.join(trimmed)),
            (Some(rest), home) => home.map(|home| home.join(rest)),
        };
        let Some(path) = path else {
            let message = format!("{text:?} needs a home folder, and there is none");
            return Err(self.document.wrong(value, message));
        };
        let path = plain(&path);
        let is_wild = trimmed.contains(['*', '?', '[']);
        Ok(if is_wild {
            BoxPath::Wild(format!("/{}", path.display()))
        } else {
            BoxPath::Plain(path)
        })
    }
}
