//! The header's lines about the operations around recurrent cells: equations of a small network,
//! the number of operations of a large one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::core::{CoreModel, CoreNode, CoreOp, Notation, PointwiseFunction, Source, View};
use crate::emit::names::Interface;
use crate::plan::{DelayLines, Labels, Plan, Taps};
use crate::summary::escape;

/// The most equations in a header. For networks with more equations, the header has the numbers of
/// operations instead.
const MOST_EQUATIONS: usize = 16;

/// The most operations of a network with equations. Limits the depth of recursion over expressions.
const MOST_OPERATIONS: usize = 100;

/// The most bytes of an equation.
const LONGEST: usize = 400;

/// The most taps of a delay line for which an equation names every tap.
const MOST_TAPS: usize = 4;

/// True if a word of an equation fits a line of the comment with its indentation.
fn fits_a_line(word: &str) -> bool {
    word.len() <= 80
}

/// The lines for all operations but recurrent cells.
pub(super) fn lines(model: &CoreModel, plan: &Plan, interface: &Interface) -> Vec<String> {
    let counted = counted(model);
    if counted.is_empty() {
        return counted;
    }
    let lines = Dataflow::new(model, plan, interface)
        .and_then(|dataflow| dataflow.lines())
        .unwrap_or(counted);
    [vec![String::new()], lines].concat()
}

/// The line with the number of operations of each kind, without recurrent layers. Empty without
/// other operations.
fn counted(model: &CoreModel) -> Vec<String> {
    let nodes = model.operations();
    // a recurrent layer adds operations to join directions and to cut sequences
    let recurrent: BTreeSet<&str> = nodes
        .iter()
        .filter(|node| matches!(node.op, CoreOp::Cell(_)))
        .map(|node| &node.kind[..])
        .collect();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes.iter().filter(|node| !recurrent.contains(&node.kind[..])) {
        *kinds.entry(&node.kind).or_default() += 1;
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    let kinds: Vec<_> = kinds
        .into_iter()
        .map(|(kind, n)| if n == 1 { escape(kind) } else { format!("{n} {}", escape(kind)) })
        .collect();
    vec![format!("Other operations: {}.", kinds.join(", "))]
}

/// An expression, and its binding strength as an operand.
#[derive(Clone)]
enum Term {
    Atom(String),
    Product(String),
    Sum(String),
}

impl Term {
    fn call(function: &str, arguments: &[Term]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(Term::text).collect();
        Self::Atom(format!("{function}({})", arguments.join(", ")))
    }

    fn text(&self) -> &str {
        match self {
            Self::Atom(text) | Self::Product(text) | Self::Sum(text) => text,
        }
    }

    /// The text of the term as a factor, in parentheses if needed.
    fn factor(&self) -> String {
        match self {
            Self::Atom(text) => text.clone(),
            Self::Product(text) | Self::Sum(text) => format!("({text})"),
        }
    }
}

/// The tensor behind views that change only the shape. `producers`: the operation that computes
/// each value.
fn viewed(
    model: &CoreModel,
    lines: &DelayLines,
    producers: &BTreeMap<usize, &CoreNode>,
    mut source: Source,
) -> Source {
    while let Source::Value(value) = source
        && let CoreOp::View(view) = &producers[&value].op
        && view.only_reshapes(model)
        && !lines.taps.contains_key(&value)
    {
        source = view.input;
    }
    source
}

/// The equations of a network without loops.
struct Dataflow<'a> {
    model: &'a CoreModel,
    interface: &'a Interface,
    /// Delay lines. Equations name frames of earlier steps instead of the lines.
    delay_lines: &'a DelayLines,
    labels: Labels,
    /// The operation that computes each value.
    producers: BTreeMap<usize, &'a CoreNode>,
    /// The names of outputs of cells and of values with several readers, by value.
    names: BTreeMap<usize, String>,
    /// The values with several readers, in order.
    shared: Vec<usize>,
}

