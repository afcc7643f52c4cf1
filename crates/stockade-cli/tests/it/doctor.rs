//! `stockade doctor`.

use serde_json::Value;

use crate::poorer::{Caller, Poorer, can_box};
use crate::support::Project;

#[test]
fn names_every_mechanism_and_a_remedy_for_each_that_is_not_there() {
    let told = Project::new().stockade(&["doctor", "--json"]);
    let found = told.json();
    let mechanisms = found["mechanisms"].as_array().unwrap();
    for name in ["shim", "namespaces", "network-namespace", "new-root", "landlock", "seccomp"] {
        assert!(mechanisms.iter().any(|one| one["mechanism"] == name), "{name}: {told:?}");
    }
    for one in mechanisms {
        assert!(one["works"] == true || one["remedy"].is_string(), "{one}");
        assert!(one["since"].is_string() && !one["keeps"].as_array().unwrap().is_empty(), "{one}");
    }
    let guarantees = found["guarantees"].as_array().unwrap();
    assert_eq!(guarantees.len(), 12);
    assert!(guarantees.iter().all(|one| one["kept"].is_string() && one["by"].is_array()));
    assert!(found["known_faults"].is_array() && found["landlock_errata"].is_array());
    assert_eq!(told.code, i32::from(found["ok"] != true));
    assert_eq!(found["ok"], found["tried"]["ok"], "{found}");
}

/// What would be kept is what a run then says that it keeps.
#[test]
fn promises_what_a_run_keeps() {
    let found = Project::new().stockade(&["doctor", "--json"]).json();
    let Some(ran) = found["tried"]["enforcement"].as_array().filter(|lines| !lines.is_empty())
    else {
        return crate::support::skip("userns", "the shipped policy cannot be kept here");
    };
    for (promised, kept) in found["guarantees"].as_array().unwrap().iter().zip(ran) {
        assert_eq!(promised["guarantee"], kept["guarantee"]);
        assert_eq!(promised["kept"], kept["kept"], "{promised} {kept}");
    }
}

#[test]
fn names_the_tiers_and_recommends_one_that_works() {
    let told = Project::new().stockade(&["doctor", "--json"]);
    let found = told.json();
    let tiers = found["tiers"].as_array().unwrap();
    let names: Vec<&str> = tiers.iter().map(|one| one["tier"].as_str().unwrap()).collect();
    assert_eq!(names, ["process", "jail", "container", "gvisor"]);
    for tier in tiers {
        assert!(tier["found"].is_string(), "{tier}");
        assert!(tier["works"] == true || tier["gain"].is_string(), "{tier}");
    }
    let recommended = &found["recommended"];
    let taken = tiers.iter().find(|one| one["tier"] == recommended["tier"]).unwrap();
    assert_eq!(taken["works"], true, "{recommended}");
    assert!(recommended["why"].is_string());
    assert!(found["ok"] != true || recommended["tier"] == "jail", "{recommended}");
    assert!(found.get("battery").is_none(), "it is run when it is asked for");
}

#[test]
fn without_engines_it_says_what_they_would_add() {
    let project = Project::new();
    let mut command = project.command(&["doctor", "--json"]);
    command.env("PATH", project.beside("home"));
    let found = crate::support::Told::from(command.output().unwrap()).json();
    for (tier, install) in [("container", "podman"), ("gvisor", "runsc")] {
        let tiers = found["tiers"].as_array().unwrap();
        let one = tiers.iter().find(|one| one["tier"] == tier).unwrap();
        assert_eq!(one["works"], false, "{one}");
        assert!(one["gain"].as_str().unwrap().contains(&format!("apt-get install {install}: ")));
    }
    assert!(found["recommended"]["climb"].as_str().unwrap().contains("runsc"), "{found}");
}

#[test]
fn tells_a_person_a_table_and_a_verdict() {
    let told = Project::new().stockade(&["doctor"]);
    let table: Vec<&str> =
        told.stdout.lines().skip_while(|line| !line.contains("  kept ")).take(13).collect();
    assert!(table[0].contains("namespaces") && table[0].contains("landlock"), "{told:?}");
    assert!(table[1].starts_with("writes") && table[12].starts_with("kernel"), "{told:?}");
    assert!(told.stdout.contains(message!("doctor.shipped-policy-can-kept")), "{told:?}");
    assert!(told.stdout.contains("\nrecommended here: "), "{told:?}");
    assert!(!told.stdout.contains('\u{1b}'), "{told:?}");
}

