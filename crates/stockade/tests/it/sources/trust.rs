//! Trust: what a project's file may do before and after, and that a change takes it back.

use std::os::unix::fs::PermissionsExt as _;

use stockade::policy::{Decision, LoadError, Policy, Trust, TrustStore};
use stockade::tier::Tier;

use super::place::{Place, decided};

const LOOSE: &str = "[box]\ntier = \"process\"\n[rules]\nallow = ['Bash(make *)']\n";

fn says(policy: &Policy, words: &str) -> bool {
    policy.notes().iter().any(|note| note.contains(words))
}

#[test]
fn a_policy_file_loosens_only_once_it_is_trusted() {
    let place = Place::new();
    place.write("work/stockade.toml", LOOSE);
    let error = place.sources().load().unwrap_err();
    assert!(matches!(error, LoadError::Loosens { line: 2, .. }), "{error}");
    assert!(error.to_string().contains("stockade trust"), "{error}");
    place.trust("work/stockade.toml");
    let policy = place.load();
    assert_eq!((policy.tier, decided(&policy, "make x")), (Tier::Process, Some(Decision::Allow)));
    place.write("work/stockade.toml", &format!("{LOOSE}# more\n"));
    assert!(place.sources().load().is_err(), "a change takes the trust back");
    place.write("work/stockade.toml", "rules.allow = ['Bash(make *)']\n");
    let policy = place.load();
    assert_eq!(decided(&policy, "make x"), None);
    assert!(says(&policy, message!("sources.changed-since-trusted-can")), "{:?}", policy.notes());
    place.write("work/stockade.toml", LOOSE);
    assert_eq!(place.load().tier, Tier::Process, "the same content is trusted again");
}

#[test]
fn the_machine_is_above_a_trusted_project() {
    let place = Place::new();
    place.write("managed.toml", "[box]\ntier = \"jail\"\n");
    place.write("work/stockade.toml", LOOSE);
    place.trust("work/stockade.toml");
    assert_eq!(place.load().tier, Tier::Jail);
}

#[test]
fn settings_of_a_project_only_tighten_until_they_are_trusted() {
    let place = Place::new();
    let text = r#"{
      "permissions": {"allow": ["Bash(make *)"], "deny": ["Bash(a)"],
        "additionalDirectories": ["/srv"], "defaultMode": "bypassPermissions"},
      "env": {"LD_PRELOAD": "/x.so"}, "hooks": {"PreToolUse": []}, "disableAllHooks": true,
      "sandbox": {"filesystem": {"allowWrite": ["/opt"], "allowRead": ["/root"],
        "denyRead": ["secret"], "denyWrite": ["kept"]}}}"#;
    for name in ["work/.claude/settings.json", "work/.claude/settings.local.json"] {
        let place = Place::new();
        place.write(name, text);
        let (policy, shipped) = (place.load(), Policy::shipped());
        assert_eq!(decided(&policy, "make x"), None);
        assert_eq!(decided(&policy, "a"), Some(Decision::Deny));
        assert_eq!(policy.files.write, shipped.files.write);
        assert_eq!(policy.files.read, shipped.files.read);
        assert_eq!(policy.environment, shipped.environment);
        assert_eq!(policy.settings, shipped.settings);
        assert_eq!((policy.agent.mode.is_none(), policy.agent.hooks.len()), (true, 0));
        assert!(!policy.agent.hooks_disabled);
        assert!(policy.files.hide.contains(&place.path("work/secret")));
        assert!(policy.files.protect.contains(&place.path("work/kept")));
        for what in ["works in /srv", "sets LD_PRELOAD", "runs hooks", "writes /opt"] {
            assert!(says(&policy, what), "{what} in {:?}", policy.notes());
        }
    }
    place.write("work/.claude/settings.json", text);
    place.trust("work/.claude/settings.json");
    let policy = place.load();
    assert_eq!(decided(&policy, "make x"), Some(Decision::Allow));
    assert!(policy.files.write.contains(&"/srv".into()) && policy.agent.hooks.len() == 1);
    assert!(policy.agent.hooks_disabled);
}

