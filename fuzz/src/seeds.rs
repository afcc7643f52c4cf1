//! Writes each line of the shell tests into a file of its own, for the fuzzer to begin with.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
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
