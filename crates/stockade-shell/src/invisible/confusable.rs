//! Which characters look like an ASCII character.
//!
//! A table of our own: the crates that know this (unicode-security with unicode-normalization and
//! unicode-script) bring the tables of all of Unicode, of which a program's name needs a
//! thousandth. It is what `confusables.txt` of Unicode 18 (UTS 39) and compatibility decomposition
//! lead to letters, digits and `-._+/`, without Chinese and Japanese, whose texts mix with Latin.
//! Accents stay: they are seen.

/// The ASCII character that this one is taken for.
pub(super) fn ascii_of(c: char) -> Option<char> {
    by_range(c).or_else(|| listed(CONFUSABLE, c))
}

/// The same for letters that are close and that a word of one script has for itself: `т`, `м`.
pub(super) fn near_ascii_of(c: char) -> Option<char> {
    ascii_of(c).or_else(|| listed(NEAR, c))
}

fn listed(table: &[(char, &str)], c: char) -> Option<char> {
    table.iter().find(|(_, like)| like.contains(c)).map(|(ascii, _)| *ascii)
}

/// Alphabets that stand in the order of ASCII.
fn by_range(c: char) -> Option<char> {
    let code = u32::from(c);
    let nth = |first: char, n: u32| char::from_u32(u32::from(first).saturating_add(n));
    let letter = |n: u32| if n < 26 { nth('A', n) } else { nth('a', n.saturating_sub(26)) };
    let from = |start: u32| code.saturating_sub(start);
    match code {
        // Full-width.
        0xff01..=0xff5e => nth('!', from(0xff01)),
        // Mathematical: thirteen Latin alphabets, two dotless letters, five Greek alphabets, digits.
        0x1d400..=0x1d6a3 => letter(from(0x1d400) % 52),
        0x1d6a4 => Some('i'),
        0x1d6a5 => Some('j'),
        0x1d6a8..=0x1d7c9 => match from(0x1d6a8) % 58 {
            capital @ 0..=24 => listed(CONFUSABLE, nth('Α', capital)?),
            small @ 26..=50 => listed(CONFUSABLE, nth('α', small.saturating_sub(26))?),
            _ => None,
        },
        0x1d7ce..=0x1d7ff => nth('0', from(0x1d7ce) % 10),
        // White on black.
        0x1f150..=0x1f169 => nth('A', from(0x1f150)),
        0x1f170..=0x1f189 => nth('A', from(0x1f170)),
        _ => None,
    }
}

const NEAR: &[(char, &str)] = &[
    ('H', "н"),
    ('b', "въь"),
    ('k', "кκ"),
    ('m', "м"),
    ('n', "пηи"),
    ('t', "тτ"),
    ('u', "цμ"),
    ('w', "ωщ"),
];

