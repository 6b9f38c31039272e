//! Recurrent cells: families, gates, directions, and layouts of weights.

use super::limits::MOST_UNITS;
use super::{Activation, ActivationLists, Spelling};
use crate::diagnostic::Problem;

/// The place of the reset gate of a GRU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetGate {
    /// `n = g(Wx + R(r.h) + b)`: `linear_before_reset` = 0.
    BeforeMatMul,
    /// `n = g(Wx + Wb + r.(Rh + Rb))`: `linear_before_reset` = 1.
    AfterMatMul,
}

/// A family of recurrent cells, without the place of the reset gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum Family {
    Rnn,
    Gru,
    /// A GRU whose update gate is scaled by an attention, `z <- (1 - a).z`.
    Augru,
    Lstm,
}

/// The facts about a family of cells.
struct FamilyRow {
    /// The name in lower case, as in `gru_cell!` and `--cell gru`.
    name: &'static str,
    /// OpenVINO's operation for one step. Messages and comments use this name.
    step: &'static str,
    /// OpenVINO's operation for a sequence. Messages and comments use this name.
    sequence: &'static str,
    /// The gates in the order of W and R, one letter each: `h` is the candidate of a GRU, `c` the
    /// candidate of an LSTM.
    gates: &'static str,
    /// The default activations, one for each activation that the cell takes.
    activations: &'static [Activation],
    /// As [`Family::has_variants`].
    has_variants: bool,
}

impl Family {
    /// The table of cells.
    fn row(self) -> &'static FamilyRow {
        const GATED: &[Activation] = &[Activation::Sigmoid, Activation::Tanh];
        match self {
            Self::Rnn => &FamilyRow {
                name: "rnn",
                step: "RNNCell",
                sequence: "RNNSequence",
                gates: "h",
                activations: &[Activation::Tanh],
                has_variants: true,
            },
            Self::Gru => &FamilyRow {
                name: "gru",
                step: "GRUCell",
                sequence: "GRUSequence",
                gates: "zrh",
                activations: GATED,
                has_variants: true,
            },
            Self::Augru => &FamilyRow {
                name: "augru",
                step: "AUGRUCell",
                sequence: "AUGRUSequence",
                gates: "zrh",
                activations: GATED,
                has_variants: false,
            },
            Self::Lstm => &FamilyRow {
                name: "lstm",
                step: "LSTMCell",
                sequence: "LSTMSequence",
                gates: "fico",
                activations: &[Activation::Sigmoid, Activation::Tanh, Activation::Tanh],
                has_variants: true,
            },
        }
    }

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// True if the family has a reset gate.
    pub fn has_reset_gate(self) -> bool {
        matches!(self, Self::Gru | Self::Augru)
    }

    /// The default activations, one for each activation that the cell takes.
    pub fn default_activations(self) -> &'static [Activation] {
        self.row().activations
    }

    /// True if activations, clip, place of the reset gate, direction and number of layers may vary,
    /// and weights may be computed. False if all these must be as OpenVINO specifies the operation.
    pub fn has_variants(self) -> bool {
        self.row().has_variants
    }

    /// The cell of this family. `reset` is ignored if the family has no reset gate.
    pub fn kind(self, reset: ResetGate) -> CellKind {
        match self {
            Self::Rnn => CellKind::Rnn,
            Self::Gru => CellKind::Gru(reset),
            Self::Augru => CellKind::Augru(reset),
            Self::Lstm => CellKind::Lstm,
        }
    }
}

/// A recurrent cell: its family, and the place of the reset gate if the family has a reset gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum CellKind {
    Rnn,
    Gru(ResetGate),
    Augru(ResetGate),
    Lstm,
}

impl CellKind {
    /// The family: the key of the table of cells.
    pub fn family(self) -> Family {
        match self {
            Self::Rnn => Family::Rnn,
            Self::Gru(_) => Family::Gru,
            Self::Augru(_) => Family::Augru,
            Self::Lstm => Family::Lstm,
        }
    }

    /// The number of gates in W and R.
    pub fn gates(self) -> usize {
        self.gate_letters().len()
    }

    /// The number of parts of B; each part has `hidden_size` elements.
    pub fn bias_parts(self) -> usize {
        // the candidate of a GRU adds a second bias to R h before the reset gate multiplies the sum
        self.gates() + usize::from(self.reset_gate() == Some(ResetGate::AfterMatMul))
    }

