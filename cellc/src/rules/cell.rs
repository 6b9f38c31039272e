//! Legality of recurrent cells and sequences, and hints for wrong shapes.

use crate::core::Known;
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Problem, WITHOUT_PROJECTIONS};
use crate::model::{
    Activation, Cell, CellKind, Direction, Model, Node, Op, ResetGate, Spelling, shape_text,
};
use crate::rules::report::{MALFORMED, attributes_are_legal, floats, refusal};

/// The role of an input of a recurrent operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellPort {
    X,
    H,
    C,
    Lengths,
    W,
    R,
    /// The tensor of biases with this index.
    B(usize),
    P,
    A,
}

impl CellPort {
    /// The name of the input.
    pub(crate) fn name(self, sequence: bool) -> &'static str {
        match self {
            Self::X if sequence => "X",
            Self::H if sequence => "h0",
            Self::C if sequence => "c0",
            Self::A if sequence => "A",
            Self::X => "x",
            Self::H => "h",
            Self::C => "c",
            Self::A => "a",
            Self::Lengths => "sequence_lengths",
            Self::W => "W",
            Self::R => "R",
            Self::B(_) => "B",
            Self::P => "P",
        }
    }

    /// The names of the weights, in words.
    pub(crate) const WEIGHTS: &str = "W, R, B or P";

    /// True for the ports of [`Self::WEIGHTS`].
    pub(crate) fn is_weight(self) -> bool {
        matches!(self, Self::W | Self::R | Self::B(_) | Self::P)
    }
}

/// The roles of the inputs of a recurrent operation, in port order. `None` for other operations,
/// and for a wrong number of inputs. Only B may be missing, and only in a cell of one step without
/// P and attention.
pub(crate) fn roles(op: &Op, inputs: usize) -> Option<Vec<CellPort>> {
    let (cell, sequence) = match op {
        Op::Cell(cell) => (cell, false),
        Op::Sequence(cell, _) => (cell, true),
        _ => return None,
    };
    let first = [
        (CellPort::X, true),
        (CellPort::H, true),
        (CellPort::C, cell.kind.has_cell_state()),
        (CellPort::Lengths, sequence),
        (CellPort::W, true),
        (CellPort::R, true),
    ];
    let biases = (0..cell.layout.bias_tensors().len()).map(|tensor| (CellPort::B(tensor), true));
    let last = [(CellPort::P, cell.peepholes), (CellPort::A, cell.kind.has_attention())];
    let ports = first.into_iter().chain(biases).chain(last);
    let mut roles: Vec<CellPort> =
        ports.filter(|(_, there)| *there).map(|(role, _)| role).collect();
    let optional = !sequence && !cell.peepholes && !cell.kind.has_attention();
    if optional && inputs + 1 == roles.len() {
        roles.retain(|role| *role != CellPort::B(0));
    }
    (inputs == roles.len()).then_some(roles)
}

/// A recurrent operation with its inputs by role.
pub(crate) struct Recurrent<'n> {
    /// The graph of the node.
    model: &'n Model,
    pub(crate) node: &'n Node,
    pub(crate) cell: &'n Cell,
    pub(crate) direction: Option<Direction>,
    roles: Vec<CellPort>,
    /// By port, the tensor and its shape. `None` after an error.
    inputs: Vec<Option<(Known, Vec<usize>)>>,
}

