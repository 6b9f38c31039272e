use cellc_runtime::{augru_cell, gru, gru_cell, gru_sequence, lstm_cell, rnn_cell};

// no such file, and none of that kind
gru_cell!(pub A<weights = "models/nowhere.safetensors">);
gru_cell!(pub B<weights = "models/gru_cell_lbr1/model.bin">);
gru_cell!(pub C<weights = "models/cut.safetensors">);

// whose are they
gru_cell!(pub D<weights = "models/pytorch_gru_with_head.safetensors">);
gru_cell!(pub E<weights = "models/pytorch_gru_with_head.safetensors", prefix = "lstm">);
gru_cell!(pub F<weights = "models/pytorch_gru_with_head.safetensors", prefix = "gru", head = "out">);

// sizes and kinds that are others
gru_cell!(pub G<weights = "models/pytorch_gru.safetensors", prefix = "gru", hidden_size = 6>);
gru_cell!(pub H<weights = "models/pytorch_gru.safetensors", prefix = "gru", layers = 2>);
lstm_cell!(pub I<weights = "models/pytorch_gru.safetensors", prefix = "gru">);
rnn_cell!(pub J<weights = "models/pytorch_gru.safetensors", prefix = "gru">);

// what the file has and nothing takes
gru_cell!(pub K<weights = "models/pytorch_gru_with_head.safetensors", prefix = "gru", layers = 1>);
gru_sequence!(pub L<weights = "models/pytorch_gru_two_layers_both_ways.safetensors", prefix = "gru", steps = 3>);

// what PyTorch does not compute
gru_cell!(pub M<weights = "models/pytorch_gru.safetensors", prefix = "gru", linear_before_reset = false>);
lstm_cell!(pub N<weights = "models/pytorch_lstm.safetensors", prefix = "lstm", peepholes = true, weights_format = ifco>);
augru_cell!(pub O<hidden_size = 5, input_size = 3, weights = "models/pytorch_gru.safetensors">);

// keys that belong to a file of tensors
gru_cell!(pub P<hidden_size = 5, input_size = 3, prefix = "gru", head_activation = sigmoid>);
gru_cell!(pub Q<model = "models/gru_cell_lbr1/model.xml", weights = "models/pytorch_gru.safetensors", layers = 2>);

// Apple's names
gru!(pub R<weights = "models/pytorch_gru.safetensors", prefix = "gru", steps = 3>);
gru!(pub S<weights = "models/apple_gru_after.safetensors", prefix = "apple", steps = 3>);

fn main() {}