#[test]
fn the_doctor_says_what_is_missing_and_whether_the_shipped_policy_can_be_kept() {
    if !can_box() {
        return;
    }
    for caller in Caller::all() {
        let poorer = Poorer::new(caller);
        for (lacks, keeps_policy, broken) in [
            ("", true, None),
            ("landlock", true, Some("landlock")),
            ("namespaces", false, Some("namespaces")),
            ("mounts", false, Some("new-root")),
            ("namespaces,landlock", false, Some("landlock")),
            ("filters", false, Some("seccomp")),
        ] {
            let told = poorer.told("EPERM", lacks, &["doctor", "--json"]);
            let found = told.json();
            assert_eq!(found["ok"], keeps_policy, "{lacks}: {found}");
            assert_eq!(told.code, i32::from(!keeps_policy), "{lacks}");
            let form = match lacks {
                "" | "landlock" => Some("namespaces"),
                "namespaces" | "mounts" => Some("locks"),
                _ => None,
            };
            assert_eq!(found["form"].as_str(), form, "{lacks}: {found}");
            for one in found["mechanisms"].as_array().unwrap() {
                let is_broken = broken == one["mechanism"].as_str();
                assert!(!is_broken || one["works"] == false, "{lacks}: {one}");
                assert!(one["works"] == true || one["remedy"].is_string(), "{lacks}: {one}");
            }
        }
    }
}

/// A folder of engines that are scripts, beside the programs of the machine.
fn with_engines(project: &Project, engines: &[(&str, &str)], args: &[&str]) -> Value {
    let folder = project.beside("engines");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, script) in engines {
        crate::support::write_script(folder.join(name), script);
    }
    let mut command = project.command(args);
    command.env("PATH", &folder);
    crate::support::Told::from(command.output().unwrap()).json()
}

fn container_tier(found: &Value) -> &Value {
    found["tiers"].as_array().unwrap().iter().find(|one| one["tier"] == "container").unwrap()
}

/// Answers for itself, and starts containers by one runtime only.
const PODMAN: &str = "#!/bin/sh\ncase \"$*\" in\n--version) echo podman version 9.9 ;;\n*'--runtime runc '*) ;;\n\
                      *) echo 'hybrid mode not supported' >&2; exit 126 ;;\nesac\n";

#[test]
fn an_engine_whose_runtime_fails_does_not_count_and_one_that_works_is_named() {
    let engines = [("podman", PODMAN), ("runc", "#!/bin/sh\n")];
    let project = Project::new();
    let tier = container_tier(&with_engines(&project, &engines, &["doctor", "--json"])).clone();
    assert_eq!(tier["works"], false, "{tier}");
    let found = tier["found"].as_str().unwrap();
    assert!(found.contains("hybrid mode not supported"), "{found}");
    assert!(found.contains("box.runtime = \"runc\""), "{found}");

    // With the key set, it works.
    let own = project.beside("config/stockade");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("stockade.toml"), "[box]\nruntime = \"runc\"\n").unwrap();
    let tier = container_tier(&with_engines(&project, &engines, &["doctor", "--json"])).clone();
    assert_eq!((&tier["works"], &tier["found"]), (&true.into(), &"podman 9.9".into()));
}

#[test]
fn an_engine_without_its_daemon_does_not_count() {
    let docker = "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n";
    let found = with_engines(&Project::new(), &[("docker", docker)], &["doctor", "--json"]);
    let tier = container_tier(&found);
    assert_eq!(tier["works"], false, "{tier}");
    assert!(tier["found"].as_str().unwrap().contains("Cannot connect to the Docker daemon"));
}

#[test]
fn the_battery_goes_by_the_policy_of_the_user() {
    let project = Project::new();
    let own = project.beside("config/stockade");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("stockade.toml"), "mode = \"plan\"\n").unwrap();
    let found = project.stockade(&["doctor", "--battery", "--json"]).json();
    for column in found["battery"]["columns"].as_array().unwrap() {
        let is_bare = column["place"] == "bare";
        assert_eq!(column["not_run"].is_string(), !is_bare, "{column}");
    }
    let jail = &found["battery"]["columns"][2];
    assert_eq!(jail["place"], "jail");
    assert!(jail["not_run"].as_str().unwrap().contains("plan"), "{jail}");
}