impl Recurrent<'_> {
    /// The tensor with a role. `None` if the input is missing or has an error.
    pub(crate) fn known(&self, role: CellPort) -> Option<&Known> {
        let port = self.roles.iter().position(|&r| r == role)?;
        self.inputs[port].as_ref().map(|(known, _)| known)
    }

    fn sequence(&self) -> bool {
        self.direction.is_some()
    }

    fn op_name(&self) -> &'static str {
        if self.sequence() { self.cell.kind.sequence_name() } else { self.cell.kind.op_name() }
    }

    /// The sizes of an input, in the order of axes of the input file.
    fn as_written<T: Clone>(&self, role: CellPort, sizes: &[T]) -> Vec<T> {
        let mut sizes = sizes.to_vec();
        let has_batch = matches!(role, CellPort::X | CellPort::H | CellPort::C);
        if self.node.spelling.batch_second && has_batch && sizes.len() == 3 {
            sizes.swap(0, 1);
        }
        sizes
    }

    /// The required sizes of an input in words, in the order of axes of the input file.
    fn sizes_in_words(&self, role: CellPort, sizes: &[(&'static str, Option<usize>)]) -> String {
        let sizes = self.as_written(role, sizes).into_iter();
        let sizes: Vec<String> = sizes
            .map(|(letter, size)| size.map_or_else(|| letter.to_owned(), |n| n.to_string()))
            .collect();
        format!("[{}]", sizes.join(", "))
    }

    /// True if B holds Wb and Rb of every gate, as in ONNX.
    fn has_both_biases(&self) -> bool {
        self.cell.layout.bias_tensors() == [2 * self.cell.kind.gates()]
    }

    /// The name of an input.
    fn port_name(&self, role: CellPort) -> &'static str {
        match role {
            CellPort::H if self.sequence() => self.node.spelling.initial_h,
            CellPort::C if self.sequence() => self.node.spelling.initial_c,
            CellPort::Lengths => self.node.spelling.sequence_lengths,
            _ => role.name(self.sequence()),
        }
    }

    fn shapes(&self) -> impl Iterator<Item = (CellPort, Option<&Vec<usize>>)> {
        self.roles
            .iter()
            .zip(&self.inputs)
            .map(|(role, input)| (*role, input.as_ref().map(|(_, shape)| shape)))
    }
}

/// The sizes of a recurrent operation.
#[derive(Clone, Copy)]
pub(crate) struct CellSizes {
    pub(crate) batch: usize,
    /// The number of time steps; 1 for a cell.
    pub(crate) steps: usize,
    pub(crate) input: usize,
}

/// Checks types, attributes and shapes of a recurrent operation of a graph. `inputs`: by port, the
/// tensor and its shape. Returns the operation and its sizes. `None` after an error, and for other
/// operations.
pub(crate) fn recurrent<'a>(
    model: &'a Model,
    node: &'a Node,
    inputs: Vec<Option<(Known, Vec<usize>)>>,
    diagnostics: &mut Diagnostics,
) -> Option<(Recurrent<'a>, CellSizes)> {
    let (cell, direction) = match &node.op {
        Op::Cell(cell) => (cell, None),
        Op::Sequence(cell, direction) => (cell, Some(*direction)),
        _ => return None,
    };
    let wrong = cell.wrong_attributes(direction, node.spelling);
    if wrong.first().is_some_and(|wrong| wrong.attribute == node.spelling.hidden_size) {
        attributes_are_legal(node, &wrong, diagnostics);
        return None;
    }
    let roles = roles(&node.op, node.inputs.len())?;
    let recurrent = Recurrent { model, node, cell, direction, roles, inputs };
    let mut is_legal = types_are_legal(&recurrent, diagnostics);
    is_legal &= attributes_are_legal(node, &wrong, diagnostics);
    is_legal &= parts_are_legal(&recurrent, diagnostics);
    let sizes = legal_sizes(&recurrent, diagnostics).filter(|_| is_legal)?;
    Some((recurrent, sizes))
}

/// True if the bias, the peepholes and the coupled gates suit the kind of the cell, and an
/// operation without variants has the attributes of the specification.
fn parts_are_legal(recurrent: &Recurrent, diagnostics: &mut Diagnostics) -> bool {
    let (node, cell, op) = (recurrent.node, recurrent.cell, recurrent.op_name());
    let mut is_legal = true;
    clip_without_effect(node, cell, diagnostics);
    if cell.bias_required && !recurrent.roles.contains(&CellPort::B(0)) {
        let size = match cell.kind.bias_parts() {
            1 => cell.hidden_size.to_string(),
            parts => format!("{parts} * {}", node.spelling.hidden_size),
        };
        let help = "connect a B of zeros if the cell has no bias";
        let valid = format!("B of shape [{size}]");
        let problem = Problem::new(format!("{op} without B"), valid, help);
        diagnostics.push(refusal(node, &node.origin, problem));
        is_legal = false;
    }
    let lstm = cell.kind.has_cell_state();
    if !lstm && (cell.peepholes || cell.coupled.is_some()) {
        let found = format!("{op} with peepholes or input_forget");
        let problem = Problem::new(found, "an LSTM with them", MALFORMED);
        diagnostics.push(refusal(node, &node.origin, problem));
        is_legal = false;
    }
    if !cell.kind.family().has_variants() {
        is_legal &= is_as_specified(recurrent, diagnostics);
    }
    is_legal
}

