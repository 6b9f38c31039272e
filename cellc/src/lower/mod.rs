//! Model and plan become a kernel program: operations disappear, only loops over buffers remain.
//!
//! Every operation that computes becomes a kernel of its own, together with the pointwise work that is fused into it; views
//! cost nothing where the elements lie in order already. `storage` decides where values lie, `block` which of them
//! share a place.

mod block;
mod builder;
mod cell;
mod dense;
mod gru;
mod layout;
mod loops;
mod lstm;
mod matmul;
mod pointwise;
mod product;
mod rnn;
mod softmax;
mod storage;

use std::collections::BTreeMap;

use crate::arch::Isa;
use crate::kernel::{
    Base, Buffer, BufferId, Element, Encoding, Expr, Function, Kernel, Local, Move, MoveDim, Place, Program, Role, Type,
};
use crate::model::{
    Activation, BiasPart, Denormals, ElementType, Lengths, Small, Source, ValidCell, ValidModel, ValidNode, ValidOp,
    WeightSource,
};
use crate::options::WeightFormat;
use crate::plan::{Blocks, Phase, Plan, Product, ProductPlan};
use builder::{Builder, flush};
use layout::copy;

/// Lowers a model for one of the plan's instruction sets, given by its position in [`Plan::isas`].
pub fn lower(model: &ValidModel, plan: &Plan, isa: usize) -> Program {
    let mut lowering = Lowering::new(model, plan, isa);
    let wanted = lowering.wanted_by_results();
    lowering.place(&model.nodes, wanted);
    for node in &model.nodes {
        lowering.kernel_of(node);
    }
    lowering.copies();
    lowering.assignments();
    lowering.program.allocate_block();
    lowering.program
}

/// Where the packed weights of a product are.
#[derive(Clone, Copy)]
struct PackedWeights {
    /// Its matrices, and its biases where they are of one kind.
    rows: BufferId,
    /// Its biases, peepholes and scales, where they have a buffer of their own.
    biases: Option<BufferId>,
}

/// The program under construction, and which buffer holds what.
struct Lowering<'m> {
    model: &'m ValidModel,
    plan: &'m Plan,
    denormals: Denormals,
    isa_index: usize,
    isa: &'static Isa,
    program: Program,
    parameters: Vec<BufferId>,
    constants: Vec<Option<BufferId>>,
    variables: Vec<BufferId>,
    results: Vec<BufferId>,
    /// Which way this step walks large weights.
    backwards: Option<BufferId>,
    /// By product of the plan: its packed weights.
    weights: Vec<PackedWeights>,
    /// By the first value of a cell or a dense layer: which product of the plan it is.
    products: BTreeMap<usize, usize>,
    /// By value: where it lies, once that is decided.
    places: Vec<Option<Place>>,
    /// By value: the operation that computes it.
    producers: BTreeMap<usize, &'m ValidNode>,
    /// By the first value of an operation: its place in [`ValidModel::all_nodes`].
    positions: BTreeMap<usize, usize>,
    /// Tables of sequence lengths, by contents.
    tables: Vec<(Vec<usize>, BufferId)>,
    /// How many kernels of each name there are.
    named: BTreeMap<&'static str, usize>,
}

