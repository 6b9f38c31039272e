use proc_macro2::TokenTree;

use super::written::ValueTokens;
use super::*;
use crate::arch;
use crate::compile::core_model;
use crate::core::CoreModel;
use crate::front::layout::GateOrder;
use crate::model::{Activation, Dim, Model};
use crate::request::flag;
use crate::request::{Accuracy, Fma, Options, Precision, Threads, Unroll};

fn declared(called: Macro, text: &str) -> Declaration {
    let parsed = parse(called, text.parse().expect("tokens"));
    assert_eq!(parsed.problems, Diagnostics::default(), "{text}");
    parsed.declaration.expect("a declaration")
}

fn found(called: Macro, text: &str) -> Vec<(String, String)> {
    let parsed = parse(called, text.parse().expect("tokens"));
    let at = |problem: &Diagnostic| {
        parsed.tokens.get(&problem.origin).map(ToString::to_string).unwrap_or_default()
    };
    parsed.problems.0.iter().map(|problem| (at(problem), problem.to_string())).collect()
}

#[test]
fn every_key_is_read() {
    let text = "pub(crate) A<hidden_size = 4, input_size = 0x2, batch = 1_0, linear_before_reset = true, clip = 3, \
        activations = [relu, tanh], isa = [avx2], unroll = none, fma = off, accuracy = fast, \
        keep_denormals = true, \
        precision = int8, precision_of = [\"a=f16\"], threads = 2>";
    let declaration = declared(Macro::GRU_CELL, text);
    let cell = declaration.declared(None).expect("all sizes are known");
    assert_eq!((cell.hidden_size.value, cell.input_size.value), (4, 2));
    assert_eq!(cell.keys.value(Key::Batch), Some(10));
    assert_eq!(cell.keys.value(Key::Clip), Some(3.0));
    assert_eq!(cell.keys.value(Key::Activations), Some(vec![Activation::Relu, Activation::Tanh]));
    let options = &declaration.options;
    assert_eq!(
        (options.tuning.unroll, options.numerics.fma, options.numerics.keep_denormals),
        (Unroll::None, Fma::Off, true)
    );
    assert_eq!(
        (options.numerics.accuracy, options.numerics.precision),
        (Accuracy::Fast, Some(Precision::Int8))
    );
    assert_eq!(options.numerics.precision_of, [("a".to_owned(), Precision::F16)]);
    assert_eq!(
        (options.machine.threads, &options.machine.isas),
        (Threads::Two, &Some(vec![&arch::AVX2]))
    );
    assert_eq!(options.output.name.as_deref(), Some("A"));
}

#[test]
fn a_number_of_a_flag_is_read() {
    let read = |text: &str| {
        let (mut tokens, mut problems) = (TokenTable::default(), Diagnostics::default());
        let mut reader = Reader {
            called: Macro::GRU_CELL,
            key: Key::Tune,
            origin: NAME,
            tokens: &mut tokens,
            problems: &mut problems,
        };
        let stream: TokenStream = text.parse().expect("tokens");
        let value = reader.flag(&ValueTokens::new(stream), &flag::BATCH);
        (value, problems.to_string())
    };
    let (value, problems) = read("1_6");
    assert_eq!((value, &problems[..]), (Some(vec!["16".to_owned()].into()), ""));
    for (text, found) in [("0", "cannot be `0`"), ("-3", "cannot be `-3`"), ("many", "`many`")] {
        let (value, problems) = read(text);
        assert_eq!(value, None, "{text}");
        assert!(problems.contains(found), "{text}: {problems}");
    }
}

#[test]
fn decisions_of_the_planner_are_a_list() {
    let text = "A<hidden_size = 4, input_size = 2, tune = [\"rows-at-once=4\", \"fuse=off\"]>";
    let options = declared(Macro::GRU_CELL, text).options;
    assert_eq!((options.tuning.rows_at_once, options.tuning.fuse), (Some(4), Some(false)));
    let text = "A<hidden_size = 4, input_size = 2, tune = [\"fuse=maybe\"]>";
    assert!(found(Macro::GRU_CELL, text)[0].1.contains("`tune` cannot hold `\"fuse=maybe\"`"));
}

#[test]
fn a_skip_adds_the_input_to_the_output() {
    let cell =
        |text: &str| declared(Macro::GRU_CELL, text).declared(None).expect("all sizes are known");
    let skip =
        cell("A<hidden_size = 2, input_size = 2, skip = true>").model().expect("a model").model;
    let added = skip.nodes.iter().find(|node| node.name == "skip").expect("an addition");
    assert_eq!(added.inputs[1], skip.nodes[skip.parameters[0]].outputs[0]);
    let problems =
        cell("A<hidden_size = 4, input_size = 2, skip = false>").model().expect("a model").problems;
    assert_eq!(problems.0, []);
    let wrong =
        cell("A<hidden_size = 4, input_size = 2, skip = true>").model().expect_err("2 and 4");
    assert_eq!(wrong.0[0].to_string(), "--skip adds 2 inputs to 4 outputs");
    let problems = found(Macro::GRU_CELL, "A<model = \"a.xml\", skip = true>");
    assert_eq!(problems[0].1, "`skip` is given together with `model`");
}

