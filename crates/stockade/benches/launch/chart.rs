//! A bar chart as SVG, readable on light and on dark ground.

use std::fmt::Write as _;

use crate::stats::{Kind, Row, Spread, ratio};
use crate::table::Measures;

const WIDTH: f64 = 900.0;
const NAMES: f64 = 400.0;
const RIGHT: f64 = 100.0;
const TOP: f64 = 74.0;
const STEP: f64 = 26.0;
const BAR: f64 = 15.0;
const BOTTOM: f64 = 34.0;
/// What is longer than this many times bubblewrap is cut, with its figure beside.
const LONGEST: f64 = 1.15;

const STYLE: &str = "
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.ground { fill: #ffffff; } .title { font-size: 16px; font-weight: 600; } .small { font-size: 11px; }
.ours { fill: #0969da; } .peer { fill: #8c959f; } .floor { fill: #57ab5a; }
.grid { stroke: #d1d9e0; } .slow { stroke: #1f2328; } .target { stroke: #cf222e; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .ground { fill: #0d1117; } .grid { stroke: #3d444d; } .slow { stroke: #e6edf3; }
.ours { fill: #4493f8; } .peer { fill: #6e7681; } .floor { fill: #3fb950; } .target { stroke: #ff7b72; }
}
";

/// One bar.
struct Bar {
    name: String,
    class: &'static str,
    median: f64,
    p99: f64,
    target: Option<f64>,
}

/// The chart of launches, in bare spawns.
pub(crate) fn draw(rows: &[(Row, Spread)], measures: &Measures, section: &str) -> String {
    let bars: Vec<Bar> = rows.iter().filter_map(|row| bar(row, measures)).collect();
    let longest = bars.iter().filter(|bar| bar.class != "peer").map(|bar| bar.median);
    let longest = longest.fold(1.0, f64::max);
    let peer = measures.bubblewrap.map(|peer| ratio(peer.median, measures.bare.median));
    let most = (longest.max(peer.unwrap_or_default()) * LONGEST).ceil();
    let scale = (WIDTH - NAMES - RIGHT) / most;
    let height = TOP + STEP * count(bars.len()) + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>What a launch costs</title>\n\
         <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    text(
        &mut svg,
        16.0,
        26.0,
        "title",
        "start",
        &format!("Launch of /bin/true, {}", lower(section)),
    );
    let legend = "Median in bare spawns of the same program. Thin line: p99. Red mark: the target.";
    text(&mut svg, 16.0, 46.0, "small", "start", legend);
    grid(&mut svg, most, scale, height - BOTTOM);
    for (at, bar) in bars.iter().enumerate() {
        draw_bar(&mut svg, bar, TOP + STEP * count(at), most, scale);
    }
    svg.push_str("</svg>\n");
    svg
}

fn bar((row, spread): &(Row, Spread), measures: &Measures) -> Option<Bar> {
    let class = match row.kind {
        Kind::Floor => "floor",
        Kind::Ours => "ours",
        Kind::Peer => "peer",
        Kind::Part => return None,
    };
    let times = |time| ratio(time, measures.bare.median);
    Some(Bar {
        name: row.name.replace('`', ""),
        class,
        median: times(spread.median),
        p99: times(spread.p99),
        target: row.target.and_then(|target| measures.most(target)).map(times),
    })
}

fn grid(svg: &mut String, most: f64, scale: f64, bottom: f64) {
    let apart = [1.0, 2.0, 5.0, 10.0, 20.0].into_iter().find(|apart| most / apart <= 10.0);
    let apart = apart.unwrap_or(50.0);
    let mut at = 0.0;
    while at <= most {
        let x = NAMES + at * scale;
        line(svg, "grid", (x, TOP - 6.0), (x, bottom));
        text(svg, x, bottom + 16.0, "small", "middle", &format!("{at:.0}"));
        at += apart;
    }
}

fn draw_bar(svg: &mut String, bar: &Bar, top: f64, most: f64, scale: f64) {
    let middle = top + BAR / 2.0;
    text(svg, NAMES - 8.0, middle + 4.5, "", "end", &bar.name);
    let length = bar.median.min(most) * scale;
    let class = bar.class;
    writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{NAMES}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{BAR}\"/>"
    )
    .unwrap();
    let slow = bar.p99.min(most) * scale;
    line(svg, "slow", (NAMES + length, middle), (NAMES + slow, middle));
    if let Some(target) = bar.target {
        let x = NAMES + target.min(most) * scale;
        line(svg, "target", (x, top - 3.0), (x, top + BAR + 3.0));
    }
    let beyond = if bar.median > most { " (cut)" } else { "" };
    // Beside the longest of what is drawn, so that nothing lies beneath the figure.
    let end = bar.target.unwrap_or_default().max(bar.p99).max(bar.median).min(most) * scale;
    let figure = format!("{:.2} ×{beyond}", bar.median);
    text(svg, NAMES + end + 8.0, middle + 4.5, "", "start", &figure);
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    )
    .unwrap();
}

fn line(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    )
    .unwrap();
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(0.0, f64::from)
}

fn lower(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
