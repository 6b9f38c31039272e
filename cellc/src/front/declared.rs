//! A cell that is declared rather than read: what the macros and the builder have in common.

use crate::diagnostic::{Diagnostics, Origin};
use crate::model::{
    Activation, Cell, CellKind, Dim, ElementType, LedgerEntry, Model, Node, Op, ResetGate, Tensor, Value, ValueId,
};

/// Something that was said, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// W, R and B as constants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellWeights {
    pub(crate) w: Tensor,
    pub(crate) r: Tensor,
    pub(crate) b: Tensor,
}

/// One cell with its input, its state and its output; nothing in it has been judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeclaredCell {
    /// The name of the type.
    pub(crate) name: Said<String>,
    /// What diagnostics call the declaration: `gru_cell!`, `Builder::gru`.
    pub(crate) declared_by: &'static str,
    /// Whether it is a GRU; else an RNN.
    pub(crate) gru: bool,
    pub(crate) hidden_size: Said<usize>,
    pub(crate) input_size: Said<usize>,
    /// None: 1.
    pub(crate) batch: Option<Said<usize>>,
    /// None: false, as in OpenVINO.
    pub(crate) linear_before_reset: Option<Said<bool>>,
    /// None: no clipping; so, too, where it is not positive and finite.
    pub(crate) clip: Option<Said<f32>>,
    /// None: those of the kind.
    pub(crate) activations: Option<Said<Vec<Activation>>>,
    /// None: given at run time.
    pub(crate) weights: Option<CellWeights>,
}

/// The bound that a clip attribute stands for; OpenVINO takes whatever is not positive and finite as none.
pub(crate) fn clip_bound(clip: f32) -> Option<f32> {
    (clip > 0.0 && clip.is_finite()).then_some(clip)
}

/// Advice names options of the command line; a way in that has other words for them says it in its own.
pub(crate) fn in_words_of(problems: &mut Diagnostics, words: &[(&str, &str)]) {
    for help in problems.0.iter_mut().filter_map(|problem| problem.help.as_mut()) {
        for (option, word) in words {
            *help = help.replace(option, word);
        }
    }
}

impl DeclaredCell {
    pub(crate) fn kind(&self) -> CellKind {
        match (self.gru, &self.linear_before_reset) {
            (false, _) => CellKind::Rnn,
            (true, Some(Said { value: true, .. })) => CellKind::Gru(ResetGate::AfterMatMul),
            (true, _) => CellKind::Gru(ResetGate::BeforeMatMul),
        }
    }

    /// The model: x `[N, I]`, h `[N, H]`, w `[G*H, I]`, r `[G*H, H]` and b `[parts*H]` in, h_out `[N, H]` out.
    pub(crate) fn model(&self) -> Model {
        let kind = self.kind();
        let (hidden, input) = (&self.hidden_size, &self.input_size);
        let batch = self.batch.clone().unwrap_or(Said { value: 1, origin: self.name.origin.clone() });
        let rows = hidden.value.saturating_mul(kind.gates());
        let biases = hidden.value.saturating_mul(kind.bias_parts());

        let mut graph = Graph { declared_by: self.declared_by, model: Model::default() };
        let x = graph.input("x", vec![batch.value, input.value], &input.origin);
        let h = graph.input("h", vec![batch.value, hidden.value], &hidden.origin);
        let (w, r, b) = match &self.weights {
            None => (
                graph.input("w", vec![rows, input.value], &input.origin),
                graph.input("r", vec![rows, hidden.value], &hidden.origin),
                graph.input("b", vec![biases], &hidden.origin),
            ),
            Some(weights) => (
                graph.constant("w", &weights.w, &self.name.origin),
                graph.constant("r", &weights.r, &self.name.origin),
                graph.constant("b", &weights.b, &self.name.origin),
            ),
        };
        let cell = Cell {
            kind,
            hidden_size: hidden.value,
            activations: match &self.activations {
                Some(said) => said.value.clone(),
                None => kind.default_activations().to_vec(),
            },
            clip: self.clip.as_ref().and_then(|said| clip_bound(said.value)),
            ..Cell::new(kind, hidden.value)
        };
        let ledger = self.ledger(&cell);
        let h_out = graph.value("h_out", Some(vec![batch.value, hidden.value]), &hidden.origin);
        graph.model.nodes.push(Node {
            name: self.name.value.clone(),
            kind: self.declared_by.to_owned(),
            op: Op::Cell(cell),
            inputs: vec![x, h, w, r, b],
            outputs: vec![h_out],
            ledger,
            origin: self.name.origin.clone(),
        });
        graph.node("h_out", Op::Result, vec![h_out], Vec::new(), &self.name.origin);
        graph.model.results.push(graph.model.nodes.len() - 1);
        graph.model.name = Some(self.name.value.clone());
        graph.model
    }

    fn ledger(&self, cell: &Cell) -> Vec<LedgerEntry> {
        let list = |activations: &[Activation]| activations.iter().map(|a| a.label()).collect::<Vec<_>>().join(", ");
        let entry = |attribute: &str, said: Option<(String, &Origin)>, taken: String| {
            let (given, origin) = said.map_or((None, Origin::Unknown), |(text, origin)| (Some(text), origin.clone()));
            LedgerEntry { attribute: attribute.to_owned(), given, taken, origin }
        };
        let mut ledger = vec![
            entry(
                "hidden_size",
                Some((self.hidden_size.value.to_string(), &self.hidden_size.origin)),
                cell.hidden_size.to_string(),
            ),
            entry(
                "activations",
                self.activations.as_ref().map(|said| (list(&said.value), &said.origin)),
                list(&cell.activations),
            ),
            entry(
                "clip",
                self.clip.as_ref().map(|said| (said.value.to_string(), &said.origin)),
                cell.clip.map_or("no clipping".to_owned(), |bound| bound.to_string()),
            ),
        ];
        if let CellKind::Gru(reset) = cell.kind {
            ledger.push(entry(
                "linear_before_reset",
                self.linear_before_reset.as_ref().map(|said| (said.value.to_string(), &said.origin)),
                (reset == ResetGate::AfterMatMul).to_string(),
            ));
        }
        ledger
    }
}

/// A model under construction; values and nodes in the order in which they are added.
struct Graph {
    declared_by: &'static str,
    model: Model,
}

impl Graph {
    fn value(&mut self, name: &str, shape: Option<Vec<usize>>, origin: &Origin) -> ValueId {
        self.model.values.push(Value {
            names: vec![name.to_owned()],
            shape: shape.map(|shape| shape.into_iter().map(Dim::Fixed).collect()),
            element: ElementType::F32,
            origin: origin.clone(),
        });
        ValueId(self.model.values.len() - 1)
    }

    fn node(&mut self, name: &str, op: Op, inputs: Vec<ValueId>, outputs: Vec<ValueId>, origin: &Origin) {
        let kind = self.declared_by.to_owned();
        self.model.nodes.push(Node {
            name: name.to_owned(),
            kind,
            op,
            inputs,
            outputs,
            ledger: Vec::new(),
            origin: origin.clone(),
        });
    }

    fn input(&mut self, name: &str, shape: Vec<usize>, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(shape), origin);
        self.model.parameters.push(self.model.nodes.len());
        self.node(name, Op::Parameter, Vec::new(), vec![value], origin);
        value
    }

    fn constant(&mut self, name: &str, tensor: &Tensor, origin: &Origin) -> ValueId {
        let value = self.value(name, Some(tensor.shape().to_vec()), origin);
        self.node(name, Op::Constant(tensor.clone()), Vec::new(), vec![value], origin);
        value
    }
}
