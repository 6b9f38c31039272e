//! Constants: element types and conversions.

use super::*;

#[test]
fn constants_that_cannot_be_read() {
    let w = |to: &str| {
        edit(
            GRU,
            "<data element_type=\"f32\" shape=\"9, 2\" offset=\"0\" size=\"72\" />",
            &format!("<data {to} />"),
        )
    };
    let cases = [
        ("past the end", w("element_type=\"f32\" shape=\"9, 2\" offset=\"157\" size=\"72\"")),
        (
            "far past the end",
            w("element_type=\"f32\" shape=\"9, 2\" offset=\"1000000\" size=\"72\""),
        ),
        (
            "wraps",
            w("element_type=\"f32\" shape=\"9, 2\" offset=\"18446744073709551600\" size=\"72\""),
        ),
        (
            "beyond any integer",
            w("element_type=\"f32\" shape=\"9, 2\" offset=\"18446744073709551616\" size=\"72\""),
        ),
        ("a negative offset", w("element_type=\"f32\" shape=\"9, 2\" offset=\"-4\" size=\"72\"")),
        (
            "too short for its shape",
            w("element_type=\"f32\" shape=\"9, 2\" offset=\"0\" size=\"71\""),
        ),
        (
            "a shape that overflows",
            w("element_type=\"f32\" shape=\"4294967296, 4294967296\" offset=\"0\" size=\"72\""),
        ),
        (
            "a shape whose bytes overflow",
            w("element_type=\"f64\" shape=\"4611686018427387904\" offset=\"0\" size=\"72\""),
        ),
        ("a dimension of 0", w("element_type=\"f32\" shape=\"0, 2\" offset=\"0\" size=\"0\"")),
        (
            "a negative dimension",
            w("element_type=\"f32\" shape=\"9, -2\" offset=\"0\" size=\"72\""),
        ),
        ("a dynamic dimension", w("element_type=\"f32\" shape=\"9, ?\" offset=\"0\" size=\"72\"")),
        (
            "a hexadecimal dimension",
            w("element_type=\"f32\" shape=\"0x9, 2\" offset=\"0\" size=\"72\""),
        ),
        ("an empty dimension", w("element_type=\"f32\" shape=\"9,,2\" offset=\"0\" size=\"72\"")),
        (
            "many dimensions",
            w(&format!(
                "element_type=\"f32\" shape=\"1{}\" offset=\"0\" size=\"72\"",
                ",1".repeat(20)
            )),
        ),
        ("a type of 4 bits", w("element_type=\"u4\" shape=\"9, 2\" offset=\"0\" size=\"72\"")),
        ("no attributes", w("")),
        (
            "an attribute too many",
            w("element_type=\"f32\" shape=\"9, 2\" offset=\"0\" size=\"72\" scale=\"2\""),
        ),
        ("integers as weights", w("element_type=\"i32\" shape=\"9, 2\" offset=\"0\" size=\"72\"")),
    ];
    for (part, cases) in cases.chunks(10).enumerate() {
        insta::assert_snapshot!(
            format!("constants_that_cannot_be_read_{part}"),
            said(cases.to_vec())
        );
    }
    // a constant may have more bytes than the shape needs, share bytes and be unaligned
    let odd = w("element_type=\"f32\" shape=\"9, 2\" offset=\"1\" size=\"227\"");
    let bin: Vec<u8> = std::iter::once(7).chain(weights()).take(228).collect();
    let (valid, _) = compile_bytes(odd.as_bytes(), bin, &Options::default()).unwrap();
    assert_eq!(valid.constants[0].get_f32(1), 0.25);
}

#[test]
fn weights_that_are_not_finite_are_warned_about() {
    for (value, said) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let mut bin = weights();
        bin[4..8].copy_from_slice(&value.to_le_bytes());
        let (_, warnings) =
            compile_bytes(GRU.as_bytes(), bin, &Options::default()).expect("a valid model");
        let text = warnings.to_string();
        assert!(
            text.contains(&format!("the constant holds {said}: ")) && text.contains("layer: \"W\""),
            "{text}"
        );
        assert_eq!(text.matches("holds").count(), 1, "{text}");
    }
}

