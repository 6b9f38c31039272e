//! The meaning of attribute texts, and the texts that are refused.

use super::*;

#[test]
fn attribute_texts_that_are_read() {
    for (text, clip) in [
        ("0.5", Some(0.5)),
        (" 3 ", Some(3.0)),
        ("0.40000000596046448", Some(0.4)),
        ("1e-3", Some(0.001)),
        ("0", None),
        ("-0", None),
        ("-1", None),
        ("inf", None),
        ("-INF", None),
        ("infinity", None),
        ("0.0e5", None),
        ("1e-40", Some(1e-40)),
        ("NaN", None),
    ] {
        let (valid, warnings) =
            compile(&with_attribute("clip", Some(text))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(valid.cells()[0].clip, clip, "{text:?}");
        let is_below = ["-1", "NaN"].contains(&text);
        assert_eq!(warnings.contains("the clip"), is_below, "{text:?}: {warnings}");
    }
    assert_eq!(accepted(&with_attribute("clip", None)).cells()[0].clip, None);

    use Activation::{Relu, Sigmoid, Tanh};
    for (text, activations) in [
        ("relu,sigmoid", [Relu, Sigmoid]),
        (" TanH ,\tRELU ", [Tanh, Relu]),
        ("Sigmoid,SIGMOID", [Sigmoid, Sigmoid]),
        ("tanh,tanh", [Tanh, Tanh]),
        ("relu,relu", [Relu, Relu]),
    ] {
        assert_eq!(
            accepted(&with_attribute("activations", Some(text))).cells()[0].activations,
            activations,
            "{text:?}"
        );
    }
    assert_eq!(
        accepted(&with_attribute("activations", None)).cells()[0].activations,
        [Sigmoid, Tanh]
    );

    let three_parts = edit(
        &edit(GRU, r#"shape="12" "#, r#"shape="9" "#),
        "<dim>12</dim></port></output>",
        "</port></output>",
    );
    let three_parts = edit(&three_parts, "<dim>12</dim>", "");
    for (text, reset) in [
        ("1", ResetGate::AfterMatMul),
        ("True", ResetGate::AfterMatMul),
        ("0", ResetGate::BeforeMatMul),
        ("false", ResetGate::BeforeMatMul),
        ("FALSE", ResetGate::BeforeMatMul),
    ] {
        let base = if reset == ResetGate::AfterMatMul { GRU } else { &three_parts };
        let model = edit(
            base,
            r#"linear_before_reset="true""#,
            &format!(r#"linear_before_reset="{text}""#),
        );
        assert_eq!(accepted(&model).cells()[0].kind, CellKind::Gru(reset), "{text:?}");
    }
    let absent = edit(&three_parts, r#" linear_before_reset="true""#, "");
    assert_eq!(accepted(&absent).cells()[0].kind, CellKind::Gru(ResetGate::BeforeMatMul));
    assert_eq!(accepted(&with_attribute("hidden_size", Some(" 3 "))).cells()[0].hidden_size, 3);
}

/// The model with these lists of activations and their parameters.
fn with_activations(names: &str, alphas: &str, betas: &str) -> String {
    let text = with_attribute("activations", Some(names));
    let text = edit(&text, r#"activations_alpha="""#, &format!(r#"activations_alpha="{alphas}""#));
    edit(&text, r#"activations_beta="""#, &format!(r#"activations_beta="{betas}""#))
}

#[test]
fn alpha_and_beta_belong_to_activations_by_position() {
    use Activation::{
        Affine, Elu, HardSigmoid, LeakyRelu, ScaledTanh, Sigmoid, Softplus, Softsign,
        ThresholdedRelu,
    };
    for (names, alphas, betas, expected) in [
        ("hardsigmoid, elu", "", "", [HardSigmoid { alpha: 0.2, beta: 0.5 }, Elu { alpha: 1.0 }]),
        (
            "HardSigmoid,LeakyRelu",
            "0.25, 0.5",
            "0.75",
            [HardSigmoid { alpha: 0.25, beta: 0.75 }, LeakyRelu { alpha: 0.5 }],
        ),
        (
            "leakyrelu,thresholdedrelu",
            "0.5",
            "",
            [LeakyRelu { alpha: 0.5 }, ThresholdedRelu { alpha: 1.0 }],
        ),
        ("sigmoid,leakyrelu", "0.5", "", [Sigmoid, LeakyRelu { alpha: 0.01 }]),
        ("sigmoid,leakyrelu", "0,0.5", "", [Sigmoid, LeakyRelu { alpha: 0.5 }]),
        ("softsign,softplus", "", " ", [Softsign, Softplus]),
        (
            "affine,scaledtanh",
            "2, 3",
            "-1, -1e-3",
            [Affine { alpha: 2.0, beta: -1.0 }, ScaledTanh { alpha: 3.0, beta: -1e-3 }],
        ),
    ] {
        let (model, _) =
            compile(&with_activations(names, alphas, betas)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(model.cells()[0].activations, expected, "{names}; {alphas}; {betas}");
    }
    let (model, warnings) =
        compile(&with_activations("sigmoid,leakyrelu", "0,0.5", "")).expect("a valid model");
    assert!(warnings.contains("activations_alpha has no effect on sigmoid:"), "{warnings}");
    let taken = |attribute: &str| {
        let entry =
            model.cell_nodes()[0].0.ledger.iter().find(|entry| entry.attribute == attribute);
        entry.map(|entry| entry.meaning.clone()).expect("an entry")
    };
    assert_eq!(taken("activations"), "sigmoid, leakyrelu(0.5)");
    assert_eq!(taken("activations_alpha"), "0.5 for leakyrelu");
    assert_eq!(taken("activations_beta"), "none");
}

#[test]
fn parameters_of_activations_are_finite() {
    for (alpha, is_legal) in crate::rules::cell::PARAMETERS_OF_ACTIVATIONS {
        let said = compile(&with_activations("sigmoid,elu", &format!("0,{alpha}"), ""));
        let found = format!("alpha of the activation elu is {alpha}");
        assert_eq!(said.is_ok(), is_legal, "{alpha}");
        assert!(said.err().is_none_or(|said| said.to_string().contains(&found)), "{alpha}");
    }
}

#[test]
fn a_clip_above_zero_is_a_bound() {
    for (clip, bound, is_warned_about) in crate::rules::cell::CLIPS {
        let text = with_attribute("clip", Some(&clip.to_string()));
        let (valid, said) = compile(&text).unwrap_or_else(|said| panic!("{said}"));
        assert_eq!(valid.cells()[0].clip, bound, "{clip}");
        assert_eq!(said.contains("the clip"), is_warned_about, "{clip}: {said}");
    }
}

#[test]
fn a_hidden_size_has_the_limits_of_any_other_reader() {
    for size in crate::rules::cell::WRONG_HIDDEN_SIZES {
        let text = with_attribute("hidden_size", Some(&size.to_string()));
        let said = compile(&text).expect_err("no such cell");
        assert!(said.contains("an integer from 1 to 1048576"), "{size}: {said}");
    }
}

/// A model with one layer between x, `[1, 2]`, and y.
fn one_layer(type_name: &str, attributes: &str) -> String {
    let port =
        |id: usize| format!("<port id=\"{id}\" precision=\"FP32\"><dim>1</dim><dim>2</dim></port>");
    format!(
        "<net name=\"m\" version=\"11\"><layers>
<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">
<data shape=\"1,2\" element_type=\"f32\"/><output>{}</output></layer>
<layer id=\"1\" name=\"c\" type=\"{type_name}\" version=\"opset1\"><data {attributes}/>
<input>{}</input><output>{}</output></layer>
<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input>{}</input></layer>
</layers><edges>
<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>
<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>",
        port(0),
        port(0),
        port(1),
        port(0)
    )
}

#[test]
fn parameters_of_functions_are_refused_at_their_attributes() {
    for (layer, attributes, refusal) in [
        ("Clamp", "min=\"-1\" max=\"1\"", None),
        ("Clamp", "min=\"1\" max=\"1\"", None),
        ("Clamp", "min=\"3\" max=\"2\"", Some(("Clamp from 3 to 2", "4:60"))),
        ("Clamp", "min=\"nan\" max=\"1\"", Some(("Clamp from NaN to 1", "4:60"))),
        ("Elu", "alpha=\"0\"", None),
        ("Elu", "alpha=\"inf\"", Some(("alpha of the activation elu is inf", "4:58"))),
        ("Softmax", "axis=\"2\"", Some(("the axis 2 of a tensor of 2 dimensions", "4:62"))),
    ] {
        let said = compile(&one_layer(layer, attributes)).err().map(|said| said.to_string());
        assert_eq!(said.is_some(), refusal.is_some(), "{layer} {attributes}: {said:?}");
        let (Some(said), Some((found, place))) = (said, refusal) else { continue };
        assert!(said.contains(found), "{layer} {attributes}: {said}");
        assert!(said.contains(&format!("model.xml:{place}\n")), "{layer} {attributes}: {said}");
    }
}

#[test]
fn alpha_and_beta_that_are_refused_or_warned_about() {
    let cases = [
        ("sigmoid,scaledtanh", "", ""),
        ("sigmoid,scaledtanh", "0,2", "1"),
        ("elu,tanh", "inf", ""),
        ("affine,tanh", "1", "nan"),
        ("elu,tanh", "1,,2", ""),
        ("elu,tanh", "0.5f", ""),
        ("elu,elu", "1,2,3", ""),
        ("elu,elu", "1,2", "3,4"),
        ("exp,log", "", ""),
        ("scaledtanh,tanh", "x", "1"),
    ];
    let texts: Vec<(String, String)> = cases
        .iter()
        .map(|(names, alphas, betas)| {
            (format!("{names}; {alphas}; {betas}"), with_activations(names, alphas, betas))
        })
        .collect();
    insta::assert_snapshot!(said(texts.iter().map(|(name, text)| (name.as_str(), text.clone()))));
}

#[test]
fn attribute_texts_that_are_refused_or_warned_about() {
    let cases = [
        ("clip", "0,5"),
        ("clip", "0.5f"),
        ("clip", ""),
        ("clip", "1 2"),
        ("clip", "0x10"),
        ("clip", "1e-50"),
        ("clip", "-1e-50"),
        ("clip", "1e400"),
        ("clip", "-1e39"),
        ("activations", "sigmoid"),
        ("activations", "sigmoid,tanh,tanh"),
        ("activations", ""),
        ("activations", "sigmoid,,tanh"),
        ("activations", "sigmoid,hardsigmoid"),
        ("activations", "a,b,c,d,e,f,g"),
        ("activations_alpha", "0.5"),
        ("activations_beta", "0.5, 1e3"),
        ("activations_alpha", "0.5,x"),
        ("activations_alpha", "0.5, 1e-60"),
        ("linear_before_reset", "yes"),
        ("linear_before_reset", "2"),
        ("linear_before_reset", " true"),
        ("linear_before_reset", ""),
        ("hidden_size", "4"),
        ("hidden_size", "0"),
        ("hidden_size", "-3"),
        ("hidden_size", "3.0"),
        ("hidden_size", ""),
        ("hidden_size", "99999999999999999999"),
        ("hidden_size", "18446744073709551615"),
        ("linear_before_rest", "true"),
        ("direction", "reverse"),
    ];
    let mut texts: Vec<(String, String)> = cases
        .iter()
        .map(|(name, value)| (format!("{name}={value:?}"), with_attribute(name, Some(value))))
        .collect();
    texts.push(("no hidden_size".to_owned(), with_attribute("hidden_size", None)));
    for (part, texts) in texts.chunks(11).enumerate() {
        let said = said(texts.iter().map(|(name, text)| (name.as_str(), text.clone())));
        insta::assert_snapshot!(
            format!("attribute_texts_that_are_refused_or_warned_about_{part}"),
            said
        );
    }
}

/// The model with B of another shape and of `size` bytes, at the start of the `.bin` file.
fn with_bias(shape: &str, size: usize) -> String {
    let text = edit(
        GRU,
        r#"shape="12" offset="180" size="48""#,
        &format!(r#"shape="{shape}" offset="0" size="{size}""#),
    );
    text.replace("<dim>12</dim>", "")
}

#[test]
fn biases_of_every_layout() {
    let before = |text: String| {
        edit(&text, r#"linear_before_reset="true""#, r#"linear_before_reset="false""#)
    };
    let cases = [
        ("6 parts, after", with_bias("18", 72)),
        ("6 parts, before", before(with_bias("18", 72))),
        ("6 parts and a direction, after", with_bias("1, 18", 72)),
        ("3 parts, after", with_bias("9", 36)),
        ("4 parts, before", before(with_bias("12", 48))),
        ("3 parts and a direction, before", before(with_bias("1, 9", 36))),
        ("5 parts, after", with_bias("15", 60)),
        ("not a multiple, after", with_bias("13", 52)),
        ("a scalar", with_bias("", 4)),
        ("a matrix", with_bias("4, 3", 48)),
    ];
    insta::assert_snapshot!(said(cases));
}

/// The example of the specification for GRUCell-3 has a bias in ONNX's layout, which is refused
/// with an explanation.
#[test]
fn the_example_of_the_specification_is_explained() {
    let text = r#"<net name="spec" version="11">
<layers>
<layer id="0" name="X" type="Parameter" version="opset1">
<data shape="1,16" element_type="f32"/>
<output>
<port id="0" precision="FP32"><dim>1</dim><dim>16</dim></port></output>
</layer>
<layer id="1" name="H" type="Parameter" version="opset1">
<data shape="1,128" element_type="f32"/>
<output>
<port id="0" precision="FP32"><dim>1</dim><dim>128</dim></port></output>
</layer>
<layer id="2" name="W" type="Parameter" version="opset1">
<data shape="384,16" element_type="f32"/>
<output>
<port id="0" precision="FP32"><dim>384</dim><dim>16</dim></port></output>
</layer>
<layer id="3" name="R" type="Parameter" version="opset1">
<data shape="384,128" element_type="f32"/>
<output>
<port id="0" precision="FP32"><dim>384</dim><dim>128</dim></port></output>
</layer>
<layer id="4" name="B" type="Parameter" version="opset1">
<data shape="768" element_type="f32"/>
<output>
<port id="0" precision="FP32"><dim>768</dim></port></output>
</layer>
<layer id="5" name="gru" type="GRUCell" version="opset3">
<data hidden_size="128" linear_before_reset="1"/>
<input>
<port id="0"><dim>1</dim><dim>16</dim></port>
<port id="1"><dim>1</dim><dim>128</dim></port>
<port id="2"><dim>384</dim><dim>16</dim></port>
<port id="3"><dim>384</dim><dim>128</dim></port>
<port id="4"><dim>768</dim></port></input>
<output>
<port id="5" precision="FP32"><dim>1</dim><dim>128</dim></port></output>
</layer>
<layer id="6" name="out" type="Result" version="opset1">
<input>
<port id="0"><dim>1</dim><dim>128</dim></port></input>
</layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="5" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="5" to-port="1"/>
<edge from-layer="2" from-port="0" to-layer="5" to-port="2"/>
<edge from-layer="3" from-port="0" to-layer="5" to-port="3"/>
<edge from-layer="4" from-port="0" to-layer="5" to-port="4"/>
<edge from-layer="5" from-port="5" to-layer="6" to-port="0"/>
</edges></net>"#;
    insta::assert_snapshot!(compile(text).unwrap_err());
}
