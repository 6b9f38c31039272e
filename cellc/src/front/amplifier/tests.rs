use super::*;
use crate::compile::core_model;
use crate::front::read_model::ReadModel;
use crate::request::Options;

/// An LSTM of one unit, all of whose 16 weights are 0.5.
fn nam() -> String {
    let weights = ["0.5"; 16].join(", ");
    format!(
        r#"{{"version": "0.5.4", "architecture": "LSTM", "config": {{"input_size": 1, "hidden_size": 1, "num_layers": 1}}, "weights": [{weights}], "sample_rate": 48000}}"#
    )
}

/// A GRU of one unit and a dense layer.
const RTNEURAL: &str = r#"{"in_shape": [null, null, 1], "in_skip": 1, "in_gain": 6, "layers": [
    {"type": "gru", "activation": "tanh", "shape": [null, null, 1], "weights": [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9], [1, 2, 3]]]},
    {"type": "dense", "activation": "", "shape": [null, null, 1], "weights": [[[0.5]], [0.25]]}]}"#;

/// An impulse response of three samples, and a bias.
const LINEAR: &str = r#"{"version": "0.5.4", "architecture": "Linear", "config": {"receptive_field": 3, "bias": true}, "weights": [1, 2, 3, 4], "sample_rate": 48000}"#;

/// A WaveNet of two arrays, with one channel each.
fn wavenet() -> String {
    let array = r#""input_size": 1, "condition_size": 1, "head_size": 1, "channels": 1, "kernel_size": 2, "dilations": [1, 2], "activation": "Tanh", "gated": false, "head_bias": true"#;
    let weights = ["0.5"; 31].join(", ");
    format!(
        r#"{{"version": "0.5.4", "architecture": "WaveNet", "config": {{"layers": [{{{array}}}, {{{array}}}], "head": null, "head_scale": 0.5}}, "weights": [{weights}], "sample_rate": 48000}}"#
    )
}

/// A ConvNet of two blocks with batch normalisation.
const CONV_NET: &str = r#"{"version": "0.5.4", "architecture": "ConvNet", "config": {"channels": 1, "dilations": [1, 2], "batchnorm": true, "activation": "ReLU"}, "weights": [1, 1, 0, 1, 1, 0, 0.5, 1, 1, 0, 1, 1, 0, 0.5, 1, 1], "sample_rate": 48000}"#;

/// A linear model for controls below 0.5, and an LSTM for others.
fn container() -> String {
    format!(
        r#"{{"version": "0.7.0", "architecture": "SlimmableContainer", "config": {{"submodels": [{{"max_value": 0.5, "model": {LINEAR}}}, {{"max_value": 1, "model": {}}}]}}, "weights": [], "sample_rate": 48000}}"#,
        nam()
    )
}

