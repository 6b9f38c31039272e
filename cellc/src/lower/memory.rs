//! Buffers that the bodies of all instruction sets share: tensors of the model, tables, packed
//! weights.

use std::collections::BTreeMap;

use crate::core::{CoreCell, CoreModel, CoreOp, Denormals, Lengths, Source, WeightSource};
use crate::kernel::params;
use crate::kernel::{Buffer, BufferId, Element, Program, Role, Stmt};
use crate::model::ElementType;
use crate::plan::{KeptHistory, Labels, Plan, ProductPlan};

/// A product of the plan with its packed weights.
#[derive(Clone, Copy)]
pub(super) struct PackedProduct<'m> {
    pub(super) plan: &'m ProductPlan,
    pub(super) weights: &'m PackedWeights,
}

/// The buffers of the packed weights of a product.
#[derive(Clone, Copy)]
pub(super) struct PackedWeights {
    /// The matrices. If the stored elements are f32, also the biases, peepholes, scales and
    /// zero-point corrections of a cell or a dense layer. Pairs of bf16, words of four int8 and
    /// words of int16 are stored as f32, too.
    pub(super) rows: BufferId,
    /// Biases, peepholes, scales and zero-point corrections in a separate buffer. `None`: in
    /// `rows`, or the product has none.
    pub(super) biases: Option<BufferId>,
    /// The table of the blocks of weights that are not zero. `None`: `rows` has all weights.
    pub(super) index: Option<BufferId>,
}

/// The packing of one operation's weights, as a key to find equal packings.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Recipe {
    /// Element and length of each buffer.
    pub(super) buffers: Vec<(Element, usize)>,
    /// The copies that fill the buffers, which are numbered from 0.
    pub(super) copies: Vec<Stmt>,
}

/// A program without bodies, and the buffers of the model's tensors.
pub(super) struct ProgramMemory {
    pub(super) program: Program,
    pub(super) labels: Labels,
    pub(super) parameters: Vec<BufferId>,
    constants: Vec<Option<BufferId>>,
    pub(super) variables: Vec<BufferId>,
    pub(super) results: Vec<BufferId>,
    /// The buffer with the direction in which cells of one step read panels in alternating order.
    /// `None`: no cell of one step alternates.
    pub(super) backwards: Option<BufferId>,
    /// The packed weights of each product of the plan.
    pub(super) weights: Vec<PackedWeights>,
    /// By the value of a convolution: its packed weights. Integer weights have their scales in
    /// `biases`.
    pub(super) convolutions: BTreeMap<usize, PackedWeights>,
    /// By recipe: the packed weights.
    pub(super) recipes: BTreeMap<Recipe, PackedWeights>,
    /// Tables of sequence lengths, by contents.
    tables: Vec<(Vec<usize>, BufferId)>,
}

/// The element type of an input or output in the interface: booleans stay booleans; i64, u32 and
/// u64 become i64; all other integers become i32; all floats become f32.
pub(crate) fn element_of(element: ElementType) -> Element {
    match element {
        element if element.is_float() => Element::F32,
        ElementType::Bool => Element::Bool,
        ElementType::I64 | ElementType::U32 | ElementType::U64 => Element::I64,
        _ => Element::I32,
    }
}

