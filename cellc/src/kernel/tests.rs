use super::{
    Base, Body, Buffer, BufferId, Copied, CopiedDim, Element, Encoding, Expr, Kernel, LaneOp,
    Local, Loops, Place, Program, Role, Scalar, ScalarFunction, StepBlock, Stmt, Tiles, Type, Var,
    Walk, WindowId, evaluate, interpret, verify,
};
use crate::pass;

const X: BufferId = BufferId(0);
const WEIGHTS: BufferId = BufferId(1);
const OUT: BufferId = BufferId(2);
const CONSTANT: BufferId = BufferId(3);
const SCRATCH: BufferId = BufferId(4);

fn place(base: Base, offset: usize) -> Place {
    Place { base, offset }
}

fn op(operation: LaneOp, args: Vec<Expr>) -> Expr {
    Expr::Op(operation, args)
}

fn load(from: impl Into<Place>, lanes: usize) -> Expr {
    Expr::Load { from: from.into(), lanes }
}

fn buffer(name: &str, role: Role, len: usize) -> Buffer {
    Buffer { name: name.to_owned(), role, element: Element::F32, len, layout: Vec::new() }
}

fn window(window: usize, name: &str, start: impl Into<Place>, len: usize, written: bool) -> Walk {
    Walk {
        window: WindowId(window),
        name: name.to_owned(),
        start: start.into(),
        len,
        stride: len,
        written,
        reverse: false,
    }
}

fn store(to: impl Into<Place>, value: Expr) -> Stmt {
    Stmt::Store { to: to.into(), value }
}

/// `out[0..4] = 2 sum over k of weights[k] * x[k]`, with the sum in a scratch buffer and doubled by
/// a function, and `out[4] = 1`.
fn program() -> Program {
    let f4 = Type::f32(4);
    let mut kernel = Kernel {
        name: "cell".to_owned(),
        doc: vec!["out = 2 W x".to_owned()],
        params: vec![(X, false), (WEIGHTS, false), (OUT, true)],
        scratch: vec![SCRATCH],
        ..Kernel::default()
    };
    let (sum, element) = (kernel.local("sum", f4), kernel.local("x_k", f4));
    let (row, column) = (WindowId(0), WindowId(1));
    kernel.body = vec![
        Stmt::Comment("the sum".to_owned()),
        Stmt::Let { var: sum, mutable: true, value: Expr::f32(0.0, 4) },
        Stmt::For {
            count: 3,
            counter: None,
            backwards: None,
            walks: vec![
                window(row.0, "row", WEIGHTS, 4, false),
                window(column.0, "x_at", X, 1, false),
            ],
            body: vec![
                Stmt::Let {
                    var: element,
                    mutable: false,
                    value: Expr::Splat { from: column.into(), lanes: 4 },
                },
                Stmt::Set {
                    var: sum,
                    value: op(
                        LaneOp::MulAdd,
                        vec![load(row, 4), Expr::Var(element), Expr::Var(sum)],
                    ),
                },
            ],
        },
        store(SCRATCH, Expr::Var(sum)),
        store(OUT, Expr::Call(0, vec![load(SCRATCH, 4)])),
        store(place(Base::Buffer(OUT), 4), Expr::f32(1.0, 1)),
    ];
    let double = ScalarFunction {
        name: "double".to_owned(),
        doc: vec!["2 x".to_owned()],
        locals: vec![
            Local { name: "x".to_owned(), ty: Type::f32(1) },
            Local { name: "y".to_owned(), ty: Type::f32(1) },
        ],
        params: 1,
        body: vec![Stmt::Let {
            var: Var(1),
            mutable: false,
            value: op(LaneOp::Add, vec![Expr::Var(Var(0)), Expr::Var(Var(0))]),
        }],
        result: Some(Expr::Var(Var(1))),
    };
    let dims = [(3, 1, 4), (4, 3, 1)];
    let dims =
        dims.map(|(extent, from_stride, to_stride)| CopiedDim { extent, from_stride, to_stride });
    Program {
        buffers: vec![
            buffer("x", Role::Parameter(0), 3),
            buffer("weights", Role::Weights, 12),
            buffer("out", Role::Result(0), 5),
            buffer("w", Role::Constant(0), 12),
        ],
        packing: Kernel {
            name: "pack".to_owned(),
            params: vec![(CONSTANT, false), (WEIGHTS, true)],
            body: vec![Stmt::Copy(Copied::new(CONSTANT, WEIGHTS, dims.into()))],
            ..Kernel::default()
        },
        bodies: vec![Body {
            scratch: vec![buffer("sums", Role::Scratch, 4)],
            functions: vec![double],
            kernels: vec![kernel],
            ..Body::default()
        }],
        ..Program::default()
    }
}

#[test]
fn runs_loops_windows_and_functions() {
    let mut memory = vec![
        vec![1.0, 10.0, 100.0],
        vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
        vec![0.0; 5],
        vec![0.0; 12],
    ];
    verify(&program()).expect("a right program");
    interpret(program().body(0), &mut memory);
    assert_eq!(memory[2], [1902.0, 2124.0, 2346.0, 2568.0, 1.0]);
    let mut split = program();
    pass::split(&mut split.bodies[0]);
    verify(&split).expect("a right program");
    interpret(split.body(0), &mut memory);
    assert_eq!(memory[2], [1902.0, 2124.0, 2346.0, 2568.0, 1.0]);
}

#[test]
fn calls_of_one_function_are_gathered() {
    let mut program = program();
    let kernel = &mut program.bodies[0].kernels[0];
    let f1 = Type::f32(1);
    let [a, b, c] = ["a", "b", "c"].map(|name| kernel.local(name, f1));
    let double = |arg: Expr| Expr::Call(0, vec![arg]);
    let at = |offset: usize| Place { offset, ..X.into() };
    let named = |var: Var, value: Expr| Stmt::Let { var, mutable: false, value };
    kernel.params.retain(|(id, _)| *id != WEIGHTS);
    kernel.scratch.clear();
    kernel.body = vec![
        named(a, op(LaneOp::Add, vec![double(load(at(0), 1)), Expr::f32(1.0, 1)])),
        named(b, double(Expr::Var(a))),
        named(c, double(load(at(1), 1))),
        store(place(Base::Buffer(OUT), 0), Expr::Var(b)),
        // a call in a store moves before the stores only if the call has no loads
        store(place(Base::Buffer(OUT), 1), double(Expr::Var(c))),
        store(place(Base::Buffer(OUT), 2), double(load(place(Base::Buffer(OUT), 0), 1))),
        store(place(Base::Buffer(OUT), 3), Expr::f32(0.0, 1)),
        store(place(Base::Buffer(OUT), 4), Expr::f32(0.0, 1)),
    ];
    let mut gathered = program.clone();
    pass::gather(&mut gathered.bodies[0]);
    let run = |program: &Program| {
        verify(program).expect("a right program");
        let mut memory: Vec<_> = program.buffers.iter().map(|b| vec![0.0; b.len]).collect();
        memory[0] = vec![1.0, 10.0, 100.0];
        interpret(program.body(0), &mut memory);
        memory[2].clone()
    };
    assert_eq!(run(&program), [6.0, 40.0, 12.0, 0.0, 0.0]);
    assert_eq!(run(&gathered), run(&program));
    let calls: Vec<_> = gathered.bodies[0].kernels[0]
        .body
        .iter()
        .map(|stmt| match stmt {
            Stmt::Let { value: Expr::Call(..), .. } => 'c',
            Stmt::Let { .. } => 'l',
            Stmt::Store { value, .. } if value.any(&mut |part| matches!(part, Expr::Call(..))) => {
                'C'
            }
            _ => 's',
        })
        .collect();
    // two calls whose operands have no calls, an addition to the result of one, then two calls with
    // operands from calls
    assert_eq!(calls, ['c', 'c', 'l', 'c', 'c', 's', 's', 'C', 's', 's']);
}

