//! A program made by hand with every form of kernels, independent of what lowering makes today.

use cellc::Options;
use cellc::internals::arch::{self, Dot, Isa};
use cellc::internals::compile::Compilation;
use cellc::internals::core::{CoreModel, Parameter, ResultValue, Source, Variable};
use cellc::internals::description::Description;
use cellc::internals::diagnostic::Diagnostics;
use cellc::internals::emit::names::Interface;
use cellc::internals::estimate::Estimate;
use cellc::internals::header::Bounds;
use cellc::internals::kernel::{
    Body, Buffer, BufferId, Copied, CopiedDim, Element, Expr, Hints, Kernel, LaneOp, Loops, Place,
    Program, Role, Scalar, Stmt, Tiles, Type, Var, Walk, WindowId, verify,
};
use cellc::internals::model::{ElementType, Tensor};
use cellc::internals::numerics::Precisions;
use cellc::internals::pack::pack;
use cellc::internals::plan::plan;

use crate::subject::Subject;

const X: BufferId = BufferId(0);
const LENGTHS: BufferId = BufferId(1);
const LENGTH: BufferId = BufferId(2);
const CONSTANT: BufferId = BufferId(3);
const LIMITS: BufferId = BufferId(4);
const FIRST: BufferId = BufferId(5);
const SECOND: BufferId = BufferId(6);
const STEPS: BufferId = BufferId(7);
const MIXED: BufferId = BufferId(8);
const INTEGERS: BufferId = BufferId(9);
const A: BufferId = BufferId(10);
const B: BufferId = BufferId(11);
const C: BufferId = BufferId(12);
const OWN: BufferId = BufferId(13);

const COUNT: Type = Type { scalar: Scalar::U32, lanes: 1 };

fn at(base: impl Into<Place>, offset: usize) -> Place {
    base.into().at(offset)
}

fn load(from: impl Into<Place>, lanes: usize) -> Expr {
    Expr::Load { from: from.into(), lanes }
}

fn length(from: impl Into<Place>, most: usize) -> Expr {
    Expr::Length { from: from.into(), least: 0, most }
}

fn op(operation: LaneOp, args: impl Into<Vec<Expr>>) -> Expr {
    Expr::Op(operation, args.into())
}

fn store(to: impl Into<Place>, value: Expr) -> Stmt {
    Stmt::Store { to: to.into(), value }
}

fn define(var: Var, value: Expr) -> Stmt {
    Stmt::Let { var, mutable: false, value }
}

fn set(var: Var, value: Expr) -> Stmt {
    Stmt::Set { var, value }
}

/// Copies elements. `dims`: extents, strides of reading and strides of writing, outermost first.
fn copy(from: impl Into<Place>, to: impl Into<Place>, dims: &[(usize, isize, usize)]) -> Stmt {
    let dim = |&(extent, from_stride, to_stride)| CopiedDim { extent, from_stride, to_stride };
    Stmt::Copy(Copied::new(from, to, dims.iter().map(dim).collect()))
}

fn window(id: usize, name: &str, of: impl Into<Place>, len: usize) -> Walk {
    let name = name.to_owned();
    Walk {
        window: WindowId(id),
        name,
        start: of.into(),
        len,
        stride: len,
        written: false,
        reverse: false,
    }
}

fn kernel(name: &str, params: &[(BufferId, bool)]) -> Kernel {
    Kernel {
        name: name.to_owned(),
        doc: vec![format!("The kernel {name}.")],
        params: params.to_vec(),
        scratch: Vec::new(),
        locals: Vec::new(),
        body: Vec::new(),
        hints: Hints::default(),
        loops: Loops::Kept,
        concurrent: false,
        nodes: Vec::new(),
    }
}