    /// The default activations, one for each activation that the cell takes.
    pub fn default_activations(self) -> &'static [Activation] {
        self.family().default_activations()
    }

    /// True if the cell has a cell state `c` beside its hidden state `h`.
    pub fn has_cell_state(self) -> bool {
        self == Self::Lstm
    }

    /// True if the cell reads an attention `a`.
    pub fn has_attention(self) -> bool {
        matches!(self, Self::Augru(_))
    }

    /// The place of the reset gate. `None` if the cell has no reset gate.
    pub fn reset_gate(self) -> Option<ResetGate> {
        match self {
            Self::Gru(reset) | Self::Augru(reset) => Some(reset),
            Self::Rnn | Self::Lstm => None,
        }
    }

    /// True if gate `gate` multiplies `r * h` by R, as the candidate of a GRU does if the reset
    /// gate is applied before the product.
    pub fn multiplies_reset_h(self, gate: usize) -> bool {
        self.reset_gate() == Some(ResetGate::BeforeMatMul) && self.gate(gate) == Some('h')
    }

    /// The gates in the order of W and R, one letter each: `h` is the candidate of a GRU, `c` the
    /// candidate of an LSTM.
    pub fn gate_letters(self) -> &'static str {
        self.family().row().gates
    }

    /// The letter of the gate at `index`. `None` if the cell has one gate, and for larger indices.
    fn gate(self, index: usize) -> Option<char> {
        self.gate_letters().chars().nth(index).filter(|_| self.gates() > 1)
    }

    /// OpenVINO's operation for one step. Messages and comments use this name.
    pub fn op_name(self) -> &'static str {
        self.family().row().step
    }

    /// OpenVINO's operation for a sequence. Messages and comments use this name.
    pub fn sequence_name(self) -> &'static str {
        self.family().row().sequence
    }
}

/// The order of an LSTM's gates in W, R and B: `weights_format` of LSTMCell-1. c is the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum LstmGateOrder {
    /// OpenVINO's order.
    #[default]
    Fico,
    Icof,
    Ifco,
    Ifoc,
    Iofc,
}

impl LstmGateOrder {
    /// All orders, in the order of messages.
    pub const ALL: [Self; 5] = [Self::Fico, Self::Icof, Self::Ifco, Self::Ifoc, Self::Iofc];

    /// OpenVINO's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fico => "fico",
            Self::Icof => "icof",
            Self::Ifco => "ifco",
            Self::Ifoc => "ifoc",
            Self::Iofc => "iofc",
        }
    }

    /// The positions of the gates f, i, c, o.
    pub fn places(self) -> [usize; 4] {
        ['f', 'i', 'c', 'o']
            .map(|gate| self.name().chars().position(|c| c == gate).unwrap_or_default())
    }
}

/// `hidden_size` elements of a tensor of biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiasPart {
    /// The index of the tensor of biases.
    pub tensor: usize,
    /// The index of the part in the tensor.
    pub part: usize,
}

/// The layout of a cell's weights in tensors. Gates and parts of B are in the order of
/// [`CellKind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightLayout {
    /// The position of each gate in W and R.
    pub gates: Vec<usize>,
    /// The terms of each part of B, added in f32 in this order. A part without terms is zero.
    pub biases: Vec<Vec<BiasPart>>,
    /// The positions of the peepholes of f, i and o in P.
    pub peepholes: [usize; 3],
    /// True if tensors of sequences have the number of directions as their first dimension.
    pub directions: bool,
}

impl WeightLayout {
    /// OpenVINO's layout. `order` is the gate order of an LSTM.
    pub fn new(kind: CellKind, order: LstmGateOrder) -> Self {
        let places = match kind {
            CellKind::Lstm => order.places().to_vec(),
            _ => (0..kind.bias_parts()).collect(),
        };
        let gates = places[..kind.gates()].to_vec();
        let biases = places.into_iter().map(|part| vec![BiasPart { tensor: 0, part }]).collect();
        Self { gates, biases, peepholes: [0, 1, 2], directions: true }
    }

    /// The number of parts in each tensor of biases.
    pub fn bias_tensors(&self) -> Vec<usize> {
        let mut tensors = Vec::new();
        for BiasPart { tensor, part } in self.biases.iter().flatten().copied() {
            tensors.resize(tensors.len().max(tensor + 1), 0);
            tensors[tensor] = tensors[tensor].max(part + 1);
        }
        tensors
    }

