//! The JSON Schema of policy files: what it accepts loads, and what it refuses does not.

use std::fs;
use std::path::Path;

use regex_lite::Regex;
use serde_json::Value;
use stockade::Policy;
use stockade::policy::schema;

use crate::project::workspace;
use crate::written;

/// Whether a value fits a schema; a keyword that is not known here fails the test.
fn fits(schema: &Value, value: &Value) -> bool {
    let holds = |keyword: &str, wanted: &Value| match keyword {
        "$schema" | "title" | "description" => true,
        "type" => match wanted.as_array() {
            Some(types) => types.iter().any(|one| is_a(one, value)),
            None => is_a(wanted, value),
        },
        "enum" => wanted.as_array().unwrap().contains(value),
        "pattern" => {
            let pattern = Regex::new(wanted.as_str().unwrap()).unwrap();
            value.as_str().is_some_and(|text| pattern.is_match(text))
        }
        "minimum" => value.as_i64() >= wanted.as_i64(),
        "items" => value.as_array().unwrap().iter().all(|item| fits(wanted, item)),
        "properties" => {
            let member = |(name, schema): (&String, &Value)| {
                value.get(name).is_none_or(|member| fits(schema, member))
            };
            wanted.as_object().unwrap().iter().all(member)
        }
        "additionalProperties" => {
            let known = schema.get("properties");
            let is_known = |name: &str| known.is_some_and(|known| known.get(name).is_some());
            let mut others = value.as_object().unwrap().iter().filter(|(name, _)| !is_known(name));
            others.all(|(_, other)| wanted != &Value::Bool(false) && fits(wanted, other))
        }
        "required" => {
            let mut names = wanted.as_array().unwrap().iter().filter_map(Value::as_str);
            names.all(|name| value.get(name).is_some())
        }
        "anyOf" => wanted.as_array().unwrap().iter().any(|one| fits(one, value)),
        other => panic!("{other} is not known to this test"),
    };
    // The type first: what the others mean depends on it.
    let mut keywords: Vec<(&String, &Value)> = schema.as_object().unwrap().iter().collect();
    keywords.sort_by_key(|(keyword, _)| *keyword != "type");
    keywords.into_iter().all(|(keyword, wanted)| holds(keyword, wanted))
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        other => panic!("{other} is not known to this test"),
    }
}

fn is_valid(text: &str) -> bool {
    fits(&schema().unwrap(), &toml::from_str(text).unwrap())
}

fn loads(text: &str) -> bool {
    Policy::from_text(Path::new("/project/stockade.toml"), text).is_ok()
}

#[test]
fn the_schema_is_in_the_documents() {
    let text = serde_json::to_string_pretty(&schema().unwrap()).unwrap();
    written::hold("docs/policy.schema.json", &format!("{text}\n"));
}

#[test]
fn every_key_has_its_words() {
    fn wordless(schema: &Value, at: &str, found: &mut Vec<String>) {
        for (name, below) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let at = format!("{at}.{name}");
            if below.get("description").is_none() {
                found.push(at.clone());
            }
            wordless(below, &at, found);
        }
        let more = schema.get("additionalProperties").filter(|more| more.is_object());
        let items = schema.get("items").into_iter().chain(more);
        let forms = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        for inner in items.chain(forms) {
            wordless(inner, &format!("{at}[]"), found);
        }
    }
    let mut found = Vec::new();
    wordless(&schema().unwrap(), "", &mut found);
    assert_eq!(found, Vec::<String>::new(), "give each a row in policy/schema/keys.rs");
}

#[test]
fn shipped_policies_fit() {
    let mut seen = 0;
    for folder in ["policies", "policies/hooks"] {
        for entry in fs::read_dir(workspace().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                // What is known about risky files lies beside the policies, and is none.
                let text = fs::read_to_string(&path).unwrap();
                assert_eq!(is_valid(&text), loads(&text), "{}", path.display());
                seen += usize::from(loads(&text));
            }
        }
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn what_fits_loads() {
    for text in [
        "",
        "mode = 'acceptEdits'",
        "questions.timeout = '1m 30s'",
        "limits = { wall = '2.5', cpu = 'none', cpus = '1.5', memory = '1GiB', processes = 1 }",
        "code.limits.wall = '500ms'",
        "limits.output = '64k'",
        "box = { hide = ['~/.ssh', '.env', '/x'], env = ['A', 'B=c d'], net = 'host' }",
        "box.require = ['tier', 'reads:partial', 'tree_limits']",
        "rules.deny = ['Bash(rm *)', { rule = 'Read(.env)', reason = 'no', match = ['.env'] }]",
        "[[hook]]\nevent = 'pre'\ncommand = ['./x']\ntimeout = '10s'",
        "journal = { durability = 'batched', window = '2s' }",
        "[tool.count]\ncommand = ['wc']\ninput = { type = 'object' }\nlimits.wall = '2s'\n\
         risk = ['reads']\nidempotent = true\nattempts = 2",
    ] {
        assert_eq!((is_valid(text), loads(text)), (true, true), "{text}");
    }
}

#[test]
fn what_does_not_fit_does_not_load() {
    for text in [
        "modes = 'auto'",
        "mode = 'automatic'",
        "mode = 1",
        "questions.timeout = 'soon'",
        "limits.wall = '5 parsecs'",
        "limits.wall = 'soon'",
        "limits.processes = 0",
        "limits.processes = '12'",
        "limits.memory = 'much'",
        "limits.cpus = '-1'",
        "code.limits.wall = 'x'",
        "code.wall = '1s'",
        "box.tier = 'sandbox'",
        "box.net = 'some'",
        "box.require = ['writes:well']",
        "box.hide = '.env'",
        "box.hide = ['']",
        "box.env = ['=x']",
        "box.toolchains = ['cobol']",
        "exec.folders = ['relative']",
        "exec.profile = 'loose'",
        "rules.deny = 'Bash'",
        "rules.deny = [1]",
        "rules.deny = [{ reason = 'no rule' }]",
        "rules.deny = [{ rule = 'Bash', because = 'x' }]",
        "rules.forbid = []",
        "[[hook]]\ncommand = ['x']",
        "[[hook]]\nevent = 'during'\ncommand = ['x']",
        "hook.event = 'pre'",
        "journal.durability = 'never'",
        "[tool.count]\ncommand = ['wc']\ntier = 'inline'",
        "[tool.count]\ncommand = ['wc']\nlimits.wall = 'long'",
        "[tool.count]\ncommand = ['wc']\nrisk = ['some']",
        "[tool.count]\ncommand = 'wc'",
        "[tool.count]\npython = 'no function'",
        "[tool]\ncount = 1",
    ] {
        assert_eq!((is_valid(text), loads(text)), (false, false), "{text}");
    }
}

/// Every value that the schema lists for a key is one that loads.
#[test]
fn every_listed_value_loads() {
    fn listed(schema: &Value, at: &str, found: &mut Vec<String>) {
        for (name, below) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let key = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            let of = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
            let single = of(below).into_iter().flatten().map(|value| format!("{key} = {value}"));
            let items = below.get("items").and_then(of).into_iter().flatten();
            found.extend(single.chain(items.map(|value| format!("{key} = [{value}]"))));
            listed(below, &key, found);
        }
    }
    let mut found = Vec::new();
    listed(&schema().unwrap(), "", &mut found);
    assert!(found.len() > 60, "{found:?}");
    for text in found {
        assert!(loads(&text), "{text}");
    }
}
