//! Which characters are not seen, or are taken for others; each by itself.

use super::HiddenKind;

/// Whether a text is ASCII without control characters but tab and newline: most lines.
///
/// One pass without branches, which the compiler makes wide: a line costs nanoseconds.
pub(super) fn is_plain(text: &str) -> bool {
    let odd = |byte: u8| !matches!(byte, 0x20..0x7f | b'\n' | b'\t');
    text.as_bytes().chunks(256).all(|part| !part.iter().fold(false, |any, byte| any | odd(*byte)))
}

/// What the character hides if no sequence around it needs it.
///
/// The sources are the properties `Default_Ignorable_Code_Point`, `Bidi_Control`, `White_Space`
/// and `General_Category` Cc and Zs of Unicode 17; besides, what is drawn as nothing in practice: the
/// braille blank, interlinear annotations, the format controls of hieroglyphs, noncharacters.
pub(super) fn kind_of(c: char) -> Option<HiddenKind> {
    if c.is_ascii_graphic() {
        return None;
    }
    Some(match c {
        ' ' | '\t' | '\n' => return None,
        '\0' => HiddenKind::Nul,
        '\r' => HiddenKind::CarriageReturn,
        '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => HiddenKind::LineBreak,
        '\u{1}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => HiddenKind::Control,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => {
            HiddenKind::Space
        }
        '\u{2800}' | '\u{3000}' => HiddenKind::Space,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => HiddenKind::Bidi,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => HiddenKind::Bidi,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' => HiddenKind::ZeroWidth,
        '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => HiddenKind::ZeroWidth,
        '\u{e0000}'..='\u{e007f}' => HiddenKind::Tag,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => HiddenKind::Ignorable,
        '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}' | '\u{180f}' => HiddenKind::Ignorable,
        '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}' => HiddenKind::Ignorable,
        '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' => HiddenKind::Ignorable,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}' => HiddenKind::Ignorable,
        '\u{fdd0}'..='\u{fdef}' => HiddenKind::Ignorable,
        _ if u32::from(c) & 0xfffe == 0xfffe => HiddenKind::Ignorable,
        _ => return None,
    })
}

/// Marks that stand above, below or through the letter before them, without a column of their own.
///
/// Those of all scripts (which are what floods are made of) and of the scripts that stack several.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{5bf}'
        | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}' | '\u{730}'..='\u{74a}'
        | '\u{8d3}'..='\u{8e1}' | '\u{8e3}'..='\u{8ff}' | '\u{e31}' | '\u{e34}'..='\u{e3a}'
        | '\u{e47}'..='\u{e4e}' | '\u{eb1}' | '\u{eb4}'..='\u{ebc}' | '\u{ec8}'..='\u{ece}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1cd0}'..='\u{1ce0}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20f0}' | '\u{2cef}'..='\u{2cf1}' | '\u{2de0}'..='\u{2dff}'
        | '\u{302a}'..='\u{302d}' | '\u{3099}' | '\u{309a}' | '\u{a66f}'..='\u{a67d}'
        | '\u{a8e0}'..='\u{a8f1}' | '\u{fe20}'..='\u{fe2f}')
}
