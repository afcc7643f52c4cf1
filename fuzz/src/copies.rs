//! The seeds of the fuzz targets, and copies of them with a few changes, for tests that run without the
//! fuzzer.

use std::fs;
use std::path::Path;

/// A generator of numbers: xorshift, the same in every run.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

/// What a target begins with.
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A copy with a few bytes changed, removed, doubled, or taken from another seed.
pub(crate) fn changed(seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    const SIGNS: &[u8] = b"*?[]!()|\\/.~:'\"= {},\n\0\xff0a-";
    let mut text = seeds[numbers.below(seeds.len())].clone();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(text.len());
        let end = (at + numbers.below(8)).min(text.len());
        match numbers.below(4) {
            0 => text.insert(at, SIGNS[numbers.below(SIGNS.len())]),
            1 => drop(text.drain(at..end)),
            2 => {
                let part = text[at..end].to_vec();
                text.splice(at..at, part);
            }
            _ => {
                let other = &seeds[numbers.below(seeds.len())];
                let from = numbers.below(other.len());
                text.truncate(at);
                text.extend(&other[from..]);
            }
        }
    }
    text
}
