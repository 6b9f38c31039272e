use cellc_runtime::gru_cell;

gru_cell!();
gru_cell!(pub A);
gru_cell!(pub B<hidden_size = 4, input_size = 2);
gru_cell!(pub C<hidden_size = 4, input_size = 2> where);
gru_cell!(pub D<hidden_size = 4,, input_size = 2>);
gru_cell!(pub struct E<hidden_size = 4, input_size = 2>);
gru_cell!(hidden_size = 4, input_size = 2);
// the module would take the type's name
gru_cell!(pub lower<hidden_size = 4, input_size = 2>);

fn main() {}