/// Warns of a clip without effect.
fn clip_without_effect(node: &Node, cell: &Cell, diagnostics: &mut Diagnostics) {
    let name = node.spelling.clip;
    let warning = cell.clip.and_then(|clip| Cell::clip_without_effect(clip, name));
    let Some([found, help]) = warning else { return };
    let origin = node.attribute_origin(name);
    let origin = if *origin == Origin::Unknown { &node.origin } else { origin };
    let warning = Diagnostic::warning(origin.clone(), found).layer(node.label()).help(help);
    diagnostics.push(warning);
}

/// True if an operation without variants has the attributes of the specification. Refuses other
/// attributes.
fn is_as_specified(recurrent: &Recurrent, diagnostics: &mut Diagnostics) -> bool {
    let (node, cell, op) = (recurrent.node, recurrent.cell, recurrent.op_name());
    let before = diagnostics.0.len();
    let mut refuse = |name: &str, found: String, valid: String, help: String| {
        let origin = node.attribute_origin(name);
        let problem = Problem::new(format!("{op} with {found}"), valid, help);
        diagnostics.push(refusal(node, origin, problem));
    };
    let Spelling { linear_before_reset, activations, clip, direction, .. } = *node.spelling;
    if cell.kind.reset_gate() == Some(ResetGate::AfterMatMul) {
        let (name, help) = (linear_before_reset, format!("leave {linear_before_reset} out"));
        refuse(name, format!("{name} = true"), "false".to_owned(), help);
    }
    let wanted = cell.kind.default_activations();
    if cell.activations.len() == wanted.len() && cell.activations != wanted {
        let found = format!("the {activations} {}", Activation::labels(&cell.activations));
        refuse(activations, found, Activation::labels(wanted), format!("leave {activations} out"));
    }
    if let Some(bound) = cell.bound() {
        let (found, valid) = (format!("the {clip} {bound}"), format!("no {clip}"));
        refuse(clip, found, valid, format!("leave {clip} out"));
    }
    if let Some(given) = recurrent.direction.filter(|given| *given != Direction::Forward) {
        let help = "only a forward sequence is specified".to_owned();
        let forward = Direction::Forward.name().to_owned();
        refuse(direction, format!("the {direction} {}", given.name()), forward, help);
    }
    before == diagnostics.0.len()
}

/// True if the lengths are integers and all other inputs of the operation are floating point. Warns
/// of floating-point inputs that differ in type.
fn types_are_legal(recurrent: &Recurrent, diagnostics: &mut Diagnostics) -> bool {
    let node = recurrent.node;
    let mut is_legal = true;
    let mut elements = Vec::new();
    for (port, (role, input)) in recurrent.roles.iter().zip(&recurrent.inputs).enumerate() {
        // an input without a tensor has an error
        let Some((known, _)) = input else { continue };
        let (name, element) = (recurrent.port_name(*role), known.element());
        let origin = &recurrent.model.values[node.inputs[port].0].origin;
        if *role == CellPort::Lengths {
            if element.is_float() {
                let help = "give the number of steps of each row as integers";
                let found = format!("{name} is {}", element.name());
                let problem = Problem::new(found, "i32, i64", help);
                diagnostics.push(refusal(node, origin, problem));
                is_legal = false;
            }
            continue;
        }
        elements.push((element, name));
        if !element.is_float() {
            let found = format!("{name} is {}", element.name());
            let help = "convert it to f32, if its integers are meant as such";
            diagnostics.push(refusal(node, origin, Problem::new(found, floats(), help)));
            is_legal = false;
        }
    }
    if elements.windows(2).any(|w| w[0].0 != w[1].0) && elements.iter().all(|(e, _)| e.is_float()) {
        let texts: Vec<String> =
            elements.iter().map(|(e, name)| format!("{name} {}", e.name())).collect();
        let found =
            format!("the inputs of {} differ in type: {}", recurrent.op_name(), texts.join(", "));
        let diagnostic = Diagnostic::warning(node.origin.clone(), found).layer(node.label());
        diagnostics.push(diagnostic.valid("one type for all inputs; here all are computed in f32"));
    }
    is_legal
}