#[test]
fn what_a_file_would_loosen_is_told() {
    let place = Place::new();
    place.write("work/stockade.toml", &format!("{LOOSE}[exec]\ndeny = ['a']\n"));
    place.write("work/.claude/settings.json", r#"{"permissions": {"allow": ["Bash(x)"]}}"#);
    place.write("work/.claude/settings.local.json", r#"{"permissions": {"deny": ["Bash(x)"]}}"#);
    let mut told = Vec::new();
    for file in place.sources().project_files() {
        told.push(file.read().unwrap().unwrap().loosens);
    }
    let policy = [
        "sets box.tier (line 2)",
        "allows Bash(make *)",
        message!("project.replaces-instead-adding", "exec.deny"),
    ];
    assert_eq!(
        told,
        [policy.map(str::to_owned).to_vec(), vec!["allows Bash(x)".to_owned()], vec![]]
    );
}

#[test]
fn raised_limits_and_fewer_reported_changes_are_told() {
    let place = Place::new();
    let told = |text: &str| {
        place.write("work/stockade.toml", text);
        let file = place.sources().project_files().into_iter().next().unwrap();
        file.read().unwrap().unwrap().loosens
    };
    assert_eq!(told("[limits]\nwall = '9h'\n"), ["raises limits"]);
    assert_eq!(told("[code.limits]\nwall = '9h'\n"), ["raises code.limits"]);
    for fewer in ["none", "risky"] {
        let text = format!("[box]\nchanges = '{fewer}'\n");
        assert_eq!(told(&text), [message!("project.reports-fewer-changes-box")], "{fewer}");
    }
    assert!(told("[box]\nchanges = 'bounded'\n").is_empty());
    assert!(told("[code.limits]\nwall = '1s'\n[box]\nchanges = 'all'\n").is_empty());
}

#[test]
fn the_store_is_private_and_survives() {
    let place = Place::new();
    let file = place.write("work/stockade.toml", LOOSE);
    place.trust("work/stockade.toml");
    let path = place.path("state/trust.json");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let mut store = TrustStore::read(&path).unwrap();
    assert_eq!(store.of(&file, LOOSE), Trust::Given);
    assert_eq!(store.of(&file, "x"), Trust::Changed);
    assert_eq!(store.of(&place.path("work/other.toml"), LOOSE), Trust::None);
    std::os::unix::fs::symlink(place.path("work"), place.path("link")).unwrap();
    assert_eq!(store.of(&place.path("link/stockade.toml"), LOOSE), Trust::Given);
    assert!(store.remove(&file) && !store.remove(&file));
    store.write().unwrap();
    assert_eq!(TrustStore::read(&path).unwrap().files().count(), 0);
    let left: Vec<_> = std::fs::read_dir(place.path("state")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing of the writing is left: {left:?}");
}

#[test]
fn a_store_that_proves_nothing_stops_everything() {
    let place = Place::new();
    place.write("work/stockade.toml", "");
    place.trust("work/stockade.toml");
    let path = place.path("state/trust.json");
    let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
    allow(0o622).unwrap();
    let error = place.sources().load().unwrap_err();
    assert!(matches!(error, LoadError::Read { .. }), "{error}");
    allow(0o600).unwrap();
    place.load();
    for text in
        ["{", "{\"version\": 2, \"files\": []}", "{\"version\": 1, \"files\": [], \"x\": 1}"]
    {
        std::fs::write(&path, text).unwrap();
        assert!(place.sources().load().is_err(), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(place.path("work/stockade.toml"), &path).unwrap();
    assert!(place.sources().load().is_err(), "a link");
}

#[test]
fn a_file_of_the_project_that_is_a_link_does_not_load() {
    let place = Place::new();
    let elsewhere = place.write("elsewhere.json", "{}");
    std::fs::create_dir(place.path("work/.claude")).unwrap();
    std::os::unix::fs::symlink(elsewhere, place.path("work/.claude/settings.json")).unwrap();
    assert!(place.sources().load().unwrap_err().to_string().contains("settings.json"));
}
