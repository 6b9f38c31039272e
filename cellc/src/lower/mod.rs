//! Lowering of model and plan to a kernel program: only loops over buffers remain.
//!
//! Most operations become one kernel each, together with the pointwise work fused into them. A loop
//! and its body are one kernel; a cell that the plan halves for two threads becomes two. Contiguous
//! views, and Concats whose inputs are already in place, need no kernel.
//!
//! `memory` creates the buffers that all instruction sets share. `storage` chooses the places of
//! values in the body of each instruction set; `block` lets values with disjoint lifetimes share
//! memory.

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
use crate::core::{CoreModel, CoreNode, Denormals, Source, TensorDenormals};
use crate::kernel::{
    Base, Body, BodyRef, Buffer, BufferId, Element, Expr, Kernel, Local, Loops, Place, Program,
    Role, ScalarFunction, Type,
};
use crate::model::MathFunction;
use crate::plan::{Plan, Side};
use builder::{KernelBuilder, Lowered, copy, flush};
pub(crate) use memory::element_of;
use memory::{PackedProduct, ProgramMemory};

/// Lowers a model for every instruction set of the plan.
pub(crate) fn lower(model: &CoreModel, plan: &Plan) -> Program {
    let denormals = Denormals::new(model, plan.flush_below, plan.arch.memory.stack_limit);
    let mut memory = ProgramMemory::new(model, plan, &denormals);
    memory.program.steps_at_once = plan.step_block;
    let bodies = (0..plan.isas.len())
        .map(|isa| Lowering::new(model, plan, &denormals, &memory, isa).finish());
    Program { bodies: bodies.collect(), ..memory.program }
}

/// The body of one instruction set under construction, and the places of values.
struct Lowering<'m> {
    model: &'m CoreModel,
    plan: &'m Plan,
    denormals: &'m Denormals,
    memory: &'m ProgramMemory,
    isa_index: usize,
    isa: &'static Isa,
    body: Body,
    /// By the first value of a cell or a dense layer: the index of its product in the plan.
    products: BTreeMap<usize, usize>,
    /// The number of time steps that the kernels under construction compute together. Every element
    /// of a value is stored once per step, the steps of an element side by side.
    steps: usize,
    /// With several steps, by parameter: a buffer with the parameter's elements of all steps,
    /// flushed if necessary and laid out as a value.
    taken: Vec<Place>,
    /// By value: its place. `None`: not chosen yet, or the value stays in registers.
    places: Vec<Option<Place>>,
    /// By value: the operation that computes the value.
    producers: BTreeMap<usize, &'m CoreNode>,
    /// By the first value of an operation: its index in [`CoreModel::all_nodes`].
    positions: BTreeMap<usize, usize>,
    /// By kind (`copy`, `assign`, ...): the number of kernels that belong to no operation.
    named: BTreeMap<&'static str, usize>,
}

impl<'m> Lowering<'m> {
    fn new(
        model: &'m CoreModel,
        plan: &'m Plan,
        denormals: &'m Denormals,
        memory: &'m ProgramMemory,
        isa_index: usize,
    ) -> Self {
        let nodes = model.all_nodes();
        // every operation has an output: operations without a read value have been dropped
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

    /// Lowers all operations to kernels, in execution order; then copies results and assigns
    /// variables.
    fn finish(mut self) -> Body {
        let model = self.model;
        let wanted = self.wanted_by_results();
        self.assign_places(&model.nodes, wanted);
        for node in &model.nodes {
            self.kernel_of(node);
        }
        self.copies();
        self.assignments();
        if self.plan.step_block > 1 {
            self.step_block();
        }
        self.body.mark_loads_in_parts(self.isa.lanes);
        (self.body.block, self.body.block_len) = block::allocate(self.body_ref());
        self.body
    }

    /// The body so far, with the shared buffers.
    fn body_ref(&self) -> BodyRef<'_> {
        BodyRef { program: &self.memory.program, body: &self.body }
    }

    /// Adds an f32 buffer to this body: scratch memory, or a part of another buffer.
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

    /// The place of a tensor. Its elements are contiguous, in C order. With several steps, the
    /// steps of an element are neighbours.
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

    /// The number of stored elements of a tensor for all steps that kernels compute together. A
    /// constant is stored once.
    fn elements(&self, source: Source) -> usize {
        self.len(source) * self.steps_of(source)
    }

    /// How often each element of a tensor is stored: once per step; for constants, once.
    fn steps_of(&self, source: Source) -> usize {
        if matches!(source, Source::Constant(_)) { 1 } else { self.steps }
    }

    /// True if operations must flush the tensor's elements on load: the tensor is an input or a
    /// state, is not flushed before all kernels, and denormals are not kept.
    fn is_given(&self, source: Source) -> bool {
        // with several steps, the kernel `enter_steps` flushes the parameters
        self.denormals.tensor(source) == TensorDenormals::Given && self.steps == 1
    }

