//! A model of several cells, which the corpus has none of.

use std::fmt::Write;

use cellc::compile::compile;
use cellc::front::openvino;
use cellc::options::Options;

use crate::subject::Subject;

/// GRUCells one after another, each with an initial state of its own, of sizes that instruction sets tile differently;
/// the last one starts from a constant.
pub const SIZES: [usize; 4] = [4, 20, 7, 33];
const INPUT_SIZE: usize = 3;

/// Small numbers without much structure.
fn values(len: usize, seed: usize) -> impl Iterator<Item = f32> {
    (0..len).map(move |i| ((i * 37 + seed * 101 + 11) % 64) as f32 / 128.0 - 0.25)
}

/// The chain, compiled, with inputs for one call.
///
/// # Panics
/// If it is refused.
pub fn subject(name: &str, options: &Options, linear_before_reset: bool, bias_at_run_time: bool) -> Subject {
    let (mut layers, mut edges, mut bin, mut inputs) = (String::new(), String::new(), Vec::new(), Vec::new());
    let mut layer = |id: usize, kind: &str, data: &str, ports: &[usize], edges_in: &[(usize, usize)]| {
        let of = |ids: &[usize]| ids.iter().map(|id| format!(r#"<port id="{id}"/>"#)).collect::<String>();
        let (to, from) = ports.split_at(edges_in.len());
        let _ = write!(layers, r#"<layer id="{id}" name="n{id}" type="{kind}" version="opset3">{data}"#);
        let _ = write!(layers, "<input>{}</input><output>{}</output></layer>", of(to), of(from));
        for (to_port, (from, port)) in edges_in.iter().enumerate() {
            let _ =
                write!(edges, r#"<edge from-layer="{from}" from-port="{port}" to-layer="{id}" to-port="{to_port}"/>"#);
        }
    };
    let mut tensor = |shape: &[usize], seed: usize, constant: bool| {
        let len = shape.iter().product();
        let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        if constant {
            let offset = bin.len();
            bin.extend(values(len, seed).flat_map(f32::to_le_bytes));
            let size = len * 4;
            format!(r#"<data element_type="f32" shape="{shape}" offset="{offset}" size="{size}"/>"#)
        } else {
            inputs.push(values(len, seed).collect::<Vec<f32>>());
            format!(r#"<data element_type="f32" shape="{shape}"/>"#)
        }
    };
    let kind = |constant: bool| if constant { "Const" } else { "Parameter" };
    let data = tensor(&[1, INPUT_SIZE], 0, false);
    layer(0, "Parameter", &data, &[0], &[]);
    let (mut x, mut input_size) = ((0, 0), INPUT_SIZE);
    for (i, size) in SIZES.into_iter().enumerate() {
        let id = 10 * (i + 1);
        let last = i + 1 == SIZES.len();
        let bias = if linear_before_reset { 4 } else { 3 } * size;
        let shapes: [(&[usize], bool); 4] = [
            (&[1, size], last),
            (&[3 * size, input_size], true),
            (&[3 * size, size], true),
            (&[bias], !bias_at_run_time),
        ];
        for (k, (shape, constant)) in shapes.into_iter().enumerate() {
            let data = tensor(shape, id + k, constant);
            layer(id + k, kind(constant), &data, &[0], &[]);
        }
        let data = format!(r#"<data hidden_size="{size}" linear_before_reset="{linear_before_reset}"/>"#);
        let sources = [x, (id, 0), (id + 1, 0), (id + 2, 0), (id + 3, 0)];
        layer(id + 4, "GRUCell", &data, &[0, 1, 2, 3, 4, 5], &sources);
        layer(id + 5, "Result", "", &[0], &[(id + 4, 5)]);
        (x, input_size) = ((id + 4, 5), size);
    }
    let xml = format!(r#"<net name="chain" version="11"><layers>{layers}</layers><edges>{edges}</edges></net>"#);
    let (model, _) = openvino::read_bytes("chain.xml", xml.as_bytes(), Some(("chain.bin", bin)))
        .unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"));
    let options = Options { name: Some(name.to_string()), ..options.clone() };
    let compilation = compile(&model, &options).unwrap_or_else(|problems| panic!("{name} is refused: {problems:?}"));
    Subject { name: name.to_string(), compilation, calls: vec![inputs] }
}
