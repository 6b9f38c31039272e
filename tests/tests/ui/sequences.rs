use cellc_runtime::{augru_cell, gru, gru_cell, gru_sequence, lstm_cell, lstm_sequence};

// how many steps is part of what a sequence is
gru_sequence!(pub A<hidden_size = 4, input_size = 2>);

// a word that is no direction; Apple's has two
gru_sequence!(pub B<hidden_size = 4, input_size = 2, steps = 3, direction = backward>);
gru!(pub C<hidden_size = 4, input_size = 2, steps = 3, direction = bidirectional>);

// keys of other macros
gru_cell!(pub D<hidden_size = 4, input_size = 2, steps = 3, peepholes = true>);
lstm_sequence!(pub E<hidden_size = 4, input_size = 2, steps = 3, weights_format = fico>);
augru_cell!(pub F<hidden_size = 4, input_size = 2, clip = 1.0>);
gru!(pub G<hidden_size = 4, input_size = 2, steps = 3, linear_before_reset = true>);

// an order that LSTMCell-1 does not have, a switch that is none, activations that are too few
lstm_cell!(pub H<hidden_size = 4, input_size = 2, weights_format = ofic>);
lstm_cell!(pub I<hidden_size = 4, input_size = 2, input_forget = 1>);
lstm_cell!(pub J<hidden_size = 4, input_size = 2, activations = [sigmoid, tanh]>);

// the flag and the place contradict each other
gru!(
    pub K<
        hidden_size = 4, input_size = 2, steps = 3,
        apply_reset_gate_after_mat_mul = true,
        reset_gate = before_mat_mul,
    >
);
gru!(pub L<hidden_size = 4, input_size = 2, steps = 3, reset_gate = after, activation = tahn>);

// too many to be meant
gru_cell!(pub M<hidden_size = 4, input_size = 2, layers = 100000>);

fn main() {}