impl<'a> Dataflow<'a> {
    /// `None` for networks with loops or with many operations.
    fn new(model: &'a CoreModel, plan: &'a Plan, interface: &'a Interface) -> Option<Self> {
        let has_loops = model.nodes.iter().any(|node| matches!(node.op, CoreOp::Loop(_)));
        if has_loops || model.nodes.len() > MOST_OPERATIONS {
            return None;
        }
        let labels = Labels::new(model, &plan.fusion);
        let producers: BTreeMap<usize, &CoreNode> = model
            .nodes
            .iter()
            .flat_map(|node| node.op.outputs().into_iter().map(move |value| (value, node)))
            .collect();
        // a reader of a view that changes only the shape counts as a reader of the viewed value
        let is_view =
            |node: &CoreNode| matches!(&node.op, CoreOp::View(view) if view.only_reshapes(model));
        let mut readers: BTreeMap<usize, usize> = BTreeMap::new();
        let read = model.nodes.iter().filter(|node| !is_view(node));
        let read = read.flat_map(|node| node.op.reads());
        let read = read.chain(model.results.iter().map(|result| result.source));
        for source in read.chain(model.variables.iter().filter_map(|variable| variable.next)) {
            if let Source::Value(value) = viewed(model, &plan.delay_lines, &producers, source) {
                *readers.entry(value).or_default() += 1;
            }
        }
        let (mut names, mut shared, mut cells) = (BTreeMap::new(), Vec::new(), 0);
        let several = model.cells().len() > 1;
        let mut taken = BTreeSet::new();
        for node in &model.nodes {
            if let CoreOp::Cell(cell) = &node.op {
                let suffix = if several { format!(" of cell {cells}") } else { String::new() };
                let out = &cell.out;
                let outputs = [(out.h, "h'"), (out.c, "c'"), (out.y, "every h'")];
                let outputs = outputs.iter().filter_map(|(value, name)| Some(((*value)?, name)));
                names.extend(outputs.map(|(value, name)| (value, format!("{name}{suffix}"))));
                cells += 1;
                continue;
            }
            for value in node.op.outputs() {
                let is_line = plan.delay_lines.of_concat(value).is_some();
                if readers.get(&value).is_none_or(|count| *count == 1) || is_view(node) || is_line {
                    continue;
                }
                let label = format!("{}_out", labels.operation(value));
                let mut name = label.clone();
                let mut nth = 1;
                while !taken.insert(name.clone()) {
                    nth += 1;
                    name = format!("{label}{nth}");
                }
                names.insert(value, name);
                shared.push(value);
            }
        }
        let delay_lines = &plan.delay_lines;
        Some(Self { model, interface, delay_lines, labels, producers, names, shared })
    }

    /// The lines. `None` if they would be too many or too long.
    fn lines(&self) -> Option<Vec<String>> {
        let mut equations = Vec::new();
        for value in &self.shared {
            equations.push(format!("{} = {}", self.names[value], self.computed(*value).text()));
        }
        let several = self.model.cells().len() > 1;
        for (i, cell) in self.model.cells().into_iter().enumerate() {
            let cell_name = if several { format!("cell {i}") } else { "the cell".to_owned() };
            let operands = [("x", Some(cell.x)), ("h", Some(cell.h)), ("c", cell.c), ("a", cell.a)];
            let computed =
                operands.into_iter().filter_map(|(name, operand)| Some((name, operand?)));
            for (name, operand) in computed {
                if matches!(self.viewed(operand), Source::Value(_)) {
                    equations
                        .push(format!("{name} of {cell_name} = {}", self.term(operand).text()));
                }
            }
        }
        for field in &self.interface.outputs {
            let source = self.model.results[field.index].source;
            // the lines about a cell name the outputs that are its states
            if self.is_output_of_cell(source) {
                continue;
            }
            equations.push(format!("{} = {}", field.name, self.term(source).text()));
        }
        for (variable, field) in self.model.variables.iter().zip(&self.interface.variables) {
            if let Some(next) = variable.next
                && self.delay_lines.of_variable(field.index).is_none()
            {
                equations.push(format!("next {} = {}", field.name, self.term(next).text()));
            }
        }
        let fits = equations.len() <= MOST_EQUATIONS
            && equations.iter().all(|equation| equation.len() <= LONGEST)
            && equations.iter().all(|equation| equation.split(' ').all(fits_a_line));
        fits.then(|| {
            let mut lines = vec![match self.model.cells().is_empty() {
                true => "Equations:".to_owned(),
                false => "Around the cells:".to_owned(),
            }];
            lines.extend(equations.iter().map(|equation| format!("  {equation}")));
            lines.extend(self.explained(&equations.concat()));
            lines
        })
    }

