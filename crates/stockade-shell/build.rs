//! Turns the data about programs from TOML into a sorted table of names and one JSON text for each
//! program, which is read when the program is first asked for.

#[path = "src/catalog/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("../../policies/programs");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, Box<dyn Error>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let (mut blocks, mut wholes) = (String::new(), Vec::new());
    let (mut names, mut words) = (Vec::new(), BTreeSet::new());
    for path in files {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let programs = source::programs(&fs::read_to_string(&path)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        for program in programs {
            names.extend(program.names.iter().map(|name| (name.clone(), wholes.len())));
            words.extend(program.words.iter().flat_map(|name| name.split(' ')).map(str::to_owned));
            writeln!(
                blocks,
                "    Block {{ file: \"programs/{file}\", line: {}, versioned: {}, like: &{:?}, \
                 data: {:?} }},",
                program.line, program.versioned, program.like, program.data
            )?;
            wholes.push(program.whole);
        }
    }
    names.sort();
    let count = wholes.len();
    let variables: serde_json::Value =
        toml::from_str(&fs::read_to_string(folder.join("environment.toml"))?)?;
    let words: Vec<String> = words.into_iter().collect();
    let data = format!(
        "/// Every program.\npub(super) static BLOCKS: [Block; {count}] = [\n{blocks}];\n\
         /// The names of all programs, sorted, each with the place of its block.\n\
         pub(super) static NAMES: &[(&str, usize)] = &{names:?};\n\
         /// Every word that names a program or a subcommand, each on a line of its own.\n\
         pub(super) static WORDS: &str = {:?};\n\
         /// The dangerous variables.\npub(super) static VARIABLES: &str = {:?};\n\
         /// Every program with its examples, for [`Catalog::check`](super::Catalog::check).\n\
         pub(super) static EXAMPLES: &str = {:?};\n",
        format!("\n{}\n", words.join("\n")),
        variables.to_string(),
        format!("[{}]", wholes.join(",\n")),
    );
    let out = env::var_os("OUT_DIR").ok_or("cargo names the folder to write to")?;
    Ok(fs::write(Path::new(&out).join("data.rs"), data)?)
}