impl<'m> Lowering<'m> {
    /// Makes all buffers that every instruction set's program has, in the same order for each.
    fn new(model: &'m ValidModel, plan: &'m Plan, isa_index: usize) -> Self {
        let nodes = model.all_nodes();
        let mut lowering = Self {
            model,
            plan,
            denormals: Denormals::new(model, plan.flush_below),
            isa_index,
            isa: plan.isas[isa_index].0,
            program: Program::default(),
            parameters: Vec::new(),
            constants: vec![None; model.constants.len()],
            variables: Vec::new(),
            results: Vec::new(),
            backwards: None,
            weights: Vec::new(),
            products: BTreeMap::new(),
            places: vec![None; model.values.len()],
            producers: BTreeMap::new(),
            positions: BTreeMap::new(),
            tables: Vec::new(),
            named: BTreeMap::new(),
        };
        for (i, parameter) in model.parameters.iter().enumerate() {
            let element = match parameter.element {
                ElementType::I32 => Element::I32,
                ElementType::I64 => Element::I64,
                _ => Element::F32,
            };
            let id = lowering.typed(format!("in{i}"), Role::Parameter(i), element, parameter.shape.iter().product());
            lowering.parameters.push(id);
        }
        let before: Vec<_> = lowering.denormals.before().map(|i| lowering.parameters[i]).collect();
        lowering.program.flushed_before = before;
        for (i, result) in model.results.iter().enumerate() {
            let id = lowering.buffer(format!("out{i}"), Role::Result(i), result.shape.iter().product());
            lowering.results.push(id);
        }
        for (i, variable) in model.variables.iter().enumerate() {
            let id = lowering.buffer(format!("variable{i}"), Role::Variable(i), variable.shape.iter().product());
            lowering.variables.push(id);
        }
        let read = nodes.iter().flat_map(|node| node.op.reads());
        let read = read.chain(model.results.iter().map(|r| r.source));
        let read = read.chain(model.variables.iter().filter_map(|v| v.next));
        for source in read.collect::<Vec<_>>() {
            if let Source::Constant(i) = source {
                lowering.constant(i);
            }
        }
        for (position, node) in nodes.iter().enumerate() {
            for value in node.op.outputs() {
                lowering.producers.insert(value, node);
            }
            // an operation without a value that is read has been dropped
            lowering.positions.insert(node.op.outputs()[0], position);
            if let ValidOp::Cell(ValidCell { sequence: Some(sequence), .. }) = &node.op
                && let Lengths::Constant(lengths) = &sequence.lengths
            {
                lowering.table(lengths);
            }
        }
        if plan.alternates(model) {
            let id = lowering.typed("backwards", Role::Backwards, Element::U32, 1);
            lowering.backwards = Some(id);
        }
        let products = nodes.into_iter().filter(|node| matches!(node.op, ValidOp::Cell(_) | ValidOp::Dense(_)));
        for (index, node) in products.enumerate() {
            let weights = lowering.pack(index, &node.op);
            lowering.weights.push(weights);
            // an operation without a value that is read has been dropped
            lowering.products.insert(node.op.outputs()[0], index);
        }
        lowering
    }

    fn buffer(&mut self, name: impl Into<String>, role: Role, len: usize) -> BufferId {
        self.typed(name, role, Element::F32, len)
    }

    fn typed(&mut self, name: impl Into<String>, role: Role, element: Element, len: usize) -> BufferId {
        self.program.buffers.push(Buffer { name: name.into(), role, element, len });
        BufferId(self.program.buffers.len() - 1)
    }

    fn constant(&mut self, index: usize) -> BufferId {
        if let Some(id) = self.constants[index] {
            return id;
        }
        let id = self.buffer(format!("constant{index}"), Role::Constant(index), self.model.constants[index].len());
        self.constants[index] = Some(id);
        id
    }

    /// The buffer that holds these lengths.
    fn table(&mut self, lengths: &[usize]) -> BufferId {
        if let Some((_, id)) = self.tables.iter().find(|(known, _)| known == lengths) {
            return *id;
        }
        let id = self.typed(format!("lengths{}", self.tables.len()), Role::Table, Element::U32, lengths.len());
        // validate: no length is above T, no T above 2^28
        self.program.tables.push((id, lengths.iter().map(|&n| n as u32).collect()));
        self.tables.push((lengths.to_vec(), id));
        id
    }

    fn weight(&mut self, source: WeightSource) -> Option<BufferId> {
        match source {
            WeightSource::Parameter(i) => Some(self.parameters[i]),
            WeightSource::Constant(i) => Some(self.constant(i)),
            WeightSource::Zero => None,
        }
    }

    /// Where the elements of a tensor lie, in C order.
    fn source(&mut self, source: Source) -> Place {
        match source {
            Source::Parameter(i) => self.parameters[i].into(),
            Source::Constant(i) => self.constant(i).into(),
            Source::Variable(i) => self.variables[i].into(),
            Source::Value(i) => self.places[i].expect("lower: a value is computed before it is read"),
        }
    }

    fn len(&self, source: Source) -> usize {
        self.model.len(source)
    }

    /// Whether whatever reads a tensor flushes it.
    fn is_given(&self, source: Source) -> bool {
        self.denormals.of(source) == Small::Given
    }

    /// An element that an operation reads.
    fn taken(&self, source: Source, value: Expr) -> Expr {
        if self.is_given(source) { flush(value) } else { value }
    }

    /// Whether nothing in it is small enough to be flushed.
    fn is_flushed(&self, source: Source) -> bool {
        self.denormals.of(source) == Small::Flushed
    }

    /// Which product of the plan an operation is, and its packed weights.
    fn product(&self, op: &ValidOp) -> (&'m ProductPlan, PackedWeights) {
        let index = self.products[&op.outputs()[0]];
        (&self.plan.products[index], self.weights[index])
    }

