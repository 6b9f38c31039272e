use cellc_runtime::{gru_cell, rnn_cell};

// unknown, and too far from any key for a guess
gru_cell!(pub A<hidden_size = 4, input_size = 2, colour = 3>);

// misspelt: said once, not as a missing key too
gru_cell!(pub B<hiden_size = 4, input_sise = 2>);

// given twice
gru_cell!(pub C<hidden_size = 4, input_size = 2, clip = 1.0, hidden_size = 4>);

// missing, one and both
gru_cell!(pub D<input_size = 2>);
rnn_cell!(E<>);

// a key of the other macro
rnn_cell!(pub F<hidden_size = 4, input_size = 2, linear_before_reset = true>);

// no key at all
gru_cell!(pub G<hidden_size = 4, input_size = 2, relu>);

// a file of weights without a model
gru_cell!(pub H<hidden_size = 4, input_size = 2, weights = "model.bin">);

// every problem of a call at once
gru_cell!(
    pub I<
        hidden_size = 4,
        hidden_size = 8,
        input_size = "two",
        speed = 11,
        clip = "1",
        activations = [sigmoid, tahn],
    >
);

fn main() {}