#[test]
fn stored_types_become_f32_and_stay_where_they_are() {
    let bits: [(&str, &str, Vec<u8>, f32); 8] = [
        ("f16", "FP16", 0x3555u16.to_le_bytes().to_vec(), 0.333_251_95),
        ("f16", "FP16", 1u16.to_le_bytes().to_vec(), 2f32.powi(-24)),
        ("bf16", "BF16", 0x3eabu16.to_le_bytes().to_vec(), 0.333_984_38),
        ("f64", "FP64", (1.0f64 / 3.0).to_le_bytes().to_vec(), 1.0 / 3.0),
        ("i8", "I8", (-128i8).to_le_bytes().to_vec(), -128.0),
        ("u8", "U8", 255u8.to_le_bytes().to_vec(), 255.0),
        ("i32", "I32", 16_777_219i32.to_le_bytes().to_vec(), 16_777_220.0),
        // a conversion by way of f64 would round to ...992
        ("i64", "I64", 9_007_199_791_611_905i64.to_le_bytes().to_vec(), 9_007_200_328_482_816.0),
    ];
    for (element, precision, first, value) in bits {
        let mut bin = weights();
        bin[..first.len()].copy_from_slice(&first);
        let text = converted(element, precision, first.len(), "f32");
        let (valid, warnings) = compile_bytes(text.as_bytes(), bin, &Options::default()).unwrap();
        assert_eq!(warnings, "", "{element}");
        let WeightSource::Constant(w) = valid.cells()[0].weights.w else { panic!() };
        assert_eq!(valid.constants[w].get_f32(0), value, "{element}");
        // a type that f32 widens exactly stays as stored
        let widens = matches!(element, "f16" | "bf16" | "i8" | "u8");
        assert_eq!(valid.constants[w].element().name() == element, widens, "{element}");
    }
}

#[test]
fn conversions_round_as_their_type_says() {
    let mut bin = weights();
    bin[..4].copy_from_slice(&(1.0f32 / 3.0).to_le_bytes());
    let narrow = converted("f32", "FP32", 4, "f16");
    let (valid, warnings) = compile_bytes(narrow.as_bytes(), bin, &Options::default()).unwrap();
    let WeightSource::Constant(w) = valid.cells()[0].weights.w else { panic!() };
    assert_eq!(valid.constants[w].element(), ElementType::F16);
    assert_eq!(valid.constants[w].get_f32(0), 0.333_251_95);
    assert!(
        warnings
            .contains("the inputs of GRUCell differ in type: x f32, h f32, W f16, R f32, B f32"),
        "{warnings}"
    );

    let cases = [
        ("to an integer", converted("f32", "FP32", 4, "i32")),
        ("to a type that is not read", converted("f32", "FP32", 4, "boolean")),
        ("to nothing", converted("f32", "FP32", 4, "f32").replace("destination_type=\"f32\"", "")),
        ("an input to f16", {
            let text = converted("f32", "FP32", 4, "f16").replace(
                "from-layer=\"2\" from-port=\"0\" to-layer=\"50\"",
                "from-layer=\"0\" from-port=\"0\" to-layer=\"50\"",
            );
            let text = text.replace(
                "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"5\" to-port=\"0\" />",
                "<edge from-layer=\"2\" from-port=\"0\" to-layer=\"5\" to-port=\"2\" />",
            );
            text.replace(
                "from-layer=\"50\" from-port=\"1\" to-layer=\"5\" to-port=\"2\"",
                "from-layer=\"50\" from-port=\"1\" to-layer=\"5\" to-port=\"0\"",
            )
        }),
        (
            "an integer input",
            edit(
                GRU,
                "<data shape=\"1,2\" element_type=\"f32\" />",
                "<data shape=\"1,2\" element_type=\"i64\" />",
            ),
        ),
        (
            "f16 throughout",
            GRU.replace("element_type=\"f32\"", "element_type=\"f16\"").replace("FP32", "FP16"),
        ),
    ];
    insta::assert_snapshot!(said(cases));
}