fn read(text: &str) -> Result<ReadModel, String> {
    read_bytes("amp.json", "amp", text.as_bytes(), None, None)
        .map_err(|problems| problems.to_string())
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let changed = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        read(&text.replacen(from, to, 1)).expect_err(to)
    };
    let nam = |from: &str, to: &str| changed(&nam(), from, to);
    let rt = |from: &str, to: &str| changed(RTNEURAL, from, to);
    let said = [
        nam("0.5.4", "0.4.0"),
        nam("0.5.4", "1.0.0"),
        nam("\"version\": \"0.5.4\", ", ""),
        nam("LSTM", "CatLSTM"),
        nam("[0.5, ", "["),
        nam("[0.5, ", "[0.5, 0.5, "),
        nam("[0.5, ", "[\"a\", "),
        nam("[0.5, ", "[1e39, "),
        nam("[0.5, ", "[NaN, "),
        nam(", 0.5,", ",\n -Infinity,"),
        nam("[0.5, ", "[1e999, "),
        nam("\"hidden_size\": 1", "\"hidden_size\": 0"),
        nam("\"hidden_size\": 1", "\"hidden_size\": 1.5"),
        nam("\"hidden_size\": 1", "\"hidden_size\": 65536"),
        nam("\"num_layers\": 1", "\"num_layers\": 65536"),
        nam("\"num_layers\": 1", "\"num_layers\": 1, \"out_channels\": 2"),
        nam("\"num_layers\": 1", "\"num_layers\": 1, \"num_layers\": 1"),
        nam("\"sample_rate\": 48000}", ""),
        nam("\"weights\": [", &format!("\"deep\": {}", "[".repeat(1000))),
        rt("[null, null, 1], \"in_skip\"", "[1, 2, 3, 4], \"in_skip\""),
        rt("[null, null, 1], \"in_skip\"", "[null, null, 2], \"in_skip\""),
        rt("\"in_skip\": 1", "\"in_skip\": 2"),
        rt("\"in_gain\": 6", "\"in_gain\": \"6\""),
        rt("\"in_gain\": 6", "\"in_gain\": 1000"),
        rt("\"gru\"", "\"conv3d\""),
        rt("\"gru\"", "\"conv2d\""),
        rt("\"gru\"", "\"conv1d\""),
        rt("\"gru\"", "\"batchnorm\""),
        rt("\"gru\"", "\"prelu\""),
        rt("\"gru\"", "\"lstm\""),
        rt("\"tanh\"", "\"relu\""),
        rt("\"activation\": \"\"", "\"activation\": \"softplus\""),
        rt("\"activation\": \"\"", "\"activation\": \"\", \"groups\": 2"),
        rt("[[1, 2, 3]]", "[[1, 2], [3]]"),
        rt("[[1, 2, 3]]", "[1, 2, 3]"),
        rt("[[1, 2, 3]]", "[[1, 2, null]]"),
        rt("[[7, 8, 9], [1, 2, 3]]", "[7, 8, 9]"),
        rt(", [[7, 8, 9], [1, 2, 3]]", ""),
        rt("[[0.5]]", "[[0.5, 0.5]]"),
        rt("\"layers\"", "\"levels\""),
        changed(LINEAR, "[1, 2, 3, 4]", "[1, 2, 3]"),
        changed(LINEAR, "\"bias\": true", "\"bias\": 1"),
        changed(LINEAR, "\"bias\": true", "\"bias\": true, \"in_channels\": 2"),
        changed(LINEAR, "\"bias\": true", "\"bias\": true, \"gain\": 2"),
        changed(&container(), "0.5, \"model\"", "1.5, \"model\""),
        changed(&container(), "\"max_value\": 1,", "\"max_value\": 0.75,"),
        changed(&container(), "\"sample_rate\": 48000}}]", "\"sample_rate\": 44100}}]"),
        changed(
            &container(),
            "\"hidden_size\": 1, \"num_layers\": 1}, \"weights\": [0.5, ",
            "\"hidden_size\": 1, \"num_layers\": 2}, \"weights\": [",
        ),
        changed(&container(), "\"weights\": [], ", "\"weights\": [1], "),
        changed(&container(), "{\"submodels\"", "{\"level\": 1, \"submodels\""),
        read("[1, 2]").expect_err("a list"),
        nam("\"version\": \"0.5.", "\"version\": \"+0.5."),
        nam("\"num_layers\": 1", "\"num_layers\": 1, \"in_channels\": 2"),
        nam(
            "\"weights\": [",
            &format!("\"deep\": {}0{}, \"weights\": [", "[".repeat(200), "]".repeat(200)),
        ),
        read(
            r#"{"version": "0.7.0", "architecture": "SlimmableContainer",
            "config": {"submodels": []}}"#,
        )
        .expect_err("no submodel"),
        changed(CONVOLUTION, "[[[0.5, 0.25]]]", "[[[0.5], [0.25]]]"),
    ];
    for (part, said) in said.chunks(16).enumerate() {
        insta::assert_snapshot!(
            format!("what_is_wrong_is_said_with_its_place_{part}"),
            said.join("\n")
        );
    }
}