/// Copies: contiguous, transposed, backwards, repeated, of constants too.
fn copies() -> Kernel {
    let mut kernel = kernel("copies", &[(X, false), (CONSTANT, false), (A, true)]);
    kernel.scratch = vec![OWN];
    kernel.body = vec![
        Stmt::Comment("the constant [4, 3] by columns, the last row first".to_owned()),
        copy(at(CONSTANT, 9), A, &[(3, 1, 4), (4, -3, 1)]),
        copy(CONSTANT, at(A, 12), &[(2, 6, 6), (2, 3, 3), (3, 1, 1)]),
        copy(at(CONSTANT, 5), at(A, 24), &[(2, 1, 5), (5, 0, 1)]),
        copy(X, OWN, &[(2, 12, 12), (3, 4, 4), (4, 1, 1)]),
        copy(at(OWN, 23), at(A, 34), &[(24, -1, 1)]),
        copy(at(X, 2), at(A, 58), &[(3, 4, 2), (2, 0, 1)]),
        copy(at(X, 3), at(A, 64), &[]),
        Stmt::For {
            count: 3,
            counter: None,
            backwards: None,
            walks: vec![
                window(0, "row", at(OWN, 4), 4),
                Walk { written: true, ..window(1, "to", at(A, 65), 5) },
            ],
            body: vec![
                copy(at(WindowId(0), 3), WindowId(1), &[(4, -1, 1)]),
                copy(at(WindowId(0), 1), at(WindowId(1), 4), &[]),
            ],
        },
    ];
    kernel
}

/// Two rows of three steps, each as far as its length, from the last step to the first.
fn steps() -> Kernel {
    let params =
        [(X, false), (LENGTHS, false), (LENGTH, false), (LIMITS, false), (SECOND, true), (B, true)];
    let mut kernel = kernel("steps", &params);
    let locals = [
        ("row", COUNT),
        ("n", COUNT),
        ("most", COUNT),
        ("limit", COUNT),
        ("t", COUNT),
        ("steps", COUNT),
    ];
    let [row, n, most, limit, t, steps] = locals.map(|(name, ty)| kernel.local(name, ty));
    let sum = kernel.local("sum", Type::f32(4));
    let next = op(LaneOp::Add, [Expr::Var(sum), load(WindowId(3), 4)]);
    let number = |value: u32| Expr::u32(value, 1);
    let condition = Stmt::If {
        less: (Expr::Var(t), Expr::Var(n)),
        then: vec![set(sum, next), store(WindowId(4), Expr::Var(sum))],
        otherwise: vec![
            store(WindowId(4), Expr::f32(-0.0, 4)),
            Stmt::If {
                less: (op(LaneOp::WrappingAdd, [Expr::Var(t), Expr::Var(row)]), Expr::Var(limit)),
                then: vec![set(
                    steps,
                    op(LaneOp::WrappingAdd, [Expr::Var(steps), Expr::Var(most)]),
                )],
                otherwise: Vec::new(),
            },
        ],
    };
    let inner = Stmt::For {
        count: 3,
        counter: Some(t),
        backwards: None,
        walks: vec![
            Walk { reverse: true, ..window(3, "x_t", WindowId(0), 4) },
            Walk { reverse: true, written: true, ..window(4, "b_t", WindowId(1), 4) },
        ],
        body: vec![condition],
    };
    let counted = op(LaneOp::ShiftLeft(23), [op(LaneOp::And, [Expr::Var(steps), number(0x7f)])]);
    kernel.body = vec![
        define(most, length(LENGTH, 2)),
        Stmt::Let { var: steps, mutable: true, value: number(0x2_0001) },
        Stmt::For {
            count: 2,
            counter: Some(row),
            backwards: None,
            walks: vec![
                window(0, "x_row", X, 12),
                Walk { written: true, ..window(1, "b_row", at(B, 1), 12) },
                window(2, "length_of", LENGTHS, 1),
                window(5, "limit_of", at(LIMITS, 1), 1),
            ],
            body: vec![
                define(n, length(WindowId(2), 3)),
                define(limit, length(WindowId(5), 1000)),
                Stmt::Let { var: sum, mutable: true, value: Expr::f32(0.0, 4) },
                inner,
            ],
        },
        store(B, op(LaneOp::FromBits, [counted])),
        Stmt::For {
            count: 2,
            counter: None,
            backwards: None,
            walks: Vec::new(),
            body: vec![store(
                at(SECOND, 1),
                op(LaneOp::Add, [load(at(SECOND, 1), 2), load(at(B, 5), 2)]),
            )],
        },
    ];
    kernel
}

