//! The reader on files that encode one model in different ways, and on invalid files.

mod functions;

use std::fs;
use std::path::Path;

use super::dated::{DATED, Dated, OperatorPart};
use super::nodes::MOST_NODES_IN_FILE;
use super::read_from;
use super::supported::{LATEST, OLDEST, SUPPORTED, find};
use crate::compile::core_model;
use crate::core::CoreOp;
use crate::diagnostic::Diagnostics;
use crate::front::read_model::ReadModel;
use crate::model::{Activation, ElementType, Elementwise, MathFunction, Op, Primitive, Tensor};
use crate::request::Options;

/// An integer as a varint: groups of 7 bits, the lowest first.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field: its number and wire type, then its bytes.
fn field(number: u64, wire_type: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | wire_type), bytes.to_vec()].concat()
}

fn int(number: u64, value: i64) -> Vec<u8> {
    field(number, 0, &varint(value as u64))
}

/// A length-delimited field: a text, bytes, a message, or packed repeated values.
fn long(number: u64, bytes: &[u8]) -> Vec<u8> {
    field(number, 2, &[varint(bytes.len() as u64), bytes.to_vec()].concat())
}

fn ints(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| varint(*value as u64)).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A tensor `w` of `len` elements. `number`: the element type. `data`: the fields with the data.
fn tensor(number: i64, len: i64, data: &[u8]) -> Vec<u8> {
    [int(1, len), int(2, number), long(8, b"w"), data.to_vec()].concat()
}

fn node(operator: &str, inputs: &[&str], output: &str, rest: &[u8]) -> Vec<u8> {
    let inputs = inputs.iter().map(|name| long(1, name.as_bytes()));
    let parts: Vec<u8> = inputs
        .chain([long(2, output.as_bytes()), long(4, operator.as_bytes())])
        .flatten()
        .collect();
    [parts, rest.to_vec()].concat()
}

/// An input or output: f32 of shape `[len]`.
fn value(name: &str, len: i64) -> Vec<u8> {
    let shape = long(1, &int(1, len));
    [long(1, name.as_bytes()), long(2, &long(1, &[int(1, 1), long(2, &shape)].concat()))].concat()
}

/// y = x + Cast(w).
fn graph(tensor: &[u8], len: i64) -> Vec<u8> {
    let to = long(5, &[long(1, b"to"), int(3, 1), int(20, 2)].concat());
    [
        long(1, &node("Cast", &["w"], "f", &to)),
        long(1, &node("Add", &["x", "f"], "y", &[])),
        long(5, tensor),
        long(11, &value("x", len)),
        long(12, &value("y", len)),
    ]
    .concat()
}

fn file(graph: &[u8], set: i64) -> Vec<u8> {
    [int(1, 8), long(7, graph), long(8, &int(2, set))].concat()
}

fn read(bytes: &[u8], folder: Option<&Path>) -> Result<ReadModel, Diagnostics> {
    let ReadModel { model, problems } = read_from("net.onnx", bytes, folder, &[])?;
    if problems.has_errors() { Err(problems) } else { Ok(ReadModel { model, problems }) }
}

/// The first constant of a file: the tensor `w`.
fn w_of(bytes: &[u8], folder: Option<&Path>) -> Tensor {
    let model = read(bytes, folder).unwrap_or_else(|problems| panic!("{problems}")).model;
    let constant =
        |op: &Op| if let Op::Constant(tensor) = op { Some(tensor.clone()) } else { None };
    let found = model.nodes.iter().find_map(|node| constant(&node.op)).expect("w is a constant");
    core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    found
}

fn values(tensor: &Tensor) -> Vec<f64> {
    (0..tensor.len()).map(|i| tensor.get_f64(i)).collect()
}

/// The errors for a file with this tensor, which must be refused.
fn refused(number: i64, len: i64, data: &[u8], folder: Option<&Path>) -> String {
    read(&file(&graph(&tensor(number, len, data), len), 21), folder)
        .expect_err("the tensor is wrong")
        .to_string()
}

/// The number of an element type in a file, the element type, and three elements: as bytes of
/// `raw_data`, as the typed field, and as numbers.
type Elements = (i64, ElementType, Vec<u8>, Vec<u8>, [f64; 3]);

/// Elements of every type.
fn types() -> Vec<Elements> {
    let of = |number: u64, values: [i64; 3]| long(number, &ints(&values));
    let bytes = |size: usize, values: [i64; 3]| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect()
    };
    let whole = |values: [i64; 3]| values.map(|value| value as f64);
    let mut all = vec![
        (
            1,
            ElementType::F32,
            floats(&[1.5, -2.0, 1e-3]),
            long(4, &floats(&[1.5, -2.0, 1e-3])),
            [1.5, -2.0, f64::from(1e-3f32)],
        ),
        (
            11,
            ElementType::F64,
            [1.5f64, -2.0, 1e-3].iter().flat_map(|v| v.to_le_bytes()).collect(),
            long(
                10,
                &[1.5f64, -2.0, 1e-3].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
            ),
            [1.5, -2.0, 1e-3],
        ),
        // two elements in a byte: 7, -8 and 3; 15, 0 and 9
        (22, ElementType::I4, vec![0x87, 0x03], long(5, &ints(&[0x87, 0x03])), [7.0, -8.0, 3.0]),
        (21, ElementType::U4, vec![0x0f, 0x09], long(5, &ints(&[0x0f, 0x09])), [15.0, 0.0, 9.0]),
        // bit patterns of 1, -2 and the smallest number above 0
        (
            10,
            ElementType::F16,
            bytes(2, [0x3c00, 0xc000, 1]),
            of(5, [0x3c00, 0xc000, 1]),
            [1.0, -2.0, 2f64.powi(-24)],
        ),
        (
            16,
            ElementType::Bf16,
            bytes(2, [0x3f80, 0xc000, 0x0080]),
            of(5, [0x3f80, 0xc000, 0x0080]),
            [1.0, -2.0, 2f64.powi(-126)],
        ),
    ];
    for (number, element, size, typed, held) in [
        (2, ElementType::U8, 1, 5, [0, 7, 255]),
        (3, ElementType::I8, 1, 5, [-128, 7, 127]),
        (4, ElementType::U16, 2, 5, [0, 7, 65535]),
        (5, ElementType::I16, 2, 5, [-32768, 7, 32767]),
        (6, ElementType::I32, 4, 5, [-(1 << 31), 7, (1 << 31) - 1]),
        (7, ElementType::I64, 8, 7, [-(1 << 52), 7, 1 << 52]),
        (9, ElementType::Bool, 1, 5, [1, 0, 1]),
        (12, ElementType::U32, 4, 11, [0, 7, (1 << 32) - 1]),
        (13, ElementType::U64, 8, 11, [0, 7, 1 << 52]),
    ] {
        all.push((number, element, bytes(size, held), of(typed, held), whole(held)));
    }
    assert_eq!(all.len(), ElementType::ALL.len());
    all
}

#[test]
fn tensors_of_every_type_from_their_bytes_and_from_their_own_field() {
    for (number, element, raw, typed, expected) in types() {
        for (form, data) in [("raw", long(9, &raw)), ("typed", typed)] {
            let found = w_of(&file(&graph(&tensor(number, 3, &data), 3), 21), None);
            assert_eq!((found.element(), found.shape()), (element, &[3][..]), "{form}");
            assert_eq!(values(&found), expected, "{form} data of {}", element.name());
        }
    }
}

#[test]
fn repeated_fields_in_one_piece_one_by_one_and_in_pieces() {
    let each = |number: u64, wire_type: u64, pieces: &[Vec<u8>]| -> Vec<u8> {
        pieces.iter().flat_map(|piece| field(number, wire_type, piece)).collect()
    };
    let f = [0.5f32, -1.5, 3.0].map(|value| value.to_le_bytes().to_vec());
    let d = [0.5f64, -1.5, 3.0].map(|value| value.to_le_bytes().to_vec());
    let i = [5i64, -6, 7].map(|value| varint(value as u64));
    let u = [5i64, 6, 7].map(|value| varint(value as u64));
    let cases = [
        (1, 4, 5, f, [0.5, -1.5, 3.0]),
        (11, 10, 1, d, [0.5, -1.5, 3.0]),
        (6, 5, 0, i.clone(), [5.0, -6.0, 7.0]),
        (7, 7, 0, i, [5.0, -6.0, 7.0]),
        (13, 11, 0, u, [5.0, 6.0, 7.0]),
    ];
    for (element, number, wire_type, pieces, expected) in cases {
        let forms = [
            long(number, &pieces.concat()),
            each(number, wire_type, &pieces),
            [
                long(number, &pieces[0]),
                field(number, wire_type, &pieces[1]),
                long(number, &pieces[2]),
            ]
            .concat(),
            [
                field(number, wire_type, &pieces[0]),
                long(number, &[]),
                long(number, &pieces[1..].concat()),
            ]
            .concat(),
        ];
        for (at, data) in forms.iter().enumerate() {
            // the repeated sizes of the shape may be packed, too
            for dims in [[int(1, 1), int(1, 3)].concat(), long(1, &ints(&[1, 3]))] {
                let tensor = [dims, int(2, element), long(8, b"w"), data.clone()].concat();
                let found = w_of(&file(&graph(&tensor, 3), 21), None);
                assert_eq!(
                    (found.shape(), values(&found)),
                    (&[1, 3][..], expected.to_vec()),
                    "form {at}, {element}"
                );
            }
        }
    }
}

#[test]
fn a_typed_element_outside_of_its_type_is_refused() {
    let cases: [(i64, u64, &[i64]); 12] = [
        (2, 5, &[256, -1]),
        (3, 5, &[128, -129]),
        (4, 5, &[65536, -1]),
        (5, 5, &[32768, -32769]),
        (9, 5, &[2, -1]),
        (10, 5, &[65536, -1]),
        (12, 11, &[1 << 32, 1 << 40]),
        (16, 5, &[65536, -1]),
        (21, 5, &[256, -1]),
        (22, 5, &[256, -1]),
        (6, 5, &[]),
        (13, 11, &[]),
    ];
    for (number, typed, wrong) in cases {
        for value in wrong {
            let said = refused(number, 1, &long(typed, &ints(&[*value])), None);
            assert!(said.contains(&format!("an element {value}")), "type {number}: {said}");
        }
        // a valid element in the same field is read
        assert_eq!(
            w_of(&file(&graph(&tensor(number, 1, &long(typed, &ints(&[1]))), 1), 21), None).len(),
            1
        );
    }
}

#[test]
fn data_that_do_not_fit_are_refused() {
    let one = 1f32.to_le_bytes();
    let cases = [
        ("no data", vec![], "0 elements"),
        ("one element too few", long(4, &[one, one].concat()), "2 elements"),
        ("another field", long(5, &ints(&[1, 2, 3])), "0 elements"),
        ("two forms", [long(4, &one), long(9, &one)].concat(), "more than one form"),
        ("a byte too many", long(9, &[0; 13]), "13 bytes"),
        ("half a float", long(4, &one[..2]), "damaged"),
        ("floats as integers", int(4, 1), "damaged"),
    ];
    for (case, data, word) in cases {
        let said = refused(1, 3, &data, None);
        assert!(said.contains(word), "{case}: {said}");
    }
    for (number, word) in
        [(0, "no element type"), (8, "string"), (14, "complex"), (17, "8-bit"), (99, "type 99")]
    {
        assert!(refused(number, 3, &[], None).contains(word), "{number}");
    }
    assert!(refused(1, -3, &[], None).contains("[-3]"));
}

#[test]
fn messages_in_pieces_are_one_message() {
    let graph = graph(&tensor(1, 1, &long(4, &floats(&[0.25]))), 1);
    // the message is cut in two in front of the initializer
    let cast = long(
        1,
        &node("Cast", &["w"], "f", &long(5, &[long(1, b"to"), int(3, 1), int(20, 2)].concat())),
    );
    let add = long(1, &node("Add", &["x", "f"], "y", &[]));
    let at = cast.len() + add.len();
    let pieces =
        [long(8, &int(2, 21)), long(7, &graph[at..]), int(1, 3), int(1, 8), long(7, &graph[..at])]
            .concat();
    assert_eq!(values(&w_of(&pieces, None)), [0.25]);
    assert_eq!(read(&pieces, None).unwrap().model.parameters.len(), 1);
}

#[test]
fn fields_that_are_not_known_are_skipped() {
    let unknown = [
        int(1000, -1),
        field(1001, 1, &[1; 8]),
        long(1002, b"\xff\xfe"),
        field(1003, 5, &[1; 4]),
        field(1004, 3, &[int(1, 5), field(1004, 4, &[])].concat()),
    ]
    .concat();
    let tensor =
        [unknown.clone(), tensor(1, 1, &long(4, &floats(&[0.25]))), unknown.clone()].concat();
    let graph = [unknown.clone(), graph(&tensor, 1), unknown.clone()].concat();
    let bytes = [unknown.clone(), file(&graph, 21), unknown].concat();
    assert_eq!(values(&w_of(&bytes, None)), [0.25]);
}

#[test]
fn damaged_bytes_are_refused() {
    let whole = file(&graph(&tensor(1, 1, &long(4, &floats(&[0.25]))), 1), 21);
    assert!(read(&whole, None).is_ok());
    for end in 0..whole.len() {
        assert!(
            read(&whole[..end], None).is_err(),
            "the first {end} of {} bytes are read",
            whole.len()
        );
    }
    let cases = [
        ("a group in place of the graph", field(7, 3, &field(7, 4, &[]))),
        ("the end of a group that did not begin", field(1000, 4, &[])),
        ("a group that does not end", field(1000, 3, &int(1, 5))),
        ("a group that ends as another", field(1000, 3, &field(1001, 4, &[]))),
        ("groups inside each other", varint(1000 << 3 | 3).repeat(100_000)),
        ("field 0", int(0, 1)),
        ("wire type 6", field(1000, 6, &[0])),
        ("wire type 7", field(1000, 7, &[0])),
        ("an integer of 11 bytes", field(1000, 0, &[255; 11])),
        ("a length beyond the end", field(1000, 2, &varint(1 << 40))),
        ("a length beyond any memory", field(1000, 2, &varint(u64::MAX))),
    ];
    for (case, bytes) in cases {
        let problems = read(&[whole.clone(), bytes].concat(), None).err();
        let said = problems.unwrap_or_else(|| panic!("{case} is read")).to_string();
        assert!(said.contains("\"net.onnx\" is damaged"), "{case}: {said}");
    }
}

