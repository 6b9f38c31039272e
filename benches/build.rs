//! Writes every workload as an OpenVINO IR, and compiles it to Rust and, where there is a C
//! compiler, to C.

#[path = "src/trade.rs"]
mod trade;
#[path = "src/workload.rs"]
#[expect(dead_code, reason = "the rest is for the program")]
mod workload;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use cellc::internals::compile::compile;
use cellc::internals::emit::OutputFile;
use cellc::internals::emit::names::{Field, Interface};
use cellc::internals::front::openvino;
use cellc::internals::model::{CellKind, ResetGate};
use cellc::{Language, Options, WeightsAs};
use cellc_tests::model_file::{ModelFile, Port, Stored};
use trade::{Trade, trades};
use workload::{Cell, CellWeights, Convolution, FADING, Network, Variant, WORKLOADS, Workload};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/trade.rs");
    println!("cargo::rerun-if-changed=src/workload.rs");
    println!("cargo::rustc-check-cfg=cfg(c_kernels)");
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let out = Path::new(&out);
    let c_out = out.join("c");
    fs::create_dir_all(&c_out)?;
    let (mut rust_list, mut c_list) = (String::from("kernels! {\n"), String::from("kernels! {\n"));
    let mut c = cc::Build::new();
    // what cannot be compiled is left out of the bench, which says so; its own message is enough
    c.cargo_warnings(false).warnings(false).include(&c_out);
    // clippy runs and links nothing: small workloads have all that it reads
    let lints = env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|name| name.contains("clippy"));
    let traded = |workload: &Workload| trades().find(|(traded, _)| traded.name == workload.name);
    for workload in WORKLOADS.iter().chain(traded(&FADING).map(|(workload, _)| workload)) {
        for variant in workload.variants() {
            let name = workload.file(variant);
            let file = file(workload, variant);
            if lints && file.weights.len() > 1 << 20 {
                continue;
            }
            let (text, weights) = (file.text(), file.weights);
            fs::write(out.join(format!("{name}.xml")), &text)?;
            fs::write(out.join(format!("{name}.bin")), &weights)?;
            // only a reference
            if matches!(variant, Variant::Tanh | Variant::Rounded) {
                continue;
            }
            let bin = format!("{name}.bin");
            let model = openvino::read_bytes(&name, text.as_bytes(), Some((&bin, weights)))?.model;
            // a busy core is no other code
            let trades = traded(workload)
                .filter(|_| variant == Variant::Itself)
                .map_or(&[][..], |(_, trades)| trades);
            let trades =
                trades.iter().copied().filter(|trade| *trade != Trade::ThreadsBusy).map(Some);
            for trade in [None].into_iter().chain(trades) {
                let name = match trade {
                    None => name.clone(),
                    Some(trade) => format!("{name}_{}", trade.name().replace([' ', '-'], "_")),
                };
                let compilation = compile(&model, &options(&name, Language::Rust, trade))?;
                write(out, compilation.emit(&format!("{name}_packed")))?;
                rust_list += &rust_entry(workload, variant, trade, &compilation.interface);
                let compilation = compile(&model, &options(&name, Language::C, trade))?;
                write(&c_out, compilation.emit(&name))?;
                let driver = c_out.join(format!("{name}_driver.c"));
                fs::write(&driver, c_driver(&compilation.interface))?;
                c.file(c_out.join(format!("{name}.c"))).file(driver);
                c_list += &c_entry(workload, variant, trade, &name);
            }
        }
    }
    fs::write(out.join("rust_kernels.rs"), rust_list + "}\n")?;
    fs::write(out.join("c_kernels.rs"), c_list + "}\n")?;
    if lints {
        println!("cargo::rustc-cfg=c_kernels");
        return Ok(());
    }
    match c.try_compile("cellc_bench_kernels") {
        Ok(()) => println!("cargo::rustc-cfg=c_kernels"),
        Err(error) => println!("cargo::warning=the C kernels are left out of the bench: {error}"),
    }
    Ok(())
}

fn options(name: &str, language: Language, trade: Option<Trade>) -> Options {
    trade
        .map(Trade::options)
        .unwrap_or_default()
        .with_name(Some(name.to_owned()))
        .with_runtime(language == Language::Rust)
        .with_language(language)
        .with_weights_as(WeightsAs::File)
}

fn write(folder: &Path, files: Vec<OutputFile>) -> Result<(), Box<dyn Error>> {
    for file in files {
        fs::write(folder.join(&file.name), &*file.bytes)?;
    }
    Ok(())
}

/// The model.
fn file(workload: &Workload, variant: Variant) -> ModelFile {
    match &workload.network {
        Network::Cell(cell) => cell_file(cell, variant),
        Network::Convolution(convolution) => convolution_file(convolution),
    }
}