#[test]
fn what_is_not_written_shows() {
    let mut program = program();
    program.bodies[0].kernels[0].body.pop();
    let mut memory: Vec<_> = program.buffers.iter().map(|b| vec![0.0; b.len]).collect();
    interpret(program.body(0), &mut memory);
    assert!(memory[2][4].is_nan());
}

/// The printed memory that bodies share, then the printed body.
fn text(program: &Program) -> String {
    format!("{program}\n{}", program.body(0))
}

#[test]
fn prints() {
    let expected = "\
buffer x: parameter 0, 3 f32
buffer weights: weights, 12 f32
buffer out: result 0, 5 f32
buffer w: constant 0, 12 f32

kernel pack(w, mut weights) {
    copy weights[0 + 4i + 1j] = w[0 + 1i + 3j] for i < 3, j < 4
}

buffer sums: scratch, 4 f32

// 2 x
function double(x) {
    let y: f32 = x + x
    y
}

// out = 2 W x
kernel cell(x, weights, mut out) {
    scratch sums
    // the sum
    let mut sum: f32x4 = 0.0
    for 3 iterations of row = weights[0; 4].., x_at = x[0; 1].. {
        let x_k: f32x4 = splat x_at[0]
        sum = fma(row[0; 4], x_k, sum)
    }
    sums[0] = sum
    out[0] = double(sums[0; 4])
    out[4] = 1.0
}
";
    assert_eq!(text(&program()), expected);
    let mut split = program();
    pass::split(&mut split.bodies[0]);
    let split = split.body(0).to_string();
    assert!(split.contains("sum = (row[0; 4] * x_k) + sum\n"), "{split}");
    // a name from the input stays on one line
    let mut hostile = program();
    hostile.buffers[0].name = "a\nkernel \u{202e}".repeat(100_000);
    assert_eq!(text(&hostile).lines().count(), expected.lines().count());
    assert!(text(&hostile).len() < 3000);
}

