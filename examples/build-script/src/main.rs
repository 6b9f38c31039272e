//! The models that `build.rs` compiled, run on a signal.
//!
//! `cargo run -p example-build-script`

use cellc_runtime::Cell;

mod denoiser {
    cellc_runtime::include_model!("denoiser");
}
mod smoother {
    cellc_runtime::include_model!("smoother");
}

/// Runs a cell of 16 inputs over some frames; how far each step moves its state says how fast it
/// settles.
fn settle<C, const H: usize>(cell: &mut C, frames: &[[f32; 16]]) -> Vec<f32>
where
    C: for<'a> Cell<Input<'a> = &'a [f32; 16], Output = [f32; H]>,
{
    let (mut before, mut after) = (C::zeroed_output(), C::zeroed_output());
    let mut moves = Vec::new();
    for frame in frames {
        cell.step(frame, &mut after);
        let square: f32 =
            before.iter().zip(&after).map(|(before, after)| (after - before).powi(2)).sum();
        moves.push(square.sqrt());
        before = after;
    }
    moves
}

fn main() {
    let mut cell = denoiser::Denoiser::new();
    // the tone goes up an octave after twelve frames
    let tone = |t: usize, speed: f32| (t as f32 * speed).sin();
    let frames: Vec<[f32; 16]> =
        (0..24).map(|k| std::array::from_fn(|i| tone(i, if k < 12 { 0.4 } else { 0.8 }))).collect();

    println!(
        "A GRU of 128 states on {}: how far a step moves them while a tone lasts",
        cell.isa_name()
    );
    let moves = settle(&mut cell, &frames);

    // the moving average of it, by the cell that build.rs declares
    let mut packed = smoother::Packed::new();
    smoother::pack(&smoother::Weights { w: &[[0.5]], r: &[[0.5]], b: &[0.0] }, &mut packed);
    let mut average = smoother::Smoother::new(&packed);
    println!("frame     moved   average");
    for (frame, moved) in moves.iter().enumerate() {
        let mut smooth = [0.0];
        average.step(&[*moved], &mut smooth);
        let bar = "#".repeat((moved * 10.0).round() as usize);
        println!("{frame:5} {moved:9.5} {:9.5}  {bar}", smooth[0]);
    }
}