/// Compares the shapes with hidden_size and with each other. Returns the sizes if all agree.
fn legal_sizes(recurrent: &Recurrent, diagnostics: &mut Diagnostics) -> Option<CellSizes> {
    let (node, cell, sequence) = (recurrent.node, recurrent.cell, recurrent.sequence());
    let hidden_size = cell.hidden_size;
    if let Some(other) = other_hidden_size(recurrent) {
        refuse_hidden_size(recurrent, other, diagnostics);
        return None;
    }
    if let Some(c) = projected(recurrent) {
        let found = format!(
            "an h of {hidden_size} elements and a c of {c}: an LSTM with projections \
             (proj_size)"
        );
        let help = format!("PyTorch's export loses the projections; {WITHOUT_PROJECTIONS}");
        let problem = Problem::new(found, "an h and a c of one size", help);
        diagnostics.push(refusal(node, &node.origin, problem));
        return None;
    }
    let rank = if sequence { 3 } else { 2 };
    let x = recurrent.shapes().next().and_then(|(_, shape)| shape).filter(|x| x.len() == rank);
    let of_x = |axis: usize| x.map(|x| x[axis]);
    let (batch, steps, input) = (of_x(0), if sequence { of_x(1) } else { Some(1) }, of_x(rank - 1));
    let mut is_legal = true;
    for (port, (role, shape)) in recurrent.shapes().enumerate() {
        let Some(shape) = shape else {
            is_legal = false;
            continue;
        };
        let wanted = wanted(recurrent, role, hidden_size, [batch, steps, input]);
        let fits = shape.len() == wanted.len()
            && shape
                .iter()
                .zip(&wanted)
                .all(|(size, (_, want))| want.is_none_or(|want| want == *size));
        if fits {
            continue;
        }
        is_legal = false;
        let (found, help) = advice(recurrent, role, shape, &wanted);
        let sizes = recurrent.sizes_in_words(role, &wanted);
        let valid = format!("{sizes}: {}", meaning(recurrent, role));
        let origin = &recurrent.model.values[node.inputs[port].0].origin;
        diagnostics.push(refusal(node, origin, Problem::new(found, valid, help)));
    }
    Some(CellSizes { batch: batch?, steps: steps?, input: input? }).filter(|_| is_legal)
}

fn refuse_hidden_size(recurrent: &Recurrent, other: usize, diagnostics: &mut Diagnostics) {
    let (node, hidden_size) = (recurrent.node, recurrent.cell.hidden_size);
    let stated = |(role, shape): (CellPort, Option<&Vec<usize>>)| {
        shape.map(|shape| {
            let shape = recurrent.as_written(role, shape);
            format!("{} {}", recurrent.port_name(role), shape_text(&shape))
        })
    };
    let texts: Vec<String> = recurrent
        .shapes()
        .filter(|(role, _)| !matches!(role, CellPort::X | CellPort::Lengths))
        .filter_map(stated)
        .collect();
    let name = node.spelling.hidden_size;
    let found = format!(
        "{name} is {hidden_size}, but the tensors are made for {other}: {}",
        texts.join(", ")
    );
    let names = recurrent
        .roles
        .iter()
        .filter(|r| !matches!(r, CellPort::X | CellPort::Lengths | CellPort::A))
        .map(|&role| {
            let sizes = wanted(recurrent, role, hidden_size, [None; 3]);
            format!("{} {}", recurrent.port_name(role), recurrent.sizes_in_words(role, &sizes))
        });
    let valid = format!("{}, or {name} {other}", names.collect::<Vec<_>>().join(", "));
    let help = format!("write {name}={other}, or give tensors of the other size");
    let problem = Problem::new(found, valid, help);
    diagnostics.push(refusal(node, node.attribute_origin(name), problem));
}

/// The required sizes of an input, each with its letter; `None` allows any size. `of_x`: N, T and I
/// of x.
fn wanted(
    recurrent: &Recurrent,
    role: CellPort,
    hidden_size: usize,
    of_x: [Option<usize>; 3],
) -> Vec<(&'static str, Option<usize>)> {
    let [batch, steps, input] = of_x;
    let kind = recurrent.cell.kind;
    let rows = hidden_size.checked_mul(kind.gates());
    let directions = ("D", recurrent.direction.map(Direction::count));
    let mut sizes = match role {
        CellPort::X => vec![("N", batch), ("I", input)],
        CellPort::H | CellPort::C => vec![("N", batch), ("H", Some(hidden_size))],
        CellPort::Lengths => vec![("N", batch)],
        CellPort::W => vec![("rows", rows), ("I", input)],
        CellPort::R => vec![("rows", rows), ("H", Some(hidden_size))],
        CellPort::B(tensor) => {
            vec![("rows", hidden_size.checked_mul(recurrent.cell.layout.bias_tensors()[tensor]))]
        }
        CellPort::P => vec![("3H", hidden_size.checked_mul(3))],
        CellPort::A => vec![("N", batch), ("1", Some(1))],
    };
    if recurrent.sequence() {
        match role {
            CellPort::X | CellPort::A => sizes.insert(1, ("T", steps)),
            CellPort::H | CellPort::C => sizes.insert(1, directions),
            CellPort::W | CellPort::R | CellPort::B(_) if recurrent.cell.layout.directions => {
                sizes.insert(0, directions)
            }
            CellPort::P => sizes.insert(0, directions),
            CellPort::W | CellPort::R | CellPort::B(_) | CellPort::Lengths => {}
        }
    }
    sizes
}