/// The verifier finds a violation of each rule that [`program`] can break.
#[test]
fn wrong_programs_are_found() {
    type Break = fn(&mut Program);
    fn body(program: &mut Program) -> &mut Vec<Stmt> {
        &mut program.bodies[0].kernels[0].body
    }
    fn packed(program: &mut Program) -> &mut Copied {
        match &mut program.packing.body[0] {
            Stmt::Copy(copied) => copied,
            other => panic!("{other:?}"),
        }
    }
    fn first_loop(program: &mut Program) -> (&mut Vec<Walk>, &mut Vec<Stmt>) {
        match &mut program.bodies[0].kernels[0].body[2] {
            Stmt::For { walks, body, .. } => (walks, body),
            other => panic!("{other:?}"),
        }
    }
    let breaks: &[(&str, Break)] = &[
        ("is empty", |p| p.bodies[0].scratch[0].len = 0),
        ("a second buffer", |p| p.buffers[3].role = Role::Parameter(0)),
        ("not its own scratch", |p| p.bodies[0].kernels[0].scratch = vec![CONSTANT]),
        ("not its own scratch", |p| p.bodies[0].kernels[0].params.push((SCRATCH, true))),
        ("declared twice", |p| p.bodies[0].kernels[0].params.push((X, false))),
        ("no buffer 9", |p| p.bodies[0].kernels[0].params.push((BufferId(9), false))),
        ("elements 1+12 of \"w\"", |p| packed(p).from.offset = 1),
        ("elements 0+14 of \"weights\"", |p| packed(p).dims[0].to_stride = 5),
        ("a copy of nothing", |p| packed(p).dims[0].extent = 0),
        ("a copy of nothing", |p| packed(p).dims[1].from_stride = isize::MAX),
        ("is not in reach", |p| packed(p).to = OUT.into()),
        ("writes buffer \"out\", which is read only", |p| p.packing.params[1].0 = OUT),
        ("from a parameter or a constant to weights", |p| p.packing.params.push((OUT, false))),
        ("it does more than to copy", |p| p.packing.body.push(store(WEIGHTS, Expr::f32(0.0, 1)))),
        ("it adds to what is not written", |p| packed(p).add = true),
        ("it adds to what is not written", |p| {
            let mut again = packed(p).clone();
            again.add = true;
            again.dims.pop();
            p.packing.body.push(Stmt::Copy(again));
        }),
        ("a copy of i8 into \"weights\", which holds f32", |p| packed(p).encoding = Encoding::Int8),
        ("words that do not hold two elements", |p| packed(p).words = Some(1)),
        ("words that do not hold two elements", |p| {
            packed(p).encoding = Encoding::Int16Pair;
            packed(p).words = Some(1 << 20);
        }),
        ("adds or encodes, and does not pack", |p| {
            let copied = Copied { add: true, ..Copied::new(X, OUT, Vec::new()) };
            body(p).push(Stmt::Copy(copied));
        }),
        ("arguments, the first of its locals", |p| p.bodies[0].functions[0].params = 0),
        ("scalar", |p| p.bodies[0].functions[0].locals[1].ty = Type::f32(4)),
        ("a body without a result", |p| p.bodies[0].functions[0].result = None),
        ("no memory", |p| p.bodies[0].functions[0].result = Some(load(X, 1))),
        ("a function that calls", |p| {
            p.bodies[0].functions[0].result = Some(Expr::Call(0, vec![Expr::Var(Var(1))]))
        }),
        ("not a scalar f32", |p| {
            p.bodies[0].functions[0].result = Some(op(LaneOp::ToBits, vec![Expr::Var(Var(1))]))
        }),
        ("Let and Comment only", |p| {
            p.bodies[0].functions[0].body.push(store(OUT, Expr::f32(0.0, 1)))
        }),
        ("\"y\" is not used", |p| p.bodies[0].functions[0].result = Some(Expr::Var(Var(0)))),
        ("no kernel calls", |p| body(p)[4] = store(OUT, load(SCRATCH, 4))),
        ("no kernel calls", |p| {
            let again = p.bodies[0].functions[0].clone();
            p.bodies[0].functions.push(again);
        }),
        ("takes 1 arguments, not 2", |p| {
            body(p)[4] = store(OUT, Expr::Call(0, vec![Expr::f32(0.0, 4); 2]))
        }),
        ("no function 1", |p| body(p)[4] = store(OUT, Expr::Call(1, vec![load(SCRATCH, 4)]))),
        ("called with", |p| body(p)[4] = store(OUT, Expr::Call(0, vec![Expr::u32(0, 4)]))),
        ("writes buffer \"x\", which is read only", |p| p.bodies[0].kernels[0].params[0].1 = true),
        ("declared and not used", |p| p.bodies[0].kernels[0].params.push((CONSTANT, false))),
        ("declared as written and is not", |p| {
            body(p)[3] = store(OUT, Expr::Var(Var(0)));
        }),
        ("which is read only", |p| p.bodies[0].kernels[0].params[2].1 = false),
        ("no kernel writes buffer \"out\"", |p| p.bodies[0].kernels.clear()),
        ("is not in reach", |p| body(p).push(store(CONSTANT, Expr::f32(0.0, 1)))),
        ("is not in reach", |p| body(p).push(store(OUT, load(WindowId(0), 1)))),
        ("elements 2+4", |p| {
            body(p)[3] = store(place(Base::Buffer(SCRATCH), 2), Expr::Var(Var(0)))
        }),
        ("elements 0+15", |p| {
            let walk = &mut first_loop(p).0[0];
            (walk.len, walk.stride) = (5, 5);
        }),
        ("elements 0+13", |p| first_loop(p).0[0].len = 5),
        ("elements 0+14", |p| first_loop(p).0[0].stride = 5),
        ("elements", |p| first_loop(p).0[0].start.offset = usize::MAX),
        ("too long", |p| first_loop(p).0[0].len = usize::MAX),
        ("is empty", |p| first_loop(p).0[0].len = 0),
        ("a loop of 0 iterations", |p| {
            let Stmt::For { count, .. } = &mut body(p)[2] else { panic!("a loop") };
            *count = 0;
        }),
        ("is bound already", |p| first_loop(p).0[1].window = WindowId(0)),
        ("is not used", |p| {
            let walk = Walk { window: WindowId(2), ..first_loop(p).0[0].clone() };
            first_loop(p).0.push(walk);
        }),
        ("is said to be written and is not", |p| {
            first_loop(p).0.push(window(2, "", OUT, 1, true));
            first_loop(p).1.push(Stmt::Set {
                var: Var(0),
                value: Expr::Splat { from: WindowId(2).into(), lanes: 4 },
            });
        }),
        ("which is read only or walked already", |p| first_loop(p).0[0].written = true),
        ("while a loop writes it", |p| {
            first_loop(p).0.extend(
                [(2, true), (3, false)].map(|(id, written)| window(id, "", OUT, 1, written)),
            );
        }),
        ("which is read only or walked already", |p| {
            first_loop(p).0.extend(
                [(2, false), (3, true)].map(|(id, written)| window(id, "", OUT, 1, written)),
            );
        }),
        ("a store into \"out\" while a loop walks it", |p| {
            first_loop(p).0.push(window(2, "", OUT, 1, false));
            first_loop(p).1.push(store(OUT, load(WindowId(2), 1)));
        }),
        ("an access to \"out\" while a loop writes it", |p| {
            first_loop(p).0.push(window(2, "", OUT, 1, true));
            first_loop(p).1.push(store(WindowId(2), load(OUT, 1)));
        }),
        ("\"x_k\" is used out of its scope", |p| body(p)[3] = store(SCRATCH, Expr::Var(Var(1)))),
        ("\"sum\" is used out of its scope", |p| drop(body(p).remove(1))),
        ("is defined twice", |p| {
            let again = body(p)[1].clone();
            body(p).insert(1, again);
        }),
        ("no local 7", |p| {
            body(p).push(Stmt::Let { var: Var(7), mutable: false, value: Expr::f32(0.0, 1) })
        }),
        ("is set and is no accumulator in scope", |p| {
            body(p)[1] = Stmt::Let { var: Var(0), mutable: false, value: Expr::f32(0.0, 4) };
        }),
        ("is an accumulator and is never set", |p| drop(body(p).remove(2))),
        ("its value f32x8", |p| {
            body(p)[1] = Stmt::Let { var: Var(0), mutable: true, value: Expr::f32(0.0, 8) }
        }),
        ("its new value f32", |p| {
            first_loop(p).1[1] = Stmt::Set { var: Var(0), value: load(WindowId(0), 1) }
        }),
        ("a store of u32", |p| body(p).push(store(OUT, Expr::u32(0, 1)))),
        ("0 lanes", |p| body(p).push(store(OUT, Expr::f32(0.0, 0)))),
        ("0 lanes", |p| body(p).push(store(OUT, load(OUT, 0)))),
        ("a shift by 32", |p| {
            body(p).push(store(OUT, op(LaneOp::ShiftLeft(32), vec![Expr::u32(0, 1)])))
        }),
        ("Add of", |p| {
            body(p).push(store(OUT, op(LaneOp::Add, vec![Expr::f32(0.0, 1), Expr::f32(0.0, 2)])))
        }),
        ("Xor of", |p| {
            body(p).push(store(OUT, op(LaneOp::Xor, vec![Expr::f32(0.0, 1), Expr::f32(0.0, 1)])))
        }),
        ("Mul of", |p| body(p).push(store(OUT, op(LaneOp::Mul, vec![Expr::f32(0.0, 1)])))),
    ];
    for (expected, wrong) in breaks {
        let mut program = program();
        wrong(&mut program);
        match verify(&program) {
            Ok(()) => panic!("not found: {expected}"),
            Err(problem) => {
                assert!(problem.contains(expected), "expected {expected:?}, found {problem:?}")
            }
        }
    }
}

const LENGTHS: BufferId = BufferId(0);
const STEPS: BufferId = BufferId(1);
const STATE: BufferId = BufferId(2);
const BACKWARDS: BufferId = BufferId(3);
const TURNED: BufferId = BufferId(4);
const LIMITS: BufferId = BufferId(5);
const FIRST: BufferId = BufferId(6);
const SECOND: BufferId = BufferId(7);
const THIRD: BufferId = BufferId(8);

fn less(a: Expr, b: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    Stmt::If { less: (a, b), then, otherwise }
}