    /// The function for an activation, symbolic until `pass::expand`.
    fn function(&mut self, activation: Activation) -> usize {
        let name = activation.label();
        if let Some(known) = self.program.functions.iter().position(|f| f.name == name) {
            return known;
        }
        self.program.functions.push(Function {
            name,
            doc: Vec::new(),
            locals: vec![Local { name: "x".into(), ty: Type::f32(1) }],
            params: 1,
            body: Vec::new(),
            result: None,
        });
        self.program.functions.len() - 1
    }

    /// `dense0`, `dense1`, ...
    fn name(&mut self, kind: &'static str) -> String {
        let count = self.named.entry(kind).or_default();
        *count += 1;
        format!("{kind}{}", *count - 1)
    }

    /// The kernel of one operation, if it needs one.
    fn kernel_of(&mut self, node: &'m ValidNode) {
        if !self.is_computed(node) {
            return;
        }
        let op = self.root(node);
        let unroll = match op {
            ValidOp::Cell(_) | ValidOp::Dense(_) => self.product(op).0.unroll,
            _ => false,
        };
        let name = self.name(match op {
            ValidOp::Cell(ValidCell { sequence: None, .. }) => "cell",
            ValidOp::Cell(_) => "sequence",
            ValidOp::Dense(_) => "dense",
            ValidOp::MatMul(_) => "matmul",
            ValidOp::Pointwise(_) => "pointwise",
            ValidOp::Softmax(_) => "softmax",
            ValidOp::View(_) => "view",
            ValidOp::Concat(_) => "concat",
            ValidOp::Loop(_) => "loop",
        });
        let halves = match op {
            ValidOp::Cell(_) => self.product(op).0.halves.as_ref(),
            _ => None,
        };
        let Some(halves) = halves else {
            let mut builder = Builder::new(self);
            let (doc, body) = builder.statements(node);
            return builder.finish(name, doc, body, unroll);
        };
        for (half, which) in halves.iter().zip(["here", "there"]) {
            let mut builder = Builder::new(self);
            builder.half = Some(half);
            builder.beside(which == "there");
            let (mut doc, body) = builder.statements(node);
            doc.push(format!("Of it {half}."));
            builder.finish(format!("{name}_{which}"), doc, body, unroll);
        }
    }