#[test]
fn what_is_wrong_with_a_network_of_convolutions_is_said_with_its_place() {
    let changed = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        read(&text.replacen(from, to, 1)).expect_err(to)
    };
    let net = |from: &str, to: &str| changed(&wavenet(), from, to);
    let conv = |from: &str, to: &str| changed(CONV_NET, from, to);
    let last = "\"head_bias\": true";
    let add = |key: &str| net(last, &format!("{last}, {key}"));
    let activation = |value: &str| net("\"activation\": \"Tanh\"", value);
    let said = [
        net("\"layers\"", "\"arrays\""),
        net("\"layers\": [", "\"layers\": 1, \"more\": ["),
        net("\"kernel_size\": 2, ", ""),
        net("\"kernel_size\": 2", "\"kernel_size\": 0"),
        net("\"kernel_size\": 2", "\"kernel_sizes\": [2]"),
        net("\"kernel_size\": 2", "\"kernel_sizes\": [2, 1.5]"),
        net("\"kernel_size\": 2", "\"kernel_size\": 2, \"kernel_sizes\": [2, 2]"),
        net("[1, 2]", "[]"),
        net("[1, 2]", "[1, 0]"),
        net("\"input_size\": 1", "\"input_size\": 2"),
        net("\"condition_size\": 1", "\"condition_size\": 2"),
        net("\"head_size\": 1", "\"head_size\": 2"),
        net("\"channels\": 1", "\"channels\": 2"),
        net("\"head_size\": 1, ", ""),
        net("\"head_scale\": 0.5", "\"head_scale\": null"),
        net("[0.5, ", "["),
        net("[0.5, ", "[0.5, 0.5, "),
        net("\"weights\": [", "\"weight\": ["),
        net("\"head\": null", "\"head\": {\"channels\": 1}"),
        net("\"head\": null", "\"head\": 1"),
        net("\"head\": null", "\"tail\": 1"),
        net("\"gated\": false", "\"gated\": 0"),
        net("\"gated\": false", "\"gated\": true, \"gating_mode\": \"none\""),
        activation("\"activation\": \"Swish\""),
        activation("\"activation\": 1"),
        activation("\"activation\": [\"Tanh\"]"),
        activation("\"activation\": {\"type\": \"Tanh\", \"alpha\": 1}"),
        activation("\"activation\": {\"alpha\": 1}"),
        activation("\"activation\": {\"type\": \"PReLU\", \"negative_slopes\": [1, 2]}"),
        activation("\"activation\": {\"type\": \"Softsign\", \"alpha\": 2}"),
        activation("\"activation\": {\"type\": \"LeakyHardtanh\", \"min_val\": 2}"),
        add("\"gating_mode\": \"closed\""),
        add("\"gating_mode\": [\"none\"]"),
        add("\"gating_mode\": \"gated\", \"secondary_activation\": \"Swish\""),
        add("\"bottleneck\": 0"),
        add("\"bottleneck\": 2, \"groups_input\": 2"),
        add("\"groups_input_mixin\": 3"),
        add("\"layer1x1\": {\"active\": false, \"groups\": 1}"),
        add("\"layer1x1\": {\"groups\": 1}"),
        add("\"head1x1\": {\"active\": true, \"out_channels\": 2, \"groups\": 3}"),
        add("\"head\": {\"out_channels\": 1, \"kernel_size\": 1, \"bias\": true}"),
        add("\"conv_pre_film\": true"),
        add("\"conv_pre_film\": {\"active\": true, \"shift\": 1}"),
        add("\"head1x1_post_film\": {\"active\": true}"),
        add("\"slimmable\": {\"method\": \"prune\"}"),
        add("\"dropout\": 0.5"),
        net("\"head\": null", "\"head\": null, \"condition_dsp\": {\"version\": \"0.4.0\"}"),
        net("\"head\": null", &format!("\"head\": null, \"condition_dsp\": {}", nam())),
        net(
            "\"head\": null",
            &format!(
                "\"head\": null, \"condition_dsp\": {}",
                CONV_NET.replacen("[1, 1,", "[1,", 1)
            ),
        ),
        conv("\"batchnorm\": true, ", ""),
        conv("\"batchnorm\": true", "\"batchnorm\": true, \"kernel\": 3"),
        conv("\"channels\": 1", "\"channels\": 2, \"groups\": 2"),
        conv("[1, 1, 0, 1,", "[1, 1, 0, -1,"),
        conv("0.5, 1, 1, 0,", "-0.5, 1, 1, 0,"),
        conv("[1, 1, 0,", "[1, 0,"),
        changed(&sequential(), "\"models\": [", "\"models\": [], \"more\": ["),
        changed(&sequential(), "\"weights\": [], ", "\"weights\": [1], "),
        changed(&sequential(), "\"sample_rate\": 48000}]", "\"sample_rate\": 44100}]"),
        changed(&sequential(), "\"channels\": 1", "\"in_channels\": 2, \"channels\": 1"),
        activation("\"activation\": {\"type\": \"Hardtanh\", \"min_val\": -1, \"max_val\": 2}"),
        net("\"gated\": false", "\"gated\": null"),
        net("\"kernel_size\": 2", "\"kernel_size\": \"2\""),
        add("\"bottleneck\": null"),
    ];
    for (part, said) in said.chunks(20).enumerate() {
        insta::assert_snapshot!(format!("networks_of_convolutions_{part}"), said.join("\n"));
    }
}