/// A program with the features that [`program`] lacks. A loop walks the rows of `steps` [3, 2] from
/// the last to the first. The first `lengths` iterations add their rows; every other iteration adds
/// 100 unless the iteration's number is below the limit less 5. A variable accumulates the sum
/// twice per step. In the block of the three kernels, two of three buffers share a place.
fn stateful() -> Program {
    let count = Type { scalar: Scalar::U32, lanes: 1 };
    let add = |a, b| op(LaneOp::Add, vec![a, b]);
    let kernel = |name: &str, params: &[(BufferId, bool)]| Kernel {
        name: name.to_owned(),
        params: params.to_vec(),
        ..Kernel::default()
    };
    let mut last =
        kernel("last", &[(LENGTHS, false), (LIMITS, false), (STEPS, false), (FIRST, true)]);
    let [length, limit, t, sum] =
        [("length", count), ("limit", count), ("t", count), ("sum", Type::f32(2))]
            .map(|(n, ty)| last.local(n, ty));
    let number = |var| Expr::Var(var);
    last.body = vec![
        Stmt::Let {
            var: length,
            mutable: false,
            value: Expr::Length { from: LENGTHS.into(), least: 0, most: 3 },
        },
        Stmt::Let {
            var: limit,
            mutable: false,
            value: Expr::Length { from: Place::from(LIMITS).at(1), least: 0, most: 9 },
        },
        Stmt::Let { var: sum, mutable: true, value: Expr::f32(0.0, 2) },
        Stmt::For {
            count: 3,
            counter: Some(t),
            backwards: None,
            walks: vec![Walk { reverse: true, ..window(0, "step", STEPS, 2, false) }],
            body: vec![less(
                number(t),
                number(length),
                vec![Stmt::Set { var: sum, value: add(Expr::Var(sum), load(WindowId(0), 2)) }],
                vec![less(
                    number(t),
                    op(LaneOp::WrappingSub, vec![number(limit), Expr::u32(5, 1)]),
                    Vec::new(),
                    vec![Stmt::Set { var: sum, value: add(Expr::Var(sum), Expr::f32(100.0, 2)) }],
                )],
            )],
        },
        store(FIRST, number(sum)),
    ];
    let mut turned = kernel("turned", &[(STEPS, false), (FIRST, false), (SECOND, true)]);
    let copied = |from: Place, to: Place, dims: &[(usize, isize, usize)]| {
        let dim = |&(extent, from_stride, to_stride)| CopiedDim { extent, from_stride, to_stride };
        Stmt::Copy(Copied::new(from, to, dims.iter().map(dim).collect()))
    };
    turned.body = vec![
        // [3, 2] to [2, 3], steps backwards
        copied(Place::from(STEPS).at(4), SECOND.into(), &[(2, 1, 3), (3, -2, 1)]),
        copied(FIRST.into(), Place::from(SECOND).at(6), &[(2, 1, 1)]),
    ];
    let mut keep = kernel(
        "keep",
        &[(SECOND, false), (THIRD, true), (STATE, true), (BACKWARDS, true), (TURNED, true)],
    );
    keep.body = vec![
        copied(Place::from(SECOND).at(6), THIRD.into(), &[(2, 0, 2), (2, 1, 1)]),
        copied(Place::from(SECOND).at(7), Place::from(THIRD).at(4), &[(3, 0, 1)]),
        Stmt::repeat(2, Vec::new(), vec![store(STATE, add(load(STATE, 2), load(THIRD, 2)))]),
        copied(SECOND.into(), TURNED.into(), &[(2, 3, 3), (3, 1, 1)]),
        copied(Place::from(THIRD).at(6), Place::from(BACKWARDS).at(1), &[(7, -1, 1)]),
        copied(STATE.into(), BACKWARDS.into(), &[]),
    ];
    let scratch = [("first", 2), ("second", 8), ("third", 7)]
        .map(|(name, len)| buffer(name, Role::Scratch, len));
    let buffers = vec![
        Buffer { element: Element::I64, ..buffer("lengths", Role::Parameter(0), 1) },
        buffer("steps", Role::Parameter(1), 6),
        buffer("state", Role::Variable(0), 2),
        buffer("backwards", Role::Result(0), 8),
        buffer("turned", Role::Result(1), 6),
        Buffer { element: Element::U32, ..buffer("limits", Role::Table, 2) },
    ];
    let body = Body {
        scratch: scratch.into(),
        kernels: vec![last, turned, keep],
        block: vec![(FIRST, 0), (SECOND, 16), (THIRD, 0)],
        block_len: 32,
        ..Body::default()
    };
    Program {
        alignment: 64,
        buffers,
        tables: vec![(LIMITS, vec![0, 7])],
        bodies: vec![body],
        ..Program::default()
    }
}

/// The contents of `state`, `backwards` and `turned` after each of two steps of [`stateful`].
fn run_stateful(program: &Program, length: f32) -> [[Vec<f32>; 3]; 2] {
    let mut memory: Vec<Vec<f32>> = program.buffers.iter().map(|b| vec![0.0; b.len]).collect();
    memory[LENGTHS.0] = vec![length];
    memory[STEPS.0] = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    [(); 2].map(|()| {
        interpret(program.body(0), &mut memory);
        [STATE, BACKWARDS, TURNED].map(|id| memory[id.0].clone())
    })
}

#[test]
fn turns_conditions_copies_lengths_variables_and_the_block() {
    let program = stateful();
    verify(&program).expect("a right program");
    // iteration 2 adds 100 unless its row counts, as 2 is not below the limit 7 - 5
    for (length, sum) in [
        (-3.0, [100.0, 100.0]),
        (1.0, [105.0, 106.0]),
        (2.0, [108.0, 110.0]),
        (3.0, [9.0, 12.0]),
        (7e9, [9.0, 12.0]),
    ] {
        let [first, second] = run_stateful(&program, length);
        let [a, b] = sum;
        assert_eq!(first[0], [2.0 * a, 2.0 * b], "length {length}");
        assert_eq!(second[0], [4.0 * a, 4.0 * b], "length {length}");
        assert_eq!(first[1], [2.0 * a, b, b, b, b, a, b, a]);
        assert_eq!(first[2], [5.0, 3.0, 1.0, 6.0, 4.0, 2.0]);
    }
    // the block is one memory: live values must not be overwritten
    let mut overwritten = stateful();
    overwritten.bodies[0].block[1].1 = 0;
    overwritten.bodies[0].kernels[1].params.retain(|(id, _)| *id != FIRST);
    overwritten.bodies[0].kernels[1].body.truncate(1);
    overwritten.bodies[0].kernels[2].params[0].0 = FIRST;
    overwritten.bodies[0].kernels[2].body.truncate(0);
    overwritten.bodies[0].kernels[2].params =
        vec![(FIRST, false), (STATE, true), (BACKWARDS, true), (TURNED, true)];
    overwritten.bodies[0].kernels[2].body = [(STATE, 2), (BACKWARDS, 2), (TURNED, 2)]
        .map(|(to, lanes)| store(to, load(FIRST, lanes)))
        .into();
    verify(&overwritten).expect("a program that computes something else");
    assert_eq!(run_stateful(&overwritten, 3.0)[0][0], [5.0, 3.0]);
}

