//! Leading the supervisor elsewhere while it looks for new files: another sandbox swaps a folder of the
//! project for a link.

use std::fs;
use std::path::Path;

use crate::support::{Project, Told};

/// Creates what the policy protects, the last of it beneath the folder that is swapped.
const MAKE: &str = "import os
for i in range(400):
    os.makedirs(f'a/{i:03}'); open(f'a/{i:03}/made.lock', 'w').close()
os.makedirs('z/deep'); open('z/deep/made.lock', 'w').close(); open('ready', 'w').close()
";

#[test]
fn a_folder_that_another_sandbox_swaps_leads_the_supervisor_nowhere() {
    let project = Project::new();
    let victim = project.beside("victim");
    fs::create_dir_all(victim.join("deep")).unwrap();
    fs::write(victim.join("deep/made.lock"), "precious").unwrap();
    let swap = format!(
        "import os, time
until = time.time() + 300
while time.time() < until and not os.path.exists('ready'): time.sleep(0.001)
while time.time() < until and os.path.exists('a/000/made.lock'): pass
os.rename('z', 'z.old'); os.symlink({:?}, 'z')
",
        victim.display()
    );
    project.write("swap.py", &swap);
    project.write("make.py", MAKE);
    fs::write(project.beside("own.toml"), "rules.deny = ['Edit(*.lock)']\n").unwrap();
    let own = project.beside("own.toml");
    let (first, second) = (project.beside("first.jsonl"), project.beside("second.jsonl"));
    let [own, first, second] = [&own, &first, &second].map(|path| path.to_str().unwrap());
    let python = ["--mode=bypass", "--", "/usr/bin/python3"];
    let swapping = [&["run", "--journal", first][..], &python, &["swap.py"]].concat();
    let making = ["run", "--journal", second, "--policy", own];
    let making = [&making[..], &python, &["make.py"]].concat();
    let swapping = project.command(&swapping).spawn().unwrap();
    let told = project.stockade(&making);
    let swapped = Told::from(swapping.wait_with_output().unwrap());
    assert_eq!(swapped.code, 0, "{swapped:?}");
    let names = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(&victim.join("deep")), ["made.lock"], "{told:?}");
    assert_eq!(names(&victim), ["deep"], "{told:?}");
    // The control: the link, which may be renamed itself, leads to the file, and others were renamed.
    let links = names(&project.path("")).into_iter().map(|name| project.path(&name));
    let link = links.into_iter().find(|path| path.is_symlink()).unwrap();
    assert_eq!(fs::read_to_string(link.join("deep/made.lock")).unwrap(), "precious", "{told:?}");
    let held = names(&project.path("a/000"));
    assert!(held.iter().all(|name| name.starts_with("made.lock.stockade-held-")), "{held:?}");
    assert_eq!(held.len(), 1, "{told:?}");
}
