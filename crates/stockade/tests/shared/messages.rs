//! Messages of Stockade by id. `tests/golden/messages.txt` of each crate has each text once, so that a
//! message that is worded anew changes its source and one line there.

use std::fmt::Display;

/// The messages of every crate: `id: text`, with `{}` where a value is and `\n` for a line break.
const FILES: [&str; 4] = [
    include_str!("../../../stockade-shell/tests/golden/messages.txt"),
    include_str!("../../../stockade-policy/tests/golden/messages.txt"),
    include_str!("../golden/messages.txt"),
    include_str!("../../../stockade-cli/tests/golden/messages.txt"),
];

/// The text of a message with these values in it; without values, its longest part between values.
/// `"… {} …" =>` before the id puts it into other text.
macro_rules! message {
    ($around:literal => $($of:expr),+ $(,)?) => {{
        let whole: &'static str = format!($around, message!($($of),+)).leak();
        whole
    }};
    ($id:expr $(, $value:expr)* $(,)?) => {
        $crate::messages::text($id, &[$(&$value),*])
    };
}

/// What `message!` gives. It lives as long as the tests, so that it can stand where a literal would.
#[track_caller]
pub(crate) fn text(id: &str, values: &[&dyn Display]) -> &'static str {
    let lines = FILES.iter().flat_map(|file| file.lines());
    let found = lines.filter_map(|line| line.split_once(": ")).find(|(name, _)| *name == id);
    assert!(found.is_some(), "no tests/golden/messages.txt has the message {id:?}");
    let text = found.map(|(_, text)| text.replace("\\n", "\n")).unwrap_or_default();
    let parts: Vec<&str> = text.split("{}").collect();
    if values.is_empty() {
        let longest = parts.iter().copied().max_by_key(|part| part.len()).unwrap_or_default();
        return longest.trim().to_owned().leak();
    }
    assert_eq!(parts.len().checked_sub(1), Some(values.len()), "values of {id:?}: {text}");
    let mut whole = String::new();
    for (number, part) in parts.iter().enumerate() {
        whole.push_str(part);
        if let Some(value) = values.get(number) {
            whole.push_str(&value.to_string());
        }
    }
    whole.leak()
}