impl ProgramMemory {
    pub(super) fn new(model: &CoreModel, plan: &Plan, denormals: &Denormals) -> Self {
        let mut memory = Self {
            program: Program { alignment: plan.arch.memory.alignment, ..Program::default() },
            labels: Labels::new(model, &plan.fusion),
            parameters: Vec::new(),
            constants: vec![None; model.constants.len()],
            variables: Vec::new(),
            results: Vec::new(),
            backwards: None,
            weights: Vec::new(),
            convolutions: BTreeMap::new(),
            recipes: BTreeMap::new(),
            tables: Vec::new(),
        };
        for (i, parameter) in model.parameters.iter().enumerate() {
            let element = element_of(parameter.element);
            let id = memory.typed(
                format!("in{i}"),
                Role::Parameter(i),
                element,
                parameter.shape.iter().product(),
            );
            memory.parameters.push(id);
        }
        memory.program.flushed_before = denormals.before().map(|i| memory.parameters[i]).collect();
        for (i, result) in model.results.iter().enumerate() {
            let len = result.shape.iter().product();
            let id =
                memory.typed(format!("out{i}"), Role::Result(i), element_of(result.element), len);
            memory.results.push(id);
        }
        for (i, variable) in model.variables.iter().enumerate() {
            let line = plan.delay_lines.of_variable(i).map(|history| history.line.len());
            let len = line.unwrap_or_else(|| variable.shape.iter().product());
            let id = memory.buffer(format!("variable{i}"), Role::Variable(i), len);
            memory.variables.push(id);
        }
        for KeptHistory { variable, line, .. } in &plan.delay_lines.histories {
            memory.program.delay_lines.insert(*variable, *line);
            let period = line.period();
            if period > 1 && memory.program.find(Role::Phase(period)).is_none() {
                memory.typed(format!("phase{period}"), Role::Phase(period), Element::U32, 1);
            }
        }
        let nodes = model.all_nodes();
        let read = nodes.iter().flat_map(|node| node.op.reads());
        let read = read.chain(model.results.iter().map(|r| r.source));
        for source in read.chain(model.variables.iter().filter_map(|v| v.next)) {
            if let Source::Constant(i) = source {
                memory.add_constant(model, i);
            }
        }
        for node in &nodes {
            if let CoreOp::Cell(CoreCell { sequence: Some(sequence), .. }) = &node.op
                && let Lengths::Constant(lengths) = &sequence.lengths
            {
                memory.add_table(lengths);
            }
        }
        if plan.alternates(model) {
            memory.backwards = Some(memory.typed("backwards", Role::Backwards, Element::U32, 1));
        }
        let products =
            nodes.iter().filter_map(|node| Some((node.op.planned()?, node.op.first_value())));
        for (operation, product) in products.zip(&plan.products) {
            let weights = memory.pack(model, operation, product);
            memory.weights.push(weights);
        }
        for node in &nodes {
            let CoreOp::Convolve(convolution) = &node.op else { continue };
            let packed =
                memory.pack_convolution(convolution, plan, memory.constant(convolution.w.0));
            memory.convolutions.insert(convolution.out, packed);
        }
        let packing = &mut memory.program.packing;
        packing.name = "pack".to_owned();
        packing.doc = vec!["Weights into the order in which kernels read them.".to_owned()];
        packing.params = params(&packing.body);
        memory
    }

    pub(super) fn buffer(&mut self, name: impl Into<String>, role: Role, len: usize) -> BufferId {
        self.typed(name, role, Element::F32, len)
    }

    pub(super) fn typed(
        &mut self,
        name: impl Into<String>,
        role: Role,
        element: Element,
        len: usize,
    ) -> BufferId {
        self.program.buffers.push(Buffer {
            name: name.into(),
            role,
            element,
            len,
            layout: Vec::new(),
        });
        BufferId(self.program.buffers.len() - 1)
    }

    fn add_constant(&mut self, model: &CoreModel, index: usize) -> BufferId {
        if let Some(id) = self.constants[index] {
            return id;
        }
        let id = self.buffer(
            self.labels.constant(index),
            Role::Constant(index),
            model.constants[index].len(),
        );
        self.constants[index] = Some(id);
        id
    }

    fn add_table(&mut self, lengths: &[usize]) {
        if self.tables.iter().any(|(known, _)| known == lengths) {
            return;
        }
        let id = self.typed(
            format!("lengths{}", self.tables.len()),
            Role::Table,
            Element::U32,
            lengths.len(),
        );
        // check: no length is above T, no T above 2^28
        self.program.tables.push((id, lengths.iter().map(|&n| n as u32).collect()));
        self.tables.push((lengths.to_vec(), id));
    }

    /// The buffer of an index of blocks, with the smallest elements that hold all values.
    pub(super) fn add_index(&mut self, values: Vec<u32>) -> BufferId {
        let is_small = |most: u32| values.iter().all(|value| *value <= most);
        let element = match () {
            () if is_small(u32::from(u8::MAX)) => Element::U8,
            () if is_small(u32::from(u16::MAX)) => Element::U16,
            () => Element::U32,
        };
        let known = self.program.tables.iter();
        let mut known = known.filter(|(id, _)| self.program.buffers[id.0].element == element);
        if let Some((id, _)) = known.find(|(_, known)| *known == values) {
            return *id;
        }
        let name = format!("blocks{}", self.program.tables.len());
        let id = self.typed(name, Role::Table, element, values.len());
        self.program.tables.push((id, values));
        id
    }

    /// The buffer of a constant that an operation reads.
    pub(super) fn constant(&self, index: usize) -> BufferId {
        self.constants[index].expect("lower: every constant that is read has a buffer")
    }

    /// The buffer of a table of lengths.
    pub(super) fn table(&self, lengths: &[usize]) -> BufferId {
        let known = self.tables.iter().find(|(known, _)| known == lengths);
        known.expect("lower: all lengths that are known have a table").1
    }

    /// The buffer of weights. `None` if all weights are zero.
    pub(super) fn weight(&mut self, model: &CoreModel, source: WeightSource) -> Option<BufferId> {
        match source {
            WeightSource::Parameter(i) => Some(self.parameters[i]),
            WeightSource::Constant(i) => Some(self.add_constant(model, i)),
            WeightSource::Zero => None,
        }
    }
}
