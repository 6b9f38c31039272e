//! `gru_cell!` and `rnn_cell!`, which compile a recurrent cell where they stand.
//!
//! Use them by way of `cellc-runtime`, which the generated code needs and which re-exports them.

use cellc::macros::{Macro, expand};
use proc_macro::TokenStream;

#[doc = include_str!("gru_cell.md")]
#[proc_macro]
pub fn gru_cell(input: TokenStream) -> TokenStream {
    expand(Macro::GruCell, input.into()).into()
}

#[doc = include_str!("rnn_cell.md")]
#[proc_macro]
pub fn rnn_cell(input: TokenStream) -> TokenStream {
    expand(Macro::RnnCell, input.into()).into()
}
