//! Writes what the fuzzer begins with: each line of the shell tests, and the messages that a host sends
//! to a shim, in a file of its own.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use stockade_sandbox::{Jail, Landlock, Mount, Rlimits, Rule, Spec, Stdin, fuzzing, rights};

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    shell_lines(here)?;
    shim_messages(here)
}

fn shell_lines(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/parse");
    fs::create_dir_all(&corpus)?;
    for name in ["forms", "parable"] {
        let data = here.join(format!("../crates/stockade/tests/data/shell/{name}.txt"));
        let text = fs::read_to_string(data)?;
        for (number, record) in text.split("\n=== ").skip(1).enumerate() {
            let line = record.split_once('\n').map_or("", |(_, rest)| rest);
            let line = line.split_once("\n---\n").map_or(line, |(line, _)| line);
            fs::write(corpus.join(format!("{name}-{number}")), line)?;
        }
    }
    Ok(())
}

fn shim_messages(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/shim_protocol");
    fs::create_dir_all(&corpus)?;
    let spec = Spec {
        program: File::open("/bin/true")?.into(),
        script: Some(c"./script".into()),
        argv: vec![c"true".into(), c"--help".into()],
        env: vec![c"PATH=/bin".into()],
        cwd: File::open("/")?.into(),
        stdin: Stdin::Empty,
        merges_output: false,
        rlimits: Rlimits { cpu_seconds: Some(10), ..Rlimits::default() },
        processes_max: Some(64),
        signal_scope: None,
    };
    let mut jail = Jail::new(c"/bin/true", c"/");
    jail.root = Some(vec![
        Mount::read_only(c"/usr")?,
        Mount::Link { target: c"/bin".into(), to: c"usr/bin".into() },
        Mount::File { target: c"/etc/hosts".into(), content: b"127.0.0.1 box".to_vec() },
        Mount::Hide { target: c"/usr/bin".into() },
    ]);
    jail.forbidden.push(c"/work/.env".into());
    jail.landlock =
        Some(Landlock { rules: vec![Rule { path: c"/usr".into(), rights: rights::READ }] });
    for (number, seed) in fuzzing::seeds(&spec, &jail)?.iter().enumerate() {
        fs::write(corpus.join(number.to_string()), seed)?;
    }
    Ok(())
}
