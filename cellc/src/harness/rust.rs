//! The program around generated Rust.

use super::{Subject, constants};
use crate::emit::names::{Field, Interface};
use crate::emit::signature::{Argument, Signature, Tensors};
use crate::emit::tensors::{array, nested};
use crate::request::Language;

const HEAD: &str = r##"// no model needs all of it
#![allow(dead_code)]

use std::hint::black_box;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::time::Instant;

/// A number, or an array of them.
trait Value: Copy {
    const ZERO: Self;
    fn receive(&mut self, input: &mut dyn Read) -> io::Result<()>;
    fn send(&self, output: &mut dyn Write) -> io::Result<()>;
    fn change(&mut self, change: fn(f32) -> f32);
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Value for $number {
            const ZERO: Self = 0 as $number;
            fn receive(&mut self, input: &mut dyn Read) -> io::Result<()> {
                let mut bytes = self.to_ne_bytes();
                input.read_exact(&mut bytes)?;
                *self = <$number>::from_ne_bytes(bytes);
                Ok(())
            }
            fn send(&self, output: &mut dyn Write) -> io::Result<()> {
                output.write_all(&self.to_ne_bytes())
            }
            fn change(&mut self, change: fn(f32) -> f32) {
                *self = change(*self as f32) as $number;
            }
        })*
    };
}

numbers!(f32 i32 i64);

impl Value for bool {
    const ZERO: Self = false;
    fn receive(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        *self = byte != [0];
        Ok(())
    }
    fn send(&self, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(&[u8::from(*self)])
    }
    fn change(&mut self, _: fn(f32) -> f32) {
        *self = !*self;
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    const ZERO: Self = [T::ZERO; N];
    fn receive(&mut self, input: &mut dyn Read) -> io::Result<()> {
        self.iter_mut().try_for_each(|value| value.receive(input))
    }
    fn send(&self, output: &mut dyn Write) -> io::Result<()> {
        self.iter().try_for_each(|value| value.send(output))
    }
    fn change(&mut self, change: fn(f32) -> f32) {
        self.iter_mut().for_each(|value| value.change(change));
    }
}

fn boxed<T: Value, const N: usize>() -> Box<[T; N]> {
    vec![T::ZERO; N].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!())
}

fn bytes<T: Value>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.send(&mut bytes).unwrap();
    bytes
}

fn same<T: Value>(a: &T, b: &T) -> bool {
    bytes(a) == bytes(b)
}

fn is_zero<T: Value>(value: &T) -> bool {
    bytes(value).iter().all(|byte| *byte == 0)
}

/// Contents that no step may leave.
fn spoilt(_: f32) -> f32 {
    f32::from_bits(0x7fc0_dead)
}

/// What is left of a state that is set.
fn flushed(value: f32) -> f32 {
    if value.abs() < f32::from_bits(27 << 23) { 0.0 } else { value }
}
"##;

/// The program around the subjects.
pub(super) fn program(subjects: &[Subject<'_>]) -> String {
    let mut arms = String::new();
    let mut text = format!(
        "{HEAD}\n{}",
        constants("const ", ": u8 = ", ";").replace("LACKING: u8", "LACKING: i32")
    );
    for subject in subjects {
        let Subject { name, interface, .. } = subject;
        // arrays are built on the stack before they are boxed: the stack must hold all arrays
        let fields =
            [&interface.inputs, &interface.weights, &interface.outputs, &interface.variables];
        let values =
            fields.into_iter().flatten().map(Field::len).sum::<usize>() + interface.block_len;
        arms += &format!("        {name:?} => (serve_{name}, {}),\n", (64 << 20) + 16 * values);
        text += &serve(subject);
    }
    text + &format!(
        r#"
fn main() {{
    let mut arguments = std::env::args().skip(1);
    let (subject, isa) = (arguments.next().unwrap(), arguments.next());
    let (serve, stack): (fn(Option<&str>) -> io::Result<()>, usize) = match subject.as_str() {{
{arms}        other => panic!("there is no {{other}}"),
    }};
    let builder = std::thread::Builder::new().stack_size(stack);
    let thread = builder.spawn(move || serve(isa.as_deref())).unwrap();
    thread.join().unwrap().unwrap();
}}
"#
    )
}

/// The name of the variable for a parameter, independent of the parameter's name in the model.
fn variable(field: &Field) -> String {
    format!("p{}", field.index)
}

/// The expression of an output.
fn expression(interface: &Interface, field: &Field) -> String {
    if interface.outputs.len() == 1 { "y".to_owned() } else { format!("y.{}", field.name) }
}

/// The argument for the inputs, in a call of a function of the subject's module.
fn inputs(module: &str, tensors: &Tensors<'_>) -> String {
    let value = tensors.value(|field| format!("&{}", variable(field)));
    tensors.record.map_or(value.clone(), |_| format!("&{module}::{}", &value[1..]))
}

/// A line for each field.
fn lines<'f>(
    fields: impl IntoIterator<Item = &'f Field>,
    line: impl Fn(&Field) -> String,
) -> String {
    fields.into_iter().map(|field| line(field) + "\n").collect()
}