#[test]
fn an_initializer_that_is_an_input_as_well_is_a_constant() {
    let tensor = tensor(1, 1, &long(4, &floats(&[0.25])));
    let graph = [long(11, &value("w", 1)), graph(&tensor, 1)].concat();
    let bytes = [int(1, 3), long(7, &graph), long(8, &int(2, 9))].concat();
    let model = read(&bytes, None).unwrap().model;
    assert_eq!(model.parameters.len(), 1);
    assert_eq!(values(&w_of(&bytes, None)), [0.25]);
    // IR version 2, and no IR version
    for version in [int(1, 2), vec![]] {
        let bytes = [version, long(7, &graph), long(8, &int(2, 9))].concat();
        assert!(read(&bytes, None).unwrap_err().to_string().contains("IR version"));
    }
}

#[test]
fn tensors_in_files_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let stored = [vec![9; 4], floats(&[0.25, -8.0])].concat();
    fs::write(folder.path().join("data/w.bin"), &stored).unwrap();
    fs::write(folder.path().join("secret"), &stored).unwrap();
    let entry = |key: &str, value: &str| {
        long(13, &[long(1, key.as_bytes()), long(2, value.as_bytes())].concat())
    };
    let external = |entries: &[(&str, &str)]| -> Vec<u8> {
        [entries.iter().flat_map(|(key, value)| entry(key, value)).collect(), int(14, 1)].concat()
    };
    let right: [&[(&str, &str)]; 3] = [
        &[("location", "data/w.bin"), ("offset", "4"), ("length", "8")],
        &[("offset", "4"), ("location", "./data/w.bin"), ("checksum", "0")],
        &[("location", "data/w.bin"), ("offset", " 4 ")],
    ];
    for entries in right {
        let bytes = file(&graph(&tensor(1, 2, &external(entries)), 2), 21);
        assert_eq!(values(&w_of(&bytes, Some(folder.path()))), [0.25, -8.0], "{entries:?}");
    }
    let model = folder.path().join("data");
    let up = folder.path().join("secret");
    let wrong: [(&[(&str, &str)], &str); 10] = [
        (&[], "external data at \"\""),
        (&[("location", "w.bin"), ("offset", "8")], "8 bytes from byte 8"),
        (&[("location", "w.bin"), ("length", "12")], "12 bytes from byte 0"),
        (
            &[("location", "w.bin"), ("offset", "18446744073709551615")],
            "from byte 18446744073709551615",
        ),
        (&[("location", "w.bin"), ("offset", "-4")], "offset \"-4\""),
        (&[("location", "w.bin"), ("length", "many")], "length \"many\""),
        (&[("location", "../secret")], "external data at \"../secret\""),
        (&[("location", up.to_str().unwrap())], "external data at"),
        (&[("location", ".")], "external data at \".\""),
        (&[("location", "absent")], "external data at \"absent\""),
    ];
    for (entries, word) in wrong {
        let said = refused(1, 2, &external(entries), Some(&model));
        assert!(said.contains(word), "{entries:?}: {said}");
    }
    // an absent file with two tensors is refused once
    let [w, v] = ["w", "v"].map(|name| {
        let absent = external(&[("location", "absent"), ("offset", "0"), ("length", "8")]);
        [int(1, 2), int(2, 1), long(8, name.as_bytes()), absent].concat()
    });
    let both = [
        graph(&w, 2),
        long(1, &node("Add", &["w", "v"], "z", &[])),
        long(5, &v),
        long(12, &value("z", 2)),
    ];
    let said =
        read(&file(&both.concat(), 21), Some(&model)).expect_err("the file is absent").to_string();
    assert_eq!(said.matches("external data").count(), 1, "{said}");
    // a sparse file of 200 GiB, which must not be read
    fs::File::create(model.join("huge")).unwrap().set_len(200 << 30).unwrap();
    let said = refused(1, 2, &external(&[("location", "huge"), ("length", "8")]), Some(&model));
    assert!(said.contains("the limit for a file of weights is 4 GiB"), "{said}");
    // a model from memory has no external files
    let said = refused(1, 2, &external(&[("location", "w.bin"), ("offset", "4")]), None);
    assert!(said.contains("a model in one piece"), "{said}");
    // a tensor with external data and raw_data
    let both = [external(&[("location", "w.bin"), ("offset", "4")]), long(9, &[0; 8])].concat();
    assert!(refused(1, 2, &both, Some(&model)).contains("more than one form"));
}

/// A file with the function `F(a) = LeakyRelu(a, alpha)`. `given`: `alpha` in the call. `default`:
/// `alpha` in the function.
fn with_function(given: Option<f32>, default: Option<f32>) -> Vec<u8> {
    let alpha =
        |value: f32| [long(1, b"alpha"), field(2, 5, &value.to_le_bytes()), int(20, 1)].concat();
    let reference = long(5, &[long(1, b"alpha"), int(20, 1), long(21, b"alpha")].concat());
    let attribute = match default {
        Some(value) => long(11, &alpha(value)),
        None => long(6, b"alpha"),
    };
    let function = [
        long(1, b"F"),
        long(4, b"a"),
        long(5, b"b"),
        attribute,
        long(7, &node("LeakyRelu", &["a"], "b", &reference)),
        long(9, &int(2, 21)),
        long(10, b"own"),
    ]
    .concat();
    let call =
        [given.map(|value| long(5, &alpha(value))).unwrap_or_default(), long(7, b"own")].concat();
    let graph = [
        long(1, &node("F", &["x"], "y", &call)),
        long(11, &value("x", 1)),
        long(12, &value("y", 1)),
    ]
    .concat();
    let sets = [long(8, &int(2, 21)), long(8, &[long(1, b"own"), int(2, 1)].concat())].concat();
    [int(1, 8), long(7, &graph), sets, long(25, &function)].concat()
}

#[test]
fn attributes_of_a_function_are_those_of_the_call_or_else_its_own() {
    let activation = |bytes: &[u8]| -> Activation {
        let model = read(bytes, None).unwrap_or_else(|problems| panic!("{problems}")).model;
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        let of = |op: &Op| {
            if let Op::Elementwise(Elementwise::Primitive(Primitive::Math(function))) = op
                && let MathFunction::Activation(activation) = function
            {
                Some(*activation)
            } else {
                None
            }
        };
        model.nodes.iter().find_map(|node| of(&node.op)).expect("the function's node")
    };
    let leaky = |alpha| Activation::new("leakyrelu", alpha, None).unwrap();
    assert_eq!(activation(&with_function(Some(0.5), None)), leaky(Some(0.5)));
    assert_eq!(activation(&with_function(Some(0.5), Some(0.25))), leaky(Some(0.5)));
    assert_eq!(activation(&with_function(None, Some(0.25))), leaky(Some(0.25)));
    // an attribute that neither call nor function states has the default of LeakyRelu
    assert_eq!(activation(&with_function(None, None)), leaky(None));
    assert_ne!(leaky(None), leaky(Some(0.25)));
}

#[test]
fn operator_sets_from_the_oldest_to_newer_than_the_newest() {
    let of =
        |set: i64| read(&file(&graph(&tensor(1, 1, &long(4, &floats(&[0.25]))), 1), set), None);
    for set in OLDEST..=LATEST {
        let problems = of(set).unwrap_or_else(|said| panic!("{set}: {said}")).problems;
        assert!(problems.0.is_empty(), "{set}: {problems}");
    }
    let problems = of(LATEST + 1).expect("a newer one is read with a warning").problems;
    assert!(
        problems.to_string().contains(&format!("operator set {} is read as {LATEST}", LATEST + 1)),
        "{problems}"
    );
    assert_eq!(problems.0.len(), 1, "said once, not for each node");
    for set in [OLDEST - 1, 1, 0, -1] {
        assert!(of(set).unwrap_err().to_string().contains(&format!("operator set {set}")), "{set}");
    }
}

/// The warning about operators that do not round is about the first such operator only, whatever
/// it computes.
#[test]
fn what_is_not_rounded_to_its_type_is_said_once() {
    for (number, name) in [(10, "f16"), (16, "bf16")] {
        let to = |number: i64| long(5, &[long(1, b"to"), int(3, number), int(20, 2)].concat());
        let graph = [
            long(1, &node("Cast", &["x"], "short", &to(number))),
            long(1, &node("Identity", &["short"], "same", &[])),
            long(1, &node("CumSum", &["same", "zero"], "sum", &[])),
            long(1, &node("Mul", &["sum", "short"], "product", &[])),
            called("zero", 7, &[], &long(7, &ints(&[0]))),
            long(1, &node("Cast", &["product"], "y", &to(1))),
            long(11, &value("x", 3)),
            long(12, &value("y", 3)),
        ];
        let model = read(&file(&graph.concat(), 17), None).expect("it is read").model;
        let (_, warnings) = core_model(&model, &Options::default()).expect("it is computed");
        let text = warnings.to_string();
        let said = format!("values of {name} are computed in f32 and not rounded to {name}");
        assert_eq!(text.matches(&said).count(), 1, "{text}");
        assert!(text.contains("(CumSum, node 2"), "{text}");
    }
}

#[test]
fn space_to_depth_takes_a_mode_from_operator_set_28_on() {
    let mode =
        |word: &str| long(5, &[long(1, b"mode"), long(4, word.as_bytes()), int(20, 3)].concat());
    let size = long(5, &[long(1, b"blocksize"), int(3, 2), int(20, 2)].concat());
    for (set, word, channel_first) in
        [(28, "CRD", Some(true)), (28, "DCR", Some(false)), (13, "CRD", None)]
    {
        let rest = [size.clone(), mode(word)].concat();
        let graph = [
            long(1, &node("SpaceToDepth", &["x"], "y", &rest)),
            long(11, &value("x", 4)),
            long(12, &value("y", 4)),
        ];
        let found = read(&file(&graph.concat(), set), None);
        let taken = found.ok().and_then(|read| {
            read.model.nodes.iter().find_map(|node| match node.op {
                Op::Blocks(blocks) => Some(blocks.channel_first),
                _ => None,
            })
        });
        assert_eq!(taken, channel_first, "{word} of set {set}");
    }
}

#[test]
fn an_axis_that_no_tensor_has_is_refused_before_dimensions_are_counted() {
    let axis = |axis: i64| long(5, &[long(1, b"axis"), int(3, axis), int(20, 2)].concat());
    let layer = |number: i64| {
        node("LayerNormalization", &["x", "w"], "y", &[long(2, b"mean"), axis(number)].concat())
    };
    let scales = |number: i64| node("QuantizeLinear", &["x", "w"], "y", &axis(number));
    for number in [-(1 << 57), i64::MIN, i64::MAX] {
        for node in [layer(number), scales(number)] {
            let tensor = tensor(1, 2, &long(4, &floats(&[0.5, 1.0])));
            let graph = [
                long(1, &node),
                long(5, &tensor),
                long(11, &value("x", 2)),
                long(12, &value("y", 2)),
            ];
            let read = read(&file(&graph.concat(), 17), None);
            let checked = read.and_then(|read| core_model(&read.model, &Options::default()));
            let said = checked.expect_err("it is refused").to_string();
            assert!(said.contains(&format!("the axis {number} of a tensor of 1 dim")), "{said}");
        }
    }
}

/// An initializer.
fn called(name: &str, number: i64, dims: &[i64], data: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|&size| int(1, size)).collect();
    long(5, &[dims, int(2, number), long(8, name.as_bytes()), data.to_vec()].concat())
}

/// An input or output without dimensions.
fn scalar(name: &str, number: i64) -> Vec<u8> {
    [long(1, name.as_bytes()), long(2, &long(1, &[int(1, number), long(2, &[])].concat()))].concat()
}

fn graph_attribute(name: &str, graph: &[u8]) -> Vec<u8> {
    long(5, &[long(1, name.as_bytes()), long(6, graph), int(20, 5)].concat())
}

/// The condition of a loop's body, and the next state.
#[derive(Clone, Copy, PartialEq)]
enum Body {
    /// The loop goes on while the state is below a limit, and doubles the state.
    Until,
    /// The loop always goes on, and doubles the state.
    Forever,
    /// The loop always goes on, and adds the number of the iteration to the state.
    Numbered,
}

/// A file with a loop whose initial state is `x`. `trips`: the constant trip count. `None`: the
/// trip count is an input.
fn with_loop(trips: Option<i64>, kind: Body) -> Vec<u8> {
    let goes_on = match kind {
        Body::Until => {
            let no_dims = long(5, &[long(1, b"keepdims"), int(3, 0), int(20, 2)].concat());
            let most = long(1, &node("ReduceMax", &["next"], "most", &no_dims));
            [most, long(1, &node("Less", &["most", "limit"], "goes_on", &[]))].concat()
        }
        Body::Forever | Body::Numbered => long(1, &node("Identity", &["go"], "goes_on", &[])),
    };
    let next = if kind == Body::Numbered {
        let to = long(5, &[long(1, b"to"), int(3, 1), int(20, 2)].concat());
        [
            long(1, &node("Cast", &["k"], "f", &to)),
            long(1, &node("Add", &["state", "f"], "next", &[])),
        ]
        .concat()
    } else {
        long(1, &node("Add", &["state", "state"], "next", &[]))
    };
    let (inputs, outputs) = (
        [scalar("k", 7), scalar("go", 9), value("state", 3)],
        [scalar("goes_on", 9), value("next", 3)],
    );
    let inputs = inputs.iter().flat_map(|input| long(11, input));
    let body: Vec<u8> = next.into_iter().chain(goes_on).chain(inputs).collect();
    let body = [body, outputs.iter().flat_map(|output| long(12, output)).collect()].concat();
    let count = match trips {
        Some(trips) => called("M", 7, &[], &long(7, &ints(&[trips]))),
        None => long(11, &scalar("M", 7)),
    };
    let graph = [
        long(1, &node("Loop", &["M", "yes", "x"], "y", &graph_attribute("body", &body))),
        called("yes", 9, &[], &long(5, &ints(&[1]))),
        called("limit", 1, &[], &long(4, &floats(&[9.0]))),
        count,
        long(11, &value("x", 3)),
        long(12, &value("y", 3)),
    ];
    file(&graph.concat(), 17)
}

/// The error for a carried value without an initial value names the input.
#[test]
fn inputs_of_operators_with_any_number_of_inputs_are_not_left_out() {
    let body = [
        long(1, &node("Identity", &["go"], "goes_on", &[])),
        long(1, &node("Add", &["b", "b"], "next", &[])),
        [scalar("k", 7), scalar("go", 9), value("a", 3), value("b", 3)]
            .iter()
            .flat_map(|input| long(11, input))
            .collect(),
        [scalar("goes_on", 9), value("a", 3), value("next", 3)]
            .iter()
            .flat_map(|output| long(12, output))
            .collect(),
    ];
    let body = graph_attribute("body", &body.concat());
    let said = |node: Vec<u8>| {
        let graph = [
            long(1, &node),
            called("M", 7, &[], &long(7, &ints(&[3]))),
            long(11, &value("x", 3)),
            long(12, &value("y", 3)),
        ];
        read(&file(&graph.concat(), 17), None).expect_err("an input is left out").to_string()
    };
    let of_loop = said(node("Loop", &["M", "", "", "x"], "y", &body));
    assert!(of_loop.contains("input 2 is left out"), "{of_loop}");
    let sum = said(node("Sum", &["x", "", "x"], "y", &[]));
    assert!(sum.contains("input 1 is left out"), "{sum}");
}

