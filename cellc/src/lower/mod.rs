//! Lowering of model and plan to a kernel program: only loops over buffers remain.
//!
//! Each operation becomes one kernel, together with its fused pointwise work. Contiguous views need
//! no kernel. `memory` creates the buffers that all instruction sets share. `storage` places the
//! values of each body; `block` lets values with disjoint lifetimes share memory.

mod block;
mod builder;
mod cell;
mod convolve;
mod delay_lines;
mod dense;
mod frames;
mod gru;
mod integers;
mod layout;
mod linear_attention;
mod lookup;
mod loops;
mod lstm;
mod matmul;
mod memory;
mod packing;
mod pointwise;
mod product;
mod quantise;
mod reduce;
mod rnn;
mod running_sum;
mod softmax;
mod step;
mod storage;
mod top_k;

use std::collections::BTreeMap;

use crate::arch::Isa;
use crate::core::{CoreModel, CoreNode, CoreOp, Denormals, Source, TensorDenormals};
use crate::kernel::{
    Base, Body, BodyRef, Buffer, BufferId, Element, Expr, Function, Kernel, Local, Loops, Place,
    Program, Role, Type,
};
use crate::model::Activation;
use crate::plan::{Plan, ProductPlan, Side};
use builder::{KernelBuilder, copy, flush};
pub(crate) use memory::element_of;
use memory::{Memory, PackedWeights};

/// Lowers a model for every instruction set of the plan.
pub(crate) fn lower(model: &CoreModel, plan: &Plan) -> Program {
    let denormals = Denormals::new(model, plan.flush_below, plan.arch.memory.stack_limit);
    let mut memory = Memory::new(model, plan, &denormals);
    memory.program.steps_at_once = plan.steps_together;
    let bodies = (0..plan.isas.len())
        .map(|isa| Lowering::new(model, plan, &denormals, &memory, isa).finish());
    Program { bodies: bodies.collect(), ..memory.program }
}

/// A body under construction, and the buffers of its values.
struct Lowering<'m> {
    model: &'m CoreModel,
    plan: &'m Plan,
    denormals: &'m Denormals,
    memory: &'m Memory,
    isa_index: usize,
    isa: &'static Isa,
    body: Body,
    /// By the first value of a cell or a dense layer: the index of its product in the plan.
    products: BTreeMap<usize, usize>,
    /// The steps that the kernels compute together: a value has as many elements for each of its
    /// elements of a step.
    steps: usize,
    /// By parameter, with several steps: its elements, as those of a value.
    taken: Vec<Place>,
    /// By value: its place, once known.
    places: Vec<Option<Place>>,
    /// By value: the operation that computes the value.
    producers: BTreeMap<usize, &'m CoreNode>,
    /// By the first value of an operation: its index in [`CoreModel::all_nodes`].
    positions: BTreeMap<usize, usize>,
    /// By name: the number of kernels that belong to no operation.
    named: BTreeMap<&'static str, usize>,
}

impl<'m> Lowering<'m> {
    fn new(
        model: &'m CoreModel,
        plan: &'m Plan,
        denormals: &'m Denormals,
        memory: &'m Memory,
        isa_index: usize,
    ) -> Self {
        let nodes = model.all_nodes();
        // operations without a read value have been dropped
        let first = |node: &CoreNode| node.op.outputs()[0];
        let products = nodes.iter().filter(|node| node.op.is_product()).enumerate();
        let producers =
            nodes.iter().flat_map(|node| node.op.outputs().into_iter().map(|value| (value, *node)));
        Self {
            model,
            plan,
            denormals,
            memory,
            isa_index,
            isa: plan.isas[isa_index].isa,
            body: Body::default(),
            products: products.map(|(index, node)| (first(node), index)).collect(),
            steps: 1,
            taken: Vec::new(),
            places: vec![None; model.values.len()],
            producers: producers.collect(),
            positions: nodes
                .iter()
                .enumerate()
                .map(|(position, node)| (first(node), position))
                .collect(),
            named: BTreeMap::new(),
        }
    }

