//! What copies memory for a static program for musl copies every length, however both parts overlap.

#![expect(clippy::arithmetic_side_effects, reason = "numbers of a few thousand")]

/// Bytes that differ from their neighbours.
fn some_bytes() -> Vec<u8> {
    (0..4200_usize).map(|at| u8::try_from((at * 7 + at / 251) % 256).unwrap()).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..300).chain([511, 512, 513, 1023, 1024, 1025, 1500, 2000])
}

#[test]
fn parts_that_are_apart() {
    for length in lengths() {
        for (from, to) in [(0, 0), (1, 0), (13, 16), (7, 90)] {
            let mut bytes = some_bytes();
            let middle = bytes.len() / 2;
            let expected = by_single_bytes(&bytes, from, middle + to, length);
            let (front, back) = bytes.split_at_mut(middle);
            back[to..to + length].copy_from_slice(&front[from..from + length]);
            assert!(bytes == expected, "{length} from {from} to {to}");
        }
    }
}

#[test]
fn parts_that_overlap() {
    for length in lengths() {
        for distance in (0..70).chain([255, 256, 1024]) {
            for (from, to) in [(100, 100 + distance), (100 + distance, 100)] {
                let mut bytes = some_bytes();
                let expected = by_single_bytes(&bytes, from, to, length);
                bytes.copy_within(from..from + length, to);
                assert!(bytes == expected, "{length} from {from} to {to}");
            }
        }
    }
}

/// The same by a way that uses neither.
fn by_single_bytes(bytes: &[u8], from: usize, to: usize, length: usize) -> Vec<u8> {
    let place = |at: usize| if (to..to + length).contains(&at) { at - to + from } else { at };
    (0..bytes.len()).filter_map(|at| bytes.get(place(at)).copied()).collect()
}
