//! Conversion of weights from the layouts of frameworks to the layout of OpenVINO's operations.
//!
//! Compile-time weights are converted here. For run-time weights, `layout` describes the order to
//! the packing code.
//!
//! Gates move as blocks of rows and Keras' kernels are transposed, without a change of values,
//! except that f64 is rounded to f32. Separate biases of a framework, of which OpenVINO has the
//! sum, are converted to f32 and added in f32. The two biases of a GRU's candidate stay separate
//! with the reset gate after the product. Sources: the documentation of ONNX's GRU, RNN and LSTM,
//! of `torch.nn`, of `keras.layers` and of Apple's `BNNSGraph.Builder`.

use std::sync::Arc;

use super::weights::CellWeights;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::model::{
    BiasPart, CellKind, ElementType, LstmGateOrder, ResetGate, Tensor, WeightLayout, shape_text,
};

/// The framework of the weights: determines the order of gates, the orientation of matrices, and
/// the biases.
///
/// H is the hidden size, I the size of the input, G the number of gates (RNN 1, GRU 3, LSTM 4). The
/// tensors in order, for one direction of one layer:
///
/// | | matrices | GRU | LSTM |
/// |---|---|---|---|
/// | `OpenVino` | `W [G*H, I]`, `R [G*H, H]` | z, r, h | f, i, c, o |
/// | `Onnx` | `W [G*H, I]`, `R [G*H, H]` | z, r, h | i, o, f, c |
/// | `PyTorch` | `weight_ih [G*H, I]`, `weight_hh [G*H, H]` | r, z, n | i, f, g, o |
/// | `Keras` | `kernel [I, G*H]`, `recurrent_kernel [H, G*H]` | z, r, h | i, f, c, o |
/// | `Apple` | `input_hidden_weight [3H, I]`, `hidden_hidden_weight [3H, H]` | r, n, z | |
///
/// | | biases | peepholes |
/// |---|---|---|
/// | `OpenVino` | `B [G*H]`, summed | `P [3H]`: f, i, o |
/// | `OpenVino`, GRU with the reset gate after the product | `B [4H]`: z, r, Wbh, Rbh | |
/// | `Onnx` | `B [2*G*H]`: those of W, then those of R | `P [3H]`: i, o, f |
/// | `PyTorch` | `bias_ih [G*H]` and `bias_hh [G*H]` | |
/// | `Keras` | `bias [G*H]` | |
/// | `Keras`, GRU with `reset_after` | `bias [2, 3H]`: of W x, then of R h | |
/// | `Apple` | `bias [3H]` | |
/// | `Apple` with `applyResetGateAfterMatMul` | `bias [3H]` and `input_bias [3H]` | |
///
/// Biases may be omitted and are then zero. Of PyTorch's two, both or none must be given; of
/// Apple's two, `input_bias` alone may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the tables describe the frameworks
#[non_exhaustive]
pub enum Framework {
    OpenVino,
    Onnx,
    PyTorch,
    Keras,
    Apple,
}

