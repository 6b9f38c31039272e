use cellc_runtime::{gru_cell, gru_sequence, rnn_cell};

gru_cell!(pub Missing<model = "models/nowhere.xml">);
gru_cell!(pub MissingWeights<model = "models/gru_cell_lbr1/model.xml", weights = "models/nowhere.bin">);
gru_cell!(pub Sizes<model = "models/gru_cell_lbr1/model.xml", hidden_size = 128, input_size = 16, batch = 7>);
gru_cell!(pub Attributes<model = "models/gru_cell_clip_lbr1/model.xml", linear_before_reset = false, clip = 0.5, activations = [tanh, tanh]>);
gru_cell!(pub Clipped<model = "models/gru_cell_lbr1/model.xml", clip = 3.0>);
gru_cell!(pub OtherCell<model = "models/rnn_cell_tanh/model.xml">);
rnn_cell!(pub OtherCellToo<model = "models/gru_cell_lbr1/model.xml">);
gru_cell!(pub OtherOperation<model = "models/lstm_cell/model.xml">);
gru_cell!(pub TwoCells<model = "models/two_cells/model.xml">);
gru_cell!(pub OpenBatch<model = "models/gru_cell_batchdyn/model.xml">);
gru_cell!(pub Cut<model = "models/cut/model.xml">);
// 8.1 MiB of weights
rnn_cell!(pub Large<model = "models/large/model.xml">);
// what cannot be read as a path is said, and nothing that would follow from it
gru_cell!(pub NoPath<model = "models/gru_cell_batchdyn/model.xml", batch = many>);
gru_sequence!(pub Unnamed<model = "models/lengths/model.onnx", dim = ["T=5", "M=2"]>);
gru_sequence!(pub HalfOpen<model = "models/lengths/model.onnx", dim = ["T=5"]>);
gru_sequence!(pub NoSize<model = "models/lengths/model.onnx", dim = ["T", "N=0"]>);
gru_cell!(pub NoNames<model = "models/gru_cell_lbr1/model.xml", dim = ["N=2"]>);
gru_cell!(pub NoModel<hidden_size = 2, input_size = 2, dim = ["N=2"]>);
gru_cell!(pub NoInput<model = "models/gru_cell_lbr1/model.xml", const = ["lens=2"]>);
gru_cell!(pub NoNumber<model = "models/gru_cell_lbr1/model.xml", const = ["h=zero", "h", 3]>);
gru_cell!(pub NoFile<hidden_size = 2, input_size = 2, const = ["h=0"]>);

fn main() {}
