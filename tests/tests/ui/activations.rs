use cellc_runtime::{gru_cell, rnn_cell};

gru_cell!(pub Unknown<hidden_size = 4, input_size = 2, activations = [sigmod, hard_sigmoid(0.2, x)]>);
gru_cell!(pub Quoted<hidden_size = 4, input_size = 2, activations = ["sigmoid", tanh]>);
gru_cell!(pub NoList<hidden_size = 4, input_size = 2, activations = tanh>);
gru_cell!(pub TooFew<hidden_size = 4, input_size = 2, activations = [sigmoid]>);
gru_cell!(pub TooMany<hidden_size = 4, input_size = 2, activations = [sigmoid, tanh, tanh]>);
gru_cell!(pub None<hidden_size = 4, input_size = 2, activations = []>);
rnn_cell!(pub TooManyForOne<hidden_size = 4, input_size = 2, activations = [sigmoid, tanh]>);
gru_cell!(pub Numbers<hidden_size = 4, input_size = 2, activations = [tanh(1.0), leaky_relu(0.1, 0.2)]>);
rnn_cell!(pub NoDefault<hidden_size = 4, input_size = 2, activations = [scaled_tanh]>);

fn main() {}