    /// The line that explains the functions with weights, `denseN` and `convolveN`. `None` without
    /// functions with weights.
    fn explained(&self, equations: &str) -> Option<String> {
        let weighted =
            [("dense", "the product of v with"), ("convolve", "the convolution of v with")];
        let found = weighted.iter().filter(|(name, _)| equations.contains(name));
        let found: Vec<_> =
            found.map(|(name, what)| format!("{name}N(v) is {what} {name}N_weights")).collect();
        (!found.is_empty()).then(|| format!("  where {}", found.join(", ")))
    }

    /// True if a cell computes the tensor.
    fn is_output_of_cell(&self, source: Source) -> bool {
        match self.viewed(source) {
            Source::Value(value) => matches!(self.producers[&value].op, CoreOp::Cell(_)),
            Source::Parameter(_) | Source::Constant(_) | Source::Variable(_) => false,
        }
    }

    /// The tensor behind views that change only the shape.
    fn viewed(&self, source: Source) -> Source {
        viewed(self.model, self.delay_lines, &self.producers, source)
    }

    /// A tensor as an operand.
    fn term(&self, source: Source) -> Term {
        let source = self.viewed(source);
        let field = |fields: &[crate::emit::names::Field], index: usize| {
            fields.iter().find(|field| field.index == index).map(|field| field.name.clone())
        };
        let name = match source {
            Source::Parameter(at) => {
                let weights = || field(&self.interface.weights, at);
                field(&self.interface.inputs, at).or_else(weights)
            }
            Source::Variable(at) => field(&self.interface.variables, at),
            Source::Constant(at) => {
                let tensor = &self.model.constants[at];
                Some(match tensor.len() {
                    1 => number(tensor.get_f32(0)),
                    _ => self.labels.constant(at),
                })
            }
            Source::Value(value) => match self.names.get(&value) {
                Some(name) => Some(name.clone()),
                None => return self.computed(value),
            },
        };
        Term::Atom(name.unwrap_or_else(|| "an input".to_owned()))
    }

    /// A view as a range of the flat tensor, if the elements are contiguous. Other views are called
    /// a slice, a transpose or a repetition, by their number of elements.
    fn view_term(&self, view: &View, operand: &Term) -> Term {
        let shape = &self.model.values[view.out].shape;
        let (len, input_len) = (shape.iter().product::<usize>(), self.model.len(view.input));
        if len < input_len && view.is_contiguous(shape) {
            let range = view.offset..view.offset + len;
            return Term::Atom(format!("{}[{range:?}]", operand.factor()));
        }
        let name = match len.cmp(&input_len) {
            Ordering::Less => format!("slice_from_{}", view.offset),
            Ordering::Equal => "transpose".to_owned(),
            Ordering::Greater => "repeat".to_owned(),
        };
        Term::call(&name, std::slice::from_ref(operand))
    }

    /// Taps of a delay line: frames of earlier steps, and of this step.
    fn taps_term(&self, taps: &Taps) -> Term {
        let frame = self.term(self.delay_lines.histories[taps.history].frame);
        let step = |back: usize| if back == 0 { "t".to_owned() } else { format!("t - {back}") };
        let Taps { oldest, distance, count, .. } = *taps;
        let steps = match count {
            0..=MOST_TAPS => {
                let steps = (0..count).map(|k| step(oldest - k * distance));
                steps.collect::<Vec<_>>().join(", ")
            }
            _ => {
                let (second, last) = (oldest - distance, oldest - (count - 1) * distance);
                format!("{}, {}, ..., {}", step(oldest), step(second), step(last))
            }
        };
        Term::Atom(format!("{}[{steps}]", frame.factor()))
    }

    /// A value as its operation on operands.
    fn computed(&self, value: usize) -> Term {
        let op = &self.producers[&value].op;
        if let Some(taps) = self.delay_lines.taps.get(&value) {
            return self.taps_term(taps);
        }
        let facts = op.facts();
        let operands: Vec<_> = facts.operands.iter().map(|&operand| self.term(operand)).collect();
        match facts.notation {
            Notation::Function(name) => Term::call(name, &operands),
            Notation::Functions(names) => {
                let at = facts.outputs.iter().position(|output| *output == value);
                let name = at.map_or(facts.name, |at| &names[at]);
                Term::call(name, &operands)
            }
            Notation::Weighted => Term::call(self.labels.operation(value), &operands[..1]),
            Notation::Pointwise(function) => pointwise_term(function, &operands),
            Notation::Elements(view) => self.view_term(view, &operands[0]),
            Notation::Operand => operands[0].clone(),
        }
    }
}