    /// The letters of the gates, in the order in which W and R store the gates.
    pub fn order(&self, kind: CellKind) -> String {
        let letter = |index| {
            self.gates.iter().zip(kind.gate_letters().chars()).find(|(at, _)| **at == index)
        };
        (0..self.gates.len()).filter_map(letter).map(|(_, letter)| letter).collect()
    }
}

/// The gate of an LSTM that is 1 minus another gate. The coupled gate's weights in W, R and B are
/// unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupled {
    /// `i = 1 - f`: OpenVINO's input_forget.
    Input,
    /// `f = 1 - i`: ONNX's input_forget.
    Forget,
}

impl Coupled {
    /// The equation of the coupled gate.
    pub fn equation(self) -> &'static str {
        match self {
            Self::Input => "i = 1 - f",
            Self::Forget => "f = 1 - i",
        }
    }
}

/// A recurrent cell's attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The kind of cell.
    pub kind: CellKind,
    /// The length of h.
    pub hidden_size: usize,
    /// The activations, in the order of [`CellKind::default_activations`] (GRU: f for z and r, g
    /// for the candidate; LSTM: f for f, i and o, g for the candidate, h for the cell state). A
    /// bidirectional sequence has one list for both directions, or the list of the forward
    /// direction followed by the list of the reverse direction.
    pub activations: Vec<Activation>,
    /// The attribute `clip` as the input says it: any number. `None`: no attribute.
    /// [`Self::bound`] is the bound.
    pub clip: Option<f32>,
    /// The layout of W, R and the biases.
    pub layout: WeightLayout,
    /// LSTM: the coupled gate. `None`: all gates have weights.
    pub coupled: Option<Coupled>,
    /// True if the input B is required. False: a missing B is zero.
    pub bias_required: bool,
    /// True if the last input is P `[3*H]`, the peepholes of f, i and o. LSTM only.
    pub peepholes: bool,
}

impl Cell {
    /// The valid numbers of units, and the help about another number or text.
    pub fn valid_hidden_size() -> [String; 2] {
        [format!("an integer from 1 to {MOST_UNITS}"), "write the length of the state h".to_owned()]
    }

    /// The refusal of a number of units that no cell has. `None` for a legal number. `name` is the
    /// attribute's name in the input.
    pub fn wrong_hidden_size(&self, name: &str) -> Option<Problem> {
        let is_legal = (1..=MOST_UNITS).contains(&self.hidden_size);
        let [valid, help] = Self::valid_hidden_size();
        (!is_legal).then(|| Problem::new(format!("{name} is {}", self.hidden_size), valid, help))
    }

    /// The refusal of too many or too few activations, and of lists that the input format does not
    /// have. `None` for legal lists. `direction`: the direction of a sequence, `None` for a cell.
    pub fn wrong_activations(
        &self,
        direction: Option<Direction>,
        spelling: &Spelling,
    ) -> Option<Problem> {
        let defaults = self.kind.default_activations();
        let (given, wanted) = (self.activations.len(), defaults.len());
        let is_twice = direction == Some(Direction::Bidirectional) && given == 2 * wanted;
        let is_one_list = given == wanted;
        let name = spelling.activations;
        let directions = direction.map_or(1, Direction::count);
        let legal = match spelling.activation_lists {
            ActivationLists::AllOrEach => is_one_list || is_twice,
            ActivationLists::ForEach => given == directions * wanted,
            ActivationLists::ForAll if is_twice => {
                let (forward, reverse) = self.activations.split_at(wanted);
                return (forward != reverse).then(|| {
                    Problem::new(
                        "activations that differ between the directions",
                        "the same for both, given once or twice",
                        "write a forward and a reverse sequence of their own",
                    )
                });
            }
            ActivationLists::ForAll => is_one_list,
        };
        if legal {
            return None;
        }
        let op = match direction {
            Some(_) => self.kind.sequence_name(),
            None => self.kind.op_name(),
        };
        let found = match given {
            1 => format!("1 activation, but {op} takes {wanted}"),
            _ => format!("{given} activations, but {op} takes {wanted}"),
        };
        let roles = match self.kind {
            CellKind::Rnn => "f",
            CellKind::Gru(_) | CellKind::Augru(_) => "f for z and r, and g for the candidate",
            CellKind::Lstm => "f for f, i and o, g for the candidate, and h for the cell state",
        };
        if spelling.activation_lists == ActivationLists::ForEach && directions > 1 {
            let valid = format!("{}: {roles}, for each direction", directions * wanted);
            let help = "name those of the forward direction, then those of the reverse one";
            return Some(Problem::new(format!("{found} for each direction"), valid, help));
        }
        let names: Vec<String> = defaults.iter().map(|a| a.label()).collect();
        let help = format!("write {roles}; or leave {name} out for {}", names.join(", "));
        Some(Problem::new(found, format!("{wanted}: {roles}"), help))
    }