/// Updates a variable, copies it, and stores under a condition.
fn keep() -> Kernel {
    let mut kernel = kernel("keep", &[(A, false), (B, false), (FIRST, true), (C, true)]);
    let t = kernel.local("t", COUNT);
    let scaled = op(LaneOp::Mul, [load(FIRST, 4), Expr::f32(0.5, 4)]);
    let magnitude =
        op(LaneOp::And, [op(LaneOp::ToBits, [load(at(A, 1), 1)]), Expr::u32(0x7fff_ffff, 1)]);
    kernel.body = vec![
        store(FIRST, op(LaneOp::Add, [scaled, load(at(B, 1), 4)])),
        copy(FIRST, C, &[(4, 1, 1)]),
        Stmt::For {
            count: 5,
            counter: Some(t),
            backwards: None,
            walks: Vec::new(),
            body: vec![Stmt::If {
                less: (Expr::u32(3, 1), Expr::Var(t)),
                then: vec![store(at(C, 4), op(LaneOp::FromBits, [magnitude]))],
                otherwise: vec![store(at(C, 5), load(at(A, 2), 1))],
            }],
        },
    ];
    kernel
}

/// Sums of products of integers on every number of lanes up to the instruction set's: of pairs and
/// of bytes, of unsigned bytes if the instruction set has only these products. One sum starts from
/// other bits than 0. Operands are made of the bits of floats; no signed byte is -128.
fn integers(isa: &Isa) -> Kernel {
    let mut kernel = kernel("integers", &[(X, false), (INTEGERS, true)]);
    // the value of all elements that narrower vectors do not write
    kernel.body.push(copy(X, INTEGERS, &[(62, 0, 1)]));
    let mut at_lane = 0;
    for lanes in [16, 8, 4, 2, 1].into_iter().filter(|lanes| *lanes <= isa.lanes) {
        let ty = Type { scalar: Scalar::U32, lanes };
        let [pairs, quads, a, b] = ["pairs", "quads", "a", "b"].map(|name| kernel.local(name, ty));
        let bits = |value: Expr| op(LaneOp::ToBits, [value]);
        let number = |bits: u32| Expr::u32(bits, lanes);
        // every byte from x, some of them 127 and -127
        let mixed = op(LaneOp::ShiftLeft(5), [bits(load(at(X, 24 - lanes), lanes))]);
        let mixed = op(LaneOp::Xor, [mixed, bits(load(X, lanes))]);
        let masked = op(LaneOp::And, [mixed, number(0x7f7f_7fff)]);
        let signed = op(LaneOp::Or, [masked, number(0x0181_0001)]);
        let element = Expr::Splat { from: at(X, 7), lanes };
        let element = op(LaneOp::Or, [bits(element), number(0x8101_7f01)]);
        let dots: &[LaneOp] = match (isa.has(Dot::UnsignedQuads), isa.has(Dot::WidenedPairs)) {
            (true, _) => &[LaneOp::DotUnsignedQuads],
            (_, true) => {
                &[LaneOp::DotQuads, LaneOp::WidenAndMultiplyEven, LaneOp::WidenAndMultiplyOdd]
            }
            _ => &[LaneOp::DotQuads],
        };
        let add =
            |var, operation| set(var, op(operation, [Expr::Var(a), Expr::Var(b), Expr::Var(var)]));
        kernel.body.extend([
            define(a, signed),
            define(b, element),
            Stmt::Let { var: pairs, mutable: true, value: bits(load(at(X, 1), lanes)) },
            Stmt::Let { var: quads, mutable: true, value: number(0) },
            Stmt::For {
                count: 3,
                counter: None,
                backwards: None,
                walks: Vec::new(),
                body: [add(pairs, LaneOp::DotPairs)]
                    .into_iter()
                    .chain(dots.iter().map(|dot| add(quads, *dot)))
                    .collect(),
            },
            store(at(INTEGERS, at_lane), op(LaneOp::FromSigned, [Expr::Var(pairs)])),
            store(at(INTEGERS, at_lane + lanes), op(LaneOp::FromSigned, [Expr::Var(quads)])),
        ]);
        if isa.has(Dot::Across) && lanes == isa.lanes {
            let tiles =
                |to: usize, columns: usize, words: usize, step: usize, in_word: usize| Tiles {
                    elements: at(X, 24 - words),
                    weights: X.into(),
                    to: at(INTEGERS, to),
                    rows: 1,
                    words,
                    in_word,
                    abreast: lanes,
                    step,
                    columns,
                    panels: 1,
                    stride: 24,
                    pitch: columns,
                };
            let all = [tiles(54, 4, 4, 16, 4), tiles(58, 2, 8, 12, 2), tiles(60, 1, 24, 4, 2)];
            kernel.body.extend(all.map(Stmt::Tiles));
            let sum = |at_sum| op(LaneOp::ToBits, [load(at(INTEGERS, at_sum), 1)]);
            kernel.body.extend(
                (54..61).map(|to| store(at(INTEGERS, to), op(LaneOp::FromSigned, [sum(to)]))),
            );
        }
        if lanes == isa.lanes {
            for (at_sum, own) in (32..).step_by(lanes).zip(isa.by_lane()) {
                let of =
                    if own.in_word == 2 { LaneOp::DotPairsByLane } else { LaneOp::DotQuadsByLane };
                let sum = kernel.local("of_lanes", ty);
                // the second operand mixes bits of `a` and `b`
                let elements = op(
                    LaneOp::Xor,
                    [Expr::Var(a), op(LaneOp::And, [Expr::Var(b), number(0x7f00_7f00)])],
                );
                let elements = op(LaneOp::And, [elements, number(0x7f7f_7f7f)]);
                let b = kernel.local("elements", ty);
                kernel.body.extend([
                    define(b, elements),
                    Stmt::Let { var: sum, mutable: true, value: number(0) },
                    Stmt::For {
                        count: 3,
                        counter: None,
                        backwards: None,
                        walks: Vec::new(),
                        body: (0..lanes)
                            .map(|lane| {
                                set(sum, op(of(lane), [Expr::Var(a), Expr::Var(b), Expr::Var(sum)]))
                            })
                            .collect(),
                    },
                    store(at(INTEGERS, at_sum), op(LaneOp::FromSigned, [Expr::Var(sum)])),
                ]);
            }
        }
        at_lane += 2 * lanes;
    }
    kernel
}

