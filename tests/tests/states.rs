//! States of stacked layers, with one input and one output for all layers: the struct continues
//! from call to call with the bits of the pure function with states passed by hand, and pieces of a
//! sequence give the bits of the whole sequence.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::internals::compile::compile;
use cellc::{Language, Options};
use cellc_tests::corpus;
use cellc_tests::driver::{self, run};
use cellc_tests::subject::Subject;

fn subject(case: &str, name: &str, shapes: Vec<(String, Vec<Option<usize>>)>) -> Subject {
    let case = corpus::case(case);
    let options = Options::default().with_name(Some(name.to_owned())).with_shapes(shapes);
    let compilation =
        compile(&case.model, &options).unwrap_or_else(|problems| panic!("{problems:?}"));
    Subject { name: name.to_owned(), compilation, calls: Vec::new() }
}

/// Three layers of an LSTM, 4 steps a call; two layers of a GRU, any number of steps, and 6.
fn subjects() -> Vec<Subject> {
    let x = |steps: Option<usize>| vec![("x".to_owned(), vec![Some(1), steps, Some(4)])];
    let all = vec![
        subject("stacked_lstm", "stacked", Vec::new()),
        subject("stacked_gru_open", "pieces", x(None)),
        subject("stacked_gru_open", "whole", x(Some(6))),
    ];
    let states: Vec<usize> = all.iter().map(|subject| subject.model().states.len()).collect();
    assert_eq!(states, [2, 1, 1]);
    all
}

const RUST: &str = r#"
mod pieces; mod stacked; mod whole;

fn bits(values: &[f32]) -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() }

fn main() {
    let mut net = stacked::Stacked::new();
    let (mut scratch, mut h, mut c) = (stacked::Scratch::new(), [0.0; 9], [0.0; 9]);
    let mut before = Vec::new();
    for call in 0..4 {
        // the same input every time: the state alone makes the difference
        let x = [0.5, -0.25, 0.75, -1.0];
        let (mut kept, mut by_hand) = (stacked::Outputs::new(), stacked::Outputs::new());
        net.step(&x, &mut kept);
        stacked::stacked(&mut scratch, &stacked::Inputs { x: &x, h0: &h, c0: &c }, &mut by_hand);
        for (a, b) in [(&kept.y[..], &by_hand.y[..]), (&kept.hn, &by_hand.hn), (&kept.cn, &by_hand.cn)] {
            assert_eq!(bits(a), bits(b), "call {call}");
        }
        assert_ne!(bits(&kept.y), before, "call {call}");
        before = bits(&kept.y);
        (h, c) = (by_hand.hn, by_hand.cn);
        assert_eq!((bits(net.h0()), bits(net.c0())), (bits(&h), bits(&c)));
    }
    net.reset();
    assert_eq!((net.h0(), net.c0()), (&[0.0; 9], &[0.0; 9]));

    let x: [[f32; 4]; 6] = std::array::from_fn(|i| std::array::from_fn(|j| ((i * 4 + j) * 37 % 64) as f32 / 32.0 - 1.0));
    let start: [f32; 8] = std::array::from_fn(|i| i as f32 / 8.0 - 0.5);
    let mut all = whole::Whole::new();
    all.set_h0(&start);
    let mut expected = whole::Outputs::new();
    all.step(x.as_flattened().try_into().unwrap(), &mut expected);
    let mut net = pieces::Pieces::new();
    net.set_h0(&start);
    let (mut y, mut hn) = ([[0.0; 4]; 6], [0.0; 8]);
    net.steps(&x[..1], &mut y[..1], &mut hn).unwrap();
    net.steps(&x[1..4], &mut y[1..4], &mut hn).unwrap();
    net.steps(&x[4..], &mut y[4..], &mut hn).unwrap();
    assert_eq!(bits(y.as_flattened()), bits(&expected.y));
    assert_eq!(bits(&hn), bits(&expected.hn));
}
"#;

#[test]
fn states_of_stacked_layers_go_on_in_rust() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("states-rust");
    driver::write_files(&folder, &subjects(), Language::Rust);
    fs::write(folder.join("main.rs"), RUST).expect("a file");
    let program = folder.join("main");
    run(driver::rustc()
        .args(["--edition=2021", "-O"])
        .arg(folder.join("main.rs"))
        .arg("-o")
        .arg(&program));
    run(&mut Command::new(&program));
}

const C: &str = r#"
#include "pieces.h"
#include "stacked.h"
#include "whole.h"
#include <stdio.h>
#include <string.h>

#define SAME(a, b) if (memcmp(a, b, sizeof b) != 0) { printf("%s and %s differ\n", #a, #b); return 1; }

int main(void) {
    static stacked net;
    static stacked_scratch scratch;
    float h[9] = {0}, c[9] = {0}, before[12] = {0};
    stacked_init(&net);
    for (int call = 0; call < 4; call++) {
        const float x[4] = {0.5f, -0.25f, 0.75f, -1.0f};
        float y[12], hn[9], cn[9], y_by_hand[12], hn_by_hand[9], cn_by_hand[9];
        stacked_step(&net, x, y, hn, cn);
        stacked_run(&scratch, &(stacked_inputs){.x = x, .h0 = h, .c0 = c},
                    &(stacked_outputs){.y = y_by_hand, .hn = hn_by_hand, .cn = cn_by_hand});
        SAME(y, y_by_hand) SAME(hn, hn_by_hand) SAME(cn, cn_by_hand)
        if (memcmp(y, before, sizeof y) == 0) { printf("call %d starts where the one before started\n", call); return 1; }
        memcpy(before, y, sizeof y);
        memcpy(h, hn_by_hand, sizeof h);
        memcpy(c, cn_by_hand, sizeof c);
        SAME(net.h0, h) SAME(net.c0, c)
    }
    static whole all;
    static pieces some;
    float x[24], start[8], y[24], hn[8], y_of_all[24], hn_of_all[8];
    for (int i = 0; i < 24; i++) x[i] = (float)(i * 37 % 64) / 32.0f - 1.0f;
    for (int i = 0; i < 8; i++) start[i] = (float)i / 8.0f - 0.5f;
    whole_init(&all);
    pieces_init(&some);
    memcpy(all.h0, start, sizeof start);
    memcpy(some.h0, start, sizeof start);
    whole_step(&all, x, y_of_all, hn_of_all);
    pieces_steps(&some, 1, x, y, hn);
    pieces_steps(&some, 3, x + 4, y + 4, hn);
    pieces_steps(&some, 2, x + 16, y + 16, hn);
    SAME(y, y_of_all) SAME(hn, hn_of_all)
    return 0;
}
"#;

#[test]
fn states_of_stacked_layers_go_on_in_c() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("states-c");
    driver::write_files(&folder, &subjects(), Language::C);
    fs::write(folder.join("main.c"), C).expect("a file");
    for compiler in driver::c_compilers() {
        let program = folder.join(format!("main-{compiler}"));
        let mut command = Command::new(compiler);
        command.current_dir(&folder).args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]);
        run(command.args(["main.c", "stacked.c", "pieces.c", "whole.c"]).arg("-o").arg(&program));
        run(&mut Command::new(&program));
    }
}