/// The content of an input, for messages.
fn meaning(recurrent: &Recurrent, role: CellPort) -> String {
    let kind = recurrent.cell.kind;
    let gates = if kind.gates() == 1 { String::new() } else { format!("{} * ", kind.gates()) };
    match (role, recurrent.direction.is_some()) {
        (CellPort::X, false) => "N rows of I elements".to_owned(),
        (CellPort::X, true) if recurrent.node.spelling.batch_second => {
            "T steps of N rows of I elements".to_owned()
        }
        (CellPort::X, true) => "N rows of T steps of I elements".to_owned(),
        (CellPort::H | CellPort::C, false) => "[N, H], N as in x".to_owned(),
        (CellPort::H | CellPort::C, true) => {
            let axes = recurrent.as_written(role, &["N", "D", "H"]).join(", ");
            format!("[{axes}], N as in X, D the number of directions")
        }
        (CellPort::Lengths, _) => "the number of steps of each row of X".to_owned(),
        (CellPort::W, false) => format!("[{gates}H, I], I as in x"),
        (CellPort::W, true) => format!("[D, {gates}H, I], I as in X"),
        (CellPort::R, false) => format!("[{gates}H, H]"),
        (CellPort::R, true) => format!("[D, {gates}H, H]"),
        (CellPort::B(_), _) if recurrent.has_both_biases() => {
            let parts = 2 * kind.gates();
            format!("[D, {parts} * H], Wb of all gates and Rb of all gates")
        }
        (CellPort::B(_), false) => bias_layout(kind, recurrent.node.spelling),
        (CellPort::B(_), true) => {
            format!("for each direction {}", bias_layout(kind, recurrent.node.spelling))
        }
        (CellPort::P, _) => {
            format!("3 times {}: the peepholes of f, i, o", recurrent.node.spelling.hidden_size)
        }
        (CellPort::A, false) => "[N, 1], N as in x".to_owned(),
        (CellPort::A, true) => "[N, T, 1], N and T as in X".to_owned(),
    }
}

/// The size of c, if larger than the size of h: h is a projection of the cell's output.
fn projected(recurrent: &Recurrent) -> Option<usize> {
    let size_of = |port: CellPort| {
        let (_, shape) = recurrent.shapes().find(|(role, _)| *role == port)?;
        shape?.last().copied()
    };
    let (h, c) = (size_of(CellPort::H)?, size_of(CellPort::C)?);
    (h == recurrent.cell.hidden_size && c > h).then_some(c)
}

/// The hidden size that fits the shapes of all inputs except X, if hidden_size is another one.
fn other_hidden_size(recurrent: &Recurrent) -> Option<usize> {
    let r = recurrent.shapes().find(|(role, _)| *role == CellPort::R)?.1?;
    let common_size = *r.last()?;
    let fits = recurrent.shapes().all(|(role, shape)| {
        let Some(shape) = shape else { return true };
        let wanted = wanted(recurrent, role, common_size, [None; 3]);
        // rows that overflow fit no tensor
        let sizes =
            wanted.iter().filter(|(letter, size)| *letter != "rows" || size.is_some()).count();
        role == CellPort::X
            || shape.len() == wanted.len()
                && sizes == wanted.len()
                && shape
                    .iter()
                    .zip(wanted)
                    .all(|(size, (_, want))| want.is_none_or(|want| want == *size))
    });
    (fits && common_size != recurrent.cell.hidden_size && common_size > 0).then_some(common_size)
}

