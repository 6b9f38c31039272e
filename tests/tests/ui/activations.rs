use cellc_runtime::{gru_cell, rnn_cell};

gru_cell!(pub Unknown<hidden_size = 4, input_size = 2, activations = [sigmod, softplus]>);
gru_cell!(pub Quoted<hidden_size = 4, input_size = 2, activations = ["sigmoid", tanh]>);
gru_cell!(pub NoList<hidden_size = 4, input_size = 2, activations = tanh>);
gru_cell!(pub TooFew<hidden_size = 4, input_size = 2, activations = [sigmoid]>);
gru_cell!(pub TooMany<hidden_size = 4, input_size = 2, activations = [sigmoid, tanh, tanh]>);
gru_cell!(pub None<hidden_size = 4, input_size = 2, activations = []>);
rnn_cell!(pub TooManyForOne<hidden_size = 4, input_size = 2, activations = [sigmoid, tanh]>);

fn main() {}
