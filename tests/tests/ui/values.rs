use cellc_runtime::gru_cell;

const HIDDEN: usize = 4;

gru_cell!(pub Zero<hidden_size = 0, input_size = 0, batch = 0>);
gru_cell!(pub Negative<hidden_size = -4, input_size = 2.5>);
gru_cell!(pub Text<hidden_size = "4", input_size = 2u8>);
gru_cell!(pub Constant<hidden_size = HIDDEN, input_size = 2 + 2>);
gru_cell!(pub Huge<hidden_size = 99999999999999999999999, input_size = 2>);
gru_cell!(pub Large<hidden_size = 1_000_000, input_size = 18446744073709551615>);
gru_cell!(pub Switch<hidden_size = 4, input_size = 2, linear_before_reset = 1, keep_denormals = on>);
gru_cell!(pub Clip<hidden_size = 4, input_size = 2, clip = none>);
gru_cell!(pub ClipText<hidden_size = 4, input_size = 2, clip = "3.0">);
gru_cell!(pub ClipHuge<hidden_size = 4, input_size = 2, clip = 1e39>);
gru_cell!(pub Empty<hidden_size =, input_size = 2>);
gru_cell!(pub NotAnExpression<hidden_size = 4 5, input_size = 2>);
gru_cell!(pub Words<hidden_size = 4, input_size = 2, unroll = fast, fma = on>);
gru_cell!(pub Isas<hidden_size = 4, input_size = 2, isa = [avx2, avx1024, "neon"]>);
gru_cell!(pub Isa<hidden_size = 4, input_size = 2, isa = avx2>);
gru_cell!(pub File<model = 3>);
gru_cell!(pub Absolute<model = "/model.xml">);
gru_cell!(pub NoFile<model = "">);

fn main() {}