fn results() -> Kernel {
    let mut kernel = kernel(
        "results",
        &[(A, false), (B, false), (C, false), (SECOND, false), (STEPS, true), (MIXED, true)],
    );
    kernel.body = vec![
        copy(at(B, 1), STEPS, &[(24, 1, 1)]),
        copy(A, MIXED, &[(80, 1, 1)]),
        copy(C, at(MIXED, 80), &[(6, 1, 1)]),
        copy(B, at(MIXED, 86), &[]),
        copy(SECOND, at(MIXED, 87), &[(3, 1, 1)]),
    ];
    kernel
}

/// The program with a body for each instruction set.
fn program<'a>(isas: impl Iterator<Item = &'a Isa>) -> Program {
    let buffer = |name: &str, role, element, len| Buffer {
        name: name.to_owned(),
        role,
        element,
        len,
        layout: Vec::new(),
    };
    let f32 = |name: &str, role, len| buffer(name, role, Element::F32, len);
    let body = |isa| Body {
        scratch: vec![
            f32("a", Role::Scratch, 80),
            f32("b", Role::Scratch, 25),
            f32("c", Role::Scratch, 6),
            f32("own", Role::Scratch, 24),
        ],
        kernels: vec![copies(), steps(), keep(), integers(isa), results()],
        // b lies in front of a, and not at the start of the block
        block: vec![(A, 64), (B, 16), (C, 48)],
        block_len: 144,
        ..Body::default()
    };
    let program = Program {
        alignment: 64,
        buffers: vec![
            f32("x", Role::Parameter(0), 24),
            buffer("lengths", Role::Parameter(1), Element::I64, 2),
            buffer("length", Role::Parameter(2), Element::I32, 1),
            f32("constant", Role::Constant(0), 12),
            buffer("limits", Role::Table, Element::U32, 3),
            f32("first", Role::Variable(0), 4),
            f32("second", Role::Variable(1), 3),
            f32("steps", Role::Result(0), 24),
            f32("mixed", Role::Result(1), 90),
            f32("integers", Role::Result(2), 62),
        ],
        tables: vec![(LIMITS, vec![9, 3, 2])],
        bodies: isas.map(body).collect(),
        ..Program::default()
    };
    verify(&program).unwrap_or_else(|problem| panic!("a program that is wrong: {problem}"));
    program
}