/// [`stateful`] with a loop that ends after the first iteration whose number is not below the
/// length.
fn left() -> Program {
    let mut program = stateful();
    let Stmt::For { counter: Some(t), body, .. } = &mut program.bodies[0].kernels[0].body[3] else {
        panic!("a loop")
    };
    body.push(Stmt::LeaveUnless { less: (Expr::Var(*t), Expr::Var(Var(0))) });
    program
}

#[test]
fn loops_are_left() {
    let program = left();
    let mut unrolled = left();
    unrolled.bodies[0].kernels[0].loops = Loops::Unrolled;
    pass::unroll(&mut unrolled.bodies[0]);
    for program in [program, unrolled] {
        verify(&program).expect("a right program");
        for (length, sum) in
            [(-3.0, [0.0, 0.0]), (1.0, [5.0, 6.0]), (2.0, [108.0, 110.0]), (3.0, [9.0, 12.0])]
        {
            assert_eq!(
                run_stateful(&program, length)[0][0],
                sum.map(|sum| 2.0 * sum),
                "length {length}"
            );
        }
        assert!(text(&program).contains("        leave unless t"), "{}", text(&program));
    }
}

#[test]
fn what_leaves_no_loop_is_found() {
    type Break = fn(&mut Vec<Stmt>);
    fn body(all: &mut [Stmt]) -> &mut Vec<Stmt> {
        match &mut all[3] {
            Stmt::For { body, .. } => body,
            other => panic!("{other:?}"),
        }
    }
    let breaks: [(&str, Break); 4] = [
        ("where its body does not end", |all| body(all).swap(0, 1)),
        ("where its body does not end", |all| {
            let leave = body(all).pop().expect("the last statement");
            all.push(leave);
        }),
        ("where its body does not end", |all| {
            let leave = body(all).pop().expect("the last statement");
            let count = Type { scalar: Scalar::U32, lanes: 1 };
            body(all).push(less(
                Expr::u32(0, 1),
                Expr::Const { bits: 1, ty: count },
                vec![leave],
                Vec::new(),
            ));
        }),
        ("compares two u32", |all| {
            *body(all).last_mut().expect("a statement") =
                Stmt::LeaveUnless { less: (Expr::f32(0.0, 1), Expr::Var(Var(0))) };
        }),
    ];
    for (wanted, change) in breaks {
        let mut program = left();
        change(&mut program.bodies[0].kernels[0].body);
        let found = verify(&program).expect_err(wanted);
        assert!(found.contains(wanted), "{found}, not {wanted}");
    }
}

#[test]
fn prints_what_is_stateful() {
    let expected = "\
buffer lengths: parameter 0, 1 i64
buffer steps: parameter 1, 6 f32
buffer state: variable 0, 2 f32
buffer backwards: result 0, 8 f32
buffer turned: result 1, 6 f32
buffer limits: table, 2 u32
table limits = [0, 7]

buffer first: scratch, 2 f32
buffer second: scratch, 8 f32
buffer third: scratch, 7 f32
block of 32 f32: first at 0, second at 16, third at 0

kernel last(lengths, limits, steps, mut first) {
    let length: u32 = length(lengths[0], 3)
    let limit: u32 = length(limits[1], 9)
    let mut sum: f32x2 = 0.0
    for 3 iterations as t of step = steps[0; 2].. from the last {
        if t < length {
            sum = sum + step[0; 2]
        } else {
            if t < limit - 0x5 {
            } else {
                sum = sum + 100.0
            }
        }
    }
    first[0] = sum
}

kernel turned(steps, first, mut second) {
    copy second[0 + 3i + 1j] = steps[4 + 1i - 2j] for i < 2, j < 3
    copy second[6 + 1i] = first[0 + 1i] for i < 2
}

kernel keep(second, mut third, mut state, mut backwards, mut turned) {
    copy third[0 + 2i + 1j] = second[6 + 0i + 1j] for i < 2, j < 2
    copy third[4 + 1i] = second[7 + 0i] for i < 3
    for 2 iterations {
        state[0] = state[0; 2] + third[0; 2]
    }
    copy turned[0 + 3i + 1j] = second[0 + 3i + 1j] for i < 2, j < 3
    copy backwards[1 + 1i] = third[6 - 1i] for i < 7
    copy backwards[0] = state[0]
}
";
    assert_eq!(text(&stateful()), expected);
}