/// What stands beyond the first plane, is written from right to left or is a mark is spelled.
#[rustfmt::skip]
const CONFUSABLE: &[(char, &str)] = &[
    ('+', "ᐩᕀ᛭⁺₊➕﬩﹢\u{1029b}\u{11055}\u{16869}"),
    ('-', "˗\u{6d4}ᝍ\u{1bf3}‐‑‒–⁃−➖Ⲻⲻ\u{aa7d}﹘﹣\u{10191}"),
    ('.', "\u{660}۰\u{701}\u{702}․ꓸ꘎\u{abec}﹒\u{10a50}\u{1d16d}\u{1ecae}"),
    ('/', "᜵⁁⁄∕╱⟋⧸Ⳇⳇ\u{1d23a}"),
    ('0', "⁰₀⓪\u{1fbf0}"),
    ('1', "¹₁①\u{1fbf1}"),
    ('2', "²ƧϨჇᒿᘖᲷ₂②ꙄꛯꝚ\u{1fbf2}"),
    ('3', "³ƷȜЗӠՅ३૩ᜂᲕ₃③ⲜⳄⳌꝪꞫ\u{118ca}\u{16f3b}\u{1d206}\u{1fbf3}"),
    ('4', "Ꮞ⁴₄④ꮞ\u{118af}\u{16e82}\u{1fbf4}"),
    ('5', "Ƽ⁵₅⑤\u{118bb}\u{1fbf5}"),
    ('6', "ϬбᏮ⁶₆⑥ⳒⳓⳜꕃꮾ\u{118d5}\u{1fbf6}"),
    ('7', "ᜪᲄ⁷₇⑦\u{104d2}\u{118c6}\u{16e8a}\u{1d212}\u{1fbf7}"),
    ('8', "Ȣȣ৪੪\u{b03}⁸₈⑧ꖉ\u{1031a}\u{11445}\u{169fe}\u{1e8cb}\u{1fbf8}"),
    ('9', "৭੧୨൭⁹₉⑨ⳊⳋꝮꝯ\u{118ac}\u{118cc}\u{118d6}\u{169c1}\u{1e2f2}\u{1fbf9}"),
    ('A', "ΑАᎪᗅᴬⒶꓮ\u{102a0}\u{16f40}\u{1f130}"),
    ('B', "ΒВᏴᗷᴮℬⒷⲂꓐꕗꞴ\u{10282}\u{102a1}\u{10301}\u{1f131}"),
    ('C', "ϹСᏟℂℭⅭⒸⲤꓚꟲ\u{102a2}\u{10302}\u{10415}\u{1051b}\u{118e9}\u{118f2}\u{1f12b}\u{1f132}\
        \u{1f74c}"),
    ('D', "ᎠᗞᗪᴰⅅⅮⒹꓓ\u{1f133}"),
    ('E', "ΕЕᎬᴱℰ⋿Ⓔⴹꓰꗋ\u{10286}\u{118a6}\u{118ae}\u{1f134}"),
    ('F', "Ϝ\u{7d3}ᖴℱⒻꓝꞘꟳ\u{10287}\u{102a5}\u{10525}\u{118a2}\u{118c2}\u{1d213}\u{1f135}"),
    ('G', "ԌᏀᏳᴳⒼꓖ\u{1f136}"),
    ('H', "ΗНᎻᕼᴴℋℌℍⒽⲎꓧ\u{102cf}\u{1f137}"),
    ('I', "ᴵℐℑⅠⒾ\u{1f138}"),
    ('J', "ͿЈᎫᒍᴶⒿꓙꞲ\u{1f139}"),
    ('K', "ΚКᏦᛕᴷ\u{212a}ⓀⲔꓗ\u{10518}\u{1f13a}"),
    ('L', "ᏞᒪᴸℒⅬⓁⳐꓡ\u{1041b}\u{10526}\u{118a3}\u{118b2}\u{16f16}\u{1d22a}\u{1f13b}"),
    ('M', "ΜϺМᎷᗰᛖᴹℳⅯⓂⲘꓟ\u{102b0}\u{10311}\u{10c21}\u{1f13c}"),
    ('N', "ΝᴺℕⓃⲚꓠ\u{10513}\u{11abe}\u{1f13d}"),
    ('O', "ΟОՕ\u{7c0}ଠ೦ዐᲿᴼⓄⲞⵔꓳ\u{10292}\u{102ab}\u{1030f}\u{10404}\u{104c2}\u{10516}\u{10c17}\
        \u{118b5}\u{118e0}\u{16ae9}\u{1e140}\u{1e2f0}\u{1f13e}"),
    ('P', "ΡРᏢᑭᴾℙⓅⲢⳎꓑ\u{10295}\u{1f13f}"),
    ('Q', "ԚℚⓆⵕꟴ\u{1f140}"),
    ('R', "ƦɌᎡᏒᖇᴿℛℜℝⓇꓣ\u{104b4}\u{16f35}\u{1d216}\u{1f12c}\u{1f141}"),
    ('S', "ЅՏႽჽᏕᏚᲽⓈꓢꕶ\u{10296}\u{10420}\u{16ad6}\u{16f3a}\u{1f142}"),
    ('T', "ΤТ\u{7e0}Ꭲᵀ⊤Ⓣ⟙Ⲧꓔꔋ\u{10297}\u{102b1}\u{10315}\u{118bc}\u{16f0a}\u{1d373}\u{1f143}\
        \u{1f768}"),
    ('U', "Սሀᑌᵁ∪⋃Ⓤꓴ\u{104ce}\u{118b8}\u{16f42}\u{1f144}"),
    ('V', "Ѵ\u{667}۷ᏙᐯⅤⓋⱽⴸꓦꛟ\u{1051d}\u{10c1f}\u{118a0}\u{16f08}\u{1d20d}\u{1e145}\u{1f145}"),
    ('W', "ԜᎳᏔᵂⓌꓪ\u{118e6}\u{118ef}\u{1d20c}\u{1f146}"),
    ('X', "ΧХ᙭ᚷᳵⅩⓍ╳ⲬⵝꓫꞳ\u{10290}\u{102b4}\u{10317}\u{10322}\u{10527}\u{10c13}\u{10c82}\u{10cfc}\
        \u{118ec}\u{1f147}"),
    ('Y', "ΥϒУҮ\u{7cc}ᎩᎽⓎⲨꓬ\u{102b2}\u{10c20}\u{118a4}\u{16f43}\u{1f148}"),
    ('Z', "ΖჍᏃℤℨⓏⱫⲌꓜꛉ\u{102f5}\u{10507}\u{118a9}\u{118e5}\u{11abc}\u{1f149}"),
    ('_', "\u{640}\u{7fa}︳︴﹍﹎﹏\u{145c1}"),
    ('a', "ªɑαаᵃₐ⍺ⓐꭤ"),
    ('b', "ƄЬ\u{7d5}Ꮟᑲᖯᵇⓑ\u{1031c}\u{1d207}"),
    ('c', "ϲсငၚᲃᴄᶜⅽⓒⲥꮯ\u{1043d}\u{1d134}"),
    ('d', "ԁᏧᑯᵈⅆⅾⓓꓒ\u{1018b}"),
    ('e', "еҽᵉₑ℮ℯⅇⓔꬲ"),
    ('f', "ƒʄքᶠẝⓕꞙꬵ\u{1017e}"),
    ('g', "ƍɡցᵍᶃℊⓖ"),
    ('h', "ʰҺһհႹᏂₕℎⓗ"),
    ('i', "¡ıɩɪιіւᎥᵢⁱℹⅈⅰ⍳ⓘⲓꙇꭵ\u{118c3}"),
    ('j', "ȷʲϳјյⅉⓙⱼ"),
    ('k', "ᵏₖⓚ"),
    ('l', "ƖǀˡΙІӀӏ\u{5c0}\u{5d5}\u{5df}\u{627}\u{661}۱\u{7ca}।၊ᛁᛐₗℓⅼ↿∣⏽ⓛ│┃ⲒⵊⵏꓲꕯꞁꞮꟾ꠰꣎꩝︱\u{fe8d}\
        \u{fe8e}￨\u{1028a}\u{10309}\u{10320}\u{1050e}\u{10926}\u{10c3e}\u{10ca5}\u{10cfa}\
        \u{11047}\u{110c0}\u{11141}\u{111c5}\u{1144b}\u{115c5}\u{11641}\u{11c41}\u{16f28}\
        \u{1d100}\u{1d377}\u{1e141}\u{1e8c7}\u{1ed01}\u{1ee00}\u{1ee80}"),
    ('m', "ՠᵐₘⅿⓜ\u{11700}\u{118e3}"),
    ('n', "ոռⁿₙⓝ"),
    ('o', "ºοσϭоօ\u{5e1}\u{647}\u{665}\u{6be}\u{6c1}\u{6d5}۵\u{7cb}\u{840}०০੦૦୦௦\u{c02}౦\u{c82}\
        \u{d02}ഠ൦\u{d82}๐໐ဝ၀ჿᄋᆼ០ᩅ᪀᪐\u{1bea}ᲂᴏᴑᵒₒℴⓞⲟꬽ\u{fba6}\u{fba7}\u{fba8}\u{fba9}\u{fbaa}\
        \u{fbab}\u{fbac}\u{fbad}\u{fee9}\u{feea}\u{feeb}\u{feec}ﾷ\u{1042c}\u{104ea}\u{1092c}\
        \u{10d07}\u{11124}\u{11302}\u{114d0}\u{118c8}\u{118d7}\u{1ee24}\u{1ee84}"),
    ('p', "þƿρϱϸрᵖₚ⍴ⓟⲣⳏ"),
    ('q', "ԛգզⓠ\u{107a5}"),
    ('r', "ʳгᴦᵣⓡⲅꭇꭈꮁ\u{16a19}"),
    ('s', "ſƽˢѕടₛⓢꜱꮪ\u{10448}\u{118c1}"),
    ('t', "ᵗₜⓣ"),
    ('u', "ʋυսᴜᵘᵤⓤꞟꭎꭒ\u{104f6}\u{118d8}"),
    ('v', "νѵ\u{5d8}ᴠᵛᵥⅴ∨⋁ⓥꮩ\u{11706}\u{118c0}"),
    ('w', "ɯʷшѡԝաᴡⓦ⧢ⲽꟺꮃꮤ\u{1170a}\u{1170e}\u{1170f}"),
    ('x', "×ˣхᕁᕽ᙮ᝣ\u{1bec}ₓⅹⓧ⤫⤬⨯\u{10cc2}"),
    ('y', "ɣʏʸγуүყᶌỿℽⓨⲩꭚ\u{118c4}\u{118dc}"),
    ('z', "ᴢᶻⓩⱬⲍⴭꮓ"),
];