impl Framework {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenVino => "OpenVINO",
            Self::Onnx => "ONNX",
            Self::PyTorch => "PyTorch",
            Self::Keras => "Keras",
            Self::Apple => "Apple",
        }
    }

    /// The gates, one letter each; n is the candidate of a GRU, c of an LSTM. `None`: the framework
    /// has no cell of this kind.
    fn gates(self, kind: CellKind) -> Option<&'static str> {
        match (kind, self) {
            (CellKind::Rnn, Self::Apple) => None,
            (CellKind::Rnn, _) => Some("h"),
            (CellKind::Gru(_), Self::OpenVino | Self::Onnx | Self::Keras) => Some("zrn"),
            (CellKind::Gru(_), Self::PyTorch) => Some("rzn"),
            (CellKind::Gru(_), Self::Apple) => Some("rnz"),
            (CellKind::Augru(_), Self::OpenVino) => Some("zrn"),
            (CellKind::Augru(_), _) => None,
            (CellKind::Lstm, Self::OpenVino) => Some("fico"),
            (CellKind::Lstm, Self::Onnx) => Some("iofc"),
            (CellKind::Lstm, Self::PyTorch | Self::Keras) => Some("ifco"),
            (CellKind::Lstm, Self::Apple) => None,
        }
    }

    /// By gate of OpenVINO, the position in the framework's order. `None`: the framework has no
    /// cell of this kind.
    fn places(self, kind: CellKind) -> Option<Vec<usize>> {
        places(Self::OpenVino.gates(kind)?, self.gates(kind)?)
    }

    /// By peephole of OpenVINO, the position in the framework's order. `None`: the framework has no
    /// peepholes.
    fn peephole_places(self) -> Option<Vec<usize>> {
        match self {
            Self::OpenVino => places("fio", "fio"),
            Self::Onnx => places("fio", "iof"),
            Self::PyTorch | Self::Keras | Self::Apple => None,
        }
    }

    /// The possible numbers of bias tensors, smallest first.
    pub(crate) fn bias_tensors(self, wanted: ConversionTarget) -> &'static [usize] {
        let after = wanted.kind.reset_gate() == Some(ResetGate::AfterMatMul);
        match self {
            // a missing `input_bias` is zero
            Self::Apple if after && !wanted.outer_bias => &[0, 1, 2],
            Self::PyTorch => &[0, 2],
            Self::OpenVino | Self::Onnx | Self::Keras | Self::Apple => &[0, 1],
        }
    }

    /// The names of the tensors: the two matrices, the biases.
    pub(crate) fn tensor_names(self) -> ([&'static str; 2], &'static [&'static str]) {
        match self {
            Self::OpenVino | Self::Onnx => (["W", "R"], &["B"]),
            Self::PyTorch => (["weight_ih", "weight_hh"], &["bias_ih", "bias_hh"]),
            Self::Keras => (["kernel", "recurrent_kernel"], &["bias"]),
            Self::Apple => {
                (["input_hidden_weight", "hidden_hidden_weight"], &["bias", "input_bias"])
            }
        }
    }
}

fn places(wanted: &str, among: &str) -> Option<Vec<usize>> {
    wanted.chars().map(|gate| among.find(gate)).collect()
}

/// The order of the gates of a GRU (r, z and n) or an LSTM (i, f, c and o) in a file, if different
/// from the framework's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateOrder([char; 4]);

impl GateOrder {
    /// An order by its letters: `ifco` and `rzn` are PyTorch's. g may stand for c of an LSTM, h for
    /// n of a GRU. `None` if the letters are not those of a GRU or an LSTM.
    pub fn new(letters: &str) -> Option<Self> {
        let letters = match letters.len() {
            3 => letters.replace('h', "n"),
            _ => letters.replace('g', "c"),
        };
        let mut order = [' '; 4];
        for (index, letter) in letters.chars().enumerate() {
            *order.get_mut(index)? = letter;
        }
        let order = Self(order);
        [CellKind::Gru(ResetGate::AfterMatMul), CellKind::Lstm]
            .into_iter()
            .any(|kind| order.fits(kind))
            .then_some(order)
    }

    /// The letters.
    pub fn letters(self) -> String {
        self.0.iter().filter(|letter| **letter != ' ').collect()
    }

    /// True if a kind of cell has these gates.
    pub(crate) fn fits(self, kind: CellKind) -> bool {
        self.places(kind).is_some()
    }

    fn places(self, kind: CellKind) -> Option<Vec<usize>> {
        let (gates, letters) = (Framework::OpenVino.gates(kind)?, self.letters());
        (gates.len() == letters.len()).then(|| places(gates, &letters)).flatten()
    }
}

/// A tensor and its name in the framework.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedTensor {
    pub(crate) name: String,
    pub(crate) tensor: Tensor,
    /// True for a plain list of values without shape.
    pub(crate) flat: bool,
}

/// One direction of one layer, in the layout of the framework.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WeightSet {
    pub(crate) w: NamedTensor,
    pub(crate) r: NamedTensor,
    pub(crate) biases: Vec<NamedTensor>,
    pub(crate) peepholes: Option<NamedTensor>,
}