/// NAM's trainer writes the limits of Hardtanh, which must be those of the player.
#[test]
fn limits_of_hardtanh_are_the_players() {
    let of = |value: &str| {
        let text = wavenet().replacen("\"activation\": \"Tanh\"", value, 1);
        assert!(text.contains(value));
        read(&text).unwrap_or_else(|problems| panic!("{problems}")).model
    };
    let named = of("\"activation\": \"Hardtanh\"");
    let limits = "\"activation\": {\"type\": \"Hardtanh\", \"min_val\": -1.0, \"max_val\": 1.0}";
    assert_eq!(of(limits).nodes, named.nodes);
}

/// A convolution, a batch normalisation and slopes.
const CONVOLUTION: &str = r#"{"in_shape": [null, null, 1], "layers": [
    {"type": "conv1d", "activation": "", "shape": [null, null, 2], "kernel_size": [2], "dilation": [3], "weights": [[[[1, 2]], [[3, 4]]], [0, 1]]},
    {"type": "batchnorm", "activation": "", "shape": [null, null, 2], "epsilon": 0, "weights": [[1, 1], [0, 0], [0, 0], [1, 4]]},
    {"type": "prelu", "activation": "", "shape": [null, null, 2], "weights": [[[0.5, 0.25]]]}]}"#;

#[test]
fn convolutions_of_rtneural_reach_back() {
    let model = read(CONVOLUTION).unwrap_or_else(|problems| panic!("{problems}")).model;
    let (model, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let mut variables = crate::reference::initial_variables(&model);
    let mut step = |x: f64| {
        let step = crate::reference::reference(&model, &[vec![x]], &variables);
        variables = step.variables;
        step.results.into_iter().next().expect("an output")
    };
    let found = [1.0, 0.0, 0.0, -2.0].map(&mut step);
    assert_eq!(found, [[3.0, 2.5], [0.0, 0.5], [0.0, 0.5], [-2.5, -0.625]]);
}

#[test]
fn what_is_wrong_with_a_convolution_of_rtneural_is_said_with_its_place() {
    let changed = |from: &str, to: &str| {
        assert!(CONVOLUTION.contains(from), "{from}");
        read(&CONVOLUTION.replacen(from, to, 1)).expect_err(to)
    };
    let said = [
        changed("\"kernel_size\": [2], ", ""),
        changed("\"kernel_size\": [2]", "\"kernel_size\": [2, 2]"),
        changed("\"kernel_size\": [2]", "\"kernel_size\": [3]"),
        changed("\"dilation\": [3]", "\"dilation\": 0"),
        changed("\"dilation\": [3]", "\"dilation\": 3, \"groups\": 2"),
        changed("\"dilation\": [3]", "\"dilation\": 3, \"strides\": [2]"),
        changed("\"dilation\": [3]", "\"dilation\": 3, \"padding\": \"same\""),
        changed("[0, 1]]}", "[0]]}"),
        changed("\"epsilon\": 0, ", ""),
        changed("\"epsilon\": 0", "\"epsilon\": -0.5"),
        changed("[1, 4]]", "[1, 0]]"),
        changed("[1, 4]]", "[1]]"),
        changed("[[1, 1], [0, 0], ", "[[1, 1], "),
        changed("[[0.5, 0.25]]", "[[0.5, 0.25, 1]]"),
        changed("\"prelu\", \"activation\": \"\"", "\"prelu\", \"activation\": \"tanh\""),
    ];
    insta::assert_snapshot!("convolutions_of_rtneural", said.join("\n"));
}

/// A convolution over two samples of three features, from one filter to two, and a batch
/// normalisation of the filters.
const FRAMES: &str = r#"{"in_shape": [null, null, 3, 1], "layers": [
    {"type": "conv2d", "activation": "", "shape": [null, null, 2, 2], "kernel_size_time": 2, "kernel_size_feature": 2,
        "dilation": 1, "strides": 2, "num_filters_in": 1, "num_features_in": 3, "num_filters_out": 2, "padding": "same",
        "weights": [[[[[1, 0]], [[0, 1]]], [[[2, 1]], [[3, 0]]]], [0, 10]]},
    {"type": "batchnorm2d", "activation": "", "shape": [null, null, 2, 2], "epsilon": 0, "num_filters_in": 2,
        "num_features_in": 2, "weights": [[0, 0], [1, 4]]}]}"#;