#[test]
fn a_flag_has_a_key_or_a_reason_why_not() {
    for flag in FLAGS {
        let name = flag.key_name();
        let has_key = Key::of_macros().any(|key| key.name() == name);
        match flag.why_no_key {
            None => assert!(has_key, "macros have no key {name}"),
            Some(reason) => {
                assert!(!has_key, "macros have a key {name}");
                let text = format!("A<hidden_size = 4, input_size = 2, {name} = 1>");
                let parsed = parse(Macro::GRU_CELL, text.parse().expect("tokens"));
                let [problem] = &parsed.problems.0[..] else { panic!("{:?}", parsed.problems) };
                assert_eq!(problem.to_string(), format!("unknown key `{name}`"));
                let help = problem.help.as_ref();
                assert!(help.is_some_and(|help| *help == reason), "{name}: {help:?}");
            }
        }
    }
}

#[test]
fn an_order_of_gates_belongs_to_a_file_of_weights() {
    let declaration =
        declared(Macro::LSTM_CELL, "A<weights = \"a.safetensors\", gate_order = icfo>");
    assert_eq!(declaration.keys.value(Key::GateOrder), GateOrder::new("icfo"));
    let problems = found(Macro::GRU_CELL, "A<hidden_size = 4, input_size = 2, gate_order = zrn>");
    assert_eq!(problems[0].1, "--gate-order is given without a file of tensors");
    let problems = found(Macro::GRU_CELL, "A<weights = \"a.safetensors\", gate_order = zrr>");
    assert_eq!(problems[0].1, "`gate_order` cannot be `zrr`");
    let problems = found(Macro::RNN_CELL, "A<weights = \"a.safetensors\", gate_order = zrn>");
    assert_eq!(problems[0].1, "`gate_order` is not a key of rnn_cell!");
}

#[test]
fn the_model_has_what_the_cell_takes() {
    let model = |text: &str| {
        let cell = declared(Macro::GRU_CELL, text).declared(None).expect("all sizes are known");
        cell.model().expect("a model").model
    };
    let shapes = |model: &Model| {
        let shape = |node: &usize| {
            model.values[model.nodes[*node].outputs[0].0].shape.clone().expect("a shape")
        };
        model.parameters.iter().map(shape).collect::<Vec<_>>()
    };
    let fixed = |sizes: &[&[usize]]| -> Vec<Vec<Dim>> {
        sizes.iter().map(|shape| shape.iter().map(|&size| Dim::Fixed(size)).collect()).collect()
    };
    assert_eq!(
        shapes(&model("A<hidden_size = 4, input_size = 2>")),
        fixed(&[&[1, 2], &[1, 4], &[12, 2], &[12, 4], &[12]])
    );
    assert_eq!(
        shapes(&model("A<hidden_size = 4, input_size = 2, batch = 3, linear_before_reset = true>")),
        fixed(&[&[3, 2], &[3, 4], &[12, 2], &[12, 4], &[16]])
    );
}

#[test]
fn problems_keep_their_tokens() {
    let problems = found(
        Macro::RNN_CELL,
        "A<hidden_size = 0, linear_before_reset = true, clip = 1, clip = 2, activations = [tan]>",
    );
    let at: Vec<&str> = problems.iter().map(|(at, _)| &at[..]).collect();
    assert_eq!(at, ["hidden_size = 0", "linear_before_reset", "clip", "tan", "A"]);
    assert!(problems[4].1.contains("`input_size` is missing"), "{problems:?}");

    let problems = found(Macro::RNN_CELL, "A<hidden_size = 4, input_size = 2, clip = 1e-50>");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].1.contains("`clip` cannot be `1e-50`, which is 0 in f32"), "{problems:?}");
    for clip in ["0.0", "-1.0"] {
        let declared = format!("A<hidden_size = 4, input_size = 2, clip = {clip}>");
        assert!(found(Macro::RNN_CELL, &declared).is_empty(), "{clip}");
    }
}

/// The cell of a macro, and the warnings; or the problems.
fn compiled(text: &str) -> Result<(CoreModel, String), String> {
    let parsed = parse(Macro::RNN_CELL, text.parse().expect("tokens"));
    if parsed.problems.has_errors() {
        return Err(parsed.problems.to_string());
    }
    let declared = parsed.declaration.and_then(|all| all.declared(None)).expect("a declaration");
    let model = declared.model().map_err(|problems| problems.to_string())?.model;
    let valid = core_model(&model, &Options::default());
    let (core, warnings) = valid.map_err(|problems| problems.to_string())?;
    Ok((core, warnings.to_string()))
}

