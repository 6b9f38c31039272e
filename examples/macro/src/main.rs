//! Two cells that macros compile: one whose weights are given at run time, one whose weights are
//! read from a file.
//!
//! `cargo run -p example-macro`

use cellc_runtime::{Cell, gru_cell, rnn_cell};

rnn_cell!(
    /// h' = relu(W x + R h + B): with W = 0.25, R = 0.75 and B = 0, the moving average of a signal
    /// that is not negative.
    pub Smoother<hidden_size = 1, input_size = 1, activations = [relu]>
);

gru_cell!(
    /// The GRU of `model/model.xml`, which computes two rows at once. The sizes could be left out;
    /// where they stand, they are compared with the file.
    pub Recurrent<model = "model/model.xml", input_size = 5, hidden_size = 7, batch = 2>
);

fn main() {
    // weights at run time: packed once, into the order in which the kernel reads them
    let weights = smoother::Weights { w: &[[0.25]], r: &[[0.75]], b: &[0.0] };
    let mut packed = smoother::Packed::new();
    smoother::pack(&weights, &mut packed);

    let mut smoother = Smoother::new(&packed);
    println!("A moving average as an RNN cell, on {}:", smoother.isa_name());
    println!("   input  average");
    for input in [8.0, 8.0, 8.0, 8.0, 0.0, 0.0, 8.0, 0.0] {
        let mut average = [0.0];
        smoother.step(&[input], &mut average);
        println!(
            "{input:8.3} {:8.3}  {}",
            average[0],
            "#".repeat((average[0] * 5.0).round() as usize)
        );
    }

    // weights in the program: nothing to load
    let mut recurrent = Recurrent::new();
    let rows = [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]];
    println!(
        "\nThe states of the GRU in model/model.xml, while its two rows of input stay the same:"
    );
    for step in 1..=6 {
        let mut states = [[0.0; 7]; 2];
        recurrent.step(&rows, &mut states);
        for (row, state) in states.iter().enumerate() {
            let state: Vec<String> = state.iter().map(|h| format!("{h:6.3}")).collect();
            println!("step {step}, row {row}: {}", state.join(" "));
        }
    }

    recurrent.reset();
    println!("\nAfter a reset they are zero again: {:?}", recurrent.h()[0]);
}