/// The target of a conversion of weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConversionTarget {
    pub(crate) kind: CellKind,
    pub(crate) hidden_size: usize,
    pub(crate) input_size: usize,
    /// True for tensors with D in front, as in sequences.
    pub(crate) sequence: bool,
    /// GRU with the reset gate after the product: true if the recurrent bias of the candidate is
    /// outside the reset product, so that the bias joins the input bias and Rbh is zero.
    pub(crate) outer_bias: bool,
    /// The order of the gates. `None`: the order of the framework.
    pub(crate) gate_order: Option<GateOrder>,
}

impl ConversionTarget {
    /// By gate of OpenVINO, the position in the order of the file. `None`: the framework has no
    /// cell of this kind, or [`Self::gate_order`] is that of another kind.
    fn places(self, framework: Framework) -> Option<Vec<usize>> {
        let places = framework.places(self.kind)?;
        self.gate_order.map_or(Some(places), |order| order.places(self.kind))
    }
}

/// The layout of a cell with `biases` bias tensors in a framework. `None`: the framework has no
/// cell of this kind, or the gate order is that of another kind.
pub(crate) fn layout(
    framework: Framework,
    wanted: ConversionTarget,
    biases: usize,
) -> Option<WeightLayout> {
    let ConversionTarget { kind, outer_bias, .. } = wanted;
    if framework == Framework::OpenVino && biases == 1 {
        return Some(WeightLayout::new(kind, LstmGateOrder::default()));
    }
    let gates = wanted.places(framework)?;
    let after = kind.reset_gate() == Some(ResetGate::AfterMatMul);
    // the parts of the first gate's bias, of W x and of R h
    let given = |tensor: usize, part: usize| (tensor < biases).then_some(BiasPart { tensor, part });
    let (of_input, of_recurrence) = match framework {
        Framework::Onnx => (given(0, 0), given(0, gates.len())),
        Framework::PyTorch => (given(0, 0), given(1, 0)),
        Framework::Keras if after => (given(0, 0), given(0, gates.len())),
        Framework::Apple if after && !outer_bias => (given(1, 0), given(0, 0)),
        // one summed bias; the outer recurrent bias of a GRU is part of the input bias
        Framework::Keras | Framework::Apple | Framework::OpenVino => (given(0, 0), None),
    };
    let mut parts = Vec::new();
    for (gate, part) in gates.iter().enumerate() {
        let of_gate = |first: Option<BiasPart>| {
            first.map(|first| BiasPart { part: first.part + part, ..first })
        };
        let bias_parts = [of_gate(of_input), of_gate(of_recurrence)];
        if after && gate == 2 && !outer_bias {
            parts.extend(bias_parts.map(|part| part.into_iter().collect()));
        } else {
            parts.push(bias_parts.into_iter().flatten().collect());
        }
    }
    if after && outer_bias {
        parts.push(Vec::new());
    }
    let directions = matches!(framework, Framework::OpenVino | Framework::Onnx);
    let peepholes =
        framework.peephole_places().and_then(|places| places.try_into().ok()).unwrap_or([0, 1, 2]);
    Some(WeightLayout { gates, biases: parts, peepholes, directions })
}

