//! Keys of settings files that say nothing about what may run, so that nobody has to hear of them.

/// In the order of the alphabet.
const OF_THE_AGENT: [&str; 44] = [
    "$schema",
    "advisorModel",
    "agent",
    "allowedHttpHookUrls",
    "allowedMcpServers",
    "alwaysThinkingEnabled",
    "apiKeyHelper",
    "attribution",
    "autoMemoryDirectory",
    "autoMemoryEnabled",
    "autoUpdatesChannel",
    "availableModels",
    "awsAuthRefresh",
    "awsCredentialExport",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "deniedMcpServers",
    "disabledMcpjsonServers",
    "editorMode",
    "effortLevel",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "enabledPlugins",
    "extraKnownMarketplaces",
    "fastMode",
    "feedbackSurveyRate",
    "fileSuggestion",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "httpHookAllowedEnvVars",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "language",
    "model",
    "modelOverrides",
    "otelHeadersHelper",
    "outputStyle",
    "plansDirectory",
    "respectGitignore",
    "showThinkingSummaries",
    "spinnerTipsEnabled",
    "statusLine",
    "theme",
    "verbose",
];

/// Whether a key is known, and none of ours.
pub(super) fn is_of_the_agent(key: &str) -> bool {
    OF_THE_AGENT.binary_search(&key).is_ok()
}

/// Whether a variable is the agent's own: how it logs in and works, which no call has to know.
pub(super) fn is_variable_of_the_agent(name: &str) -> bool {
    ["ANTHROPIC_", "CLAUDE_", "BASH_DEFAULT_", "BASH_MAX_", "OTEL_"]
        .iter()
        .any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::OF_THE_AGENT;

    #[test]
    fn the_keys_are_sorted() {
        assert!(OF_THE_AGENT.is_sorted());
    }
}