/// The verifier finds a violation of each rule that [`stateful`] touches.
#[test]
fn wrong_stateful_programs_are_found() {
    type Break = fn(&mut Program);
    fn copied(p: &mut Program, kernel: usize, at: usize) -> &mut Copied {
        match &mut p.bodies[0].kernels[kernel].body[at] {
            Stmt::Copy(copied) => copied,
            other => panic!("{other:?}"),
        }
    }
    fn length(p: &mut Program) -> (&mut Place, &mut usize) {
        match &mut p.bodies[0].kernels[0].body[0] {
            Stmt::Let { value: Expr::Length { from, most, .. }, .. } => (from, most),
            other => panic!("{other:?}"),
        }
    }
    let breaks: &[(&str, Break)] = &[
        ("a Parameter(0) of u32", |p| p.buffers[0].element = Element::U32),
        ("a Table of f32", |p| p.buffers[5].element = Element::F32),
        ("a Result(1) of f16", |p| p.buffers[4].element = Element::F16),
        ("a Variable(0) of one body alone", |p| p.bodies[0].scratch[1].role = Role::Variable(0)),
        ("a Scratch that all bodies share", |p| p.buffers[1].role = Role::Scratch),
        ("no buffer for these 3 values", |p| p.tables[0].1.push(0)),
        ("of several steps is not in the block", |p| {
            let (kernels, input, output) = (1, BufferId(0), BufferId(0));
            p.bodies[0].step_block = Some(StepBlock { kernels, input, output });
        }),
        ("no buffer for these 2 values", |p| p.tables.push(p.tables[0].clone())),
        ("no buffer for these 2 values", |p| p.tables[0].0 = STEPS),
        ("no buffer 77", |p| p.tables[0].0 = BufferId(77)),
        ("has no contents", |p| p.tables.clear()),
        ("has no place in the block", |p| p.bodies[0].block[0].0 = STEPS),
        ("has no place in the block", |p| p.bodies[0].block.push((FIRST, 16))),
        ("has no place in the block", |p| {
            p.bodies[0].scratch.push(buffer("own", Role::Scratch, 1));
            p.bodies[0].kernels[2].scratch.push(BufferId(9));
            p.bodies[0].block.push((BufferId(9), 16));
        }),
        ("no buffer 77", |p| p.bodies[0].block.push((BufferId(77), 0))),
        ("outlives it", |p| assert!(p.bodies[0].block.pop().is_some())),
        ("is not inside the block", |p| p.bodies[0].block[0].1 = 8),
        ("is not inside the block", |p| p.bodies[0].block[1].1 = 32),
        ("is not inside the block", |p| p.bodies[0].block[1].1 = usize::MAX - 15),
        ("share a place", |p| p.bodies[0].block[2].1 = 16),
        ("holds i64, read as f32", |p| {
            p.bodies[0].kernels[0].body[2] =
                Stmt::Let { var: Var(3), mutable: true, value: load(LENGTHS, 1) }
        }),
        ("which holds f32", |p| *length(p).0 = STEPS.into()),
        ("elements 1+1", |p| *length(p).0 = Place::from(LENGTHS).at(1)),
        ("a length of up to", |p| *length(p).1 = 1 << 31),
        ("\"t\" is f32x2, its value u32", |p| p.bodies[0].kernels[0].locals[2].ty = Type::f32(2)),
        ("\"t\" is not used", |p| {
            let Stmt::For { body, .. } = &mut p.bodies[0].kernels[0].body[3] else {
                panic!("a loop")
            };
            *body = vec![Stmt::Set { var: Var(3), value: load(WindowId(0), 2) }];
        }),
        ("compares two u32", |p| {
            p.bodies[0].kernels[0].body.push(less(
                Expr::f32(0.0, 1),
                Expr::u32(0, 1),
                vec![store(FIRST, Expr::f32(0.0, 1))],
                Vec::new(),
            ));
        }),
        ("compares two u32", |p| {
            p.bodies[0].kernels[0].body.push(less(
                Expr::u32(0, 2),
                Expr::u32(0, 2),
                vec![store(FIRST, Expr::f32(0.0, 1))],
                Vec::new(),
            ));
        }),
        ("nothing depends", |p| {
            p.bodies[0].kernels[0].body.push(less(
                Expr::u32(0, 1),
                Expr::u32(1, 1),
                Vec::new(),
                Vec::new(),
            ))
        }),
        ("out of its scope", |p| {
            let value = Stmt::Let { var: Var(4), mutable: false, value: Expr::f32(0.0, 1) };
            p.bodies[0].kernels[0].locals.push(Local { name: "v".to_owned(), ty: Type::f32(1) });
            let used = store(FIRST, Expr::Var(Var(4)));
            p.bodies[0].kernels[0].body.push(less(
                Expr::u32(0, 1),
                Expr::u32(1, 1),
                vec![value, used.clone()],
                vec![used],
            ));
        }),
        ("a copy within one buffer", |p| copied(p, 1, 0).from = Place::from(SECOND).at(4)),
        ("a store into \"steps\", which is read only", |p| copied(p, 1, 1).to = STEPS.into()),
        ("a copy of nothing", |p| copied(p, 1, 0).dims[0].extent = 0),
        ("a copy of nothing", |p| copied(p, 1, 0).from.offset = 3),
        ("a copy of nothing", |p| copied(p, 1, 0).dims[0].to_stride = usize::MAX),
        ("elements 1+6 of \"steps\"", |p| copied(p, 1, 0).from.offset = 5),
        ("elements 6+3 of \"second\"", |p| copied(p, 1, 1).dims[0].to_stride = 2),
        ("writes an element twice", |p| copied(p, 1, 0).dims[0].to_stride = 0),
        ("holds i64, read as f32", |p| {
            p.bodies[0].kernels[0].body.push(Stmt::Copy(Copied::new(LENGTHS, FIRST, Vec::new())));
        }),
    ];
    for (expected, wrong) in breaks {
        let mut program = stateful();
        wrong(&mut program);
        match verify(&program) {
            Ok(()) => panic!("not found: {expected}"),
            Err(problem) => {
                assert!(problem.contains(expected), "expected {expected:?}, found {problem:?}")
            }
        }
    }
}

/// `sums = x` by two concurrent kernels, then `out = [x0, x0, x1, x2, x2]` by two more.
fn halves() -> Program {
    const PART: BufferId = BufferId(2);
    let kernel =
        |name: &str, params: &[(BufferId, bool)], concurrent: bool, body: Vec<Stmt>| Kernel {
            name: name.to_owned(),
            params: params.to_vec(),
            body,
            concurrent,
            ..Kernel::default()
        };
    let part = |name: &str, whole: usize, at: usize, len: usize| {
        buffer(name, Role::Part { whole: BufferId(whole), at }, len)
    };
    let splat = |from: usize, at: usize, lanes: usize| Expr::Splat {
        from: place(Base::Buffer(BufferId(from)), at),
        lanes,
    };
    let [first, second, sums_first, sums_second] = [PART, BufferId(3), BufferId(5), BufferId(6)];
    let body = Body {
        scratch: vec![
            part("first", 1, 0, 2),
            part("second", 1, 2, 3),
            buffer("sums", Role::Scratch, 3),
            part("sums_first", 4, 0, 1),
            part("sums_second", 4, 1, 2),
        ],
        kernels: vec![
            kernel(
                "keep_here",
                &[(X, false), (sums_first, true)],
                false,
                vec![store(sums_first, load(X, 1))],
            ),
            kernel(
                "keep_there",
                &[(X, false), (sums_second, true)],
                true,
                vec![store(sums_second, load(place(Base::Buffer(X), 1), 2))],
            ),
            kernel(
                "here",
                &[(BufferId(4), false), (first, true)],
                false,
                vec![store(first, splat(4, 0, 2))],
            ),
            kernel(
                "there",
                &[(BufferId(4), false), (second, true)],
                true,
                vec![
                    store(place(Base::Buffer(second), 1), splat(4, 2, 2)),
                    store(second, splat(4, 1, 1)),
                ],
            ),
        ],
        block: vec![(BufferId(4), 0)],
        block_len: 16,
        ..Body::default()
    };
    Program {
        buffers: vec![buffer("x", Role::Parameter(0), 3), buffer("out", Role::Result(0), 5)],
        bodies: vec![body],
        ..Program::default()
    }
}

#[test]
fn halves_write_parts_of_a_buffer() {
    let mut memory = vec![vec![1.0, 10.0, 100.0], vec![0.0; 5]];
    verify(&halves()).expect("a right program");
    interpret(halves().body(0), &mut memory);
    assert_eq!(memory[1], [1.0, 1.0, 10.0, 100.0, 100.0]);
}