/// The program on every instruction set, with calls whose lengths are below 0, 0, in between, and
/// beyond all steps.
///
/// # Panics
/// If the program is wrong.
pub fn subject(name: &str) -> Subject {
    let options =
        Options::default().with_name(Some(name.to_owned())).with_isas(Some(arch::ALL.to_vec()));
    let numbers = |len: usize, seed: usize| {
        (0..len).map(move |i| ((i * 29 + seed * 17 + 5) % 61) as f32 / 16.0 - 1.75)
    };
    let tensor = |shape: &[usize], seed| {
        let values: Vec<f32> = numbers(shape.iter().product(), seed).collect();
        Tensor::from_f32(shape.to_vec(), &values).expect("as many numbers as the shape wants")
    };
    let parameter = |name: &str, shape: &[usize], element, length| Parameter {
        names: vec![name.to_owned()],
        shape: shape.to_vec(),
        element,
        weight: false,
        length,
        rows: None,
    };
    let result = |name: &str, shape: &[usize]| ResultValue {
        names: vec![name.to_owned()],
        shape: shape.to_vec(),
        element: ElementType::F32,
        source: Source::Constant(0),
        parts: None,
    };
    let variable = |name: &str, shape: &[usize], initial| Variable {
        name: name.to_owned(),
        shape: shape.to_vec(),
        initial,
        next: None,
        history: None,
    };
    let model = CoreModel {
        parameters: vec![
            parameter("x", &[2, 3, 4], ElementType::F32, None),
            parameter("sequence lengths", &[2], ElementType::I64, Some(3)),
            parameter("block", &[1], ElementType::I32, Some(2)),
        ],
        constants: vec![tensor(&[4, 3], 0), tensor(&[2, 2], 1)],
        variables: vec![variable("state/1", &[2, 2], Some(1)), variable("step", &[3], None)],
        results: vec![result("y", &[2, 12]), result("mixed", &[90]), result("integers", &[62])],
        ..CoreModel::default()
    };
    let precisions = Precisions::new(&model, &options.numerics);
    let plan = plan(&model, &options, &precisions);
    let program = program(plan.isas.iter().map(|own| own.isa));
    let packed = pack(&model, &program);
    let interface = Interface::new(&model, &program, name, false, options.output.language);
    let lengths = [[-5.0, 3.0, 7.0], [0.0, 1.0, -1.0], [2.0, 4e9, 1.0]];
    let calls = lengths
        .iter()
        .enumerate()
        .map(|(call, [a, b, c])| vec![numbers(24, call + 2).collect(), vec![*a, *b], vec![*c]]);
    let calls = calls.collect();
    let (header, summary, warnings) =
        (vec![name.to_owned()], vec![name.to_owned()], Diagnostics::default());
    let estimate = Estimate::new(&model, &plan, &program, &packed, &interface);
    let compilation = Compilation {
        options,
        model,
        precisions,
        plan,
        program,
        packed,
        interface,
        description: Description {
            header,
            bounds: Bounds::default(),
            activations: Vec::new(),
            estimate,
        },
        summary,
        warnings,
    };
    Subject { name: name.to_owned(), compilation, calls }
}
