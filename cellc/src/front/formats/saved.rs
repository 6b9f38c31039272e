//! Advice for a file of `torch.save`: its recurrent layers, and commands that convert its tensors
//! to a `.safetensors` file.

use std::fs::File;

use super::archive;
use super::lines::{Advice, UnreadFile, advice, in_python, in_shell, python, to_output};
use super::pickle::{Checkpoint, checkpoint};
use crate::diagnostic::{EXAMPLE_STEPS, WITHOUT_PROJECTIONS, quoted};
use crate::front::export::EXPORT_WITH_OPEN_STEPS;
use crate::front::weight_norm::{projection, remedy_of_weight_norm, undeclared};

/// Usual keys of the dictionary of tensors in a checkpoint.
const KEYS: [&str; 6] =
    ["state_dict", "model_state_dict", "model_state", "model", "net", "weights"];

/// The recurrent layers of one module, and the dense layer behind them.
#[derive(Debug, PartialEq)]
struct Recurrent {
    /// rnn, gru or lstm.
    cell: &'static str,
    prefix: String,
    head: Option<String>,
    /// True if the layers are bidirectional.
    both: bool,
    /// The first module with tensors outside of the layers and the head.
    other: Option<String>,
}

/// Advice for the file, with the names of modules and keys if the checkpoint can be read.
pub(super) fn saved_tensors(named: &UnreadFile, is: &'static str) -> Advice {
    let pickle =
        File::open(named.model.path).and_then(|mut file| archive::stored(&mut file, "/data.pkl"));
    let found = pickle.ok().flatten().and_then(|pickle| checkpoint(&pickle)).unwrap_or_default();
    of_checkpoint(&found, named, is)
}

fn of_checkpoint(found: &Checkpoint, named: &UnreadFile, is: &'static str) -> Advice {
    let (model, stem) = (named.model, &named.stem);
    let of_export = [format!("cellc net.onnx {}", to_output(&model, "net"))];
    let export = format!("in the program that builds it, {EXPORT_WITH_OPEN_STEPS}");
    if found.is_without_tensors {
        let help = format!(
            "it holds no dictionary of tensors by name, so it is no network. Export the network: \
             {export}"
        );
        return advice(is, &help, of_export);
    }
    if found.is_object {
        let help = format!(
            "it holds a whole module, which only the program that has its classes can load: there, \
             {EXPORT_WITH_OPEN_STEPS}"
        );
        return advice(is, &help, of_export);
    }
    let recurrent = recurrent(found);
    if let Some(help) = other_layers(found, recurrent.as_ref(), &export) {
        return advice(is, &help, of_export);
    }
    let steps = match &recurrent {
        Some(Recurrent { both: true, .. }) => {
            format!(", with the number of steps of a call in place of {EXAMPLE_STEPS}")
        }
        _ => String::new(),
    };
    let help = format!(
        "for any other network: {export}. The weights of RNN, GRU or LSTM layers, with or without \
         a dense layer behind them, are enough: they go into a .safetensors file{steps}{}",
        trust(found)
    );
    let tensors = format!("{stem}.safetensors");
    let options = options(recurrent.as_ref());
    let compile = format!("cellc {}{options} {}", in_shell(&tensors), to_output(&model, stem));
    let install = "pip install torch safetensors numpy".to_owned();
    let convert = conversion(found, named, &tensors);
    advice(is, &help, [vec![install], convert, vec![compile]].concat())
}

/// The reason why options cannot declare the network of a checkpoint, and the remedy. `None` if
/// options can, or if the names of tensors are unknown.
fn other_layers(found: &Checkpoint, recurrent: Option<&Recurrent>, export: &str) -> Option<String> {
    if let Some(remedy) = weight_norm(found) {
        return Some(remedy);
    }
    if let Some(name) = projection(found.tensors.iter().map(|(name, _)| &name[..])) {
        return Some(format!(
            "its tensor {} is of an LSTM with projections (proj_size): {WITHOUT_PROJECTIONS}; then \
             {export}",
            quoted(name)
        ));
    }
    let undeclared = undeclared(found.tensors.iter().map(|(name, shape)| (&name[..], shape.len())));
    match (recurrent, undeclared) {
        (Some(_), Some((name, what))) => Some(format!(
            "{} is {what}, which no declared layer computes. Export the whole network: {export}",
            quoted(name)
        )),
        (Some(recurrent), None) => recurrent.other.as_ref().map(|other| {
            format!(
                "{} is no layer that options declare. Export the whole network: {export}",
                quoted(other)
            )
        }),
        (None, _) if !found.tensors.is_empty() => {
            let first: Vec<_> =
                found.tensors.iter().take(4).map(|(name, _)| name.as_str()).collect();
            Some(format!(
                "its tensors ({}, ...) are of no RNN, GRU or LSTM that is declared by its weights \
                 alone. For any other network: {export}",
                first.join(", ")
            ))
        }
        (None, _) => None,
    }
}