/// Numbers without a token, such as NaN, cannot be written.
#[test]
fn numbers_follow_the_rules_of_all_cells() {
    use crate::rules::cell::{CLIPS, PARAMETERS_OF_ACTIVATIONS, WRONG_HIDDEN_SIZES};
    for (clip, bound, is_warned_about) in CLIPS.into_iter().filter(|(clip, ..)| clip.is_finite()) {
        let (valid, said) =
            compiled(&format!("A<hidden_size = 2, input_size = 1, clip = {clip:?}>"))
                .unwrap_or_else(|said| panic!("{said}"));
        assert_eq!(valid.cells()[0].clip, bound, "{clip}");
        assert_eq!(said.contains("the clip"), is_warned_about, "{clip}: {said}");
    }
    for size in WRONG_HIDDEN_SIZES {
        let said = compiled(&format!("A<hidden_size = {size}, input_size = 1>"));
        let said = said.map(|_| ()).expect_err("no such cell");
        assert!(said.contains(&size.to_string()) && said.contains("valid: "), "{said}");
    }
    for (alpha, _) in PARAMETERS_OF_ACTIVATIONS.into_iter().filter(|(alpha, _)| alpha.is_finite()) {
        let list = format!("activations = [leaky_relu({alpha:?})]");
        let (valid, _) = compiled(&format!("A<hidden_size = 2, input_size = 1, {list}>"))
            .unwrap_or_else(|said| panic!("{said}"));
        assert_eq!(valid.cells()[0].activations, [Activation::LeakyRelu { alpha }]);
    }
}

#[test]
fn activations_take_numbers() {
    let list = |text: &str| {
        let text = format!("A<hidden_size = 4, input_size = 2, activations = [{text}]>");
        declared(Macro::GRU_CELL, &text).keys.value::<Vec<Activation>>(Key::Activations)
    };
    assert_eq!(
        list("hard_sigmoid(0.2, 0.5), leaky_relu(-1)"),
        Some(vec![
            Activation::HardSigmoid { alpha: 0.2, beta: 0.5 },
            Activation::LeakyRelu { alpha: -1.0 }
        ])
    );
    assert_eq!(
        list("hardsigmoid(0.25), ScaledTanh(2, 1e-3)"),
        Some(vec![
            Activation::HardSigmoid { alpha: 0.25, beta: 0.5 },
            Activation::ScaledTanh { alpha: 2.0, beta: 1e-3 }
        ])
    );
    assert_eq!(
        list("elu, softplus()"),
        Some(vec![Activation::Elu { alpha: 1.0 }, Activation::Softplus])
    );
    for (text, at, says) in [
        ("exp", "exp", "is not an activation"),
        ("soft_max(1)", "soft_max", "is not an activation"),
        ("tanh(1.5)", "1.5", "one number too many for tanh"),
        ("elu(1, 2.5)", "2.5", "one number too many for elu"),
        ("elu(x)", "x", "is not a number"),
        ("elu(1e39)", "1e39", "is beyond the range of f32"),
        ("elu(-1e-60)", "- 1e-60", "is 0 in f32"),
        ("scaled_tanh(1)", "scaled_tanh (1)", "beta is missing"),
        ("scaled_tanh", "scaled_tanh", "alpha is missing"),
        ("\"tanh\"", "\"tanh\"", "is not an activation"),
        ("a::tanh", "a :: tanh", "is not an activation"),
    ] {
        let problems = found(
            Macro::RNN_CELL,
            &format!("A<hidden_size = 4, input_size = 2, activations = [{text}]>"),
        );
        let [(line, problem)] = &problems[..] else { panic!("{text}: {problems:?}") };
        assert_eq!(line, at, "{text}");
        assert!(problem.contains(says), "{text}: {problem}");
    }
}

#[test]
fn a_misspelt_key_is_not_missing_as_well() {
    assert_eq!(found(Macro::GRU_CELL, "A<hiden_size = 4, input_size = 2>").len(), 1);
    assert_eq!(closest(Macro::GRU_CELL, "colour"), None);
    assert_eq!(closest(Macro::RNN_CELL, "linear_before_rest"), None);
}

#[test]
fn the_edit_distance_is_a_distance() {
    for (a, b, distance) in
        [("", "abc", 3), ("clip", "clip", 0), ("clip", "klip", 1), ("kitten", "sitting", 3)]
    {
        assert_eq!((edit_distance(a, b), edit_distance(b, a)), (distance, distance));
    }
}