/// The statements that choose the instruction set of a subject, and the expression for its name.
fn choice(m: &str, isas: &[&str]) -> (String, String) {
    if let [alone] = isas {
        let choose = format!(
            "    if name.is_some_and(|name| name != {alone:?}) {{ std::process::exit(LACKING); }}"
        );
        return (choose, format!("{alone:?}"));
    }
    let choose = format!(
        r#"    assert!({m}::Isa::from_name("").is_none());
    assert!({isas:?}.contains(&{m}::Isa::detect().name()));
    let isa = match name {{
        None => {m}::Isa::detect(),
        Some(name) => {m}::Isa::from_name(name).unwrap_or_else(|| std::process::exit(LACKING)),
    }};"#
    );
    (choose, "isa.name()".to_owned())
}

/// The function for the calls of one subject.
fn serve(subject: &Subject<'_>) -> String {
    let Subject { name: m, interface, isas, .. } = subject;
    let Interface { function, weights, outputs, variables, .. } = interface;
    let mut declarations = lines(&interface.inputs, |f| {
        format!("let mut {}: Box<{}> = boxed();", variable(f), array(f))
    });
    declarations +=
        &lines(weights, |f| format!("let mut {}: Box<{}> = boxed();", variable(f), nested(f)));
    declarations += &match &outputs[..] {
        [one] => format!("let mut y: Box<{}> = boxed();\n", array(one)),
        _ => format!("let mut y = Box::new({m}::Outputs::new());\n"),
    };
    let mut awake = String::new();
    let arguments =
        Signature::function(interface, Language::Rust).spelled(|argument| match argument {
            Argument::Pool => {
                declarations += &format!("let mut pool = {m}::Pair::new();\n");
                // wakes a sleeping helper thread before the timed calls
                awake = format!(
                    "let start = Instant::now();
while start.elapsed().as_micros() < 500 {{
    {m}::Join::join(&mut pool, &mut || (), &mut || ());
}}"
                );
                "&mut pool".to_owned()
            }
            Argument::Memory(memory) => {
                let (name, ty) = (memory.name(), memory.type_name());
                declarations += &format!("let mut {name} = Box::new({m}::{ty}::new());\n");
                format!("&mut {name}")
            }
            Argument::Packed => {
                declarations += &format!("let mut packed = Box::new({m}::Packed::new());\n");
                "&packed".to_owned()
            }
            Argument::Inputs(tensors) => inputs(m, tensors),
            Argument::Outputs(_) => "&mut y".to_owned(),
        });
    let receive = |tensor: String| format!("{tensor}.receive(&mut input)?;");
    let read_inputs = lines(&interface.inputs, |f| receive(variable(f)));
    let mut read_weights = lines(weights, |f| receive(variable(f)));
    if !weights.is_empty() {
        let fields = lines(weights, |f| format!("{}: &{},", f.name, variable(f)));
        read_weights += &format!("{m}::pack(&{m}::Weights {{ {fields} }}, &mut packed);\n");
    }
    let read_variables = lines(variables, |f| receive(format!("state.{}", f.name)));
    let reset =
        if variables.is_empty() { "" } else { "if flags & (RESET | SET) != 0 { state.reset(); }" };
    let spoil = lines(outputs, |f| format!("{}.change(spoilt);", expression(interface, f)));
    let send = lines(outputs, |f| format!("{}.send(&mut output)?;", expression(interface, f)));
    let send_variables = lines(variables, |f| format!("state.{}.send(&mut output)?;", f.name));
    // the inputs of every call are unknown to the compiler, which would else compute one call only
    let unknown = lines(&interface.inputs, |f| format!("black_box(&mut {});", variable(f)));
    let states: Vec<_> =
        interface.states.iter().map(|s| (&interface.inputs[s.input], &outputs[s.output])).collect();
    let value =
        |f: &Field| if outputs.len() == 1 { "*y".to_owned() } else { expression(interface, f) };
    let feed: String =
        states.iter().map(|(x, y)| format!("*{} = {};\n", variable(x), value(y))).collect();
    let (on, chosen) = if interface.has_isas() { ("_on", "isa, ") } else { ("", "") };
    let (choose, isa_name) = choice(m, isas);
    let structure = structure(subject, &states, &spoil, &send);
    format!(
        r#"
use subjects::{m};

fn serve_{m}(name: Option<&str>) -> io::Result<()> {{
{choose}
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
{declarations}
    writeln!(output, "{{}}", {isa_name})?;
    output.flush()?;
    let mut flags = [0];
    while input.read(&mut flags)? == 1 {{
        let [flags] = flags;
        if flags & TIME != 0 {{
            let mut calls = [0; 8];
            input.read_exact(&mut calls)?;
{awake}
            let start = Instant::now();
            for _ in 0..u64::from_ne_bytes(calls) {{
{unknown}
                black_box(&mut y);
                {m}::{function}{on}({chosen}{arguments});
{feed}
            }}
            output.write_all(&(start.elapsed().as_nanos() as u64).to_ne_bytes())?;
            output.flush()?;
            continue;
        }}
        if flags & STRUCT != 0 {{
{structure}
            output.flush()?;
            continue;
        }}
{reset}
        if flags & SET != 0 {{
{read_variables}
        }}
        if flags & PACK != 0 {{
{read_weights}
        }}
{read_inputs}
{spoil}
        {m}::{function}{on}({chosen}{arguments});
{send}
{send_variables}
        output.flush()?;
    }}
    Ok(())
}}
"#
    )
}

