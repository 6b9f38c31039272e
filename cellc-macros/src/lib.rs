//! Recurrent cells, sequences and networks, compiled where their declarations stand: `gru_cell!`,
//! `lstm_sequence!`, ...
//!
//! Use them by way of `cellc-runtime`, which the generated code needs and which re-exports them.

use cellc::macros::{Macro, expand};
use proc_macro::TokenStream;

#[doc = include_str!("gru_cell.md")]
#[proc_macro]
pub fn gru_cell(input: TokenStream) -> TokenStream {
    expand(Macro::GRU_CELL, input.into()).into()
}

#[doc = include_str!("rnn_cell.md")]
#[proc_macro]
pub fn rnn_cell(input: TokenStream) -> TokenStream {
    expand(Macro::RNN_CELL, input.into()).into()
}

#[doc = include_str!("lstm_cell.md")]
#[proc_macro]
pub fn lstm_cell(input: TokenStream) -> TokenStream {
    expand(Macro::LSTM_CELL, input.into()).into()
}

#[doc = include_str!("augru_cell.md")]
#[proc_macro]
pub fn augru_cell(input: TokenStream) -> TokenStream {
    expand(Macro::AUGRU_CELL, input.into()).into()
}

#[doc = include_str!("gru_sequence.md")]
#[proc_macro]
pub fn gru_sequence(input: TokenStream) -> TokenStream {
    expand(Macro::GRU_SEQUENCE, input.into()).into()
}

/// Declares an RNN over a number of steps, OpenVINO's RNNSequence-5: [`gru_sequence!`] with the
/// cell of [`rnn_cell!`].
///
/// ```text
/// use cellc_runtime::rnn_sequence;
///
/// rnn_sequence!(pub Smoother<hidden_size = 128, input_size = 16, steps = 10, direction = reverse, activations = [relu]>);
/// ```
#[proc_macro]
pub fn rnn_sequence(input: TokenStream) -> TokenStream {
    expand(Macro::RNN_SEQUENCE, input.into()).into()
}

/// Declares an LSTM over a number of steps, OpenVINO's LSTMSequence-5: [`gru_sequence!`] with the
/// cell of [`lstm_cell!`], without peepholes, `input_forget` and `weights_format`, which no
/// sequence has.
///
/// ```text
/// use cellc_runtime::lstm_sequence;
///
/// lstm_sequence!(pub Tagger<hidden_size = 128, input_size = 16, steps = 10, direction = bidirectional>);
/// ```
///
/// In addition to `h`, the type has the cell state `c [batch, D, hidden_size]` and the output
/// `c_out`.
#[proc_macro]
pub fn lstm_sequence(input: TokenStream) -> TokenStream {
    expand(Macro::LSTM_SEQUENCE, input.into()).into()
}

/// Declares a GRU with attention over a number of steps, OpenVINO's AUGRUSequence:
/// [`gru_sequence!`] with the cell of [`augru_cell!`], forward only.
///
/// ```text
/// use cellc_runtime::augru_sequence;
///
/// augru_sequence!(pub Interest<hidden_size = 64, input_size = 32, steps = 10>);
/// ```
///
/// In addition to `x`, a step reads the attention `a [batch, steps, 1]`.
#[proc_macro]
pub fn augru_sequence(input: TokenStream) -> TokenStream {
    expand(Macro::AUGRU_SEQUENCE, input.into()).into()
}

#[doc = include_str!("gru.md")]
#[proc_macro]
pub fn gru(input: TokenStream) -> TokenStream {
    expand(Macro::APPLE_GRU, input.into()).into()
}