/// The maximum number of iterations of a file's loop and the warnings, or the errors.
fn trips_of(bytes: &[u8], max_steps: Option<usize>) -> Result<(usize, String), String> {
    let model = read(bytes, None).unwrap_or_else(|problems| panic!("{problems}")).model;
    let options = Options::default().with_max_steps(max_steps);
    let (valid, warnings) =
        core_model(&model, &options).map_err(|problems| problems.to_string())?;
    let trips = valid
        .nodes
        .iter()
        .find_map(|node| if let CoreOp::Loop(body) = &node.op { Some(body.trips) } else { None });
    Ok((trips.expect("the loop"), warnings.to_string()))
}

#[test]
fn a_loop_of_more_iterations_than_are_counted_is_refused() {
    let most = i64::from(u32::MAX);
    assert_eq!(
        trips_of(&with_loop(Some(most), Body::Forever), None),
        Ok((u32::MAX as usize, String::new()))
    );
    for trips in [most + 1, 1 << 40, i64::MAX] {
        for max_steps in [None, Some(40)] {
            let said =
                trips_of(&with_loop(Some(trips), Body::Forever), max_steps).expect_err("too many");
            assert!(
                said.contains(&format!("a loop of {trips} iterations"))
                    && said.contains("1 to 4294967295"),
                "{said}"
            );
        }
    }
    // a loop that reads the number of the iteration has a lower limit
    assert_eq!(
        trips_of(&with_loop(Some((1 << 24) - 1), Body::Numbered), None).unwrap().0,
        (1 << 24) - 1
    );
    for trips in [1 << 24, most, i64::MAX] {
        for max_steps in [None, Some(40)] {
            let said =
                trips_of(&with_loop(Some(trips), Body::Numbered), max_steps).expect_err("too many");
            assert!(
                said.contains(&format!("a loop of {trips} iterations"))
                    && said.contains("1 to 16777215"),
                "{said}"
            );
        }
    }
}

#[test]
fn no_loop_has_a_largest_count_of_0() {
    for body in [Body::Until, Body::Numbered, Body::Forever] {
        for trips in [None, Some(50), Some(i64::MAX)] {
            let said = trips_of(&with_loop(trips, body), Some(0)).expect_err("a count of 0");
            assert!(said.contains("a largest count of iterations of 0"), "{said}");
        }
    }
}

/// PyTorch exports `while` as a loop with a huge trip count and a condition.
#[test]
fn a_loop_that_ends_by_its_condition_has_no_count_where_that_is_huge() {
    for trips in [1 << 24, i64::MAX] {
        let bytes = with_loop(Some(trips), Body::Until);
        assert_eq!(trips_of(&bytes, Some(40)), Ok((40, String::new())), "{trips}");
        let said = trips_of(&bytes, None).expect_err("nothing says how many there are at most");
        assert!(said.contains("--max-steps") && said.contains("without a largest count"), "{said}");
        let said =
            trips_of(&bytes, Some(1 << 24)).expect_err("no more than where the model says it");
        assert!(said.contains("1 to 16777215"), "{said}");
    }
    for (trips, max_steps) in [(50, None), ((1 << 24) - 1, None)] {
        assert_eq!(
            trips_of(&with_loop(Some(trips), Body::Until), max_steps),
            Ok((trips as usize, String::new()))
        );
    }
}

/// An input or output with sizes.
fn sized(name: &str, number: i64, sizes: &[i64]) -> Vec<u8> {
    let shape: Vec<u8> = sizes.iter().flat_map(|&size| long(1, &int(1, size))).collect();
    [long(1, name.as_bytes()), long(2, &long(1, &[int(1, number), long(2, &shape)].concat()))]
        .concat()
}

/// A file with two equal loops that double `x` until an element exceeds 9, at most 5 times. The
/// outputs are the last state and all states, `last` and `parts`, `last_2` and `parts_2`. One node
/// computes `y` from `inputs`. More inputs of the model: `t`, `[2, 1, 3]`, and `u`, `[5, 3]`.
fn after_a_loop(operator: &str, inputs: &[&str], element: i64) -> Vec<u8> {
    let no_dims = long(5, &[long(1, b"keepdims"), int(3, 0), int(20, 2)].concat());
    let body = [
        long(1, &node("Add", &["state", "state"], "next", &[])),
        long(1, &node("ReduceMax", &["next"], "most", &no_dims)),
        long(1, &node("Less", &["most", "limit"], "goes_on", &[])),
        long(1, &node("Identity", &["next"], "part", &[])),
        [scalar("k", 7), scalar("go", 9), value("state", 3)]
            .iter()
            .flat_map(|input| long(11, input))
            .collect(),
        [scalar("goes_on", 9), value("next", 3), value("part", 3)]
            .iter()
            .flat_map(|output| long(12, output))
            .collect(),
    ];
    let twice = |last: &str, parts: &str| {
        let rest = [long(2, parts.as_bytes()), graph_attribute("body", &body.concat())].concat();
        long(1, &node("Loop", &["M", "yes", "x"], last, &rest))
    };
    let graph = [
        twice("last", "parts"),
        twice("last_2", "parts_2"),
        called("M", 7, &[], &long(7, &ints(&[5]))),
        called("yes", 9, &[], &long(5, &ints(&[1]))),
        called("limit", 1, &[], &long(4, &floats(&[9.0]))),
        long(1, &node(operator, inputs, "y", &[])),
        [value("x", 3), sized("t", 1, &[2, 1, 3]), sized("u", 1, &[5, 3])]
            .iter()
            .flat_map(|v| long(11, v))
            .collect(),
        long(12, &[long(1, b"y"), long(2, &long(1, &int(1, element)))].concat()),
    ];
    file(&graph.concat(), 17)
}

/// ONNX Runtime returns 4 parts for x = [1, 0.5, 0.25].
#[test]
fn parts_that_only_a_call_counts_keep_their_axis_and_their_count() {
    let valid = |bytes: &[u8]| {
        let model = read(bytes, None).unwrap_or_else(|problems| panic!("{problems}")).model;
        core_model(&model, &Options::default()).map_err(|problems| problems.to_string())
    };
    let cases: [(&str, &[&str], &[usize], bool); 5] = [
        ("Identity", &["parts"], &[5, 3], true),
        // the last state has the shape of one part
        ("Add", &["last", "parts"], &[5, 3], true),
        ("Add", &["parts", "last"], &[5, 3], true),
        ("Add", &["parts", "t"], &[2, 5, 3], false),
        ("Add", &["t", "parts"], &[2, 5, 3], false),
    ];
    let inputs = [vec![1.0, 0.5, 0.25], vec![0.5; 6], vec![0.5; 15]];
    for (operator, read, shape, cut) in cases {
        let (model, _) = valid(&after_a_loop(operator, read, 1))
            .unwrap_or_else(|said| panic!("{read:?}: {said}"));
        let names: Vec<&str> = model.results.iter().map(|result| &result.names[0][..]).collect();
        assert_eq!(names, ["y", "y_len"], "{read:?}");
        assert_eq!(model.results[0].shape, shape, "{read:?}");
        assert_eq!(
            model.results[0].parts,
            cut.then_some(1),
            "{read:?}: the parts lie along the first axis"
        );
        let results = crate::reference::reference(&model, &inputs, &[]).results;
        assert_eq!(results[1], [4.0], "{read:?}");
    }
    let (model, _) =
        valid(&after_a_loop("Shape", &["parts"], 7)).unwrap_or_else(|said| panic!("{said}"));
    assert_eq!(crate::reference::reference(&model, &inputs, &[]).results, [[4.0, 3.0]]);
    for read in [["parts", "u"], ["u", "parts"], ["parts", "parts_2"]] {
        let said = valid(&after_a_loop("Add", &read, 1)).map(|_| ()).expect_err("refused");
        assert!(
            said.contains("for each part one element, or one for all of them"),
            "{read:?}: {said}"
        );
    }
}

#[test]
fn a_largest_count_that_no_loop_needs_is_warned_of() {
    for body in [Body::Until, Body::Forever] {
        let (trips, warned) = trips_of(&with_loop(Some(50), body), Some(4)).unwrap();
        assert_eq!(trips, 50);
        assert!(warned.contains("--max-steps has no effect"), "{warned}");
    }
}

#[test]
fn a_trip_count_of_run_time_is_refused_with_what_is_read() {
    let said = trips_of(&with_loop(None, Body::Until), Some(6)).expect_err("M is an input");
    assert!(
        said.contains("the trip count is computed at run time")
            && said.contains("leave the trip count out"),
        "{said}"
    );
}

#[test]
fn nodes_need_not_be_in_order() {
    let ends = [long(11, &value("x", 3)), long(12, &value("y", 3))].concat();
    let [exp, neg] =
        [("Exp", "t", "y"), ("Neg", "x", "t")].map(|(of, x, y)| long(1, &node(of, &[x], y, &[])));
    let model =
        read(&file(&[exp, neg, ends.clone()].concat(), 13), None).expect("an order is found").model;
    let kinds: Vec<&str> = model.nodes.iter().map(|node| &node.kind[..3]).collect();
    assert_eq!(
        kinds.iter().position(|kind| *kind == "Neg").map(|at| kinds[at + 1]),
        Some("Exp"),
        "{kinds:?}"
    );
    // two nodes that read each other have no order
    let [exp, neg] =
        [("Exp", "t", "y"), ("Neg", "y", "t")].map(|(of, x, y)| long(1, &node(of, &[x], y, &[])));
    let said = read(&file(&[exp, neg, ends].concat(), 13), None)
        .expect_err("there is no order")
        .to_string();
    assert!(said.contains("no earlier node makes the input"), "{said}");
}