/// x in, y out.
fn convolution_file(convolution: &Convolution) -> ModelFile {
    let (w, b) = convolution.weights();
    let [from, to] = convolution.shapes();
    let mut shape = convolution.weight_shape();
    let depthwise = convolution.groups > 1;
    if depthwise {
        shape.splice(..1, [convolution.groups, convolution.channels.1 / convolution.groups]);
    }
    let mut file = ModelFile::default();
    let x = file.parameter("x", &from);
    let w = file.constant(&shape, Stored::F32, w.into_iter());
    let bias = [&[1, b.len()][..], &vec![1; convolution.size.len()]].concat();
    let b = file.constant(&bias, Stored::F32, b.into_iter());
    let list = |values: &[usize]| values.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let (ones, (front, behind)) = (list(&vec![1; convolution.size.len()]), convolution.pads);
    let (front, behind) = (list(front), list(behind));
    let data = format!(
        "strides=\"{ones}\" dilations=\"{ones}\" pads_begin=\"{front}\" pads_end=\"{behind}\""
    );
    let operation = if depthwise { "GroupConvolution" } else { "Convolution" };
    let sums = file.named(operation, "opset1", &data, &[&x, &w], &[("sums", &to)]).remove(0);
    let y = file
        .named("Add", "opset1", "auto_broadcast=\"numpy\"", &[&sums, &b], &[("y", &to)])
        .remove(0);
    file.result(&y);
    file
}

/// x and the states in, the output and the states out.
fn cell_file(cell: &Cell, variant: Variant) -> ModelFile {
    let Cell { kind, input_size, hidden_size, batch, steps, .. } = *cell;
    let CellWeights { w, r, b, head } = cell.weights(variant);
    let mut file = ModelFile::default();
    let rows = kind.gates() * hidden_size;
    let constant = |file: &mut ModelFile, shape: &[usize], values: Vec<f32>| {
        file.constant(shape, Stored::F32, values.into_iter())
    };
    if variant == Variant::Product {
        let x = file.parameter("x", &[batch, input_size + hidden_size]);
        let both = w
            .chunks_exact(input_size)
            .zip(r.chunks_exact(hidden_size))
            .flat_map(|(w, r)| [w, r].concat());
        let matrix = constant(&mut file, &[rows, input_size + hidden_size], both.collect());
        let bias = constant(&mut file, &[1, rows], b[..rows].to_vec());
        dense(&mut file, &x, &matrix, &bias);
        return file;
    }
    // a sequence's tensors have a dimension for its direction, and for its steps
    let sequence = steps > 1;
    let direction: &[usize] = if sequence { &[1] } else { &[] };
    let shaped = |shape: &[usize]| [direction, shape].concat();
    let state: Vec<usize> =
        if sequence { vec![batch, 1, hidden_size] } else { vec![batch, hidden_size] };
    let x = if sequence {
        file.parameter("x", &[batch, steps, input_size])
    } else {
        file.parameter("x", &[batch, input_size])
    };
    let mut inputs = vec![x, file.parameter("h", &state)];
    if kind == CellKind::Lstm {
        inputs.push(file.parameter("c", &state));
    }
    if sequence {
        inputs.push(file.integers(&[batch], &vec![steps as i64; batch]));
    }
    inputs.push(constant(&mut file, &shaped(&[rows, input_size]), w));
    inputs.push(constant(&mut file, &shaped(&[rows, hidden_size]), r));
    inputs.push(constant(&mut file, &shaped(&[b.len()]), b));
    let activations: Vec<_> = cell.activations(variant).iter().map(|a| a.name()).collect();
    let mut attributes =
        format!("hidden_size=\"{hidden_size}\" activations=\"{}\"", activations.join(","));
    let (name, set) = match kind {
        CellKind::Rnn => ("RNN", "opset3"),
        CellKind::Lstm => ("LSTM", "opset4"),
        CellKind::Gru(reset) => {
            attributes += &format!(" linear_before_reset=\"{}\"", reset == ResetGate::AfterMatMul);
            ("GRU", "opset3")
        }
        CellKind::Augru(_) => unreachable!("no workload is one"),
    };
    let all = [batch, 1, steps, hidden_size];
    let (operation, set, mut outputs): (_, _, Vec<(&str, &[usize])>) = if sequence {
        attributes += " direction=\"forward\"";
        (format!("{name}Sequence"), "opset5", vec![("y", &all), ("h_out", &state)])
    } else {
        (format!("{name}Cell"), set, vec![("h_out", &state)])
    };
    if kind == CellKind::Lstm {
        outputs.push(("c_out", &state));
    }
    let inputs: Vec<&Port> = inputs.iter().collect();
    let outputs = file.named(&operation, set, &attributes, &inputs, &outputs);
    if let Some((matrix, bias)) = head {
        let matrix = constant(&mut file, &[1, hidden_size], matrix);
        let bias = constant(&mut file, &[1, 1], vec![bias]);
        dense(&mut file, &outputs[0], &matrix, &bias);
    }
    for output in &outputs {
        file.result(output);
    }
    file
}

/// A result: `x` times the transposed matrix, plus the bias.
fn dense(file: &mut ModelFile, x: &Port, matrix: &Port, bias: &Port) {
    let shape = [x.shape[0], matrix.shape[0]];
    let transposed = "transpose_a=\"false\" transpose_b=\"true\"";
    let product =
        file.named("MatMul", "opset1", transposed, &[x, matrix], &[("product", &shape)]).remove(0);
    let sum = file
        .named("Add", "opset1", "auto_broadcast=\"numpy\"", &[&product, bias], &[("y", &shape)])
        .remove(0);
    file.result(&sum);
}