    /// The bound of a `clip` attribute, the same for every input format. As in OpenVINO, `None`
    /// unless the number is positive and finite.
    pub fn clip_bound(clip: f32) -> Option<f32> {
        (clip > 0.0 && clip.is_finite()).then_some(clip)
    }

    /// What was found and help, for a `clip` attribute that is NaN, or finite and below 0: the
    /// attribute has no effect. `None` for other clips: 0 and infinity have no effect either, but
    /// are no mistake. `name` is the attribute's name in the input.
    pub fn clip_without_effect(clip: f32, name: &str) -> Option<[String; 2]> {
        (clip < 0.0 && clip.is_finite() || clip.is_nan()).then(|| {
            [
                format!("the {name} {clip} has no effect: it is not above 0"),
                format!("leave {name} out for no clipping, or give a number above 0"),
            ]
        })
    }

    /// The bound on every gate's pre-activation sum. `None`: no bound.
    pub fn bound(&self) -> Option<f32> {
        self.clip.and_then(Self::clip_bound)
    }

    /// A `clip` attribute in words, for the ledger of attributes.
    pub fn clip_text(clip: Option<f32>) -> String {
        match clip.and_then(Self::clip_bound) {
            Some(bound) => format!("every gate's sum is clipped to [-{bound}, {bound}]"),
            None => "no clipping".to_owned(),
        }
    }

    /// A cell with the defaults of its kind.
    pub fn new(kind: CellKind, hidden_size: usize) -> Self {
        Self {
            kind,
            hidden_size,
            activations: kind.default_activations().to_vec(),
            clip: None,
            layout: WeightLayout::new(kind, LstmGateOrder::default()),
            coupled: None,
            bias_required: false,
            peepholes: false,
        }
    }

    /// The activations of a direction. 0: the only or the forward direction; 1: the reverse
    /// direction of a bidirectional sequence.
    pub fn activations_of(&self, direction: usize) -> &[Activation] {
        let count = self.kind.default_activations().len();
        self.activations
            .get(direction * count..(direction + 1) * count)
            .unwrap_or(&self.activations)
    }
}

/// The direction of a sequence through time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum Direction {
    Forward,
    Reverse,
    Bidirectional,
}

impl Direction {
    /// All directions, in the order of messages.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Reverse, Self::Bidirectional];

    /// OpenVINO's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Bidirectional => "bidirectional",
        }
    }

    /// The number of directions, D: the number of weight sets.
    pub fn count(self) -> usize {
        if self == Self::Bidirectional { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each kind of lists and each direction: whether one list and whether two lists are legal.
    #[test]
    fn activations_are_lists_for_one_direction_or_for_each() {
        use ActivationLists::{AllOrEach, ForAll, ForEach};
        let cases = [
            (AllOrEach, Direction::Forward, [true, false]),
            (AllOrEach, Direction::Bidirectional, [true, true]),
            (ForAll, Direction::Reverse, [true, false]),
            (ForAll, Direction::Bidirectional, [true, true]),
            (ForEach, Direction::Forward, [true, false]),
            (ForEach, Direction::Bidirectional, [false, true]),
        ];
        for (activation_lists, direction, legal) in cases {
            let spelling = Spelling { activation_lists, ..Spelling::OWN };
            let mut cell = Cell::new(CellKind::Lstm, 4);
            for is_legal in legal {
                let wrong = cell.wrong_activations(Some(direction), &spelling);
                assert_eq!(wrong.is_none(), is_legal, "{activation_lists:?} {direction:?}");
                cell.activations.extend_from_within(..);
            }
            assert!(cell.wrong_activations(Some(direction), &spelling).is_some());
        }
        let spelling = Spelling { activation_lists: ForAll, ..Spelling::OWN };
        let activations = vec![Activation::Tanh, Activation::Relu];
        let cell = Cell { activations, ..Cell::new(CellKind::Rnn, 4) };
        assert!(cell.wrong_activations(Some(Direction::Bidirectional), &spelling).is_some());
    }
}