/// W, R, B and P in OpenVINO's layout, from one set per direction. Only a single f32 tensor in the
/// right order is not copied.
///
/// # Errors
/// If a tensor has another shape or no floating point elements: all these tensors are named. If the
/// framework has no cell of this kind, if a size is 0, if the number of biases is wrong, or if
/// peepholes are given to a cell without peepholes.
pub(crate) fn convert(
    framework: Framework,
    wanted: ConversionTarget,
    sets: &[WeightSet],
) -> Result<CellWeights, Diagnostics> {
    let ConversionTarget { kind, hidden_size, input_size: input, .. } = wanted;
    let places = wanted.places(framework).ok_or_else(|| {
        let found =
            format!("{} has no {} whose weights could be read", framework.name(), kind.op_name());
        Diagnostics(vec![Diagnostic::error(Origin::Unknown, found)])
    })?;
    // the sizes are unchecked up to here, so products saturate
    let rows = kind.gates().saturating_mul(hidden_size);
    let mut problems = Diagnostics::default();
    if hidden_size == 0 || input == 0 {
        problems.push(
            Diagnostic::error(Origin::Unknown, format!("{hidden_size} states and {input} inputs"))
                .valid("1 or more"),
        );
    }
    for set in sets {
        let transposed = framework == Framework::Keras;
        let matrix = |columns| if transposed { vec![columns, rows] } else { vec![rows, columns] };
        check(&set.w, &matrix(input), &mut problems);
        check(&set.r, &matrix(hidden_size), &mut problems);
        check_biases(framework, wanted, &set.biases, &mut problems);
        if let Some(peepholes) = &set.peepholes {
            check(peepholes, &[hidden_size.saturating_mul(3)], &mut problems);
            if framework.peephole_places().is_none() || kind != CellKind::Lstm {
                let found =
                    format!("peepholes are given for {} of {}", kind.op_name(), framework.name());
                problems.push(
                    Diagnostic::error(Origin::Unknown, found).help("it has none: leave them out"),
                );
            }
        }
    }
    if problems.has_errors() {
        return Err(problems);
    }
    let matrix = |select: fn(&WeightSet) -> &NamedTensor, columns: usize| {
        let tensors: Vec<&Tensor> = sets.iter().map(|set| &select(set).tensor).collect();
        let shape = with_directions(wanted, sets.len(), &[rows, columns]);
        if framework == Framework::Keras {
            transposed(&tensors, hidden_size, columns, &places, shape)
        } else {
            blocks(&tensors, hidden_size * columns, &places, shape)
        }
    };
    let w = matrix(|set| &set.w, input);
    let r = matrix(|set| &set.r, hidden_size);
    let b = biases(framework, wanted, sets);
    let p = framework
        .peephole_places()
        .filter(|_| sets.iter().all(|set| set.peepholes.is_some()))
        .map(|places| {
            let tensors: Vec<&Tensor> =
                sets.iter().filter_map(|set| Some(&set.peepholes.as_ref()?.tensor)).collect();
            blocks(
                &tensors,
                hidden_size,
                &places,
                with_directions(wanted, sets.len(), &[3 * hidden_size]),
            )
        });
    Ok(CellWeights { w, r, b, p, initial: Vec::new() })
}

fn with_directions(wanted: ConversionTarget, directions: usize, shape: &[usize]) -> Vec<usize> {
    let front = wanted.sequence.then_some(directions);
    front.into_iter().chain(shape.iter().copied()).collect()
}

/// Reports a tensor of another shape, or of integers. A flat tensor needs the number of elements
/// of the shape.
pub(super) fn check(named: &NamedTensor, shape: &[usize], problems: &mut Diagnostics) {
    let NamedTensor { name, tensor, flat } = named;
    if !tensor.element().is_float() {
        let found = format!("`{name}` has elements of type {}", tensor.element().name());
        problems.push(Diagnostic::error(Origin::Unknown, found).valid("f32, f16, bf16, f64"));
    }
    let len = shape.iter().fold(1usize, |len, &size| len.saturating_mul(size));
    if *flat && tensor.len() != len {
        let found = format!("`{name}` has {} values", tensor.len());
        problems.push(
            Diagnostic::error(Origin::Unknown, found)
                .valid(format!("{len} values, {}", shape_text(shape))),
        );
    } else if !*flat && tensor.shape() != shape {
        let found = format!("`{name}` has the shape {}", shape_text(tensor.shape()));
        problems.push(Diagnostic::error(Origin::Unknown, found).valid(shape_text(shape)));
    }
}