    /// An element that an operation reads, flushed if necessary.
    fn flushed_element(&self, source: Source, value: Expr) -> Expr {
        if self.is_given(source) { flush(value) } else { value }
    }

    /// True if no operation has to flush the tensor: the tensor holds no denormals, or denormals
    /// are kept.
    fn is_flushed(&self, source: Source) -> bool {
        self.denormals.tensor(source) == TensorDenormals::Flushed
    }

    /// The conditions under which an operation is computed, each with its required value, outermost
    /// first.
    fn sides(&self, node: &CoreNode) -> &'m [Side] {
        self.plan.branches.sides(node.op.outputs()[0])
    }

    /// The plan and the packed weights of a product, by the first value of its operation.
    fn product(&self, value: usize) -> PackedProduct<'m> {
        let index = self.products[&value];
        PackedProduct { plan: &self.plan.products[index], weights: &self.memory.weights[index] }
    }

    /// The index of a function in the body. Its statements are missing until `pass::expand`.
    fn function(&mut self, function: MathFunction) -> usize {
        let name = function.label();
        if let Some(known) = self.body.functions.iter().position(|f| f.name == name) {
            return known;
        }
        self.body.functions.push(ScalarFunction {
            name,
            doc: Vec::new(),
            locals: vec![Local { name: "x".into(), ty: Type::f32(1) }],
            params: 1,
            body: Vec::new(),
            result: None,
        });
        self.body.functions.len() - 1
    }

    /// A new name for a kernel that belongs to no operation: `copy0`, `copy1`, ...
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
        let product = op.is_product().then(|| self.product(op.first_value()).plan);
        let loops = match product {
            Some(product) if self.steps == 1 => product.loops(self.isa),
            Some(_) | None => Loops::Kept,
        };
        let ending = if self.steps > 1 { "_steps" } else { "" };
        let name = self.memory.labels.operation(op.first_value()).to_owned() + ending;
        let Some(halves) = product.and_then(|product| product.halves.as_ref()) else {
            let mut builder = KernelBuilder::new(self);
            let lowered = builder.statements_on_sides(node);
            return builder.finish(name, lowered, loops);
        };
        for (half, which) in halves.iter().zip(["here", "there"]) {
            let mut builder = KernelBuilder::new(self);
            builder.half = Some(half);
            builder.concurrent(which == "there");
            let mut lowered = builder.statements_on_sides(node);
            lowered.doc.push(format!("Of it {half}."));
            builder.finish(format!("{name}_{which}"), lowered, loops);
        }
    }

    /// Copies the results that no operation writes directly: parameters, variables, constants, and
    /// values at other places. Converts integer results from f32.
    fn copies(&mut self) {
        for (i, result) in self.model.results.iter().enumerate() {
            let from = self.source(result.source);
            let to: Place = self.memory.results[i].into();
            if !result.element.is_float() {
                let len = self.len(result.source);
                let mut builder = KernelBuilder::new(self);
                let lowered = builder.integer_result(from, to, len, result.element);
                let name = builder.lowering.name("convert");
                builder.finish(name, lowered, Loops::Kept);
            } else if from != to {
                let mut builder = KernelBuilder::new(self);
                let body = builder.copy_to_result(result.source, from, to);
                let name = builder.lowering.name("copy");
                let lowered = Lowered::new("Copies a result.".to_owned(), body);
                builder.finish(name, lowered, Loops::Kept);
            }
        }
    }

    /// Assigns new values to variables, after all kernels have read the old values. If the plan
    /// computes several steps together, each delay line has a kernel of its own, so that equal
    /// delay lines share the code.
    fn assignments(&mut self) {
        let model = self.model;
        let apart = self.plan.step_block > 1;
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
            // the next value is the variable itself, or a view of the whole variable
            if from == to {
                continue;
            }
            if let Base::Buffer(id) = from.base
                && matches!(lowering.body_ref().buffer(id).role, Role::Variable(_))
            {
                // the next value is another variable, whose assignment may precede this copy: save
                // the old value first
                let kept = lowering.buffer(format!("kept{i}"), Role::Scratch, len);
                first.push(copy(from, kept.into(), len));
                from = kept.into();
            }
            body.extend(then.copy_to_result(next, from, to));
        }
        if !first.is_empty() {
            let doc = "values of variables that others take over".to_owned();
            let name = then.lowering.name("keep");
            let lowered = Lowered::new(doc, first);
            KernelBuilder::new(then.lowering).finish(name, lowered, Loops::Kept);
        }
        if !body.is_empty() {
            then.assigned(body);
        }
    }

    fn push(&mut self, kernel: Kernel) {
        self.body.kernels.push(kernel);
    }
}