/// The content of B, for messages.
fn bias_layout(kind: CellKind, spelling: &Spelling) -> String {
    let Spelling { hidden_size: size, linear_before_reset: after, .. } = spelling;
    match kind {
        CellKind::Rnn => format!("{size}, the sums Wb + Rb"),
        CellKind::Lstm => format!("4 times {size}, the sums Wb + Rb of the gates f, i, c, o"),
        CellKind::Gru(ResetGate::BeforeMatMul) | CellKind::Augru(ResetGate::BeforeMatMul) => {
            format!("3 times {size}, the sums Wb + Rb of the gates z, r, h ({after} is false)")
        }
        CellKind::Gru(ResetGate::AfterMatMul) | CellKind::Augru(ResetGate::AfterMatMul) => {
            format!(
                "4 times {size}: Wb + Rb of z, Wb + Rb of r, Wb of h, Rb of h ({after} is true)"
            )
        }
    }
}

/// The layout that a B of `parts` parts resembles, and the remedy. `None` for no known layout.
fn other_bias_layout(recurrent: &Recurrent, parts: usize) -> Option<(String, String)> {
    const ONNX: &str = "this is ONNX's layout, Wb of z, r, h, then Rb of z, r, h";
    let kind = recurrent.cell.kind;
    let after = recurrent.node.spelling.linear_before_reset;
    let layout_and_help = |layout: &str, help: &str| Some((layout.to_owned(), help.to_owned()));
    match (kind.reset_gate(), kind, parts) {
        (Some(ResetGate::AfterMatMul), _, 6) => layout_and_help(
            ONNX,
            "add Wb and Rb of z and of r, and keep those of h apart: [Wbz + Rbz, Wbr + Rbr, Wbh, \
             Rbh]",
        ),
        (Some(ResetGate::BeforeMatMul), _, 6) => {
            layout_and_help(ONNX, "add Wb and Rb of every gate: [Wbz + Rbz, Wbr + Rbr, Wbh + Rbh]")
        }
        (Some(ResetGate::AfterMatMul), _, 3) => Some((
            format!("this is the layout for {after} false"),
            format!("set {after} to false, or give Wb and Rb of h apart"),
        )),
        (Some(ResetGate::BeforeMatMul), _, 4) => Some((
            format!("this is the layout for {after} true"),
            format!("set {after} to true, or add the last two parts"),
        )),
        (None, CellKind::Rnn, 2) => {
            layout_and_help("this is ONNX's layout, Wb, then Rb", "add the two halves")
        }
        (None, CellKind::Lstm, 8) => layout_and_help(
            "this is ONNX's layout, Wb of i, o, f, c, then Rb of them",
            "add the two halves, and put the gates in the order f, i, c, o",
        ),
        _ => None,
    }
}