#[test]
fn convolutions_of_features_reach_back() {
    let model = read(FRAMES).unwrap_or_else(|problems| panic!("{problems}")).model;
    let (model, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let mut variables = crate::reference::initial_variables(&model);
    let mut step = |x: [f64; 3]| {
        let step = crate::reference::reference(&model, &[x.to_vec()], &variables);
        variables = step.variables;
        step.results.into_iter().next().expect("an output")
    };
    // by feature f, with p the sample before x: 2 x[2f] + 3 x[2f + 1] + p[2f], and half of x[2f] +
    // p[2f + 1] + 10
    assert_eq!(step([1.0, 2.0, 4.0]), [8.0, 5.5, 8.0, 7.0]);
    assert_eq!(step([0.0, 0.0, 0.0]), [1.0, 6.0, 4.0, 5.0]);
}

#[test]
fn what_is_wrong_with_a_convolution_of_features_is_said_with_its_place() {
    let changed = |from: &str, to: &str| {
        assert!(FRAMES.contains(from), "{from}");
        read(&FRAMES.replacen(from, to, 1)).expect_err(to)
    };
    let said = [
        changed("\"same\"", "\"valid\""),
        changed("\"same\"", "\"causal\""),
        changed("\"strides\": 2, ", ""),
        changed("\"num_features_in\": 3", "\"num_features_in\": 2"),
        changed("\"num_filters_out\": 2", "\"num_filters_out\": 1"),
        changed("\"kernel_size_feature\": 2", "\"kernel_size_feature\": 3"),
        changed("\"dilation\": 1", "\"dilation\": 1, \"groups\": 1"),
        changed("[null, null, 3, 1]", "[null, null, null, 1]"),
        changed("[0, 10]", "[0, 10, 20]"),
        changed("\"num_filters_in\": 2", "\"num_filters_in\": 3"),
        changed("[1, 4]]", "[1, 4, 9, 16]]"),
    ];
    insta::assert_snapshot!("convolutions_of_features", said.join("\n"));
}

#[test]
fn sizes_are_chosen() {
    let of = |text: &str, size: ModelSize| {
        read_bytes("amp.json", "amp", text.as_bytes(), Some(size), None)
            .map_err(|problems| problems.to_string())
    };
    // a control is below the `max_value` of the model that it selects
    for (size, is_linear) in [
        (ModelSize::Smallest, true),
        (ModelSize::Control(0.49), true),
        (ModelSize::Control(0.5), false),
        (ModelSize::Largest, false),
    ] {
        let model = of(&container(), size).unwrap_or_else(|problems| panic!("{problems}")).model;
        let cell = model.nodes.iter().any(|node| matches!(node.op, Op::Cell(_)));
        assert_eq!(cell, !is_linear, "{size:?}");
    }
    for text in [nam(), RTNEURAL.to_owned(), wavenet()] {
        let said = of(&text, ModelSize::Smallest).expect_err("one size");
        assert!(said.contains("--size is given, and the model has one size"), "{said}");
    }
    let slimmable = |more: &str| {
        let key = format!("\"slimmable\": {{\"method\": \"slice_channels_uniform\"{more}}}");
        wavenet().replacen("\"head_bias\": true", &format!("\"head_bias\": true, {key}"), 1)
    };
    assert!(of(&slimmable(""), ModelSize::Smallest).is_ok());
    let said = of(&slimmable(", \"kwargs\": {\"allowed_channels\": [2, 1]}"), ModelSize::Smallest);
    assert!(said.expect_err("descending").contains("the numbers of channels are [2, 1]"));
}

/// A Sequential of a WaveNet and a ConvNet of two blocks.
fn sequential() -> String {
    let wavenet = wavenet();
    format!(
        r#"{{"version": "0.7.0", "architecture": "Sequential", "config": {{"models": [{wavenet}, {CONV_NET}]}}, "weights": [], "sample_rate": 48000}}"#
    )
}

#[test]
fn the_last_weight_is_the_head_scale() {
    let other = wavenet().replacen("\"head_scale\": 0.5", "\"head_scale\": 0.25", 1);
    let warnings = read(&other).unwrap_or_else(|problems| panic!("{problems}")).problems;
    let said = warnings.to_string();
    assert!(said.contains("a head_scale of 0.25, and 0.5 as the last weight"), "{said}");
    assert_eq!(computed(&other, &[0.5, 1.0]), computed(&wavenet(), &[0.5, 1.0]));
}

/// Files from before NAM's core played a Sequential: the models have no version, and the file has
/// no list of weights.
#[test]
fn a_sequential_may_be_written_in_short() {
    let short = sequential()
        .replacen("Sequential", "sequential", 1)
        .replacen("\"models\"", "\"layers\"", 1)
        .replacen("\"weights\": [], ", "", 1)
        .replacen("{\"version\": \"0.5.4\", ", "{", 2);
    assert_eq!(computed(&short, &[0.5, 1.0]), computed(&sequential(), &[0.5, 1.0]));
}

#[test]
fn a_hidden_size_has_the_limits_of_any_other_reader() {
    for size in crate::rules::cell::WRONG_HIDDEN_SIZES {
        let text = nam().replacen("\"hidden_size\": 1", &format!("\"hidden_size\": {size}"), 1);
        let said = read(&text).expect_err("no such cell");
        assert!(said.contains("from 1 to 65536"), "{size}: {said}");
    }
}

#[test]
fn much_past_is_refused() {
    let (dilations, weights) = (["65536"; 300].join(", "), ["0.5"; 300 * 3 + 2].join(", "));
    let text = format!(
        r#"{{"version": "0.5.4", "architecture": "ConvNet", "config": {{"channels": 1, "dilations": [{dilations}], "batchnorm": false, "activation": "ReLU"}}, "weights": [{weights}]}}"#
    );
    let said = read(&text).expect_err("much");
    assert!(said.contains("19660800 values of the past of all layers"), "{said}");
    let layer = r#"{"type": "conv1d", "activation": "", "shape": [null, null, 1], "kernel_size": [2], "dilation": [65536], "weights": [[[[1]], [[2]]], [0]]}"#;
    let layers = [layer; 300].join(", ");
    let text = format!(r#"{{"in_shape": [null, null, 1], "layers": [{layers}]}}"#);
    let said = read(&text).expect_err("much");
    assert!(said.contains("19660800 values of the past of all layers"), "{said}");
}

/// With silence, the first call gives what every later call gives.
#[test]
fn networks_start_at_rest() {
    for text in [wavenet(), CONV_NET.to_owned(), sequential()] {
        let outputs = computed(&text, &[0.0; 12]);
        assert!(outputs[0].abs() > 0.01, "{outputs:?}");
        assert!(outputs.iter().all(|out| (out - outputs[0]).abs() < 1e-6), "{outputs:?}");
    }
}

#[test]
fn what_is_not_computed_with_is_listed_or_warned_about() {
    let ledger = |text: &str| {
        let ReadModel { model, problems: warnings } = read(text).unwrap();
        core_model(&model, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let cell = model.nodes.iter().find(|node| matches!(node.op, Op::Cell(_))).unwrap();
        let line = |entry: &LedgerEntry| {
            format!(
                "{} {:?}: {}\n",
                entry.attribute,
                entry.text.as_deref().unwrap_or_default(),
                entry.meaning
            )
        };
        cell.ledger.iter().map(line).collect::<String>() + &warnings.to_string()
    };
    let metadata = "\"metadata\": \
        {\"name\": \"amp\", \"loudness\": -20.5, \"input_level_dbu\": null}, \"notes\": [1, 2]";
    let nam = nam().replacen("\"sample_rate\"", &format!("{metadata}, \"sample_rate\""), 1);
    let rtneural = RTNEURAL.replacen(
        "\"in_gain\"",
        "\"samplerate\": \"48000\", \"esr\": 0.5, \"out_gain\": -95, \"in_gain\"",
        1,
    );
    insta::assert_snapshot!(ledger(&nam) + "\n" + &ledger(&rtneural));
    // an entry for all metadata would repeat the entries of its keys
    let rate =
        RTNEURAL.replacen("\"in_gain\"", "\"metadata\": {\"samplerate\": 48000}, \"in_gain\"", 1);
    assert_eq!(ledger(&rate).matches("samplerate").count(), 1);
}

#[test]
fn only_a_part_of_much_metadata_is_listed() {
    let keys: String =
        (0..10_000).map(|i| format!("\"key{i}\": \"{}\", ", "v".repeat(100))).collect();
    let ReadModel { model, problems: warnings } =
        read(&nam().replacen("\"sample_rate\"", &format!("{keys}\"sample_rate\""), 1)).unwrap();
    let listed: usize = model.nodes.iter().map(|node| node.ledger.len()).sum();
    assert!((30..100).contains(&listed), "{listed}");
    assert!(
        warnings
            .0
            .iter()
            .any(|warning| warning.found.contains("more keys, which the header leaves out"))
    );
    // keys inside nested objects count, too
    let inside = format!("\"outer\": {{{keys}\"list\": [{{\"last\": 1}}]}}, \"sample_rate\"");
    let warnings = read(&nam().replacen("\"sample_rate\"", &inside, 1)).unwrap().problems;
    assert!(
        warnings.0.iter().any(|warning| warning.found.contains("10003 more keys")),
        "{warnings}"
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_it() {
    assert!(read(&format!("\u{feff}{}", nam())).is_ok());
}

#[test]
fn gains_are_those_of_a_mixer() {
    for (decibels, gain) in [(0.0, 1.0), (20.0, 10.0), (-20.0, 0.1), (-90.0, 0.0), (-1000.0, 0.0)] {
        assert_eq!(rtneural::factor(decibels), gain);
    }
}

/// The outputs of the model in a text for samples, by the reference.
fn computed(text: &str, samples: &[f64]) -> Vec<f64> {
    let model = read(text).unwrap_or_else(|problems| panic!("{problems}")).model;
    let (model, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let mut variables = crate::reference::initial_variables(&model);
    let step = |&sample: &f64| {
        let step = crate::reference::reference(&model, &[vec![sample]], &variables);
        variables = step.variables;
        step.results[0][0]
    };
    samples.iter().map(step).collect()
}

#[test]
fn linear_is_the_impulse_response_and_the_bias() {
    assert_eq!(computed(LINEAR, &[1.0, 0.0, 0.0, 0.0, 2.0, 1.0]), [5.0, 6.0, 7.0, 4.0, 6.0, 9.0]);
    let one =
        LINEAR.replace("3, \"bias\": true", "1, \"bias\": false").replace("[1, 2, 3, 4]", "[2]");
    assert_eq!(computed(&one, &[1.0, -2.0]), [2.0, -4.0]);
}

#[test]
fn the_largest_model_of_a_container_is_compiled() {
    let samples = [0.5, -0.25, 1.0];
    assert_eq!(computed(&container(), &samples), computed(&nam(), &samples));
    let ReadModel { model, problems: warnings } = read(&container()).unwrap();
    assert_eq!(warnings.to_string(), "");
    let cell = model.nodes.iter().find(|node| matches!(node.op, Op::Cell(_))).unwrap();
    assert!(
        cell.ledger.iter().any(|entry| entry.meaning.contains("the last of 2 submodels")),
        "{:?}",
        cell.ledger
    );
}

#[test]
fn softmax_is_over_the_units_of_a_layer() {
    let dense = |weights: &str, units: usize| {
        format!(
            r#"{{"type": "dense", "activation": "softmax", "shape": [null, {units}], "weights": {weights}}}"#
        )
    };
    let text = format!(
        r#"{{"in_shape": [null, 1], "layers": [{}, {{"type": "activation", "activation": "softmax", "shape": [null, 2]}}]}}"#,
        dense("[[[1, -1]], [0, 0.5]]", 2)
    );
    let model = read(&text).unwrap_or_else(|problems| panic!("{problems}")).model;
    let (model, _) =
        core_model(&model, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let softmax = |v: [f64; 2]| v.map(|x| x.exp() / (v[0].exp() + v[1].exp()));
    let got = crate::reference::reference(&model, &[vec![0.75]], &[]).results.remove(0);
    let want = softmax(softmax([0.75, -0.25]));
    assert!(
        got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-12),
        "{got:?} is not {want:?}"
    );
}

/// The rate of a file becomes a constant of the code, whichever key gives the rate.
#[test]
fn the_sample_rate_of_a_file_is_one_number() {
    let rtneural = |rate: &str| RTNEURAL.replacen('{', &format!("{{{rate}, "), 1);
    let nam = |rate: &str| nam().replacen("48000", rate, 1);
    for text in [
        nam("44100"),
        rtneural("\"samplerate\": \"44100\""),
        rtneural("\"metadata\": {\"samplerate\": 44100}"),
    ] {
        let model = read(&text).unwrap_or_else(|said| panic!("{said}")).model;
        let compilation = crate::compile::compile(&model, &Options::default());
        let host = compilation.unwrap_or_else(|problems| panic!("{problems}")).interface.host;
        let rate = host.iter().find(|constant| constant.name == "SAMPLE_RATE");
        assert_eq!(rate.map(|rate| &rate.value[..]), Some("44100.0"), "{text}");
    }
    for (text, wanted) in [
        (nam("0"), "the sample rate is 0"),
        (nam("\"high\""), "the sample rate is \"high\""),
        (rtneural("\"metadata\": {\"samplerate\": 0}"), "the sample rate is 0"),
        (
            rtneural("\"samplerate\": 48000, \"metadata\": {\"samplerate\": 44100}"),
            "a sample rate of 44100 Hz and one of 48000 Hz",
        ),
    ] {
        // a warning, as nothing but the constant depends on the rate
        let warnings = read(&text).unwrap_or_else(|said| panic!("{said}")).problems;
        assert!(warnings.to_string().contains(wanted), "{warnings}");
        let said = read_bytes("amp.json", "amp", text.as_bytes(), None, Some(96_000));
        assert!(said.expect_err(wanted).to_string().contains(wanted));
    }
}

#[test]
fn other_sample_rates_need_whole_dilations_or_states_to_interpolate() {
    let of = |text: &str, rate: usize| {
        read_bytes("amp.json", "amp", text.as_bytes(), None, Some(rate))
            .map_err(|problems| problems.to_string())
    };
    for text in [nam(), wavenet(), LINEAR.to_owned(), container(), sequential()] {
        for (text, rate) in
            [(&text, 96_000), (&text.replace(", \"sample_rate\": 48000", ""), 48_000)]
        {
            let model = of(text, rate).unwrap_or_else(|problems| panic!("{problems}")).model;
            let compilation = crate::compile::compile(&model, &Options::default());
            let host = compilation.unwrap_or_else(|problems| panic!("{problems}")).interface.host;
            let found = host.iter().find(|constant| constant.name == "SAMPLE_RATE");
            // code at the rate of the model needs no constant
            let wanted = (rate != 48_000).then_some("96000.0");
            assert_eq!(found.map(|constant| &constant.value[..]), wanted);
        }
    }
    let rtneural = |rate: &str| RTNEURAL.replacen('{', &format!("{{{rate}, "), 1);
    for rate in ["\"samplerate\": \"44100\"", "\"metadata\": {\"samplerate\": 44100}"] {
        assert!(of(&rtneural(rate), 48_000).is_ok(), "{rate}");
    }
    for (text, rate, wanted) in [
        (RTNEURAL.to_owned(), 96_000, "--sample-rate is given, and the file has no sample rate"),
        (rtneural("\"samplerate\": 0"), 96_000, "the sample rate is 0"),
        (rtneural("\"samplerate\": 48000.5"), 96_000, "the sample rate is 48000.5"),
        (
            rtneural("\"samplerate\": 48000, \"metadata\": {\"samplerate\": 44100}"),
            96_000,
            "a sample rate of 44100 Hz and one of 48000 Hz",
        ),
        (nam(), 44_100, "a recurrent layer at 48000 Hz, computed at 44100 Hz"),
        (nam(), 48_000 * 64 + 1, "at most 3072000 Hz"),
        (wavenet(), 72_000, "a dilation of 1 at 48000 Hz is 1.5 samples at 72000 Hz"),
        (CONVOLUTION.replacen('{', "{\"samplerate\": 48000, ", 1), 72_000, "\"layers\", number 0"),
    ] {
        let said = of(&text, rate).expect_err(wanted);
        assert!(said.contains(wanted), "{said}");
    }
}
