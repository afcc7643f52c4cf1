//! One battery in every tier: `stockade doctor --battery`, held to what each tier is for and to the
//! table in `docs/matrix.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{IMAGE, Project, Tier, containers_that_show, runtime, skip, stockade, text};

const INTRODUCTION: &str = "# What each tier keeps, tried

Written by the test `matrix` of `crates/stockade-cli/tests/oci`, by `stockade doctor --battery`, which does the
same on your machine. Each row is one call, run bare (without Stockade) and in every tier; what came of it is
seen from outside, and not believed of a report. Bare every attack has to work, or it would test nothing.
*Kept*: the attack came to nothing. *Not kept*: it worked, as the tier says it would.

";

const OUTRO: &str = "
`microvm` and `cluster` are not in this version: not run. The `process` tier keeps its supervisor and that one's
environment from the program by Landlock's signal scope, from Linux 6.12 on; before that its report calls
`processes` and `environment` partial. For an ordinary user without a cgroup `tree_limits` is partial, and
`gvisor` was seen to let the 400 processes run. What each tier is for, and what it does not protect: [tiers](tiers.md).
";

/// The attacks that the process tier lets through, and says so.
const OPEN_IN_PROCESS: [&str; 3] = [
    "a read of a file outside",
    "a write to a file outside",
    "a connection to a service of this machine",
];
/// Which limit ends which of them.
const LIMITS: [(&str, &str); 3] = [
    ("a run past its deadline", "wall"),
    ("256 MiB where 64 are allowed", "memory"),
    ("400 processes where 20 are allowed", "processes"),
];

#[test]
fn every_tier_keeps_what_it_says() {
    let without: Vec<Tier> = [Tier::Container, Tier::Gvisor]
        .into_iter()
        .filter(|tier| Project::new(*tier).is_none())
        .collect();
    let scratch = tempfile::tempdir().unwrap();
    let mut doctor = stockade();
    doctor.args(["doctor", "--battery", "--json"]).env("TMPDIR", scratch.path());
    if !without.contains(&Tier::Container) {
        doctor.args(["--image", IMAGE]);
        if let Some(runtime) = runtime() {
            let policy = scratch.path().join("policy.toml");
            fs::write(&policy, format!("[box]\nruntime = \"{runtime}\"\n")).unwrap();
            doctor.arg("--policy").arg(policy);
        }
    }
    let told = crate::support::report(doctor);
    let columns = told["battery"]["columns"].as_array().unwrap();
    let places: Vec<&str> = columns.iter().map(|column| text(column, "place")).collect();
    assert_eq!(places, ["bare", "process", "jail", "container", "gvisor"]);
    let mut all_ran = true;
    for column in columns {
        let place = text(column, "place");
        let is_without = without.iter().any(|tier| tier.name() == place);
        all_ran &= held(column, is_without);
    }
    nothing_is_left(scratch.path(), &without);
    if all_ran {
        hold("docs/matrix.md", &format!("{INTRODUCTION}{}{OUTRO}", table(columns)));
    }
}

/// Holds one tier to what it is for; whether it was run as on any machine with all there is.
fn held(column: &Value, is_without: bool) -> bool {
    let (place, cells) = (text(column, "place"), column["cells"].as_array().unwrap());
    if column["not_run"].is_string() {
        // A tier that the machine lacks has no cell that could be taken for a pass.
        assert!(cells.is_empty(), "{column}");
        assert!(is_without || place == "jail", "{place} is here and was not run: {column}");
        skip(place, &format!("{place} was not run: {}", text(column, "not_run")));
        return false;
    }
    if is_without {
        return false;
    }
    let mut is_usual = true;
    for cell in cells {
        let (case, end) = (text(cell, "case"), text(cell, "came"));
        let open = place == "bare" || (place == "process" && OPEN_IN_PROCESS.contains(&case));
        let wanted = if case == "a legal call" {
            "runs"
        } else if open {
            "not_kept"
        } else {
            "kept"
        };
        // What takes a newer kernel or a cgroup for this user, the report calls partial.
        let is_partial = text(cell, "promised") == "partial";
        is_usual &= end == wanted;
        assert!(end == wanted || is_partial, "{place}: {cell}");
        assert_eq!(cell["ok"], true, "{place}: {cell}");
        let limit = LIMITS.iter().find(|(name, _)| *name == case && place != "bare");
        if let Some((_, limit)) = limit {
            let named = text(cell, "limit");
            assert!(named == *limit || is_partial, "{place}: {cell}");
        }
    }
    if !is_usual {
        skip("matrix", &format!("{place} keeps less here than the table in docs/matrix.md shows"));
    }
    is_usual
}

fn nothing_is_left(scratch: &Path, without: &[Tier]) {
    let left: Vec<_> = fs::read_dir(scratch).unwrap().flatten().map(|one| one.path()).collect();
    let of_battery = left.iter().filter(|path| path.to_string_lossy().contains("battery"));
    assert_eq!(of_battery.count(), 0, "{left:?}");
    if !without.contains(&Tier::Container) {
        assert_eq!(containers_that_show(scratch).len(), 0);
    }
}

fn table(columns: &[Value]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| text(column, "place")).collect();
    let mut table = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(columns.len()));
    let cases = columns[0]["cells"].as_array().unwrap().len();
    for at in 0..cases {
        let end = |column: &Value| {
            let end = text(&column["cells"][at], "came").replace('_', " ");
            if end == "not kept" { format!("**{end}**") } else { end }
        };
        let row: Vec<String> = columns.iter().map(end).collect();
        let case = text(&columns[0]["cells"][at], "case");
        writeln!(table, "| {case} | {} |", row.join(" | ")).unwrap();
    }
    table
}

/// Holds a document to its text, or writes it.
fn hold(document: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    if std::env::var_os("STOCKADE_WRITE_TABLE").is_some() {
        fs::write(&path, wanted).unwrap();
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{document} is not up to date: STOCKADE_WRITE_TABLE=1 writes it");
}