/// The finding and the remedy for a wrong shape, from the layout that the shape resembles.
fn advice(
    recurrent: &Recurrent,
    role: CellPort,
    shape: &[usize],
    wanted: &[(&'static str, Option<usize>)],
) -> (String, String) {
    let written = recurrent.as_written(role, shape);
    let found = format!("{} has the shape {}", recurrent.port_name(role), shape_text(&written));
    let of_bias = parts_of_bias(recurrent, role, shape, wanted.len());
    if let Some((parts, layout, help)) = of_bias {
        let size = recurrent.node.spelling.hidden_size;
        return (format!("{found}, {parts} times {size}: {layout}"), help);
    }
    let help = other_dimensions(recurrent, role, shape, wanted.len())
        .or_else(|| transposed(role, shape, wanted))
        .or_else(|| agreement(recurrent, role, shape, wanted));
    (found, help.map_or_else(|| correction(recurrent, role), str::to_owned))
}

/// The parts of a B, the layout that they resemble, and the remedy. `None` for no known layout.
fn parts_of_bias(
    recurrent: &Recurrent,
    role: CellPort,
    shape: &[usize],
    dimensions: usize,
) -> Option<(usize, String, String)> {
    let has_direction = !recurrent.sequence() && shape.len() == dimensions + 1 && shape[0] == 1;
    let length = *shape.last().filter(|_| shape.len() == dimensions || has_direction)?;
    let (size, is_bias) = (recurrent.cell.hidden_size, matches!(role, CellPort::B(_)));
    if !is_bias || length % size != 0 || recurrent.has_both_biases() {
        return None;
    }
    let (layout, help) = other_bias_layout(recurrent, length / size)?;
    Some((length / size, layout, help))
}

/// The remedy for a dimension too many in a cell, or one too few in a sequence.
fn other_dimensions(
    recurrent: &Recurrent,
    role: CellPort,
    shape: &[usize],
    dimensions: usize,
) -> Option<&'static str> {
    let sequence = recurrent.sequence();
    if !sequence && shape.len() == dimensions + 1 && shape[0] == 1 {
        return Some(match role {
            CellPort::X => {
                "remove the first dimension: a cell takes one step, without a dimension of time"
            }
            _ => {
                "remove the first dimension: directions belong to sequences and to ONNX, a cell \
                 has one"
            }
        });
    }
    (sequence && shape.len() + 1 == dimensions).then_some(match role {
        CellPort::X | CellPort::A => "add a dimension of time: a sequence takes all steps at once",
        _ => "add a dimension of directions: 1 of one direction, 2 of both",
    })
}

/// The remedy for weights with exchanged rows and columns.
fn transposed(
    role: CellPort,
    shape: &[usize],
    wanted: &[(&'static str, Option<usize>)],
) -> Option<&'static str> {
    let ([.., a, b], [.., (_, rows), (_, columns)]) = (shape, wanted) else { return None };
    let fits = shape.len() == wanted.len()
        && rows.is_none_or(|n| n == *b)
        && columns.is_none_or(|n| n == *a);
    (role.is_weight() && fits)
        .then_some("transpose it: the weights of one unit are a row here, a column in Keras")
}

/// The remedy for a size unlike the size of another input.
fn agreement(
    recurrent: &Recurrent,
    role: CellPort,
    shape: &[usize],
    wanted: &[(&'static str, Option<usize>)],
) -> Option<&'static str> {
    let (sequence, size) = (recurrent.sequence(), recurrent.cell.hidden_size);
    let last = shape.len() == wanted.len();
    match role {
        CellPort::X if sequence => Some("give X three dimensions"),
        CellPort::X => Some("give x two dimensions"),
        CellPort::H if !sequence && last && shape[1] == size => {
            Some("give x and h the same number of rows")
        }
        CellPort::H | CellPort::C | CellPort::Lengths
            if last && shape.last() == wanted.last().and_then(|(_, n)| n.as_ref()) =>
        {
            Some("give all of them the same N and D")
        }
        CellPort::Lengths | CellPort::A if last => Some("give all of them the same N and T"),
        CellPort::W if last && Some(shape[0]) == wanted[0].1 => {
            Some("give the rows of x and of W the same length")
        }
        _ => None,
    }
}

/// The remedy for a shape without a known layout.
fn correction(recurrent: &Recurrent, role: CellPort) -> String {
    let Spelling { hidden_size: size, linear_before_reset: after, .. } = recurrent.node.spelling;
    match (role, recurrent.cell.kind) {
        (CellPort::B(_), _) if recurrent.has_both_biases() => format!(
            "give the tensor this shape, with zeros for biases that are not there, or correct \
             {size}"
        ),
        (CellPort::B(_), CellKind::Gru(_) | CellKind::Augru(_)) => {
            format!("give the tensor this shape, or correct {size} or {after}")
        }
        _ => format!("give the tensor this shape, or correct {size}"),
    }
}

/// Values of the attribute `clip`, each with its bound, and true if a warning says that the value
/// has no effect. Tests of front ends read this table.
#[cfg(test)]
pub(crate) const CLIPS: [(f32, Option<f32>, bool); 6] = [
    (0.5, Some(0.5), false),
    (0.0, None, false),
    (f32::INFINITY, None, false),
    (f32::NEG_INFINITY, None, false),
    (-1.0, None, true),
    (f32::NAN, None, true),
];

/// Numbers of units that no cell has. Tests of front ends read this table.
#[cfg(test)]
pub(crate) const WRONG_HIDDEN_SIZES: [usize; 4] = [0, (1 << 20) + 1, 1 << 61, i64::MAX as usize];

/// Parameters of activations, each with true if it is legal. Tests of front ends read this table.
#[cfg(test)]
pub(crate) const PARAMETERS_OF_ACTIVATIONS: [(f32, bool); 6] = [
    (0.25, true),
    (0.0, true),
    (-1.0, true),
    (f32::INFINITY, false),
    (f32::NEG_INFINITY, false),
    (f32::NAN, false),
];

/// Numbers that no real-valued attribute may have. Tests of front ends read this table.
#[cfg(test)]
pub(crate) const NOT_FINITE: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