fn check_biases(
    framework: Framework,
    wanted: ConversionTarget,
    biases: &[NamedTensor],
    problems: &mut Diagnostics,
) {
    let (kind, hidden_size) = (wanted.kind, wanted.hidden_size);
    let rows = kind.gates().saturating_mul(hidden_size);
    let after = kind.reset_gate() == Some(ResetGate::AfterMatMul);
    let shape = match framework {
        Framework::OpenVino => vec![kind.bias_parts().saturating_mul(hidden_size)],
        Framework::Onnx => vec![rows.saturating_mul(2)],
        Framework::Keras if after => vec![2, rows],
        Framework::PyTorch | Framework::Keras | Framework::Apple => vec![rows],
    };
    for bias in biases {
        check(bias, &shape, problems);
    }
    let (_, names) = framework.tensor_names();
    if framework.bias_tensors(wanted).contains(&biases.len()) {
        return;
    }
    let found = format!("{} biases are given", biases.len());
    let mut problem = Diagnostic::error(Origin::Unknown, found);
    problem = match framework {
        Framework::Apple => problem.valid("bias, the sum of both biases").help(
            "`input_bias` is used only where the reset gate stands after the product with the \
             recurrent bias inside: apply_reset_gate_after_mat_mul = true",
        ),
        _ => problem.valid(format!("{}, or none", names.join(" and "))),
    };
    problems.push(problem);
}

/// Reorders blocks of `len` values of every tensor: the block at `places[i]` becomes the i-th.
fn blocks(tensors: &[&Tensor], len: usize, places: &[usize], shape: Vec<usize>) -> Tensor {
    if let ([only], true) = (tensors, places.is_sorted())
        && only.element() == ElementType::F32
    {
        return only.part(0, shape).expect("a tensor of that many values");
    }
    let mut bytes = Vec::with_capacity(4 * tensors.len() * places.len() * len);
    for tensor in tensors {
        for &block in places {
            for i in block * len..(block + 1) * len {
                bytes.extend(tensor.get_f32(i).to_le_bytes());
            }
        }
    }
    of_f32(bytes, shape)
}

/// Transposes `[columns, gates * hidden]` and reorders the gates: the gate at `places[i]` becomes
/// the i-th.
fn transposed(
    tensors: &[&Tensor],
    hidden_size: usize,
    columns: usize,
    places: &[usize],
    shape: Vec<usize>,
) -> Tensor {
    let rows = places.len() * hidden_size;
    let mut bytes = Vec::with_capacity(4 * tensors.len() * rows * columns);
    for tensor in tensors {
        for &block in places {
            for row in block * hidden_size..(block + 1) * hidden_size {
                for column in 0..columns {
                    bytes.extend(tensor.get_f32(column * rows + row).to_le_bytes());
                }
            }
        }
    }
    of_f32(bytes, shape)
}

/// The values as f32.
pub(super) fn in_f32(tensor: &Tensor) -> Tensor {
    blocks(&[tensor], tensor.len(), &[0], tensor.shape().to_vec())
}

fn of_f32(bytes: Vec<u8>, shape: Vec<usize>) -> Tensor {
    let len = bytes.len();
    Tensor::new(shape, ElementType::F32, Arc::new(bytes), 0..len)
        .expect("as many values as the shape has")
}

/// B: each part is the sum of the biases that the layout lists for it.
fn biases(framework: Framework, wanted: ConversionTarget, sets: &[WeightSet]) -> Tensor {
    let hidden_size = wanted.hidden_size;
    let len = wanted.kind.bias_parts() * hidden_size;
    let shape = with_directions(wanted, sets.len(), &[len]);
    if framework == Framework::OpenVino && sets.iter().all(|set| set.biases.len() == 1) {
        let tensors: Vec<&Tensor> = sets.iter().map(|set| &set.biases[0].tensor).collect();
        return blocks(&tensors, len, &[0], shape);
    }
    let mut bytes = Vec::with_capacity(4 * sets.len() * len);
    for set in sets {
        let layout =
            layout(framework, wanted, set.biases.len()).expect("a framework that has the cell");
        for part in &layout.biases {
            for i in 0..hidden_size {
                let terms = part.iter().map(|part| {
                    set.biases[part.tensor].tensor.get_f32(part.part * hidden_size + i)
                });
                bytes.extend(terms.reduce(|sum, term| sum + term).unwrap_or(0.0).to_le_bytes());
            }
        }
    }
    of_f32(bytes, shape)
}

#[cfg(test)]
mod tests;