#[test]
fn an_output_that_is_not_read_need_not_be_there() {
    let second = |name: &str| long(2, name.as_bytes());
    let dropout = long(1, &node("Dropout", &["x"], "t", &second("mask")));
    let relu = long(1, &node("Relu", &["t"], "y", &[]));
    let ends = [long(11, &value("x", 3)), long(12, &value("y", 3))].concat();
    assert!(read(&file(&[dropout.clone(), relu.clone(), ends.clone()].concat(), 11), None).is_ok());
    // an output without a name is absent, and an input without a name reads no output
    let unnamed = long(1, &node("Dropout", &["x", ""], "t", &second("")));
    assert!(read(&file(&[unnamed, relu.clone(), ends.clone()].concat(), 13), None).is_ok());
    let branch = |name: &str, read: &str| {
        let graph =
            [long(1, &node("Identity", &[read], "z", &[])), long(12, &value("z", 3))].concat();
        graph_attribute(name, &graph)
    };
    let inner = [branch("then_branch", "x"), branch("else_branch", "mask")].concat();
    let yes = called("yes", 9, &[], &long(5, &ints(&[1])));
    let cases = [
        (
            "a node",
            [
                long(
                    1,
                    &node(
                        "Cast",
                        &["mask"],
                        "m",
                        &long(5, &[long(1, b"to"), int(3, 1), int(20, 2)].concat()),
                    ),
                ),
                long(12, &value("m", 3)),
            ]
            .concat(),
        ),
        ("a graph output", long(12, &value("mask", 3))),
        (
            "an inner graph",
            [long(1, &node("If", &["yes"], "i", &inner)), yes, long(12, &value("i", 3))].concat(),
        ),
    ];
    for (case, reader) in cases {
        let said =
            read(&file(&[dropout.clone(), relu.clone(), reader, ends.clone()].concat(), 11), None)
                .expect_err(case);
        assert!(said.to_string().contains("output 1 is asked for"), "{case}: {said}");
    }
    // five outputs mean training mode, whether they are read or not
    let outputs: Vec<u8> = ["a", "b", "c", "d"].iter().flat_map(|name| second(name)).collect();
    let batch = long(1, &node("BatchNormalization", &["x"; 5], "t", &outputs));
    let said = read(&file(&[batch, relu.clone(), ends.clone()].concat(), 9), None)
        .expect_err("it is training");
    assert!(said.to_string().contains("5 outputs, which mean training mode"), "{said}");
    // Split has one part for each output, read or not
    let split = long(1, &node("Split", &["x"], "t", &[second("u"), second("v")].concat()));
    let model = read(&file(&[split, relu, ends].concat(), 11), None).unwrap().model;
    let (valid, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(valid.results[0].shape, [1]);
}

/// PyTorch exports Resize with empty tensors for roi and scales in operator set 11.
#[test]
fn an_empty_tensor_is_no_roi_and_no_scales() {
    let text = |name: &str, value: &str| {
        long(5, &[long(1, name.as_bytes()), long(4, value.as_bytes()), int(20, 3)].concat())
    };
    let rest =
        [text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")]
            .concat();
    let empty = |name: &str| called(name, 1, &[0], &[]);
    let constant = |name: &str| {
        let tensor = long(5, &[int(1, 0), int(2, 1)].concat());
        long(
            1,
            &node(
                "Constant",
                &[],
                name,
                &long(5, &[long(1, b"value"), tensor, int(20, 4)].concat()),
            ),
        )
    };
    let ends = [long(11, &value("x", 3)), long(12, &value("y", 6))].concat();
    let sizes = called("sizes", 7, &[1], &long(7, &ints(&[6])));
    let scales = called("scales", 1, &[1], &long(4, &floats(&[2.0])));
    let resize = |inputs: &[&str]| long(1, &node("Resize", inputs, "y", &rest));
    let by_sizes = resize(&["x", "roi", "none", "sizes"]);
    let cases = [
        [constant("roi"), constant("none"), by_sizes.clone(), sizes.clone()].concat(),
        [by_sizes, sizes, empty("roi"), empty("none")].concat(),
        [resize(&["x", "roi", "scales"]), empty("roi"), scales.clone()].concat(),
        [resize(&["x", "roi", "scales", "none"]), empty("roi"), scales, empty("none")].concat(),
    ];
    for (at, graph) in cases.iter().enumerate() {
        let model = read(&file(&[graph.clone(), ends.clone()].concat(), 11), None)
            .unwrap_or_else(|problems| panic!("{at}: {problems}"))
            .model;
        let (valid, _) = core_model(&model, &Options::default())
            .unwrap_or_else(|problems| panic!("{at}: {problems}"));
        assert_eq!(valid.results[0].shape, [6], "{at}");
    }
    let said = read(
        &file(&[resize(&["x", "roi", "none"]), empty("roi"), empty("none"), ends].concat(), 11),
        None,
    );
    assert!(said.expect_err("by nothing").to_string().contains("neither scales nor sizes"));
}

#[test]
fn a_function_that_calls_itself_is_named() {
    let call = node("R", &["a"], "b", &long(7, b"own"));
    let sets = [long(9, &int(2, 17)), long(9, &[long(1, b"own"), int(2, 1)].concat())].concat();
    let function =
        [long(1, b"R"), long(4, b"a"), long(5, b"b"), long(7, &call), sets, long(10, b"own")]
            .concat();
    let call = [long(7, b"own"), long(3, b"outer")].concat();
    let graph = [
        long(1, &node("R", &["x"], "y", &call)),
        long(11, &value("x", 1)),
        long(12, &value("y", 1)),
    ]
    .concat();
    let sets = [long(8, &int(2, 17)), long(8, &[long(1, b"own"), int(2, 1)].concat())].concat();
    let said = read(&[int(1, 8), long(7, &graph), sets, long(25, &function)].concat(), None)
        .unwrap_err()
        .to_string();
    assert!(said.contains("the innermost calls \"R\" in \"R\""), "{said}");
}

/// The errors state shapes in the layout of the file, not in the layout of the model.
#[test]
fn states_and_biases_of_other_shapes_are_called_what_they_are() {
    let zeros = |name: &str, dims: [i64; 2], rest: &[i64]| {
        let dims = [&dims[..], rest].concat();
        let len = dims.iter().product::<i64>() as usize;
        called(name, 1, &dims, &long(4, &floats(&vec![0.0; len])))
    };
    let size = long(5, &[long(1, b"hidden_size"), int(3, 3), int(20, 2)].concat());
    let inputs = [
        zeros("w", [1, 9], &[4]),
        zeros("r", [1, 9], &[3]),
        zeros("b", [1, 9], &[]),
        zeros("h", [1, 5], &[2]),
    ];
    let x = [zeros("X", [2, 1], &[4]), inputs.concat()].concat();
    let gru = long(1, &node("GRU", &["X", "w", "r", "b", "", "h"], "y", &size));
    let model = read(&file(&[gru, x, long(12, &value("y", 3))].concat(), 17), None)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .model;
    let said = core_model(&model, &Options::default()).unwrap_err().to_string();
    for words in [
        "B has the shape [1, 9]",
        "[1, 18]: [D, 6 * H]",
        "initial_h has the shape [1, 5, 2]",
        "[1, 1, 3]: [D, N, H]",
    ] {
        assert!(said.contains(words), "{said}");
    }
    assert!(!said.contains("h0"), "{said}");
}

/// A GRU of 3 units with the attribute clip.
fn clipped(clip: f32) -> Vec<u8> {
    gru(3, field(2, 5, &clip.to_le_bytes()))
}

/// A GRU with weights of 3 units and the attribute hidden_size.
fn gru_of_size(size: usize) -> Vec<u8> {
    gru(size as i64, field(2, 5, &0f32.to_le_bytes()))
}

/// A GRU with weights of 3 units. `size`: the attribute hidden_size. `clip`: the encoded value of
/// the attribute clip.
fn gru(size: i64, clip: Vec<u8>) -> Vec<u8> {
    let zeros = |name: &str, dims: &[i64]| {
        let len = dims.iter().product::<i64>() as usize;
        called(name, 1, dims, &long(4, &floats(&vec![0.0; len])))
    };
    let size = long(5, &[long(1, b"hidden_size"), int(3, size), int(20, 2)].concat());
    let clip = long(5, &[long(1, b"clip"), clip, int(20, 1)].concat());
    let gru = node("GRU", &["x", "w", "r", "b"], "y", &[size, clip].concat());
    let graph = [
        long(1, &gru),
        zeros("w", &[1, 9, 4]),
        zeros("r", &[1, 9, 3]),
        zeros("b", &[1, 18]),
        long(11, &sized("x", 1, &[2, 1, 4])),
        long(12, &sized("y", 1, &[2, 1, 1, 3])),
    ];
    file(&graph.concat(), 17)
}

#[test]
fn a_hidden_size_has_the_limits_of_any_other_reader() {
    for size in crate::rules::cell::WRONG_HIDDEN_SIZES {
        let model =
            read(&gru_of_size(size), None).unwrap_or_else(|problems| panic!("{problems}")).model;
        let problems = core_model(&model, &Options::default()).unwrap_err();
        assert_eq!(problems.0.len(), 1, "{problems}");
        let problems = problems.to_string();
        assert!(problems.contains(&format!("hidden_size is {size}")), "{problems}");
        assert!(problems.contains("an integer from 1 to 1048576"), "{problems}");
    }
}

#[test]
fn a_clip_above_zero_is_a_bound() {
    for (clip, bound, is_warned_about) in crate::rules::cell::CLIPS {
        let model =
            read(&clipped(clip), None).unwrap_or_else(|problems| panic!("{problems}")).model;
        let (valid, warnings) =
            core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(valid.cells()[0].clip, bound, "{clip}");
        let said = warnings.to_string();
        assert_eq!(said.contains("the clip"), is_warned_about, "{clip}: {said}");
    }
}

/// A quantised LSTM with weights of 3 units and the attributes hidden_size and clip.
fn quantised_lstm(hidden_size: i64, clip: f32) -> Vec<u8> {
    quantised_lstm_with(hidden_size, clip, &[])
}

/// As [`quantised_lstm`], with more attributes.
fn quantised_lstm_with(hidden_size: i64, clip: f32, attributes: &[u8]) -> Vec<u8> {
    let bytes = |name: &str, dims: &[i64]| {
        let len = dims.iter().product::<i64>() as usize;
        called(name, 3, dims, &long(9, &vec![0; len]))
    };
    let scale = |name: &str| called(name, 1, &[1], &long(4, &floats(&[0.5])));
    let size = long(5, &[long(1, b"hidden_size"), int(3, hidden_size), int(20, 2)].concat());
    let clip = long(5, &[long(1, b"clip"), field(2, 5, &clip.to_le_bytes()), int(20, 1)].concat());
    let inputs = ["x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"];
    let rest = [long(7, b"com.microsoft"), size, clip, attributes.to_vec()].concat();
    let graph = [
        long(1, &node("DynamicQuantizeLSTM", &inputs, "y", &rest)),
        bytes("w", &[1, 4, 12]),
        bytes("r", &[1, 3, 12]),
        scale("ws"),
        bytes("wz", &[1]),
        scale("rs"),
        bytes("rz", &[1]),
        long(11, &sized("x", 1, &[2, 1, 4])),
        long(12, &sized("y", 1, &[2, 1, 1, 3])),
    ];
    let set = long(8, &[long(1, b"com.microsoft"), int(2, 1)].concat());
    [file(&graph.concat(), 17), set].concat()
}

#[test]
fn the_clip_of_a_quantised_lstm_follows_the_rule_of_all_cells() {
    for (clip, _, is_warned_about) in crate::rules::cell::CLIPS {
        let ReadModel { model, problems: warnings } =
            read(&quantised_lstm(3, clip), None).unwrap_or_else(|problems| panic!("{problems}"));
        let said = warnings.to_string();
        let warning = format!("the clip {clip} has no effect: it is not above 0");
        assert_eq!(said.contains(&warning), is_warned_about, "{clip}: {said}");
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn a_hidden_size_of_a_quantised_lstm_has_the_limits_of_any_other() {
    let wrong = crate::rules::cell::WRONG_HIDDEN_SIZES.map(|size| size as i64);
    for size in [i64::MIN, -1].into_iter().chain(wrong) {
        let problems = read(&quantised_lstm(size, 0.0), None).expect_err("hidden_size").to_string();
        let word = if size < 0 { "=" } else { " is " };
        let found = format!("hidden_size{word}{size}");
        assert!(problems.contains(&found), "{size}: {problems}");
        assert!(problems.contains("an integer from 1 to 1048576"), "{size}: {problems}");
    }
}

#[test]
fn activations_of_a_quantised_lstm_have_the_rules_of_any_other() {
    let named = |names: &[&[u8]], alpha: f32| {
        let names: Vec<u8> = names.iter().flat_map(|name| long(9, name)).collect();
        let alphas = attribute("activation_alpha", 6, &long(7, &alpha.to_le_bytes()));
        let all = [attribute("activations", 8, &names), alphas].concat();
        read(&quantised_lstm_with(3, 0.0, &all), None)
    };
    for (alpha, is_legal) in crate::rules::cell::PARAMETERS_OF_ACTIVATIONS {
        let said = named(&[b"LeakyRelu", b"Tanh", b"Tanh"], alpha);
        assert_eq!(said.is_ok(), is_legal, "{alpha}");
        let found = format!("alpha of the activation leakyrelu is {alpha}");
        assert!(said.err().is_none_or(|said| said.to_string().contains(&found)), "{alpha}");
    }
    let said = named(&[b"LeakyRelu", b"Tanh"], 0.5).expect_err("two activations").to_string();
    assert!(said.contains("2 activations, but LSTMSequence takes 3"), "{said}");
}

/// An RNN with the activation LeakyRelu of the given alpha.
fn leaky(alpha: f32) -> Vec<u8> {
    let zeros = |name: &str, dims: &[i64]| {
        let len = dims.iter().product::<i64>() as usize;
        called(name, 1, dims, &long(4, &floats(&vec![0.0; len])))
    };
    let size = long(5, &[long(1, b"hidden_size"), int(3, 3), int(20, 2)].concat());
    let names = long(5, &[long(1, b"activations"), long(9, b"LeakyRelu"), int(20, 8)].concat());
    let alphas = [long(1, b"activation_alpha"), long(7, &alpha.to_le_bytes()), int(20, 6)];
    let attributes = [size, names, long(5, &alphas.concat())].concat();
    let rnn = node("RNN", &["x", "w", "r", "b"], "y", &attributes);
    let graph = [
        long(1, &rnn),
        zeros("w", &[1, 3, 4]),
        zeros("r", &[1, 3, 3]),
        zeros("b", &[1, 6]),
        long(11, &sized("x", 1, &[2, 1, 4])),
        long(12, &sized("y", 1, &[2, 1, 1, 3])),
    ];
    file(&graph.concat(), 17)
}

#[test]
fn parameters_of_activations_are_finite() {
    for (alpha, is_legal) in crate::rules::cell::PARAMETERS_OF_ACTIVATIONS {
        for bytes in [leaky(alpha), with_function(Some(alpha), None)] {
            let model = read(&bytes, None).unwrap_or_else(|problems| panic!("{problems}")).model;
            let said = core_model(&model, &Options::default()).map_err(|said| said.to_string());
            let found = format!("alpha of the activation leakyrelu is {alpha}");
            assert_eq!(said.is_ok(), is_legal, "{alpha}: {said:?}");
            assert!(said.err().is_none_or(|said| said.contains(&found)), "{alpha}");
        }
    }
}

/// An LSTM whose state c is wider than h, as PyTorch exports `nn.LSTM(proj_size=3)`.
#[test]
fn projections_of_an_lstm_are_called_what_they_are() {
    let zeros = |name: &str, dims: &[i64]| {
        let len = dims.iter().product::<i64>() as usize;
        called(name, 1, dims, &long(4, &floats(&vec![0.0; len])))
    };
    let inputs = [
        zeros("X", &[2, 1, 4]),
        zeros("w", &[1, 12, 4]),
        zeros("r", &[1, 12, 3]),
        zeros("b", &[1, 24]),
    ];
    let states = [zeros("h", &[1, 1, 3]), zeros("c", &[1, 1, 8])];
    let size = long(5, &[long(1, b"hidden_size"), int(3, 3), int(20, 2)].concat());
    let lstm = long(1, &node("LSTM", &["X", "w", "r", "b", "", "h", "c"], "y", &size));
    let graph = [lstm, inputs.concat(), states.concat(), long(12, &value("y", 3))].concat();
    let model = read(&file(&graph, 17), None).expect("the shapes of states are validated").model;
    let said =
        core_model(&model, &Options::default()).expect_err("c has another size than h").to_string();
    assert!(
        said.contains("an h of 3 elements and a c of 8: an LSTM with projections (proj_size)"),
        "{said}"
    );
    assert_eq!(said.matches("error:").count(), 1, "{said}");
}

/// An input with a written size of 0 has no elements, unless the user gives a shape.
#[test]
fn a_written_size_of_0_is_no_open_size() {
    let graph = [
        long(1, &node("Relu", &["x"], "y", &[])),
        long(11, &value("x", 0)),
        long(12, &value("y", 0)),
    ]
    .concat();
    let model = read(&file(&graph, 17), None).expect("it can be read").model;
    let said = core_model(&model, &Options::default()).expect_err("x has no elements").to_string();
    assert!(said.contains("the input has the shape [0]: a size of 0"), "{said}");
    let given = Options::default().with_shapes(vec![("x".to_owned(), vec![Some(3)])]);
    let (valid, _) = core_model(&model, &given).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(valid.results[0].shape, [3]);
}

/// Every dated attribute, input and output is accepted on one side of the operator set that adds or
/// removes it, and refused on the other side.
#[test]
fn what_an_operator_set_does_not_have_is_refused_by_name() {
    let said = |operator: &str, part: &OperatorPart, set: i64| {
        let (inputs, rest) = match *part {
            OperatorPart::Attribute(name) => {
                (vec!["x"], long(5, &[long(1, name.as_bytes()), int(3, 1), int(20, 2)].concat()))
            }
            OperatorPart::Input(place) => ([vec![""; place], vec!["x"]].concat(), Vec::new()),
            OperatorPart::Output(place) => {
                (vec!["x"], [long(2, b"").repeat(place - 1), long(2, b"z")].concat())
            }
        };
        let node = long(1, &node(operator, &inputs, "y", &rest));
        let graph = [node, long(11, &value("x", 3)), long(12, &value("y", 3))].concat();
        read(&file(&graph, set), None)
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    for Dated { part, since, until, operators } in DATED {
        for operator in *operators {
            let row = find("", operator).unwrap_or_else(|| panic!("{operator} is not read"));
            let has = |set: i64| set >= OLDEST.max(row.versions[0]);
            let changes = [Some((*since, since - 1)), until.map(|until| (until - 1, until))];
            let [came, went] =
                changes.map(|sets| sets.filter(|&(with, without)| has(with) && has(without)));
            assert!(
                came.is_some() != went.is_some(),
                "{operator}, {part:?}: one change between the sets that are read"
            );
            let (with, without) = came.or(went).unwrap();
            let words = match part {
                OperatorPart::Attribute(name) => {
                    format!("the attribute {name}: operator set {without} does not have it")
                }
                OperatorPart::Input(place) => {
                    format!("input {place}, \"x\": operator set {without} does not have it")
                }
                OperatorPart::Output(place) => {
                    format!("output {place}, \"z\": operator set {without} does not have it")
                }
            };
            let refused = said(operator, part, without);
            let side = if came.is_some() { "later" } else { "earlier" };
            assert!(
                refused.contains(&words) && refused.contains(&format!("{with} or {side}")),
                "{operator}: {refused}"
            );
            let other = said(operator, part, with);
            assert!(!other.contains("does not have it"), "{operator} of set {with}: {other}");
        }
    }
}

/// The number of named outputs must be valid by ONNX's definition, whether outputs are read or not.
#[test]
fn an_operator_with_outputs_that_its_definition_does_not_have_is_refused() {
    let said = |operator: &str, outputs: &[&str], set: i64| {
        let more: Vec<u8> = outputs[1..].iter().flat_map(|name| long(2, name.as_bytes())).collect();
        let node = long(1, &node(operator, &["x"], outputs[0], &more));
        let graph = [node, long(11, &value("x", 3)), long(12, &value("y", 3))].concat();
        read(&file(&graph, set), None)
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    for (operator, outputs, set, valid) in [
        ("Relu", &["y", "z"][..], 17, "1"),
        ("Softmax", &["y", "z"], 13, "1"),
        ("Dropout", &["y", "", "z"], 17, "1 to 2"),
        ("GlobalMaxPool", &["y", "z"], 17, "1"),
        ("DynamicQuantizeLinear", &["y"], 17, "3"),
        ("DynamicQuantizeLinear", &["y", "a", "b", "c"], 17, "3"),
    ] {
        let text = said(operator, outputs, set);
        let words = [format!("{} output", outputs.len()), format!("valid: {valid}\n")];
        assert!(words.iter().all(|word| text.contains(word)), "{operator}: {text}");
    }
    assert_eq!(said("Dropout", &["y", "z"], 17), "");
    assert_eq!(said("Relu", &["y", ""], 17), "");
}

#[test]
fn attributes_of_no_operator_set_that_is_read_are_refused() {
    let flag = |name: &str| long(5, &[long(1, name.as_bytes()), int(3, 1), int(20, 2)].concat());
    let graph = [
        long(1, &node("Dropout", &["x"], "y", &flag("is_test"))),
        long(11, &value("x", 3)),
        long(12, &value("y", 3)),
    ];
    let said = read(&file(&graph.concat(), 7), None).expect_err("it is refused").to_string();
    assert!(said.contains("\"is_test\" has no known meaning"), "{said}");
}

/// Wrong declarations of an output and of an inner value.
#[test]
fn a_declared_type_that_a_value_does_not_have_is_refused_and_a_shape_warned_of() {
    let of = |name: &str, number: i64, len: i64| {
        let shape = long(2, &long(1, &int(1, len)));
        [long(1, name.as_bytes()), long(2, &long(1, &[int(1, number), shape].concat()))].concat()
    };
    let graph = |inner: Vec<u8>, outer: Vec<u8>| {
        let nodes =
            [long(1, &node("Relu", &["x"], "t", &[])), long(1, &node("Tanh", &["t"], "y", &[]))]
                .concat();
        file(&[nodes, long(11, &value("x", 3)), long(12, &outer), long(13, &inner)].concat(), 17)
    };
    let ReadModel { model, problems } =
        read(&graph(of("t", 1, 3), of("y", 1, 3)), None).expect("all is as declared");
    let (_, warnings) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(problems.0.is_empty() && warnings.0.is_empty(), "{problems}{warnings}");
    for (inner, outer, place) in
        [(1, 7, "\"y\" (output)"), (9, 1, "\"t\" (value_info)"), (1, 10, "\"y\" (output)")]
    {
        let said = read(&graph(of("t", inner, 3), of("y", outer, 3)), None)
            .expect_err("one is wrong")
            .to_string();
        assert!(said.contains(place) && said.contains("and computed as f32"), "{said}");
    }
    for (inner, outer) in [(3, 4), (5, 3)] {
        let model =
            read(&graph(of("t", 1, inner), of("y", 1, outer)), None).expect("it is read").model;
        let (valid, warnings) =
            core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        let text = warnings.to_string();
        assert!(
            text.contains(&format!("the shape [{}]", inner.max(outer)))
                && text.contains("[3], which is used"),
            "{text}"
        );
        assert_eq!((warnings.0.len(), &valid.results[0].shape[..]), (1, &[3][..]), "{text}");
    }
}

/// A branch with an unsupported operator is refused with the name of the node, unless the branch is
/// never taken.
#[test]
fn a_branch_that_is_never_taken_may_hold_what_is_not_read() {
    let branch = |name: &str, operator: &str| {
        let graph =
            [long(1, &node(operator, &["x"], "z", &long(3, b"inner"))), long(12, &value("z", 3))]
                .concat();
        graph_attribute(name, &graph)
    };
    let of = |condition: Option<i64>, then: &str, otherwise: &str| {
        let branches = [branch("then_branch", then), branch("else_branch", otherwise)].concat();
        let condition = match condition {
            Some(value) => called("c", 9, &[], &long(5, &ints(&[value]))),
            None => long(11, &scalar("c", 9)),
        };
        let ends = [long(11, &value("x", 3)), long(12, &value("y", 3))].concat();
        let bytes =
            file(&[long(1, &node("If", &["c"], "y", &branches)), condition, ends].concat(), 17);
        let model = read(&bytes, None).map_err(|problems| problems.to_string())?.model;
        let (valid, _) =
            core_model(&model, &Options::default()).map_err(|problems| problems.to_string())?;
        Ok::<_, String>(valid.nodes.len())
    };
    for (then, otherwise, wrong) in [("Det", "Relu", 1), ("Relu", "Det", 0)] {
        assert_eq!(of(Some(1 - wrong), then, otherwise), Ok(1));
        for condition in [Some(wrong), None] {
            let said = of(condition, then, otherwise).expect_err("it may be taken");
            assert!(
                said.contains("this operator is not read")
                    && said.contains("\"inner\" (Det, node 0"),
                "{said}"
            );
        }
    }
    assert!(of(Some(0), "Det", "NonZero").expect_err("neither is read").contains("NonZero"));
}

/// A branch reads an empty tensor of the surrounding graph as an omitted input.
#[test]
fn an_empty_tensor_around_a_branch_is_left_out_inside() {
    let text = |name: &str, value: &str| {
        long(5, &[long(1, name.as_bytes()), long(4, value.as_bytes()), int(20, 3)].concat())
    };
    let rest =
        [text("coordinate_transformation_mode", "asymmetric"), text("nearest_mode", "floor")]
            .concat();
    let inner = [
        long(1, &node("Resize", &["x", "none", "none", "sizes"], "z", &rest)),
        long(12, &value("z", 6)),
    ]
    .concat();
    let branches =
        [graph_attribute("then_branch", &inner), graph_attribute("else_branch", &inner)].concat();
    let graph = [
        long(1, &node("If", &["c"], "y", &branches)),
        called("sizes", 7, &[1], &long(7, &ints(&[6]))),
        called("none", 1, &[0], &[]),
        long(11, &scalar("c", 9)),
        long(11, &value("x", 3)),
        long(12, &value("y", 6)),
    ];
    let model = read(&file(&graph.concat(), 11), None)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .model;
    let (valid, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(valid.results[0].shape, [6]);
}

/// `y = x + s` with the sparse tensor `s`. `indices`: their dims, then the indices.
fn with_sparse(
    dims: &[i64],
    indices: (&[i64], &[i64]),
    values: &[f32],
    as_attribute: bool,
) -> Vec<u8> {
    let inner = |field: Vec<u8>| {
        // drops the field number and the length of the initializer
        let start =
            1 + field[1..].iter().position(|byte| byte & 128 == 0).expect("the length ends") + 1;
        field[start..].to_vec()
    };
    let values = inner(called("s", 1, &[values.len() as i64], &long(4, &floats(values))));
    let indices = inner(called("", 7, indices.0, &long(7, &ints(indices.1))));
    let sparse =
        [long(1, &values), long(2, &indices), dims.iter().flat_map(|&size| int(3, size)).collect()]
            .concat();
    let given = if as_attribute {
        long(
            1,
            &node(
                "Constant",
                &[],
                "s",
                &long(5, &[long(1, b"sparse_value"), long(22, &sparse), int(20, 11)].concat()),
            ),
        )
    } else {
        long(15, &sparse)
    };
    let shape: Vec<u8> = dims.iter().flat_map(|&size| long(1, &int(1, size))).collect();
    let ends = |name: &str| {
        [long(1, name.as_bytes()), long(2, &long(1, &[int(1, 1), long(2, &shape)].concat()))]
            .concat()
    };
    let graph = [
        given,
        long(1, &node("Add", &["x", "s"], "y", &[])),
        long(11, &ends("x")),
        long(12, &ends("y")),
    ];
    file(&graph.concat(), 17)
}

#[test]
fn sparse_tensors_are_zero_where_nothing_is_written() {
    let expected = [0.0, 5.0, 0.0, 0.0, 0.0, -2.0];
    let cases: [(&[i64], &[i64]); 2] = [(&[2], &[1, 5]), (&[2, 2], &[0, 1, 1, 2])];
    for indices in cases {
        for as_attribute in [false, true] {
            let found = w_of(&with_sparse(&[2, 3], indices, &[5.0, -2.0], as_attribute), None);
            assert_eq!(
                (found.shape(), values(&found)),
                (&[2, 3][..], expected.to_vec()),
                "{indices:?}"
            );
        }
    }
    let wrong: [(&[i64], &[i64]); 6] = [
        (&[2], &[1, 6]),
        (&[2], &[5, 1]),
        (&[2], &[1, 1]),
        (&[2, 2], &[0, 1, 1, 3]),
        (&[2, 1], &[1, 5]),
        (&[2], &[-1, 1]),
    ];
    for indices in wrong {
        let said = read(&with_sparse(&[2, 3], indices, &[5.0, -2.0], false), None)
            .expect_err("it is refused")
            .to_string();
        assert!(
            said.contains("one index inside of the shape for each value, ascending"),
            "{indices:?}: {said}"
        );
    }
    let said = read(&with_sparse(&[1 << 13, 1 << 13], (&[2], &[1, 5]), &[5.0, -2.0], true), None)
        .expect_err("too large");
    assert!(said.to_string().contains("at most 2^25 elements"), "{said}");
}

/// A loop without iterations returns the initial states.
#[test]
fn a_loop_of_no_iterations_hands_on_what_it_is_given() {
    for trips in [0, -3] {
        let model = read(&with_loop(Some(trips), Body::Forever), None)
            .unwrap_or_else(|problems| panic!("{problems}"))
            .model;
        let (valid, _) =
            core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(valid.nodes.is_empty(), "{trips}: y is x");
    }
}

/// Functions that call each other twice grow exponentially: nodes and bytes are counted before a
/// body is copied.
#[test]
fn functions_that_grow_with_every_call_are_refused() {
    let in_domain_own = |function: Vec<u8>| {
        let sets = [long(9, &int(2, 17)), long(9, &[long(1, b"own"), int(2, 1)].concat())].concat();
        long(25, &[function, sets, long(10, b"own")].concat())
    };
    let call =
        |name: &str, from: &str, to: &str| long(7, &node(name, &[from], to, &long(7, b"own")));
    let constant = |tensor: &[u8]| {
        long(
            7,
            &node(
                "Constant",
                &[],
                "c",
                &long(5, &[long(1, b"value"), tensor.to_vec(), int(20, 4)].concat()),
            ),
        )
    };
    let zeros = long(5, &[int(1, 3000), int(2, 1), long(9, &[0; 12000])].concat());
    let one = long(5, &[int(2, 9), long(5, &ints(&[1]))].concat());
    let chain: Vec<u8> =
        (0..40).flat_map(|_| long(1, &node("Add", &["a", "a"], "d", &[]))).collect();
    let branch =
        |name: &str| graph_attribute(name, &[chain.clone(), long(12, &value("d", 1))].concat());
    let branches = [branch("then_branch"), branch("else_branch")].concat();
    let leaves = [
        (
            "functions of more than 64 MiB",
            [constant(&zeros), long(7, &node("Add", &["a", "c"], "b", &[]))].concat(),
        ),
        (
            "more than 65536 nodes",
            [constant(&one), long(7, &node("If", &["c"], "b", &branches))].concat(),
        ),
    ];
    for (words, leaf) in leaves {
        let mut functions =
            in_domain_own([long(1, b"f0"), long(4, b"a"), long(5, b"b"), leaf].concat());
        for k in 1..=13 {
            let inner = format!("f{}", k - 1);
            let calls = [call(&inner, "a", "m"), call(&inner, "m", "b")].concat();
            functions.extend(in_domain_own(
                [long(1, format!("f{k}").as_bytes()), long(4, b"a"), long(5, b"b"), calls].concat(),
            ));
        }
        let graph = [
            long(1, &node("f13", &["x"], "y", &long(7, b"own"))),
            long(11, &value("x", 1)),
            long(12, &value("y", 1)),
        ];
        let sets = [long(8, &int(2, 17)), long(8, &[long(1, b"own"), int(2, 1)].concat())].concat();
        let bytes = [int(1, 8), long(7, &graph.concat()), sets, functions].concat();
        assert!(bytes.len() < 20_000, "{} bytes", bytes.len());
        let said = read(&bytes, None).expect_err("it is refused").to_string();
        assert!(said.contains(words), "{said}");
    }
}

/// The nodes of a function count once for each call.
#[test]
fn a_function_of_many_nodes_is_read() {
    let count = (MOST_NODES_IN_FILE / 4) * 3;
    let name = |k: usize| if k == count { "b".to_owned() } else { format!("a{k}") };
    let body = (0..count).flat_map(|k| long(7, &node("Neg", &[&name(k)], &name(k + 1), &[])));
    let sets = long(9, &int(2, 17));
    let function = [long(1, b"f"), long(4, b"a0"), long(5, b"b"), body.collect(), sets];
    let function = long(25, &[function.concat(), long(10, b"own")].concat());
    let graph = [
        long(1, &node("f", &["x"], "y", &long(7, b"own"))),
        long(11, &value("x", 1)),
        long(12, &value("y", 1)),
    ];
    let sets = [long(8, &int(2, 17)), long(8, &[long(1, b"own"), int(2, 1)].concat())].concat();
    let bytes = [int(1, 8), long(7, &graph.concat()), sets, function].concat();
    let model = read(&bytes, None).unwrap_or_else(|problems| panic!("{problems}")).model;
    assert!(model.nodes.len() >= count, "{}", model.nodes.len());
}

/// An attribute. `number`: the type. `value`: the field with the value.
fn attribute(name: &str, number: i64, value: &[u8]) -> Vec<u8> {
    long(5, &[long(1, name.as_bytes()), int(20, number), value.to_vec()].concat())
}

/// A file with one node of a domain. The inputs may be `x` and the constant `w`, f32 of shape
/// `[3]`.
fn of_domain(domain: &str, operator: &str, inputs: &[&str], w: &[f32], rest: &[u8]) -> Vec<u8> {
    let node = node(operator, inputs, "y", &[long(7, domain.as_bytes()), rest.to_vec()].concat());
    let w = long(5, &tensor(1, 3, &long(4, &floats(w))));
    let graph = [long(1, &node), w, long(11, &value("x", 3)), long(12, &value("y", 3))].concat();
    let set = long(8, &[long(1, domain.as_bytes()), int(2, 1)].concat());
    [file(&graph, 17), if domain.is_empty() { Vec::new() } else { set }].concat()
}

/// The output `y` of a file for the input `x`, by the reference implementation.
fn computed(bytes: &[u8], x: [f64; 3]) -> Vec<f64> {
    let model = read(bytes, None).unwrap_or_else(|problems| panic!("{problems}")).model;
    let (model, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    crate::reference::reference(&model, &[x.to_vec()], &[]).results.remove(0)
}

fn assert_near(got: &[f64], want: [f64; 3]) {
    let near = got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-6);
    assert!(got.len() == 3 && near, "{got:?} is not {want:?}");
}

/// The expected results are ONNX Runtime's. The translation multiplies up to an exponent of 128,
/// and uses a logarithm above.
#[test]
fn whole_exponents_of_any_size_keep_zero_infinity_and_sign() {
    let raised = |exponent: f32, x| {
        let w = long(5, &tensor(1, 3, &long(4, &floats(&[exponent; 3]))));
        let graph = [
            long(1, &node("Pow", &["x", "w"], "y", &[])),
            w,
            long(11, &value("x", 3)),
            long(12, &value("y", 3)),
        ];
        computed(&file(&graph.concat(), 17), x)
    };
    let infinity = f64::INFINITY;
    for exponent in
        [65.0, 100.0, 127.0, 128.0, 129.0, 257.0, 1001.0, 1002.0, 16_777_215.0, 16_777_216.0, 3e9]
    {
        let is_odd = exponent % 2.0 == 1.0;
        let below = |v: f64| if is_odd { -v } else { v };
        assert_eq!(
            raised(exponent, [0.0, infinity, -infinity]),
            [0.0, infinity, below(infinity)],
            "{exponent}"
        );
        assert_eq!(
            raised(-exponent, [0.0, infinity, -infinity]),
            [infinity, 0.0, 0.0],
            "-{exponent}"
        );
        for exponent in [exponent, -exponent] {
            assert_eq!(raised(exponent, [1.0, -1.0, 1.0]), [1.0, below(1.0), 1.0], "{exponent}");
        }
        assert_eq!(raised(-exponent, [-0.0, -0.0, 1.0])[0], below(infinity), "-{exponent}");
        assert!(raised(-exponent, [f64::NAN; 3])[0].is_nan());
    }
    // powers of two are exact
    for exponent in [65, 66, 100, 127] {
        let [two, half] = [2f64, 0.5].map(|base| base.powi(-exponent));
        assert_eq!(
            raised(-exponent as f32, [2.0, 0.5, -2.0]),
            [two, half, if exponent % 2 == 1 { -two } else { two }]
        );
    }
}

#[test]
fn what_the_optimiser_of_onnx_runtime_writes_is_arithmetic() {
    let of = |operator, inputs: &[&str], w: &[f32], rest: &[u8], x| {
        computed(&of_domain("com.microsoft", operator, inputs, w, rest), x)
    };
    let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
    let x = [1.0, -2.0, 0.5];
    let alpha = |value: f32| attribute("alpha", 1, &field(2, 5, &floats(&[value])));
    let tanh = |v: f64| 0.5 * v * (1.0 + (0.797_884_560_8 * (v + 0.044_715 * v.powi(3))).tanh());
    assert_near(
        &of("QuickGelu", &["x"], &[], &[], x),
        x.map(|v| v * sigmoid(f64::from(1.702f32) * v)),
    );
    assert_near(&of("QuickGelu", &["x"], &[], &alpha(0.5), x), x.map(|v| v * sigmoid(0.5 * v)));
    assert_near(&of("FastGelu", &["x"], &[], &[], x), x.map(tanh));
    assert_near(&of("FastGelu", &["x", "w"], &[1.0; 3], &[], x), x.map(|v| tanh(v + 1.0)));
    // the product of two vectors is one number
    let product = of("FusedMatMul", &["x", "w"], &[1.0, 2.0, 4.0], &alpha(3.0), x);
    assert_eq!(product, [-3.0]);
    let y = of("SkipLayerNormalization", &["x", "x", "w"], &[1.0, 2.0, 3.0], &[], x);
    let mean = -1.0 / 3.0;
    let deviation = (x.map(|v| (2.0 * v - mean).powi(2)).iter().sum::<f64>() / 3.0).sqrt();
    let want = [1.0, 2.0, 3.0]
        .iter()
        .zip(x)
        .map(|(w, v)| w * (2.0 * v - mean) / deviation)
        .collect::<Vec<_>>();
    assert_near(&y, [want[0], want[1], want[2]]);
}

/// NaN and infinity are refused in attributes of operations and in attributes that become
/// constants.
#[test]
fn real_valued_attributes_are_finite() {
    const MICROSOFT: &str = "com.microsoft";
    let normalized = "a normalization with an epsilon of";
    for (domain, operator, inputs, name, found) in [
        ("", "Gemm", &["x", "w"][..], "alpha", "alpha of Gemm is"),
        ("", "Gemm", &["x", "w"], "beta", "beta of Gemm is"),
        ("", "LRN", &["x"], "alpha", "alpha of LRN is"),
        ("", "LRN", &["x"], "beta", "beta of LRN is"),
        ("", "LRN", &["x"], "bias", "bias of LRN is"),
        ("", "Shrink", &["x"], "lambd", "lambd of Shrink is"),
        ("", "Elu", &["x"], "alpha", "alpha of the activation elu is"),
        ("", "Celu", &["x"], "alpha", "alpha of Celu is"),
        ("", "Selu", &["x"], "gamma", "gamma of Selu is"),
        ("", "ThresholdedRelu", &["x"], "alpha", "alpha of ThresholdedRelu is"),
        ("", "BatchNormalization", &["x", "w", "w", "w", "w"], "epsilon", normalized),
        ("", "InstanceNormalization", &["x", "w", "w"], "epsilon", normalized),
        ("", "LayerNormalization", &["x", "w"], "epsilon", normalized),
        (MICROSOFT, "QuickGelu", &["x"], "alpha", "alpha of QuickGelu is"),
        (MICROSOFT, "FusedMatMul", &["x", "w"], "alpha", "alpha of FusedMatMul is"),
        (MICROSOFT, "SkipLayerNormalization", &["x", "x", "w"], "epsilon", normalized),
        ("ai.onnx.ml", "Binarizer", &["x"], "threshold", "threshold of Binarizer is"),
    ] {
        for value in crate::rules::cell::NOT_FINITE {
            let rest = attribute(name, 1, &field(2, 5, &floats(&[value])));
            let said = read(&of_domain(domain, operator, inputs, &[1.0; 3], &rest), None)
                .and_then(|read| core_model(&read.model, &Options::default()))
                .expect_err("it is refused")
                .to_string();
            assert!(said.contains(&format!("{found} {value}")), "{operator} {name}: {said}");
        }
    }
}

/// A bound of NaN is refused, also in the attributes of a fused Clip and of a Clip before operator
/// set 11.
#[test]
fn bounds_are_numbers() {
    let number = |name, value: f32| attribute(name, 1, &field(2, 5, &floats(&[value])));
    let said = |bytes: &[u8]| read(bytes, None).err().map(|said| said.to_string());
    let clip = |set: i64, min: f32| {
        let clip = long(1, &node("Clip", &["x"], "y", &number("min", min)));
        file(&[clip, long(11, &value("x", 3)), long(12, &value("y", 3))].concat(), set)
    };
    let fused = |max: f32| {
        let bounds = long(7, &floats(&[0.0, max]));
        let rest = [
            attribute("activation", 3, &long(4, b"Clip")),
            attribute("activation_params", 6, &bounds),
            long(7, b"com.microsoft"),
        ];
        let graph = [
            long(1, &node("FusedConv", &["x", "w"], "y", &rest.concat())),
            long(11, &sized("x", 1, &[1, 1, 5])),
            long(11, &sized("w", 1, &[1, 1, 3])),
            long(12, &sized("y", 1, &[1, 1, 3])),
        ];
        let set = long(8, &[long(1, b"com.microsoft"), int(2, 1)].concat());
        [file(&graph.concat(), 17), set].concat()
    };
    for (valid, wrong, words) in [
        (clip(9, -1.0), clip(9, f32::NAN), "Clip from NaN to inf"),
        (fused(1.0), fused(f32::NAN), "Clip from 0 to NaN"),
    ] {
        assert_eq!(said(&valid), None);
        let said = said(&wrong).expect(words);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn shrink_is_arithmetic() {
    let number = |name, value: f32| attribute(name, 1, &field(2, 5, &floats(&[value])));
    let of = |rest: &[u8], x| computed(&of_domain("", "Shrink", &["x"], &[], rest), x);
    assert_eq!(of(&[], [-0.75, 0.5, 2.0]), [-0.75, 0.0, 2.0]);
    let both = [number("lambd", 1.5), number("bias", 0.25)].concat();
    assert_eq!(of(&both, [-2.0, -1.5, 1.75]), [-1.75, 0.0, 1.5]);
    assert_eq!(of(&both, [f64::NAN, f64::INFINITY, 1.0]), [0.0, f64::INFINITY, 0.0]);
    // with a limit below zero both conditions may hold, and the first applies
    assert_eq!(of(&number("lambd", -1.0), [0.5, 2.0, -3.0]), [0.5, 2.0, -3.0]);
}

/// Shrink of integers is refused, because bias and limit are floating point.
#[test]
fn shrink_of_integers_is_refused() {
    let graph = [
        long(1, &node("Cast", &["x"], "n", &attribute("to", 2, &int(3, 6)))),
        long(1, &node("Shrink", &["n"], "s", &[])),
        long(1, &node("Cast", &["s"], "y", &attribute("to", 2, &int(3, 1)))),
        long(11, &value("x", 3)),
        long(12, &value("y", 3)),
    ];
    let model = read(&file(&graph.concat(), 17), None).expect("a model").model;
    let said = core_model(&model, &Options::default()).expect_err("integers").to_string();
    assert!(said.contains("inputs of the types i32, f32"), "{said}");
}

#[test]
fn is_inf_of_no_sign_is_false() {
    let flag = |name, on: i64| attribute(name, 2, &int(3, on));
    let of = |negative, positive| {
        let flags = [flag("detect_negative", negative), flag("detect_positive", positive)];
        let graph = [
            long(1, &node("IsInf", &["x"], "b", &flags.concat())),
            long(1, &node("Cast", &["b"], "y", &attribute("to", 2, &int(3, 1)))),
            long(11, &value("x", 3)),
            long(12, &value("y", 3)),
        ];
        computed(&file(&graph.concat(), 17), [f64::NEG_INFINITY, f64::INFINITY, f64::NAN])
    };
    assert_eq!(of(1, 1), [1.0, 1.0, 0.0]);
    assert_eq!(of(1, 0), [1.0, 0.0, 0.0]);
    assert_eq!(of(0, 1), [0.0, 1.0, 0.0]);
    assert_eq!(of(0, 0), [0.0; 3]);
}

#[test]
fn what_prepares_features_is_arithmetic() {
    let of = |operator, rest: &[u8], x| {
        computed(&of_domain("ai.onnx.ml", operator, &["x"], &[], rest), x)
    };
    let list = |name, values: &[f32]| attribute(name, 6, &long(7, &floats(values)));
    let scaled = [list("offset", &[1.0, 2.0, 3.0]), list("scale", &[2.0, 0.5, 4.0])].concat();
    assert_near(&of("Scaler", &scaled, [1.5, 1.0, 2.0]), [1.0, -0.5, -4.0]);
    let norm = |name: &str| attribute("norm", 3, &long(4, name.as_bytes()));
    assert_near(&of("Normalizer", &norm("L1"), [-1.0, 3.0, 4.0]), [-0.125, 0.375, 0.5]);
    assert_near(&of("Normalizer", &norm("L2"), [-3.0, 0.0, 4.0]), [-0.6, 0.0, 0.8]);
    // the divisor is the largest element, not the largest magnitude; a row of zeros is unchanged
    assert_near(&of("Normalizer", &[], [-1.0, -3.0, -2.0]), [1.0, 3.0, 2.0]);
    assert_near(&of("Normalizer", &[], [0.0; 3]), [0.0; 3]);
    let threshold = attribute("threshold", 1, &field(2, 5, &floats(&[0.5])));
    assert_near(&of("Binarizer", &threshold, [0.5, 0.75, -1.0]), [0.0, 1.0, 0.0]);
    let nan = attribute("replaced_value_float", 1, &field(2, 5, &floats(&[f32::NAN])));
    let imputed = [list("imputed_value_floats", &[5.0, 6.0, 7.0]), nan].concat();
    assert_near(&of("Imputer", &imputed, [1.0, f64::NAN, 0.0]), [1.0, 6.0, 0.0]);
    let other = of_domain("ai.onnx.ml", "Scaler", &["x"], &[], &list("scale", &[2.0]));
    let said = read(&other, None).expect_err("no offset").to_string();
    assert!(said.contains("0 numbers of offset, and 1 of scale"), "{said}");
}

#[test]
fn operators_of_the_optimiser_that_are_not_read_say_which_file_is() {
    let text = |domain: &str, operator: &str, rest: &[u8]| {
        read(&of_domain(domain, operator, &["x", "w"], &[1.0; 3], rest), None)
            .expect_err("not read")
            .to_string()
    };
    let unknown = attribute("activation", 3, &long(4, b"Nothing"));
    let blocked = text("com.microsoft.nchwc", "Conv", &[]);
    assert!(
        blocked.contains("use the file from before optimisation, or ORT_ENABLE_EXTENDED"),
        "{blocked}"
    );
    for said in
        [text("com.microsoft", "Attention", &[]), text("com.microsoft", "FusedGemm", &unknown)]
    {
        assert!(
            said.contains("use the file from before optimisation, or ORT_ENABLE_BASIC"),
            "{said}"
        );
    }
    let others = [
        ("com.microsoft", "QLinearReduceMean", "quantise with quant_format=QuantFormat.QDQ"),
        ("com.microsoft", "Inverse", "compute this part outside of the model"),
        (
            "ai.onnx.ml",
            "SVMRegressor",
            "compute what trees or support vectors decide outside of the model",
        ),
        (
            "ai.onnx.ml",
            "LinearRegressor",
            "write it as Gemm with the coefficients and the intercepts",
        ),
        ("ai.onnx.ml", "LabelEncoder", "compute the features outside of the model"),
    ];
    for (domain, operator, words) in others {
        let said = text(domain, operator, &[]);
        assert!(said.contains(words), "{said}");
    }
}

/// An initializer of shape `[len]`. `number`: the element type. `data`: the field with the data.
fn list(name: &str, number: i64, len: i64, data: &[u8]) -> Vec<u8> {
    long(5, &[int(1, len), int(2, number), long(8, name.as_bytes()), data.to_vec()].concat())
}

/// A file whose nodes compute `y` from `x3 = Expand(x, [2, 3, 4])`, of unknown rank for the reader.
/// `s` and `z` are four scales and zero points.
fn behind_expand(nodes: &[Vec<u8>], set: i64) -> Vec<u8> {
    let output = [long(1, b"y"), long(2, &long(1, &int(1, 1)))].concat();
    let shape =
        [long(1, &node("Shape", &["w"], "r", &[])), long(1, &node("Add", &["w", "o"], "e", &[]))]
            .concat();
    let expand = long(1, &node("Expand", &["x", "e"], "x3", &[]));
    let nodes: Vec<u8> = nodes.iter().flat_map(|node| long(1, node)).collect();
    let lists = [
        list("w", 7, 3, &long(7, &ints(&[1, 2, 3]))),
        list("o", 7, 1, &long(7, &ints(&[1]))),
        list("s", 1, 4, &long(4, &floats(&[1.0, 0.5, 0.25, 0.125]))),
        list("z", 3, 4, &long(5, &ints(&[0, 0, 0, 0]))),
    ];
    let graph = [shape, expand, nodes, lists.concat(), long(11, &value("x", 4)), long(12, &output)]
        .concat();
    file(&graph, set)
}

/// Negative axes are valid even if the reader does not know the rank of a tensor.
#[test]
fn axes_count_from_the_end_behind_every_operator() {
    let axis = |axis: i64| long(5, &[long(1, b"axis"), int(3, axis), int(20, 2)].concat());
    let shape = |nodes: &[Vec<u8>], set: i64| {
        let model =
            read(&behind_expand(nodes, set), None).map_err(|problems| problems.to_string())?.model;
        let (valid, _) =
            core_model(&model, &Options::default()).map_err(|problems| problems.to_string())?;
        Ok::<_, String>(valid.results[0].shape.clone())
    };
    for (from_end, expected) in [(-1, [6, 4]), (-2, [2, 12]), (-3, [1, 24])] {
        assert_eq!(
            shape(&[node("Flatten", &["x3"], "y", &axis(from_end))], 12),
            Ok(expected.to_vec())
        );
        assert_eq!(shape(&[node("Softmax", &["x3"], "y", &axis(from_end))], 12), Ok(vec![2, 3, 4]));
    }
    let quantised = |at: i64| {
        let there = node("QuantizeLinear", &["x3", "s", "z"], "q", &axis(at));
        shape(&[there, node("DequantizeLinear", &["q", "s", "z"], "y", &axis(at))], 13)
    };
    for at in [-1, 2] {
        assert_eq!(quantised(at), Ok(vec![2, 3, 4]), "{at}");
    }
    for operator in ["Flatten", "Softmax"] {
        let said =
            shape(&[node(operator, &["x3"], "y", &axis(-4))], 12).expect_err("no fourth dimension");
        assert!(said.contains(operator), "{said}");
    }
    // four scales only fit along the last of the three dimensions
    for at in [-4, -3, -2, 0, 1, 3] {
        let said = quantised(at).expect_err("it is refused");
        assert!(said.contains("QuantizeLinear"), "{at}: {said}");
    }
}

/// `y = |x w + b|` with 8-bit integers x, `[3]`, and w, `[3, 1]`. `to`: the number of the element
/// type to which the sum is converted.
fn integer_product(w: [i64; 3], b: i64, to: i64) -> Vec<u8> {
    let bytes: Vec<u8> =
        [int(1, 3), int(1, 1), int(2, 3), long(8, b"w"), long(5, &ints(&w))].concat();
    let b = [int(1, 1), int(2, 6), long(8, b"b"), long(5, &ints(&[b]))].concat();
    let cast = attribute("to", 2, &int(3, to));
    let graph = [
        long(
            1,
            &node(
                "DynamicQuantizeLinear",
                &["x"],
                "q",
                &[long(2, b"scale"), long(2, b"zero")].concat(),
            ),
        ),
        long(1, &node("MatMulInteger", &["q", "w", "zero"], "p", &[])),
        long(1, &node("Add", &["p", "b"], "sum", &[])),
        long(1, &node("Cast", &["sum"], "f", &cast)),
        long(1, &node("Abs", &["f"], "y", &[])),
        long(5, &bytes),
        long(5, &b),
        long(11, &value("x", 3)),
        long(12, &[long(1, b"y")].concat()),
    ];
    file(&graph.concat(), 13)
}

#[test]
fn integers_behind_a_quantised_product_have_the_range_of_the_product() {
    let (f32_of, i64_of) = (1, 7);
    // x is quantised to 0, 255 and 51
    let x = [0.0, 5.0, 1.0];
    assert_eq!(computed(&integer_product([1, -100, 7], -1000, f32_of), x), [26143.0]);
    // integers are exact if all possible sums are below 2^24
    assert_eq!(computed(&integer_product([1, -100, 127], -16_000_000, i64_of), x), [16_019_023.0]);
    // sums beyond 2^24 may only become floating point; the reference computes in f64, without
    // rounding here
    let said = core_model(
        &read(&integer_product([1, 2, 3], 16_777_000, i64_of), None).unwrap().model,
        &Options::default(),
    );
    let said = said.expect_err("too large").to_string();
    assert!(said.contains("i32 from 16774705 to 16779295"), "{said}");
    assert_eq!(computed(&integer_product([1, 2, 3], 16_777_000, f32_of), x), [16_777_663.0]);
}

/// The header of a generated file names the operators that do not keep NaN and infinities.
#[test]
fn operators_that_do_not_keep_nan_are_named_in_the_header() {
    let exceptions = |graph: Vec<u8>| {
        let model =
            read(&file(&graph, 17), None).unwrap_or_else(|problems| panic!("{problems}")).model;
        let (valid, _) =
            core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        crate::header::not_finite_exceptions(&valid).concat()
    };
    let of = |operator: &str, inputs: &[&str], rest: &[u8]| {
        let w = [int(1, 1), int(2, 1), long(8, b"w"), long(4, &floats(&[-0.5]))].concat();
        let node = long(1, &node(operator, inputs, "y", rest));
        exceptions(
            [node, long(5, &w), long(11, &value("x", 3)), long(12, &[long(1, b"y")].concat())]
                .concat(),
        )
    };
    assert_eq!(of("Relu", &["x"], &[]), "");
    assert!(of("ArgMax", &["x"], &[]).contains("ArgMax and ArgMin put a NaN behind all numbers"));
    assert!(of("Pow", &["x", "w"], &[]).contains("a power of an infinity"));
    // a layer may be composed of powers
    let shape = [int(1, 2), int(2, 7), long(8, b"shape"), long(7, &ints(&[1, 3]))].concat();
    let norm = exceptions(
        [
            long(1, &node("Reshape", &["x", "shape"], "t", &[])),
            long(1, &node("LRN", &["t"], "y", &integer_attribute("size", 3))),
            long(5, &shape),
            long(11, &value("x", 3)),
            long(12, &value("y", 3)),
        ]
        .concat(),
    );
    assert!(norm.contains("a power of an infinity"), "{norm}");
}

/// An attribute of one integer.
fn integer_attribute(name: &str, value: i64) -> Vec<u8> {
    long(5, &[long(1, name.as_bytes()), int(3, value), int(20, 2)].concat())
}

/// A graph whose nodes compute `y` from `x`, both `[4]`. `constants`: names and i64 scalars.
fn of_nodes(nodes: &[Vec<u8>], constants: &[(&str, i64)]) -> Vec<u8> {
    let nodes = nodes.iter().flat_map(|node| long(1, node));
    let constants = constants.iter().flat_map(|(name, value)| {
        long(5, &[int(2, 7), long(8, name.as_bytes()), long(7, &ints(&[*value]))].concat())
    });
    nodes.chain(constants).chain(long(11, &value("x", 4))).chain(long(12, &value("y", 4))).collect()
}

/// Slopes of ONNX's PRelu broadcast along the last axis, as in NumPy.
#[test]
fn slopes_of_prelu_stand_along_the_last_axis() {
    let file_of = |slopes: &[f32]| {
        let shape = [int(1, 3), int(2, 7), long(8, b"shape"), long(7, &ints(&[1, 2, 2]))].concat();
        let graph = [
            long(1, &node("Reshape", &["x", "shape"], "t", &[])),
            long(1, &node("PRelu", &["t", "w"], "y", &[])),
            long(5, &shape),
            long(5, &tensor(1, slopes.len() as i64, &long(4, &floats(slopes)))),
            long(11, &value("x", 4)),
            long(12, &value("y", 4)),
        ];
        file(&graph.concat(), 17)
    };
    let model = read(&file_of(&[0.5, 10.0]), None).expect("two slopes").model;
    let (model, _) = core_model(&model, &Options::default()).expect("two slopes");
    let x = vec![-1.0, -2.0, -3.0, 4.0];
    let y = crate::reference::reference(&model, &[x], &[]).results.remove(0);
    assert_eq!(y, [-0.5, -20.0, -1.5, 4.0]);

    let model = read(&file_of(&[0.5; 3]), None).expect("the reader knows no shapes").model;
    let said = core_model(&model, &Options::default()).expect_err("three slopes for two");
    assert!(said.to_string().contains("slope"), "{said}");
}

/// Refusals of attributes and gates of operators with a state state name and value.
#[test]
fn operators_with_a_state_are_refused_by_attribute() {
    let heads = |queries: i64, keys: i64| {
        [integer_attribute("q_num_heads", queries), integer_attribute("kv_num_heads", keys)]
            .concat()
    };
    let rule = |name: &str| attribute("update_rule", 3, &long(4, name.as_bytes()));
    let window = [heads(1, 1), rule("linear"), integer_attribute("state_window", 2)].concat();
    let cases = [
        ("", [heads(1, 1), rule("other")].concat(), "update_rule=\"other\""),
        ("", [heads(1, 1), rule("gated")].concat(), "update_rule=gated without the input decay"),
        ("", [heads(1, 1), rule("delta")].concat(), "update_rule=delta without the input beta"),
        ("", integer_attribute("q_num_heads", 1), "no kv_num_heads"),
        ("", window.clone(), "state_window"),
        ("com.microsoft", window, "state_window=2"),
    ];
    for (domain, attributes, words) in cases {
        let operator = long(7, domain.as_bytes());
        let rest = [attributes, operator].concat();
        let nodes = [node("LinearAttention", &["x", "x", "x"], "y", &rest)];
        let mut bytes = file(&of_nodes(&nodes, &[]), 27);
        if !domain.is_empty() {
            bytes.extend(long(8, &[long(1, domain.as_bytes()), int(2, 1)].concat()));
        }
        let said = read(&bytes, None).expect_err("refused").to_string();
        assert!(said.contains(words), "{said}, not {words}");
    }
}

/// Several heads of keys may share a head of queries only in ONNX Runtime's LinearAttention.
#[test]
fn heads_of_queries_are_shared_by_the_operator_of_the_runtime_alone() {
    let rule = attribute("update_rule", 3, &long(4, b"linear"));
    let heads = [integer_attribute("q_num_heads", 1), integer_attribute("kv_num_heads", 2)];
    let of = |domain: &str| {
        let rest = [heads.concat(), rule.clone(), long(7, domain.as_bytes())].concat();
        let graph = [
            long(1, &node("LinearAttention", &["q", "k", "k"], "y", &rest)),
            long(11, &sized("q", 1, &[1, 2, 2])),
            long(11, &sized("k", 1, &[1, 2, 4])),
            long(12, &sized("y", 1, &[1, 2, 4])),
        ];
        let set = long(8, &[long(1, domain.as_bytes()), int(2, 1)].concat());
        let set = if domain.is_empty() { Vec::new() } else { set };
        let model = read(&[file(&graph.concat(), 27), set].concat(), None)?.model;
        core_model(&model, &Options::default()).map(|_| ())
    };
    let said = of("").expect_err("fewer heads of queries").to_string();
    assert!(said.contains("1 heads of queries, 2 of keys and 2 of values"), "{said}");
    assert!(said.contains("heads of queries that are a multiple of those of keys"), "{said}");
    of("com.microsoft").unwrap_or_else(|said| panic!("{said}"));
}

/// The attribute `kernel_shape` must be the shape of the weights.
#[test]
fn a_kernel_shape_is_that_of_the_weights() {
    let of = |size: i64| {
        let shape = attribute("kernel_shape", 7, &long(8, &ints(&[size])));
        let graph = [
            long(1, &node("Conv", &["x", "w"], "y", &shape)),
            long(11, &sized("x", 1, &[1, 1, 5])),
            long(11, &sized("w", 1, &[1, 1, 3])),
            long(12, &sized("y", 1, &[1, 1, 3])),
        ];
        let model = read(&file(&graph.concat(), 17), None)?.model;
        core_model(&model, &Options::default()).map(|_| ())
    };
    let said = of(2).expect_err("another size").to_string();
    assert!(
        said.contains("a kernel of the shape [2], and weights of the shape [1, 1, 3]"),
        "{said}"
    );
    of(3).unwrap_or_else(|said| panic!("{said}"));
}

/// Refusals of lists with a wrong length, and of contradictory attributes and inputs, state name
/// and value.
#[test]
fn what_a_node_cannot_use_is_refused_by_name() {
    let list = |name: &str, values: &[i64]| attribute(name, 7, &long(8, &ints(values)));
    let word = |name: &str, text: &str| attribute(name, 3, &long(4, text.as_bytes()));
    let names = |names: &[&str]| {
        let names: Vec<u8> = names.iter().flat_map(|name| long(9, name.as_bytes())).collect();
        attribute("activations", 8, &names)
    };
    let said = |operator: &str, inputs: &str, rest: &[u8]| {
        let inputs: Vec<&str> = inputs.split(' ').map(|name| name.trim_matches('-')).collect();
        let constant = |name: &str, number: i64, dims: &[i64], data: &[u8]| {
            called(name, number, dims, &long(if number == 1 { 4 } else { 7 }, data))
        };
        let graph = [
            long(1, &node(operator, &inputs, "y", rest)),
            constant("w", 1, &[1, 1, 3], &floats(&[0.5; 3])),
            constant("w3", 1, &[1, 3, 5], &floats(&[0.5; 15])),
            constant("r3", 1, &[1, 3, 3], &floats(&[0.5; 9])),
            constant("sizes", 7, &[4], &ints(&[1, 1, 5, 7])),
            constant("factors", 1, &[4], &floats(&[1.0, 1.0, 1.0, 2.0])),
            constant("parts", 7, &[1], &ints(&[5])),
            constant("pair", 7, &[2], &ints(&[7, 9])),
            constant("one", 1, &[1], &floats(&[1.0])),
            constant("minus", 1, &[1], &floats(&[-1.0])),
            constant("nan", 1, &[], &floats(&[f32::NAN])),
            constant("two", 1, &[], &floats(&[2.0])),
            long(11, &sized("x", 1, &[1, 1, 5])),
            long(12, &[long(1, b"y"), long(2, &long(1, &int(1, 1)))].concat()),
        ];
        let compiled = read(&file(&graph.concat(), 24), None)
            .and_then(|read| core_model(&read.model, &Options::default()));
        compiled.err().map(|problems| problems.to_string()).unwrap_or_default()
    };
    let same = word("auto_pad", "SAME_UPPER");
    let of_3 = integer_attribute("hidden_size", 3);
    let split = [integer_attribute("axis", 2), integer_attribute("num_outputs", 2)].concat();
    let cases = [
        ("Conv", "x w", list("pads", &[1, 2, 3, 4]), "pads at the beginning: [1, 2] for 1 axis"),
        ("Conv", "x w", list("pads", &[1, 2, 3]), "pads=[1, 2, 3]"),
        ("Conv", "x w", list("strides", &[1, 2]), "strides: [1, 2] for 1 axis"),
        ("Conv", "x w", list("dilations", &[1, 2]), "dilations: [1, 2] for 1 axis"),
        (
            "Conv",
            "x w",
            [&same[..], &list("pads", &[1, 1])].concat(),
            "pads=[1, 1] beside auto_pad",
        ),
        ("Conv", "x w", [&same[..], &list("pads", &[0, 0])].concat(), ""),
        (
            "ConvTranspose",
            "x w",
            list("output_padding", &[0, 0]),
            "output_padding: [0, 0] for 1 axis",
        ),
        ("Resize", "x - - sizes", Vec::new(), "the sizes: [1, 1, 5, 7] for 3 axes"),
        ("Resize", "x - factors", Vec::new(), "the factors: [1, 1, 1, 2] for 3 axes"),
        ("Resize", "x - - pair", list("axes", &[2, 2]), "the axes [2, 2], of which two"),
        ("Resize", "x - - pair", list("axes", &[2, -1]), "the axes [2, -1], of which two"),
        (
            "BatchNormalization",
            "x one one one minus",
            Vec::new(),
            "a variance of -1 and an epsilon",
        ),
        ("BatchNormalization", "x one one one one", Vec::new(), ""),
        ("Clip", "x nan", Vec::new(), "Clip from NaN to inf"),
        ("Clip", "x - nan", Vec::new(), "Clip from -inf to NaN"),
        ("Clip", "x two one", Vec::new(), ""),
        ("LRN", "x", integer_attribute("size", 0), "size of 0"),
        ("LRN", "x", integer_attribute("size", 1), ""),
        ("DepthToSpace", "x", integer_attribute("blocksize", 0), "blocks of 0\n"),
        ("LpNormalization", "x", integer_attribute("p", 3), "p=3"),
        ("LpNormalization", "x", integer_attribute("p", 1), ""),
        ("Split", "x parts", split, "num_outputs=2, and 1 outputs"),
        ("SpaceToDepth", "x", integer_attribute("blocksize", -2), "blocksize of -2"),
        ("SpaceToDepth", "x", Vec::new(), "no blocksize"),
        (
            "Attention",
            "x x x - w",
            [integer_attribute("q_num_heads", 1), integer_attribute("kv_num_heads", 1)].concat(),
            "past_key without past_value",
        ),
        (
            "RNN",
            "x w3 r3",
            [&of_3[..], &names(&["Relu", "Affine"])].concat(),
            "the activation \"Affine\"",
        ),
        ("RNN", "x w3 r3", [&of_3[..], &names(&["Relu", "Tanh"])].concat(), "2 activations"),
        ("RNN", "x w3 r3", [&of_3[..], &names(&["Tanh", "tanh"])].concat(), ""),
    ];
    for (operator, inputs, attributes, words) in cases {
        let said = said(operator, inputs, &attributes);
        assert!(said.contains(words), "{operator}: {said}, not {words}");
        assert!(!words.is_empty() || said.is_empty(), "{operator}: {said}");
    }
}

/// A call of a function must have no input, output or attribute that the function does not declare.
#[test]
fn a_call_gives_what_its_function_declares() {
    let of = |inputs: &[&str], outputs: &[u8], attributes: &[u8]| {
        let function = [
            [long(1, b"F"), long(4, b"a"), long(5, b"b"), long(6, b"alpha")].concat(),
            [long(7, &node("Identity", &["a"], "b", &[])), long(9, &int(2, 21))].concat(),
            long(10, b"own"),
        ];
        let rest = [outputs, attributes, &long(7, b"own")].concat();
        let graph = [
            long(1, &node("F", inputs, "y", &rest)),
            long(11, &value("x", 1)),
            long(12, &value("y", 1)),
        ];
        let set = long(8, &[long(1, b"own"), int(2, 1)].concat());
        let bytes = [file(&graph.concat(), 21), set, long(25, &function.concat())].concat();
        read(&bytes, None).err().map(|problems| problems.to_string()).unwrap_or_default()
    };
    let [alpha, beta] = ["alpha", "beta"].map(|name| integer_attribute(name, 1));
    assert_eq!(of(&["x", ""], &[], &alpha), "");
    let cases = [
        (of(&["x", "x"], &[], &[]), "2 inputs in a call of the function \"F\""),
        (of(&["x"], &long(2, b"z"), &[]), "2 outputs in a call of the function \"F\""),
        (of(&["x"], &[], &beta), "the attribute \"beta\" in a call of the function \"F\""),
    ];
    for (said, words) in cases {
        assert!(said.contains(words), "{said}, not {words}");
    }
}

/// The error for an axis beyond the rank names operator and axis.
#[test]
fn axes_beyond_the_rank_are_named() {
    let quantised = node("QuantizeLinear", &["x", "s"], "q", &integer_attribute("axis", 3));
    let scales = long(1, &node("ConstantOfShape", &["four"], "s", &[]));
    let four = long(5, &[int(1, 1), int(2, 7), long(8, b"four"), long(7, &ints(&[4]))].concat());
    let dequantised =
        long(1, &node("DequantizeLinear", &["q", "s"], "y", &integer_attribute("axis", 3)));
    let cases = [
        (
            "Flatten",
            18,
            of_nodes(&[node("Flatten", &["x"], "y", &integer_attribute("axis", 3))], &[]),
        ),
        (
            "Softmax",
            11,
            of_nodes(&[node("Softmax", &["x"], "y", &integer_attribute("axis", 3))], &[]),
        ),
        (
            "Softmax",
            18,
            of_nodes(&[node("Softmax", &["x"], "y", &integer_attribute("axis", 3))], &[]),
        ),
        (
            "Split",
            18,
            of_nodes(
                &[node(
                    "Split",
                    &["x"],
                    "y",
                    &[integer_attribute("axis", 3), integer_attribute("num_outputs", 1)].concat(),
                )],
                &[],
            ),
        ),
        ("QuantizeLinear", 18, [scales, four, of_nodes(&[quantised], &[]), dequantised].concat()),
    ];
    for (operator, set, graph) in cases {
        let refusal = match read(&file(&graph, set), None) {
            Ok(read) => {
                core_model(&read.model, &Options::default()).expect_err("the axis is wrong")
            }
            Err(refusal) => refusal,
        };
        let said = refusal.to_string();
        assert!(
            said.contains("the axis 3 of a tensor of 1 dimension") && said.contains(operator),
            "{said}"
        );
        assert!(!said.contains("reshaped") && !said.contains("index"), "{said}");
    }
}

/// The error for a number of groups that is not positive, or does not divide the channels, states
/// the number.
#[test]
fn numbers_of_groups_have_one_rule() {
    let numbers = |name: &str, dims: &[i64]| {
        let len = dims.iter().product::<i64>() as usize;
        called(name, 1, dims, &long(4, &floats(&vec![1.0; len])))
    };
    let convolution = |groups: i64| {
        let node = node("Conv", &["x", "w"], "y", &integer_attribute("group", groups));
        [long(1, &node), numbers("w", &[4, 2, 1])].concat()
    };
    let normalization = |groups: i64| {
        let groups = integer_attribute("num_groups", groups);
        let node = node("GroupNormalization", &["x", "s", "b"], "y", &groups);
        [long(1, &node), numbers("s", &[4]), numbers("b", &[4])].concat()
    };
    let said = |graph: Vec<u8>| {
        let ends = [long(11, &sized("x", 1, &[1, 4, 5])), long(12, &sized("y", 1, &[1, 4, 5]))];
        let model = read(&file(&[graph, ends.concat()].concat(), 21), None)?.model;
        core_model(&model, &Options::default())
    };
    for groups in [-1, 0, 3, i64::MIN, i64::MAX] {
        let problems = said(convolution(groups)).expect_err("groups of a Conv").to_string();
        let found = format!("{groups} groups for 4 input channels and 4 output channels");
        assert!(problems.contains(&found), "{problems}");
        let problems = said(normalization(groups)).expect_err("num_groups").to_string();
        assert!(problems.contains(&format!("{groups} groups for 4 channels")), "{problems}");
    }
    for graph in [convolution(2), normalization(2)] {
        said(graph).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

/// Errors about sequences name sequences and positions.
#[test]
fn what_is_wrong_with_a_sequence_is_said() {
    let concat =
        |from: &str| node("ConcatFromSequence", &[from], "y", &integer_attribute("axis", 0));
    let made = || node("SequenceConstruct", &["x", "x"], "s", &[]);
    let of_branch =
        [long(1, &node("SequenceConstruct", &["x"], "b", &[])), long(12, &long(1, b"b"))].concat();
    let branches =
        [graph_attribute("then_branch", &of_branch), graph_attribute("else_branch", &of_branch)]
            .concat();
    let ifs =
        [node("Greater", &["x", "x"], "c", &[]), node("If", &["c"], "s", &branches), concat("s")];
    let body = [
        long(1, &node("Identity", &["going"], "goes", &[])),
        long(1, &node("SequenceInsert", &["before", "x"], "after", &[])),
        [long(11, &long(1, b"i")), long(11, &long(1, b"going")), long(11, &long(1, b"before"))]
            .concat(),
        [long(12, &long(1, b"goes")), long(12, &long(1, b"after"))].concat(),
    ];
    let body = graph_attribute("body", &body.concat());
    let never = [made(), node("Loop", &["none", "", "s"], "t", &body), concat("t")];
    let split = node("SplitToSequence", &["x"], "s", &[]);
    let erased = [split, node("SequenceErase", &["s", "none"], "t", &[]), concat("t")];
    let beyond = [made(), node("SequenceErase", &["s", "two"], "t", &[]), concat("t")];
    let cases = [
        (&ifs[..], "a sequence that the branch of an If, or the body of a Scan, hands on"),
        (&never, "a loop of 0 iterations that hands on a sequence"),
        (
            &erased,
            "position 0 of a sequence whose elements a loop appended or SplitToSequence made",
        ),
        (&beyond, "position 2 of a sequence of 2 elements"),
    ];
    for (nodes, words) in cases {
        let said = read(&file(&of_nodes(nodes, &[("none", 0), ("two", 2)]), 18), None)
            .expect_err(words)
            .to_string();
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// PyTorch exports `x.unbind()` as SplitToSequence with parts of length 1 and keepdims=0. ONNX
/// Runtime drops the axis.
#[test]
fn parts_of_length_1_can_lose_their_axis() {
    let shape = |length: i64, keep: i64| {
        let split =
            node("SplitToSequence", &["x", "length"], "s", &integer_attribute("keepdims", keep));
        let nodes = [split, node("SequenceAt", &["s", "first"], "y", &[])];
        let model = read(&file(&of_nodes(&nodes, &[("length", length), ("first", 0)]), 18), None)
            .unwrap()
            .model;
        let (valid, _) =
            core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
        valid.results[0].shape.clone()
    };
    assert_eq!([shape(1, 1), shape(1, 0), shape(2, 0)], [vec![1], vec![], vec![2]]);
}

/// Operators that need more than f32 inputs: attributes, constants, other element types, bodies. In
/// the order of the table.
const NEED_MORE: &[&str] = &[
    "GroupNormalization",
    "LRN",
    "Cast",
    "Constant",
    "Unsqueeze",
    "Concat",
    "Slice",
    "Attention",
    "LinearAttention",
    "Einsum",
    "Resize",
    "Upsample",
    "DepthToSpace",
    "SpaceToDepth",
    "TopK",
    "MaxPool",
    "AveragePool",
    "LpPool",
    "Pad",
    "STFT",
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "QLinearMatMul",
    "QLinearConv",
    "DynamicQuantizeLSTM",
    "QuantizeLinear",
    "DequantizeLinear",
    "QLinearAdd",
    "QLinearMul",
    "QLinearSigmoid",
    "QLinearLeakyRelu",
    "QLinearSoftmax",
    "QLinearConcat",
    "QLinearAveragePool",
    "QLinearGlobalAveragePool",
    "LinearAttention",
    "FusedGemm",
    "Scaler",
    "Imputer",
    "If",
    "Loop",
    "SequenceInsert",
    "SequenceErase",
    "SequenceAt",
    "SequenceLength",
    "ConcatFromSequence",
    "Scan",
];

/// Operators that return a sequence, which is refused as an output of a model.
const SEQUENCES: &[&str] = &["SequenceEmpty", "SequenceConstruct", "SplitToSequence"];

#[test]
fn every_operator_of_the_table_is_read_or_refused_by_name() {
    let (mut refused, mut unnamed) = (Vec::new(), Vec::new());
    for row in SUPPORTED {
        let name = row.name;
        assert!(!row.limits.is_empty() && row.versions.is_sorted(), "{name}");
        assert_eq!(
            SUPPORTED
                .iter()
                .filter(|other| (other.name, other.domain) == (name, row.domain))
                .count(),
            1,
            "{name}"
        );
        let inputs = vec!["x"; *row.inputs.start()];
        let operator = [node(name, &inputs, "y", &[]), long(7, row.domain.as_bytes())].concat();
        let ends = [long(11, &value("x", 3)), long(12, &long(1, b"y"))];
        let graph = [long(1, &operator), ends.concat()].concat();
        let version = row.versions.last().expect("a version");
        let bytes = match row.domain {
            "" => file(&graph, (*version).max(OLDEST)),
            domain => {
                let imported = [long(1, domain.as_bytes()), int(2, *version)].concat();
                [file(&graph, 17), long(8, &imported)].concat()
            }
        };
        if let Err(problems) = read(&bytes, None) {
            if problems.to_string().contains(name) { &mut refused } else { &mut unnamed }
                .push(name);
        }
    }
    assert_eq!((refused, unnamed), (NEED_MORE.to_vec(), SEQUENCES.to_vec()));
}