/// An entry of the macro `kernels!` of `contender/rust.rs`.
fn rust_entry(
    workload: &Workload,
    variant: Variant,
    trade: Option<Trade>,
    interface: &Interface,
) -> String {
    let (module, ty, input) =
        (&interface.function, &interface.type_name, rust_array(&interface.inputs[0]));
    let outputs = match &interface.outputs[..] {
        [_] => "o.flat()".to_owned(),
        _ => in_order(interface)
            .map(|output| format!("o.{}.flat()", output.name))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let start = if interface.pool { "|c| c.pair().start()" } else { "|_| true" };
    format!(
        "    ({:?}, {variant:?}, {}, \"{module}_packed\", {module}, {ty}, {input}, |o| vec![{outputs}], {start}),\n",
        workload.name,
        trade_entry(trade),
    )
}

/// The outputs in the order of the model.
fn in_order(interface: &Interface) -> impl Iterator<Item = &Field> {
    (0..interface.outputs.len())
        .filter_map(|i| interface.outputs.iter().find(|output| output.index == i))
}

/// The trade in an entry.
fn trade_entry(trade: Option<Trade>) -> String {
    match trade {
        None => "None".to_owned(),
        Some(Trade::Precision(precision)) => {
            format!("Some(Trade::Precision(cellc::Precision::{precision:?}))")
        }
        Some(Trade::Activations(accuracy)) => {
            format!("Some(Trade::Activations(cellc::Accuracy::{accuracy:?}))")
        }
        Some(trade) => format!("Some(Trade::{trade:?})"),
    }
}

/// What generated Rust takes an input for: rows, or one flat array.
fn rust_array(field: &Field) -> String {
    match field.shape[..] {
        [rows, columns] if rows > 1 => format!("[[f32; {columns}]; {rows}]"),
        _ => format!("[f32; {}]", field.len()),
    }
}

/// An entry of the macro `kernels!` of `contender/c.rs`.
fn c_entry(workload: &Workload, variant: Variant, trade: Option<Trade>, name: &str) -> String {
    let functions = ["available", "size", "init", "start", "stop", "reset", "run", "output"];
    let functions = functions.map(|f| format!("{name}_bench_{f}")).join(", ");
    format!("    ({:?}, {variant:?}, {}, {functions}),\n", workload.name, trade_entry(trade))
}

/// Functions around the generated ones that are of the same types for every model.
fn c_driver(interface: &Interface) -> String {
    let Interface { function: name, inputs, outputs, .. } = interface;
    let upper = name.to_uppercase();
    let size = |field: &Field| format!("{upper}_{}_SIZE", field.name.to_uppercase());
    let members: String =
        outputs.iter().map(|o| format!("    float {}[{}];\n", o.name, size(o))).collect();
    let arguments: String = outputs.iter().map(|o| format!(", self->{}", o.name)).collect();
    let cases: String = in_order(interface)
        .map(|o| {
            format!("    if (output-- == 0) {{ *len = {}; return self->{}; }}\n", size(o), o.name)
        })
        .collect();
    let x_size = size(&inputs[0]);
    let (pool, start, stop) = match interface.pool {
        false => (String::new(), "    (void)self;\n    return 1;", "    (void)self;".to_owned()),
        true => (
            format!("    {name}_pair pair;\n    {name}_pool pool;\n"),
            "    self->pool = POOL(&self->pair);
    self->model.pool = &self->pool;
    return START(&self->pair) == 0;",
            format!("    {name}_pair_stop(&self->pair);"),
        ),
    };
    let start = start
        .replace("POOL", &format!("{name}_pair_pool"))
        .replace("START", &format!("{name}_pair_start"));
    format!(
        "#include \"{name}.h\"

#include <stddef.h>

typedef struct bench {{
    {name} model;
{pool}{members}}} bench;

int {name}_bench_available(int isa) {{
    return {name}_isa_available((enum {name}_isa)isa);
}}

size_t {name}_bench_size(void) {{
    return sizeof(bench);
}}

void {name}_bench_init(bench *self, int isa) {{
    {name}_init_isa(&self->model, (enum {name}_isa)isa);
}}

/* Starts the helper, of models that have one. */
int {name}_bench_start(bench *self) {{
{start}
}}

/* Ends the helper that was started. */
void {name}_bench_stop(bench *self) {{
{stop}
}}

void {name}_bench_reset(bench *self) {{
    {name}_reset(&self->model);
}}

/* Calls over rows of x that are taken again and again. */
void {name}_bench_run(bench *self, const float *x, size_t rows, size_t calls) {{
    const float *row = x, *end = x + rows * {x_size};
    for (size_t call = 0; call < calls; call++) {{
        {name}_step(&self->model, row{arguments});
        row += {x_size};
        if (row == end) row = x;
    }}
}}

/* An output and its length, in the order of the model; none after the last. */
const float *{name}_bench_output(const bench *self, size_t output, size_t *len) {{
{cases}    return NULL;
}}
"
    )
}