/// A number, without a fraction that is zero.
fn number(value: f32) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The term of a pointwise operation.
fn pointwise_term(function: PointwiseFunction, operands: &[Term]) -> Term {
    use crate::model::Binary::{Add, Divide, Multiply, Subtract};
    use PointwiseFunction::{Binary, Math};
    match (function, operands) {
        (Binary(Add), [a, b]) if b.text().starts_with('-') => {
            Term::Sum(format!("{} - {}", a.text(), &b.text()[1..]))
        }
        (Binary(Add), [a, b]) => Term::Sum(format!("{} + {}", a.text(), b.text())),
        (Binary(Subtract), [a, Term::Atom(b)]) if b.starts_with('-') => {
            Term::Sum(format!("{} + {}", a.text(), &b[1..]))
        }
        (Binary(Subtract), [a, b @ Term::Sum(_)]) => {
            Term::Sum(format!("{} - {}", a.text(), b.factor()))
        }
        (Binary(Subtract), [a, b]) => Term::Sum(format!("{} - {}", a.text(), b.text())),
        (Binary(Multiply), [a, b]) => Term::Product(format!("{} . {}", a.factor(), b.factor())),
        (Binary(Divide), [a, b]) => Term::Product(format!("{} / {}", a.factor(), b.factor())),
        (Math(function), [v]) => Term::Atom(format!("{}({})", function.label(), v.text())),
        _ => Term::call(&function.name().replace(' ', "_"), operands),
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::compile_written;
    use crate::core::{
        CoreModel, CoreNode, CoreOp, CoreValue, LayerPlace, Parameter, Pointwise,
        PointwiseFunction, ResultValue, Source, View,
    };
    use crate::model::{Binary, ElementType};
    use crate::request::Options;

    /// Every layer adds a tensor to itself, in another shape.
    fn doublings(layers: usize) -> CoreModel {
        let node = |op| CoreNode {
            name: "n".to_owned(),
            kind: "Add".to_owned(),
            ledger: Vec::new(),
            layer: LayerPlace::default(),
            op,
        };
        let mut model = CoreModel {
            parameters: vec![Parameter {
                names: vec!["x".to_owned()],
                shape: vec![2, 3],
                element: ElementType::F32,
                weight: false,
                length: None,
                rows: None,
            }],
            ..CoreModel::default()
        };
        let mut last = Source::Parameter(0);
        for layer in 0..layers {
            let (shape, strides) = if layer % 2 == 0 { ([3, 2], [2, 1]) } else { ([2, 3], [3, 1]) };
            let out = model.values.len();
            let strides = strides.to_vec();
            model.nodes.push(node(CoreOp::View(View { input: last, offset: 0, strides, out })));
            let inputs = vec![Source::Value(out); 2];
            let function = PointwiseFunction::Binary(Binary::Add);
            let sum = Pointwise { function, inputs, out: out + 1 };
            model.nodes.push(node(CoreOp::Pointwise(sum)));
            model.values.extend([0; 2].map(|_| CoreValue { shape: shape.to_vec() }));
            last = Source::Value(out + 1);
        }
        model.results.push(ResultValue {
            names: vec!["y".to_owned()],
            shape: model.shape(last).to_vec(),
            element: ElementType::F32,
            source: last,
            parts: None,
        });
        model
    }

    /// A value behind views has a name if several operations read the value: equations do not
    /// double in length with each layer.
    #[test]
    fn equations_do_not_double_with_each_layer() {
        for (layers, are_equations) in [(6, true), (40, false)] {
            let compilation = compile_written(doublings(layers), &Options::default());
            let header = compilation.description.header.join("\n");
            assert_eq!(header.contains("Equations:"), are_equations, "{header}");
            let longest = header.lines().map(str::len).max();
            assert!(longest.is_some_and(|longest| longest <= 100), "{header}");
        }
    }
}