type Broken = (&'static str, fn(&mut Program));

#[test]
fn finds_what_halves_must_not_share() {
    let breaks: Vec<Broken> = vec![
        // parts overlap, leave a gap, or reach outside their buffer
        ("\"first\" is written where \"second\" is used", |p| {
            p.bodies[0].scratch[1] = buffer("second", Role::Part { whole: BufferId(1), at: 1 }, 4)
        }),
        ("no kernel writes buffer \"out\"", |p| p.buffers[1].len = 6),
        ("no kernel writes buffer \"out\"", |p| {
            p.buffers[1].len = 6;
            p.bodies[0].scratch[1].role = Role::Part { whole: BufferId(1), at: 3 };
        }),
        ("is no part of", |p| {
            p.bodies[0].scratch[1].role = Role::Part { whole: BufferId(1), at: 3 }
        }),
        ("is no part of", |p| {
            p.bodies[0].scratch[1].role = Role::Part { whole: BufferId(1), at: usize::MAX }
        }),
        ("is no part of", |p| p.bodies[0].scratch[1].role = Role::Part { whole: X, at: 0 }),
        ("is no part of", |p| {
            p.bodies[0].scratch[1].role = Role::Part { whole: BufferId(2), at: 0 }
        }),
        // one kernel reads what the other writes: in one buffer, or in two buffers that overlap in
        // the block
        ("is written where \"sums\" is used", |p| {
            for (kernel, concurrent) in
                p.bodies[0].kernels.iter_mut().zip([false, false, true, false])
            {
                kernel.concurrent = concurrent;
            }
        }),
        ("is written where \"other\" is used", |p| {
            p.bodies[0].scratch.push(buffer("other", Role::Scratch, 3));
            p.bodies[0].block.push((BufferId(7), 0));
            p.bodies[0].kernels[1].params[0] = (BufferId(7), false);
            p.bodies[0].kernels[1].body = vec![store(BufferId(6), load(BufferId(7), 2))];
        }),
        ("at the same time", |p| p.bodies[0].kernels[0].concurrent = true),
        ("at the same time", |p| {
            p.bodies[0].kernels.swap(1, 2);
            p.bodies[0].kernels[1].concurrent = true;
        }),
        ("outlives it and has no place in the block", |p| p.bodies[0].block.clear()),
    ];
    for (expected, wrong) in breaks {
        let mut program = halves();
        wrong(&mut program);
        match verify(&program) {
            Ok(()) => panic!("not found: {expected}"),
            Err(problem) => {
                assert!(problem.contains(expected), "expected {expected:?}, found {problem:?}")
            }
        }
    }
}

/// Applies an operation to lanes of f32.
fn apply(operation: LaneOp, args: &[&[f32]]) -> Vec<f32> {
    let locals = args.iter().map(|_| Local { name: "x".to_owned(), ty: Type::f32(1) }).collect();
    let operands = (0..args.len()).map(|i| Expr::Var(Var(i))).collect();
    let result = Some(op(operation, operands));
    let (name, doc) = (String::new(), Vec::new());
    evaluate(
        &ScalarFunction { name, doc, locals, params: args.len(), body: Vec::new(), result },
        args,
    )
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Sums for two rows of three words each and two panels of two columns each.
fn tiled() -> Program {
    let tiles = Tiles {
        elements: place(Base::Buffer(X), 1),
        weights: place(Base::Buffer(WEIGHTS), 1),
        to: place(Base::Buffer(SCRATCH), 1),
        rows: 2,
        words: 3,
        in_word: 4,
        abreast: 1,
        step: 2,
        columns: 2,
        panels: 2,
        stride: 7,
        pitch: 5,
    };
    let whole = |at| {
        op(
            LaneOp::FromSigned,
            vec![op(LaneOp::ToBits, vec![load(place(Base::Buffer(SCRATCH), at), 4)])],
        )
    };
    let stores = [(0, 1), (4, 6)].map(|(to, at)| store(place(Base::Buffer(OUT), to), whole(at)));
    let kernel = Kernel {
        name: "tiled".to_owned(),
        params: vec![(X, false), (WEIGHTS, false), (OUT, true)],
        scratch: vec![SCRATCH],
        body: [Stmt::Tiles(tiles)].into_iter().chain(stores).collect(),
        ..Kernel::default()
    };
    let copied = Copied::new(
        CONSTANT,
        WEIGHTS,
        vec![CopiedDim { extent: 14, from_stride: 1, to_stride: 1 }],
    );
    Program {
        buffers: vec![
            buffer("x", Role::Parameter(0), 7),
            buffer("weights", Role::Weights, 14),
            buffer("out", Role::Result(0), 8),
            buffer("w", Role::Constant(0), 14),
        ],
        packing: Kernel { body: vec![Stmt::Copy(copied)], ..program().packing },
        bodies: vec![Body {
            scratch: vec![buffer("sums", Role::Scratch, 10)],
            kernels: vec![kernel],
            ..Body::default()
        }],
        ..Program::default()
    }
}

#[test]
fn tiles_are_sums_of_products_of_bytes() {
    let word = |bytes: [i8; 4]| f32::from_bits(u32::from_le_bytes(bytes.map(i8::cast_unsigned)));
    let x = [9, 1, 2, 3, -1, 0, 127].map(|number| word([number, 1, 0, -1]));
    let weights: Vec<f32> = (0..14).map(|at| word([at, at - 7, 50, -at])).collect();
    let mut memory = vec![x.to_vec(), weights, vec![0.0; 8], vec![0.0; 14]];
    verify(&tiled()).expect("a right program");
    interpret(tiled().body(0), &mut memory);
    // the sum of a row and a column: for each word, x times `at` plus twice `at` less 7
    let sum = |row: [i16; 3], first: i16| -> f32 {
        row.into_iter()
            .zip([0, 2, 4])
            .map(|(x, k)| x * (first + k) + 2 * (first + k) - 7)
            .map(f32::from)
            .sum()
    };
    let of_row = |row: [i16; 3]| [1, 2, 8, 9].map(|first| sum(row, first));
    assert_eq!(memory[2], [of_row([1, 2, 3]), of_row([-1, 0, 127])].concat());
    let expected = "tiles sums[1 + 5i + 2j + l] = sum of dot_quads(weights[1 + 7j + 2k + l], x[1 + 3i + k]) \
        for i < 2, j < 2, l < 2, k < 3\n";
    assert!(text(&tiled()).contains(expected), "{}", text(&tiled()));
}

#[test]
fn words_of_a_column_stand_abreast() {
    let mut program = tiled();
    let Stmt::Tiles(tiles) = &mut program.bodies[0].kernels[0].body[0] else {
        panic!("tiles come first")
    };
    *tiles = Tiles {
        rows: 1,
        words: 4,
        in_word: 2,
        abreast: 2,
        step: 5,
        panels: 1,
        stride: 9,
        ..tiles.clone()
    };
    let word = |pair: [i16; 2]| {
        f32::from_bits(pair[0].cast_unsigned() as u32 | (pair[1].cast_unsigned() as u32) << 16)
    };
    let x = [9, 1, 2, 3, -1, 0, 127].map(|number| word([number, -number]));
    let weights: Vec<f32> = (0..14).map(|at| word([at, 300])).collect();
    let mut memory = vec![x.to_vec(), weights, vec![0.0; 8], vec![0.0; 14]];
    verify(&program).expect("a right program");
    interpret(program.body(0), &mut memory);
    // the columns have their words at 1, 2, 6, 7 and at 3, 4, 8, 9; the second halves take 300
    // times 5 from each sum
    let sum = |at: [i16; 4]| {
        f32::from([1, 2, 3, -1].into_iter().zip(at).map(|(x, at)| x * at).sum::<i16>() - 1500)
    };
    assert_eq!(memory[2][..2], [sum([1, 2, 6, 7]), sum([3, 4, 8, 9])]);
    let expected = "sums[1 + 5i + 2j + l] = sum of dot_pairs(weights[1 + 9j + 5(k / 2) + 2l + k % 2], x[1 + 4i + k]) \
        for i < 1, j < 1, l < 2, k < 4\n";
    assert!(text(&program).contains(expected), "{}", text(&program));
}

#[test]
fn wrong_tiles_are_found() {
    type Break = fn(&mut Tiles);
    let breaks: &[(&str, Break)] = &[
        ("sums of nothing", |tiles| tiles.words = 0),
        ("sums of nothing", |tiles| tiles.panels = 0),
        ("or of more than there can be", |tiles| tiles.rows = usize::MAX),
        ("words of 3 elements", |tiles| tiles.in_word = 3),
        ("2 abreast of 3", |tiles| tiles.abreast = 2),
        ("0 abreast", |tiles| tiles.abreast = 0),
        ("1 abreast of 3", |tiles| tiles.step = 0),
        ("sums that are written twice", |tiles| tiles.pitch = 3),
        ("within what they are made of", |tiles| tiles.to = X.into()),
        ("elements 2+6 of \"x\"", |tiles| tiles.elements.offset = 2),
        ("elements 1+14 of \"weights\"", |tiles| tiles.stride = 8),
        ("elements 1+10 of \"sums\"", |tiles| tiles.pitch = 6),
    ];
    for (expected, wrong) in breaks {
        let mut program = tiled();
        let Stmt::Tiles(tiles) = &mut program.bodies[0].kernels[0].body[0] else {
            panic!("tiles come first")
        };
        wrong(tiles);
        let problem = verify(&program).expect_err(expected);
        assert!(problem.contains(expected), "expected {expected:?}, found {problem:?}");
    }
}

#[test]
fn operations_do_what_they_say() {
    let (nan, a, b) = (f32::NAN, [1.0, 2.0, -0.0, 0.0], [2.0, 1.0, 0.0, -0.0]);
    assert_eq!(bits(&apply(LaneOp::Max, &[&a, &b])), bits(&[2.0, 2.0, 0.0, -0.0]));
    assert_eq!(bits(&apply(LaneOp::Min, &[&a, &b])), bits(&[1.0, 1.0, 0.0, -0.0]));
    for operation in [LaneOp::Max, LaneOp::Min] {
        assert_eq!(apply(operation, &[&[nan], &[3.0]]), [3.0]);
        assert!(apply(operation, &[&[3.0], &[nan]])[0].is_nan());
    }
    let magnitudes = apply(
        LaneOp::MaxMagnitude,
        &[&[-3.0, 1.0, -0.0, f32::NEG_INFINITY], &[2.0, 2.0, 0.0, 1.0]],
    );
    assert_eq!(bits(&magnitudes), bits(&[3.0, 2.0, 0.0, f32::INFINITY]));
    for (a, b) in [(-nan, f32::INFINITY), (f32::INFINITY, nan), (1.0, nan)] {
        assert_eq!(bits(&apply(LaneOp::MaxMagnitude, &[&[a], &[b]])), bits(&[nan]));
    }
    let (c, d) = ([7.0; 5], [8.0; 5]);
    let select = apply(
        LaneOp::SelectLess,
        &[&[1.0, 2.0, -0.0, nan, 1.0], &[2.0, 1.0, 0.0, 1.0, nan], &c, &d],
    );
    assert_eq!(select, [7.0, 8.0, 8.0, 8.0, 8.0]);
    assert_eq!(apply(LaneOp::Sub, &[&[1.0], &[3.0]]), [-2.0]);
    assert_eq!(apply(LaneOp::Div, &[&[1.0], &[4.0]]), [0.25]);
    // a single rounding keeps a term that two roundings lose
    let near = 1.0 + f32::EPSILON;
    assert_eq!(
        apply(LaneOp::MulAdd, &[&[near], &[near], &[-1.0]]),
        [2.0_f32.mul_add(f32::EPSILON, f32::EPSILON.powi(2))]
    );
    assert_eq!(apply(LaneOp::Mul, &[&[near], &[near]])[0] - 1.0, 2.0 * f32::EPSILON);
    // denormals are kept
    assert_eq!(bits(&apply(LaneOp::Mul, &[&[f32::MIN_POSITIVE], &[0.25]])), [0x0020_0000]);
}

#[test]
fn bit_operations_do_what_they_say() {
    let through_bits = |operation: LaneOp, a: u32, b: Option<u32>| {
        let operand = |i: usize| op(LaneOp::ToBits, vec![Expr::Var(Var(i))]);
        let mut args = vec![operand(0)];
        args.extend(b.map(|_| operand(1)));
        let locals = vec![Local { name: "x".to_owned(), ty: Type::f32(1) }; 2];
        let result = Some(op(LaneOp::FromBits, vec![op(operation, args)]));
        let (name, doc) = (String::new(), Vec::new());
        let function = ScalarFunction { name, doc, locals, params: 2, body: Vec::new(), result };
        evaluate(&function, &[&[f32::from_bits(a)], &[f32::from_bits(b.unwrap_or(0))]])[0].to_bits()
    };
    assert_eq!(through_bits(LaneOp::WrappingAdd, 0xffff_ffff, Some(2)), 1);
    assert_eq!(through_bits(LaneOp::WrappingSub, 1, Some(2)), 0xffff_ffff);
    assert_eq!(through_bits(LaneOp::And, 0b1100, Some(0b1010)), 0b1000);
    assert_eq!(through_bits(LaneOp::Or, 0b1100, Some(0b1010)), 0b1110);
    assert_eq!(through_bits(LaneOp::Xor, 0b1100, Some(0b1010)), 0b0110);
    assert_eq!(through_bits(LaneOp::ShiftLeft(4), 0x8123_4567, None), 0x1234_5670);
    assert_eq!(through_bits(LaneOp::ShiftRight(4), 0x8123_4567, None), 0x0812_3456);
    // a signalling NaN passes through as it is
    assert_eq!(through_bits(LaneOp::ShiftRight(0), 0x7f80_0001, None), 0x7f80_0001);
}