    /// How the weights of a cell or a dense layer get from the model's order into the order of [`crate::plan::Panels`].
    fn pack(&mut self, index: usize, op: &ValidOp) -> PackedWeights {
        // W, R, B, P, and which of the sets of W, R, B is meant
        let (w, r, b, p, set, input_stride, transposed) = match op {
            ValidOp::Cell(cell) => {
                let p = cell.p.and_then(|p| self.weight(p));
                let (w, r) = (self.weight(cell.w), self.weight(cell.r));
                let b: Vec<_> = cell.b.iter().map(|b| self.weight(*b)).collect();
                (w, r, b, p, cell.weight_set, 1, true)
            }
            ValidOp::Dense(dense) => {
                let stride = if dense.transposed { 1 } else { dense.outputs };
                (self.weight(dense.w), None, Vec::new(), None, 0, stride, dense.transposed)
            }
            _ => unreachable!("lower: only products have weights"),
        };
        let plan = &self.plan.products[index];
        let encoding = plan.format.encoding();
        let rows = self.typed(format!("weights{index}"), Role::Weights, encoding.element(), plan.weights);
        let biases = (plan.biases > 0).then(|| self.buffer(format!("biases{index}"), Role::Weights, plan.biases));
        let weights = PackedWeights { rows, biases };
        let biases = biases.unwrap_or(rows);
        let Product { sums, units, .. } = &plan.product;
        let (gates, bias_parts, parts) = match op {
            ValidOp::Cell(ValidCell { layout, .. }) => (&layout.gates[..], &layout.biases[..], layout.bias_tensors()),
            _ => (&[0][..], &[][..], Vec::new()),
        };
        let dim = |extent, from_stride, to_stride| MoveDim { extent, from_stride, to_stride };
        for panels in &plan.panels {
            let (count, columns, first) = (panels.count, panels.columns, panels.first);
            for (i, sum) in sums.iter().enumerate() {
                let terms = sum.bias.map_or(&[][..], |bias| &bias_parts[bias]);
                let terms = terms.iter().filter_map(|term| Some((b[term.tensor]?, term)));
                for (nth, (from, BiasPart { tensor, part })) in terms.enumerate() {
                    let Blocks { offset, stride } = panels.biases(sum.is_late());
                    self.program.packing.push(Move {
                        from,
                        from_offset: (set * parts[*tensor] + part) * units + first,
                        to: biases,
                        to_offset: offset + plan.product.bias_row(i) * columns,
                        dims: vec![dim(count, columns, stride), dim(columns, 1, 1)],
                        add: nth > 0,
                        encoding: Encoding::F32,
                    });
                }
                if let (Some(from), Some(part)) = (p, sum.peephole) {
                    self.program.packing.push(Move {
                        from,
                        from_offset: part * units + first,
                        to: biases,
                        to_offset: panels.early_biases.offset + plan.product.peephole_row(i) * columns,
                        dims: vec![dim(count, columns, panels.early_biases.stride), dim(columns, 1, 1)],
                        add: false,
                        encoding: Encoding::F32,
                    });
                }
            }
            for phase in Phase::ALL {
                let inner = plan.product.phase_rows(phase);
                let taking_part: Vec<_> =
                    sums.iter().enumerate().filter_map(|(s, sum)| Some((s, sum.gate(phase)?))).collect();
                let late = phase == Phase::ResetHidden;
                let (from, start) = match phase {
                    Phase::Input => (w, panels.input),
                    Phase::Hidden => (r, panels.hidden),
                    Phase::ResetHidden => (r, panels.late_rows),
                };
                let blocks = panels.blocks(late);
                let Some(from) = from else { continue };
                // elements between units, and between what multiplies neighbouring elements of the operand
                let (unit, element) = if transposed { (inner, 1) } else { (1, input_stride) };
                for (i, (sum, gate)) in taking_part.iter().enumerate() {
                    let line = |to, to_offset, stride, between, encoding| Move {
                        from,
                        from_offset: (set * gates.len() + gates[*gate]) * units * inner + first * unit,
                        to,
                        to_offset,
                        dims: vec![
                            dim(count, columns * unit, stride),
                            dim(columns, unit, 1),
                            dim(inner, element, between),
                        ],
                        add: false,
                        encoding,
                    };
                    let between = taking_part.len() * columns;
                    let at = blocks.offset + start + i * columns;
                    self.program.packing.push(line(rows, at, blocks.stride, between, encoding));
                    if plan.format == WeightFormat::Int8 {
                        let Blocks { offset, stride } = panels.biases(late);
                        let at = offset + plan.product.scale_row(*sum, phase) * columns;
                        self.program.packing.push(line(biases, at, stride, 0, Encoding::Int8Scale));
                    }
                }
            }
        }
        weights
    }

    /// Results that no operation writes itself: a parameter, a constant, or a value that lies elsewhere.
    fn copies(&mut self) {
        for (i, result) in self.model.results.iter().enumerate() {
            let from = self.source(result.source);
            let to: Place = self.results[i].into();
            if from != to {
                let mut builder = Builder::new(self);
                let body = builder.keep(result.source, from, to);
                let name = builder.lowering.name("copy");
                builder.finish(name, vec!["a result that is given as it comes".to_owned()], body, false);
            }
        }
    }

    /// Variables take their new values, when everything has read the old ones.
    fn assignments(&mut self) {
        let model = self.model;
        let mut first = Vec::new();
        let mut then = Builder::new(self);
        let mut body = Vec::new();
        for (i, variable) in model.variables.iter().enumerate() {
            let Some(next) = variable.next else { continue };
            let lowering = &mut *then.lowering;
            let len = lowering.len(next);
            let mut from = lowering.source(next);
            let to: Place = lowering.variables[i].into();
            // itself, or a view of all of it
            if from == to {
                continue;
            }
            if let Base::Buffer(id) = from.base
                && matches!(lowering.program.buffer(id).role, Role::Variable(_))
            {
                // which may have its own new value before this one is given
                let kept = lowering.buffer(format!("kept{i}"), Role::Scratch, len);
                first.push(copy(from, kept.into(), len));
                from = kept.into();
            }
            body.extend(then.keep(next, from, to));
        }
        if !first.is_empty() {
            let doc = "values of variables that others take over";
            let name = then.lowering.name("keep");
            Builder::new(then.lowering).finish(name, vec![doc.to_owned()], first, false);
        }
        if !body.is_empty() {
            let name = then.lowering.name("assign");
            then.finish(name, vec!["variables take their new values".to_owned()], body, false);
        }
    }

    fn push(&mut self, kernel: Kernel) {
        self.program.kernels.push(kernel);
    }
}
