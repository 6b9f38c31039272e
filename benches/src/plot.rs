//! Time over floor by workload, as a picture: a bar for every contender, from the floor on a
//! logarithmic scale.

use std::fmt::Write;

use cellc::internals::timing::report::{ContenderRow, Report};

/// Colours of contenders in the order in which they first appear; cellc's are the first.
const COLOURS: [&str; 14] = [
    "#0b3d91", "#3f7fd1", "#8fb8ea", "#c45a00", "#2e7d32", "#7b1fa2", "#b71c1c", "#00838f",
    "#f9a825", "#6d4c41", "#ad1457", "#558b2f", "#5c6bc0", "#37474f",
];

const LEFT: f64 = 190.0;
const WIDTH: f64 = 760.0;
const BAR: f64 = 7.0;
const GAP: f64 = 12.0;
const LEGEND: f64 = 17.0;
const COLUMNS: usize = 4;

/// The rows that are drawn: of cellc's those for the widest vectors, and Rust for 256 bits, which
/// most machines have.
fn drawn(report: &Report) -> Vec<(String, f64)> {
    let widest = report.runs[0].floors.last().map_or("", |floor| floor.isa);
    let label = |row: &ContenderRow| match row.isa.as_deref() {
        None => Some(row.name.clone()),
        Some(isa) if isa == widest => Some(row.name.clone()),
        Some("avx2") if row.name == "cellc Rust" => Some("cellc Rust avx2".to_owned()),
        Some(_) => None,
    };
    let rows = report.rows.iter().enumerate().filter(|(_, row)| row.other_function.is_none());
    rows.filter_map(|(i, row)| Some((label(row)?, report.over_widest_floor(i).best))).collect()
}

/// The picture.
pub(crate) fn plot<'a>(reports: impl Iterator<Item = &'a Report>) -> String {
    let groups: Vec<_> = reports.map(|report| (&report.name, drawn(report))).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in groups.iter().flat_map(|(_, bars)| bars) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // AVX2 beside the other of cellc's
    names.sort_by_key(|name| !name.starts_with("cellc"));
    let colour =
        |name: &String| COLOURS[names.iter().position(|n| *n == name).unwrap_or(0) % COLOURS.len()];
    let all = || groups.iter().flat_map(|(_, bars)| bars).map(|(_, ratio)| *ratio);
    let (low, high) = (all().fold(1.0, f64::min), all().fold(2.0, f64::max));
    let (low, high) = (low.log10() - 0.05, high.log10() + 0.15);
    let x = |ratio: f64| LEFT + WIDTH * (ratio.log10() - low) / (high - low);

    let top = 44.0 + LEGEND * names.len().div_ceil(COLUMNS) as f64;
    let bars: usize = groups.iter().map(|(_, bars)| bars.len()).sum();
    let bottom = top + BAR * bars as f64 + GAP * groups.len() as f64;
    let (width, height) = (LEFT + WIDTH + 20.0, bottom + 30.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">
<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>
<text x=\"{LEFT}\" y=\"18\" font-size=\"14\">time of a step over the floor in the same run (logarithmic; the floor is 1)</text>
"
    );
    for (i, name) in names.iter().enumerate() {
        let (x, y) = (
            LEFT + (i % COLUMNS) as f64 * WIDTH / COLUMNS as f64,
            38.0 + LEGEND * (i / COLUMNS) as f64,
        );
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/>",
            y - 9.0,
            colour(name)
        );
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{name}</text>", x + 14.0);
    }
    for tick in (-2..6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power))) {
        if (low..=high).contains(&tick.log10()) {
            let (x, stroke) = (x(tick), if tick == 1.0 { "#333" } else { "#ddd" });
            let _ = writeln!(svg, "<path d=\"M{x:.1} {top:.1}V{bottom:.1}\" stroke=\"{stroke}\"/>");
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                bottom + 16.0
            );
        }
    }
    let mut y = top + GAP / 2.0;
    for (workload, bars) in &groups {
        let middle = y + BAR * bars.len() as f64 / 2.0 + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{workload}</text>",
            LEFT - 8.0
        );
        for (name, ratio) in bars {
            let (from, to) = (x(ratio.min(1.0)), x(ratio.max(1.0)));
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"><title>{workload}, {name}: {ratio:.2}</title></rect>",
                (to - from).max(1.0),
                BAR - 1.0,
                colour(name)
            );
            y += BAR;
        }
        y += GAP;
    }
    svg + "</svg>\n"
}