/// The options that declare the layers.
fn options(recurrent: Option<&Recurrent>) -> String {
    let Some(Recurrent { cell, prefix, head, both, .. }) = recurrent else {
        return " --cell lstm".to_owned();
    };
    let option = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!(" --{name} {}", in_shell(value)),
    };
    let head = option("head", head.as_deref().unwrap_or_default());
    let direction = match both {
        true => format!(" --direction bidirectional --sequence {EXAMPLE_STEPS}"),
        false => String::new(),
    };
    format!(" --cell {cell}{}{head}{direction}", option("prefix", prefix))
}

/// The commands of Python that store the tensors of a checkpoint in a `.safetensors` file.
fn conversion(found: &Checkpoint, named: &UnreadFile, tensors: &str) -> Vec<String> {
    let literal = named.in_python();
    let weights_only = if found.refused.is_empty() { "True" } else { "False" };
    let load = format!(
        "weights = torch.load({literal}, map_location=\"cpu\", weights_only={weights_only})"
    );
    let contiguous = "{name: tensor.contiguous().clone() for name, tensor in weights.items()}";
    let save = format!("safetensors.torch.save_file({contiguous}, {})", in_python(tensors));
    let select = match &found.keys[..] {
        [] if found.tensors.is_empty() => {
            let keys = KEYS.map(in_python).join(", ");
            vec![format!(
                "weights = next((weights[key] for key in [{keys}] if key in weights), weights)"
            )]
        }
        [] => Vec::new(),
        keys => {
            let keys: String = keys.iter().map(|key| format!("[{}]", in_python(key))).collect();
            vec![format!("weights = weights{keys}")]
        }
    };
    let lines: Vec<String> = ["import torch, safetensors.torch".to_owned(), load]
        .into_iter()
        .chain(select)
        .chain([save])
        .collect();
    python(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A warning about objects that PyTorch loads only by executing code of the file. Empty if the
/// checkpoint holds weights only.
fn trust(found: &Checkpoint) -> String {
    match &found.refused[..] {
        [] => String::new(),
        refused => format!(
            ". The file also holds {}: weights_only=False loads them and executes code of the \
             file, so only use a file that you trust, where Python can import their modules",
            refused.join(", ")
        ),
    }
}

/// The first module with the weights of an nn.RNN, nn.GRU or nn.LSTM. `None` if there is none, or
/// if the shape of the weights fits none of the three.
fn recurrent(found: &Checkpoint) -> Option<Recurrent> {
    let shape =
        |name: &str| found.tensors.iter().find(|(own, _)| own == name).map(|(_, shape)| &shape[..]);
    let first = found.tensors.iter().find_map(|(name, _)| {
        let prefix = name.strip_suffix("weight_hh_l0")?;
        (prefix.is_empty() || prefix.ends_with('.')).then_some(prefix)
    })?;
    let [rows, hidden] = *shape(&format!("{first}weight_hh_l0"))? else { return None };
    let cell = match rows.checked_div(hidden)? {
        1 => "rnn",
        3 => "gru",
        4 => "lstm",
        _ => return None,
    };
    let both = shape(&format!("{first}weight_ih_l0_reverse")).is_some();
    let wide = if both { 2 * hidden } else { hidden };
    // the head: the only dense layer whose input is as wide as the recurrent layers' output, if no
    // other module exists
    let is_other = |name: &&(String, Vec<u64>)| {
        !name.0.starts_with(first) || first.is_empty() && name.0.contains('.')
    };
    let others = found.tensors.iter().filter(is_other);
    let heads: Vec<&str> = others
        .clone()
        .filter(|(_, shape)| shape.len() == 2 && shape[1] == wide)
        .filter_map(|(name, _)| name.strip_suffix(".weight"))
        .collect();
    let module = |name: &str| name.rsplit_once('.').map_or(name, |(module, _)| module).to_owned();
    let head = match heads[..] {
        [head] => Some(head.to_owned()),
        _ => None,
    };
    let second_module =
        others.map(|(name, _)| module(name)).find(|module| head.as_ref() != Some(module));
    let head = if second_module.is_some() { None } else { head };
    Some(Recurrent {
        cell,
        prefix: first.trim_end_matches('.').to_owned(),
        head,
        both,
        other: second_module,
    })
}

/// The remedy for weights normalised by `weight_norm`. `None` for plain weights.
fn weight_norm(found: &Checkpoint) -> Option<String> {
    remedy_of_weight_norm(found.tensors.iter().map(|(name, _)| &name[..]))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(tensors: &[(&str, &[u64])]) -> Checkpoint {
        let tensors =
            tensors.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec())).collect();
        Checkpoint { tensors, ..Checkpoint::default() }
    }

    #[test]
    fn the_cell_follows_from_the_shapes() {
        for (rows, cell) in [(5, "rnn"), (15, "gru"), (20, "lstm")] {
            let layer = recurrent(&found(&[
                ("gru.weight_ih_l0", &[rows, 2]),
                ("gru.weight_hh_l0", &[rows, 5]),
            ]));
            assert_eq!(
                layer,
                Some(Recurrent {
                    cell,
                    prefix: "gru".into(),
                    head: None,
                    both: false,
                    other: None
                })
            );
        }
        let alone = recurrent(&found(&[("weight_hh_l0", &[20, 5])])).expect("an LSTM");
        assert_eq!(alone.prefix, "");
        assert_eq!(recurrent(&found(&[("weight_hh_l0", &[10, 5])])), None);
    }

    /// Options declare bidirectional layers. The advice for a normalization is an export to ONNX.
    #[test]
    fn layers_of_both_directions_and_normalizations_have_lines_that_work() {
        let hh: (&str, &[u64]) = ("rec.weight_hh_l0", &[20, 5]);
        let back: (&str, &[u64]) = ("rec.weight_ih_l0_reverse", &[20, 3]);
        let lines = |tensors: &[(&str, &[u64])]| {
            of_checkpoint(&found(tensors), &UnreadFile::new(Path::new("net.pt").into()), "")
                .lines
                .join("\n")
        };
        let bidirectional = lines(&[hh, back]);
        assert!(
            bidirectional.contains(
                "--cell lstm --prefix rec --direction bidirectional --sequence 100 -o net.rs"
            ),
            "{bidirectional}"
        );
        assert!(!lines(&[hh]).contains("bidirectional"));
        assert_eq!(lines(&[hh, ("norm.weight", &[5])]), "cellc net.onnx -o net.rs");
    }

    /// PyTorch exports no LSTM with projections to ONNX.
    #[test]
    fn projections_are_named() {
        let tensors: [(&str, &[u64]); 3] = [
            ("r.weight_ih_l0", &[32, 6]),
            ("r.weight_hh_l0", &[32, 3]),
            ("r.weight_hr_l0", &[3, 8]),
        ];
        let advice =
            of_checkpoint(&found(&tensors), &UnreadFile::new(Path::new("net.pt").into()), "");
        assert!(
            advice.help.contains("\"r.weight_hr_l0\" is of an LSTM with projections (proj_size)"),
            "{}",
            advice.help
        );
        assert_eq!(advice.lines, ["cellc net.onnx -o net.rs"]);
    }

    /// The advice for a layer that no option declares is an export to ONNX. Objects next to the
    /// tensors need `weights_only=False`.
    #[test]
    fn other_layers_and_other_objects_have_lines_that_work() {
        let hh: (&str, &[u64]) = ("rec.weight_hh_l0", &[15, 5]);
        let advice_for = |found: Checkpoint| {
            of_checkpoint(&found, &UnreadFile::new(Path::new("net.pt").into()), "")
        };
        let before = advice_for(found(&[("inp.weight", &[5, 3]), hh, ("lin.weight", &[1, 5])]));
        assert!(
            before.help.starts_with("\"inp\" is no layer that options declare"),
            "{}",
            before.help
        );
        assert_eq!(before.lines, ["cellc net.onnx -o net.rs"]);
        let convolved = advice_for(found(&[("conv.weight", &[5, 3, 3]), hh]));
        assert!(
            convolved.help.starts_with("\"conv.weight\" is a convolution, which no"),
            "{}",
            convolved.help
        );
        let refused = vec!["argparse.Namespace".to_owned()];
        let objects = advice_for(Checkpoint { refused, ..found(&[hh]) });
        assert!(
            objects.help.contains("holds argparse.Namespace: weights_only=False"),
            "{}",
            objects.help
        );
        assert!(objects.lines.join("\n").contains("weights_only=False)"));
    }

    #[test]
    fn a_dense_layer_is_the_head_where_there_is_nothing_else() {
        let hh: (&str, &[u64]) = ("rec.weight_hh_l0", &[20, 5]);
        let lin: [(&str, &[u64]); 2] = [("lin.weight", &[1, 5]), ("lin.bias", &[1])];
        let head = |tensors: &[(&str, &[u64])]| recurrent(&found(tensors)).expect("an LSTM").head;
        assert_eq!(head(&[hh, lin[0], lin[1]]), Some("lin".to_owned()));
        assert_eq!(head(&[hh, lin[0], ("other.weight", &[5, 3])]), None);
        assert_eq!(head(&[hh, ("lin.weight", &[1, 10])]), None);
        let back: (&str, &[u64]) = ("rec.weight_ih_l0_reverse", &[20, 3]);
        assert_eq!(head(&[hh, back, ("lin.weight", &[1, 10])]), Some("lin".to_owned()));
        assert!(recurrent(&found(&[hh, back])).is_some_and(|layers| layers.both));
    }
}