#[test]
fn fragments_of_macro_rules_are_what_they_hold() {
    use proc_macro2::{Delimiter, Group, Punct, Spacing};

    let fragment =
        |text: &str| TokenTree::Group(Group::new(Delimiter::None, text.parse().expect("tokens")));
    let text = |text: &str| text.parse::<TokenStream>().expect("tokens");
    for (visibility, shown) in [("", ""), ("pub", "pub"), ("pub(crate)", "pub (crate)")] {
        let mut tokens = TokenStream::from_iter([fragment(visibility)]);
        tokens.extend(text("A<hidden_size ="));
        tokens.extend([fragment("4")]);
        tokens.extend(text(", input_size = 2, clip ="));
        tokens.extend([fragment("3.5")]);
        let mut list = text("leaky_relu");
        list.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, {
            let mut argument = TokenStream::from(TokenTree::Punct(Punct::new('-', Spacing::Alone)));
            argument.extend([fragment("1")]);
            argument
        }))]);
        tokens.extend(text(", activations ="));
        tokens.extend([
            TokenTree::Group(Group::new(Delimiter::Bracket, list)),
            text(">").into_iter().next().expect("one"),
        ]);
        let parsed = parse(Macro::RNN_CELL, tokens);
        assert_eq!(parsed.problems, Diagnostics::default());
        let declaration = parsed.declaration.expect("a declaration");
        assert_eq!(declaration.visibility.to_string(), shown);
        let cell = declaration.declared(None).expect("all sizes are known");
        assert_eq!((cell.hidden_size.value, cell.keys.value(Key::Clip)), (4, Some(3.5)));
        let leaky = Activation::LeakyRelu { alpha: -1.0 };
        assert_eq!(cell.keys.value(Key::Activations), Some(vec![leaky]));
    }
}

#[test]
fn attributes_stand_in_front() {
    let declaration = declared(
        Macro::RNN_CELL,
        "#[doc = \"A\"] #[derive(Debug)] pub A<hidden_size = 4, input_size = 2>",
    );
    assert_eq!(declaration.attributes.to_string(), "# [doc = \"A\"] # [derive (Debug)]");
    assert!(
        parse(Macro::RNN_CELL, "# A<hidden_size = 4>".parse().expect("tokens"))
            .declaration
            .is_none()
    );
}

#[test]
fn what_is_no_value_is_shown_as_it_was_written() {
    for (value, says) in [
        ("", "`hidden_size` has no value"),
        ("SIZE", "`hidden_size` is the path `SIZE`, and a macro cannot see"),
        ("size", "`hidden_size` cannot be `size`"),
        ("sizes::hidden", "`hidden_size` is the path `sizes :: hidden`"),
        ("::sizes::hidden", "`hidden_size` is the path `:: sizes :: hidden`"),
        ("-4", "`hidden_size` cannot be `-4`"),
        ("!4", "`hidden_size` cannot be `!4`"),
        ("4 5", "`hidden_size` cannot be `4 5`"),
        ("(4)", "`hidden_size` cannot be `(4)`"),
        ("4 as usize", "`hidden_size` cannot be `4 as usize`"),
        ("size()", "`hidden_size` cannot be `size ()`"),
        (
            "4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + 4",
            "`hidden_size` cannot be `4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + 4 + …`",
        ),
        ("{ 4 }", "`hidden_size` cannot be `{ 4 }`"),
    ] {
        let problems = found(Macro::RNN_CELL, &format!("A<hidden_size = {value}, input_size = 2>"));
        assert_eq!(problems.len(), 1, "{value}: {problems:?}");
        assert!(problems[0].1.starts_with(says), "{value}: {problems:?}");
    }
    for (value, says) in [
        ("[tanh, ,]", "`activations` cannot be `[tanh , ,]`"),
        ("[tanh; 1]", "`tanh ; 1` is not an activation"),
        ("[,]", "`activations` cannot be `[,]`"),
        ("[1 + tanh()]", "`1 + tanh ()` is not an activation"),
        ("[tanh(,)]", "`tanh (,)` is not an activation"),
        ("[tanh()()]", "`tanh () ()` is not an activation"),
        ("[-tanh]", "`-tanh` is not an activation"),
        ("[elu(--1)]", "`-- 1` is not a number"),
        ("(tanh)", "`activations` cannot be `(tanh)`"),
    ] {
        let problems = found(
            Macro::RNN_CELL,
            &format!("A<hidden_size = 4, input_size = 2, activations = {value}>"),
        );
        let [(_, problem)] = &problems[..] else { panic!("{value}: {problems:?}") };
        assert_eq!(problem, says, "{value}");
    }
    assert!(
        found(Macro::RNN_CELL, "A<hidden_size = 4, input_size = 2, activations = [tanh,]>")
            .is_empty()
    );
}
