//! What is kept of an output stream: its head and its tail within a cap, and a count of the rest.

use std::collections::VecDeque;

/// Below this cap a split would leave two useless stumps: the whole cap goes to the head.
const SPLIT_BYTES_MIN: usize = 4096;

/// Takes a stream of any length in constant memory.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    seen: u64,
}

/// What was kept of a stream that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturedOutput {
    /// The bytes, with the marker line where some are missing.
    pub bytes: Vec<u8>,
    /// How many the stream had.
    pub seen: u64,
    /// How many are missing.
    pub dropped: u64,
}

impl Capture {
    /// Keeps at most this many bytes.
    pub fn new(cap: usize) -> Self {
        let tail_max = if cap < SPLIT_BYTES_MIN { 0 } else { cap / 2 };
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_max: cap.saturating_sub(tail_max),
            tail_max,
            seen: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.seen = self.seen.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.head_max.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let rest = rest.get(rest.len().saturating_sub(self.tail_max)..).unwrap_or_default();
        let excess = self.tail.len().saturating_add(rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// How many bytes the stream has had.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What was kept, cut on character boundaries.
    pub fn finish(self) -> CapturedOutput {
        let mut tail = Vec::from(self.tail);
        let mut bytes = self.head;
        let kept = bytes.len().saturating_add(tail.len());
        if u64::try_from(kept).is_ok_and(|kept| kept == self.seen) {
            bytes.append(&mut tail);
            return CapturedOutput { bytes, seen: self.seen, dropped: 0 };
        }
        bytes.truncate(boundary_before_end(&bytes));
        tail.drain(..boundary_after_start(&tail));
        let kept = bytes.len().saturating_add(tail.len());
        let dropped = self.seen.saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX));
        let marker = format!("\n[stockade: output truncated, {dropped} bytes dropped]\n");
        bytes.extend_from_slice(marker.as_bytes());
        bytes.append(&mut tail);
        CapturedOutput { bytes, seen: self.seen, dropped }
    }
}

/// Where to cut so that the end is no started character.
fn boundary_before_end(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len().saturating_sub(back);
        let Some(byte) = bytes.get(at) else { break };
        let width = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => break,
        };
        return if width > back { at } else { bytes.len() };
    }
    bytes.len()
}

/// Where to cut so that the start is no rest of a character.
fn boundary_after_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(cap: usize, stream: &[u8]) -> CapturedOutput {
        let mut capture = Capture::new(cap);
        for piece in stream.chunks(7) {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn a_short_stream_is_kept_as_it_is() {
        let whole = CapturedOutput { bytes: b"abc".to_vec(), seen: 3, dropped: 0 };
        assert_eq!(capture(100, b"abc"), whole);
        assert_eq!(capture(3, b"abc"), whole);
        assert_eq!(capture(2, b"abc").dropped, 1);
    }

    #[test]
    fn a_small_cap_keeps_the_head() {
        let kept = capture(50, &[b'x'; 200]);
        assert_eq!(kept.dropped, 150);
        let text = String::from_utf8(kept.bytes).unwrap();
        assert_eq!(
            text,
            format!(
                "{}\n{}\n",
                "x".repeat(50),
                message!("output.stockade-output-truncated-bytes", 150)
            )
        );
    }

    #[test]
    fn a_large_cap_keeps_head_and_tail() {
        let stream: Vec<u8> = (0..3000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let kept = capture(4096, &stream);
        let text = String::from_utf8(kept.bytes).unwrap();
        assert!(text.starts_with("0\n1\n2\n"), "{text}");
        assert!(text.ends_with("2998\n2999\n"), "{text}");
        assert_eq!(kept.dropped + 4096, kept.seen);
    }

    #[test]
    fn cuts_fall_between_characters() {
        for cap in [4096, 4097, 4098, 4099, 9, 10, 11, 12] {
            let kept = capture(cap, "aé€😀".repeat(2000).as_bytes());
            assert!(kept.dropped > 0);
            let text = String::from_utf8(kept.bytes).expect("whole characters only");
            assert!(text.contains(&format!("{} bytes dropped", kept.dropped)));
        }
    }

    #[test]
    fn bytes_that_are_no_text_survive() {
        let kept = capture(10, &[0xFF; 20]);
        assert_eq!(&kept.bytes[..10], &[0xFF; 10]);
        assert_eq!(kept.dropped, 10);
    }
}