/// Three steps of the struct, with checks of the properties that the struct reports.
fn structure(
    subject: &Subject<'_>,
    states: &[(&Field, &Field)],
    spoil: &str,
    send: &str,
) -> String {
    let Subject { name: m, interface, flushes, .. } = subject;
    let of_states = |line: &dyn Fn(&Field, &Field) -> String| {
        states.iter().map(|(x, y)| line(x, y) + "\n").collect::<String>()
    };
    let zero = of_states(&|x, _| format!("assert!(is_zero(cell.{}()));", x.name));
    let flush =
        |kept: &str| if *flushes { format!("{kept}.change(flushed);") } else { String::new() };
    let set = of_states(&|x, _| {
        let (name, given) = (&x.name, variable(x));
        let (mutable, flush) = (if *flushes { "mut " } else { "" }, flush("kept"));
        format!(
            "cell.set_{name}(&{given});
let {mutable}kept = *{given};
{flush}
assert!(same(cell.{name}(), &kept));"
        )
    });
    let kept = of_states(&|x, y| {
        let reference =
            if interface.outputs.len() == 1 { "&*y".to_owned() } else { format!("&y.{}", y.name) };
        format!("assert!(same(cell.{}(), {reference}));", x.name)
    });
    let first = lines(interface.ordered_variables(), |Field { name, .. }| {
        format!(
            "let first = *cell.{name}();
let mut other = first;
other.change(spoilt);
cell.set_{name}(&other);
assert!(same(cell.{name}(), &other) && same(&cell.state().{name}, &other));
cell.state_mut().reset();
assert!(same(cell.{name}(), &first));"
        )
    });
    let packed = if interface.weights.is_empty() { "" } else { ", &packed" };
    let (made, isa) = match interface.has_isas() {
        true => (format!("with_isa(isa{packed})"), "assert!(cell.isa() == isa);"),
        false => (format!("new({})", packed.trim_start_matches(", ")), ""),
    };
    let args = Signature::step(interface).spelled(|argument| match argument {
        Argument::Inputs(tensors) => inputs(m, tensors),
        _ => "&mut y".to_owned(),
    });
    format!(
        "let mut cell = Box::new({m}::{}::{made});
{isa}
{zero}
{first}
{set}
for step in 0..3 {{
if step == 2 {{
cell.reset();
{zero}
}}
{spoil}
cell.step({args});
{kept}
{send}
}}",
        interface.type_name
    )
}
