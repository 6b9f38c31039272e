//! C for the target `portable` breaks only the required rules of MISRA C:2012 that the page on
//! targets lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::{Language, Options};
use cellc_tests::corpus;
use cellc_tests::driver::write_files;
use cellc_tests::skipped::has;

/// A case of each kind: scalars, a sequence in a batch, a cell in a batch, convolutions, and an
/// open number of steps.
const CASES: [&str; 5] =
    ["gru_cell_min", "onnx_lstm", "gru_cell_lbr0", "convolutions_2d", "stacked_gru_open"];

/// The advisory rules. All other rules of the checker are required or mandatory.
const ADVISORY: &[&str] = &[
    "1.2", "2.3", "2.4", "2.5", "2.6", "2.7", "4.2", "5.9", "8.7", "8.9", "8.11", "8.13", "10.5",
    "11.4", "11.5", "12.1", "12.3", "12.4", "13.3", "13.4", "15.1", "15.4", "15.5", "17.5", "17.8",
    "18.4", "18.5", "19.2", "20.1", "20.5", "21.12",
];

/// The rules in the sentence of the page on targets.
fn listed() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/targets.md");
    let page = fs::read_to_string(page).expect("the page is there").replace('\n', " ");
    let (_, sentence) =
        page.split_once("MISRA C:2012's required rules").expect("the page lists rules");
    let (sentence, _) = sentence.split_once(". ").expect("a sentence ends");
    let is_rule = |word: &&str| {
        word.split_once('.')
            .is_some_and(|(a, b)| a.parse::<u8>().is_ok() && b.parse::<u8>().is_ok())
    };
    sentence.split([' ', ',', '(', ')']).filter(is_rule).map(str::to_owned).collect()
}

#[test]
fn portable_c_breaks_only_the_rules_that_the_page_on_targets_lists() {
    if !has("cppcheck") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("misra");
    let portable = cellc::internals::arch::Arch::from_name("portable").expect("a target");
    let options = Options::default().with_target(portable).with_language(Language::C);
    let subjects: Vec<_> =
        CASES.iter().map(|name| corpus::case(name).subjects(&options, "").remove(0).0).collect();
    write_files(&folder, &subjects, Language::C);
    let mut found = BTreeSet::new();
    for subject in &subjects {
        let mut cppcheck = Command::new("cppcheck");
        cppcheck
            .args(["--addon=misra", "--std=c11", "--quiet"])
            .arg(format!("{}.c", subject.name))
            .current_dir(&folder);
        let output = cppcheck.output().expect("cppcheck starts");
        assert!(output.status.success(), "{}", subject.name);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let rules = said.match_indices("misra-c2012-").map(|(at, begin)| &said[at + begin.len()..]);
        let rules = rules.filter_map(|rest| rest.split_once(']')).map(|(rule, _)| rule.to_owned());
        found.extend(rules.filter(|rule| !ADVISORY.contains(&rule.as_str())));
    }
    assert_eq!(found, listed());
}