    /// Lowers all operations to kernels, in execution order.
    fn finish(mut self) -> Body {
        let model = self.model;
        let wanted = self.wanted_by_results();
        self.place(&model.nodes, wanted);
        for node in &model.nodes {
            self.kernel_of(node);
        }
        self.copies();
        self.assignments();
        if self.plan.steps_together > 1 {
            self.steps_together();
        }
        self.body.mark_loads_in_parts(self.isa.lanes);
        (self.body.block, self.body.block_len) = block::allocate(self.body_ref());
        self.body
    }

    /// The body so far, with the shared buffers.
    fn body_ref(&self) -> BodyRef<'_> {
        BodyRef { program: &self.memory.program, body: &self.body }
    }

    /// Adds a scratch buffer to this body.
    fn buffer(&mut self, name: impl Into<String>, role: Role, len: usize) -> BufferId {
        self.body.scratch.push(Buffer {
            name: name.into(),
            role,
            element: Element::F32,
            len,
            layout: Vec::new(),
        });
        BufferId(self.memory.program.buffers.len() + self.body.scratch.len() - 1)
    }

    /// The place of a tensor. Its elements are contiguous, in C order.
    fn source(&self, source: Source) -> Place {
        match source {
            Source::Parameter(i) if self.steps > 1 => self.taken[i],
            Source::Parameter(i) => self.memory.parameters[i].into(),
            Source::Constant(i) => self.memory.constant(i).into(),
            Source::Variable(i) => self.memory.variables[i].into(),
            Source::Value(i) => {
                self.places[i].expect("lower: a value is computed before it is read")
            }
        }
    }

    fn len(&self, source: Source) -> usize {
        self.model.len(source)
    }

    /// Elements of a value for all steps that kernels compute together. Constants have one for all
    /// steps.
    fn elements(&self, source: Source) -> usize {
        self.len(source) * self.steps_of(source)
    }

    /// The number of elements for each element of a step.
    fn steps_of(&self, source: Source) -> usize {
        if matches!(source, Source::Constant(_)) { 1 } else { self.steps }
    }

    /// True if operations must flush the tensor's elements on load.
    fn is_given(&self, source: Source) -> bool {
        // with several steps, the parameters are flushed first
        self.denormals.tensor(source) == TensorDenormals::Given && self.steps == 1
    }

    /// An element that an operation reads, flushed if necessary.
    fn taken(&self, source: Source, value: Expr) -> Expr {
        if self.is_given(source) { flush(value) } else { value }
    }

    /// True if the tensor holds no denormals.
    fn is_flushed(&self, source: Source) -> bool {
        self.denormals.tensor(source) == TensorDenormals::Flushed
    }

    /// The sides of conditions that need an operation, outermost first.
    fn sides(&self, node: &CoreNode) -> &'m [Side] {
        self.plan.branches.sides(node.op.outputs()[0])
    }

    /// The plan and the packed weights of a product, by the first value of its operation.
    fn product(&self, value: usize) -> (&'m ProductPlan, &'m PackedWeights) {
        let index = self.products[&value];
        (&self.plan.products[index], &self.memory.weights[index])
    }

    /// The function of an activation. Its body is empty until `pass::expand`.
    fn function(&mut self, activation: Activation) -> usize {
        let name = activation.label();
        if let Some(known) = self.body.functions.iter().position(|f| f.name == name) {
            return known;
        }
        self.body.functions.push(Function {
            name,
            doc: Vec::new(),
            locals: vec![Local { name: "x".into(), ty: Type::f32(1) }],
            params: 1,
            body: Vec::new(),
            result: None,
        });
        self.body.functions.len() - 1
    }

    /// The name of a kernel that belongs to no operation: `copy0`, `copy1`, ...
    fn name(&mut self, kind: &'static str) -> String {
        let count = self.named.entry(kind).or_default();
        *count += 1;
        format!("{kind}{}", *count - 1)
    }

    /// Lowers one operation to a kernel, if the operation needs one. A cell with two halves becomes
    /// two kernels.
    fn kernel_of(&mut self, node: &'m CoreNode) {
        if !self.is_computed(node) {
            return;
        }
        let op = self.root(node);
        let loops = match op {
            CoreOp::Cell(_) | CoreOp::Dense(_) if self.steps == 1 => {
                self.product(op.outputs()[0]).0.loops(self.isa)
            }
            _ => Loops::Kept,
        };
        let ending = if self.steps > 1 { "_steps" } else { "" };
        let name = self.memory.labels.operation(op.first_value()).to_owned() + ending;
        let halves = match op {
            CoreOp::Cell(_) => self.product(op.outputs()[0]).0.halves.as_ref(),
            _ => None,
        };
        let Some(halves) = halves else {
            let mut builder = KernelBuilder::new(self);
            let (doc, body) = builder.statements_on_sides(node);
            return builder.finish(name, doc, body, loops);
        };
        for (half, which) in halves.iter().zip(["here", "there"]) {
            let mut builder = KernelBuilder::new(self);
            builder.half = Some(half);
            builder.concurrent(which == "there");
            let (mut doc, body) = builder.statements_on_sides(node);
            doc.push(format!("Of it {half}."));
            builder.finish(format!("{name}_{which}"), doc, body, loops);
        }
    }

    /// Copies the results that no operation writes directly: parameters, constants, and values at
    /// other places.
    fn copies(&mut self) {
        for (i, result) in self.model.results.iter().enumerate() {
            let from = self.source(result.source);
            let to: Place = self.memory.results[i].into();
            if !result.element.is_float() {
                let len = self.len(result.source);
                let mut builder = KernelBuilder::new(self);
                let (doc, body) = builder.integer_result(from, to, len, result.element);
                let name = builder.lowering.name("convert");
                builder.finish(name, vec![doc], body, Loops::Kept);
            } else if from != to {
                let mut builder = KernelBuilder::new(self);
                let body = builder.keep(result.source, from, to);
                let name = builder.lowering.name("copy");
                builder.finish(name, vec!["Copies a result.".to_owned()], body, Loops::Kept);
            }
        }
    }

    /// Assigns new values to variables, after all kernels have read the old values. Each ring has a
    /// kernel of its own, which equal rings share.
    fn assignments(&mut self) {
        let model = self.model;
        let apart = self.plan.steps_together > 1;
        let mut first = Vec::new();
        let mut then = KernelBuilder::new(self);
        let mut body = Vec::new();
        for (i, variable) in model.variables.iter().enumerate() {
            if apart && !body.is_empty() {
                let lowering = then.assigned(std::mem::take(&mut body));
                then = KernelBuilder::new(lowering);
            }
            if let Some(history) = then.lowering.plan.delay_lines.of_variable(i) {
                body.extend(then.take_frame(history));
                continue;
            }
            let Some(next) = variable.next else { continue };
            let lowering = &mut *then.lowering;
            let len = lowering.len(next);
            let mut from = lowering.source(next);
            let to: Place = lowering.memory.variables[i].into();
            // the variable itself, or a view of the whole variable
            if from == to {
                continue;
            }
            if let Base::Buffer(id) = from.base
                && matches!(lowering.body_ref().buffer(id).role, Role::Variable(_))
            {
                // another variable, which may be assigned before this copy
                let kept = lowering.buffer(format!("kept{i}"), Role::Scratch, len);
                first.push(copy(from, kept.into(), len));
                from = kept.into();
            }
            body.extend(then.keep(next, from, to));
        }
        if !first.is_empty() {
            let doc = "values of variables that others take over";
            let name = then.lowering.name("keep");
            KernelBuilder::new(then.lowering).finish(
                name,
                vec![doc.to_owned()],
                first,
                Loops::Kept,
            );
        }
        if !body.is_empty() {
            then.assigned(body);
        }
    }

    fn push(&mut self, kernel: Kernel) {
        self.body.kernels.push(kernel);
    }
}
