//! Messages for unsupported files: the name of the format, and commands to convert the file.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::content::Content;
use super::lines::{
    Advice, SAVED_PIPE, UnreadFile, advice, in_python, in_shell, python, to_output,
};
use super::readers::{FORMATS, endings, is_readable};
use super::saved;
use super::tflite::{self, Variables};
use super::unread::{Computed, Says, UNREAD, UnreadFormat};
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::front::model_file::ModelFile;

/// No commands.
const NONE: [&str; 0] = [];

/// The error for an unsupported file or folder, without the valid formats.
pub(super) fn refusal(file: ModelFile, content: &Content) -> Diagnostic {
    let shown = quoted(&file.shown());
    let row = UNREAD
        .iter()
        .find(|row| row.matches(content, file.path))
        .expect("the last row matches every file");
    let Advice { is, mut help, lines } = of_row(row, &UnreadFile::new(file), content);
    if file.is_piped() && lines.iter().any(|line| line.contains(SAVED_PIPE)) {
        help.insert_str(
            0,
            &format!("save what came through the pipe as a file, here {SAVED_PIPE}; then "),
        );
    }
    let found = match content {
        Content::Unknown | Content::Text => format!("{shown} is {}", not_as_named(file.path, &is)),
        _ if row.recognised_by.is_empty() => format!("{shown} is {is}"),
        _ => format!("{shown} is {is}, which cellc does not read"),
    };
    let diagnostic = Diagnostic::error(Origin::Unknown, found).lines(lines);
    if help.is_empty() { diagnostic } else { diagnostic.help(help) }
}

fn of_row(row: &UnreadFormat, named: &UnreadFile, content: &Content) -> Advice {
    let is = row.is;
    match row.says {
        Says::Help(help, lines) => named.advice(is, help, lines),
        Says::Computed(Computed::TorchSave) => saved::saved_tensors(named, is),
        Says::Computed(Computed::StateDict) => of_state_dict(named, content, is),
        Says::Computed(Computed::Compressed) => of_compressed(named, content, is),
        Says::Computed(Computed::Archive) => of_archive(named, content, is),
        Says::Computed(Computed::CutSafeTensors) => of_cut_safetensors(content, is),
        Says::Computed(Computed::Folder) => of_folder(named, content, is),
        Says::Computed(Computed::Text) => of_text(named, is),
        Says::Computed(Computed::TfLiteVariables) => of_tflite_variables(named, is),
    }
}

/// The message text about a file of unknown content. If the file name has a known ending, the text
/// says that the content is of another kind; `unknown` is the text for other names.
fn not_as_named(path: &Path, unknown: &str) -> String {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let of_refused = UNREAD.iter().flat_map(|row| row.endings).copied();
    match endings().chain(of_refused).find(|(known, _)| *known == ending) {
        _ if ending == "bin" => "no model".to_owned(),
        Some((_, name)) => format!("no {name}, whatever its name says"),
        None => unknown.to_owned(),
    }
}

fn of_compressed(named: &UnreadFile, content: &Content, is: &'static str) -> Advice {
    let Content::Compressed(unpack) = content else { return advice(is, "", NONE) };
    advice(is, "unpack it, and give what comes out", [format!("{unpack} {}", named.in_shell())])
}

fn of_archive(named: &UnreadFile, content: &Content, is: &'static str) -> Advice {
    let Content::Archive(unpack, inside) = content else { return advice(is, "", NONE) };
    let inside =
        inside.iter().find(|name| is_readable(name)).map(|name| named.compile(name, &named.stem));
    let lines = std::iter::once(format!("{unpack} {}", named.in_shell())).chain(inside);
    advice(is, "unpack it, and give the model that is in it", lines)
}

fn of_cut_safetensors(content: &Content, is: &'static str) -> Advice {
    let Content::CutSafeTensors(needs, has) = content else { return advice(is, "", NONE) };
    let is = format!("{is} of {has} bytes whose header alone takes {needs}");
    advice(&is, "it is cut short: save or download it again", NONE)
}

fn of_folder(named: &UnreadFile, content: &Content, is: &'static str) -> Advice {
    let Content::Folder(names) = content else { return advice(is, "", NONE) };
    let compile = |name: &String| named.compile(&named.path.join(name).to_string_lossy(), "model");
    let models = models(&named.path, names);
    match models.len() {
        0 => advice("a folder without a model", "give the model's file", NONE),
        1 => advice(is, "give the model in it", models.iter().map(compile)),
        _ => advice(is, "give one of the models in it", models.iter().take(8).map(compile)),
    }
}

/// Advice for a TensorFlow Lite model with resource variables.
fn of_tflite_variables(named: &UnreadFile, is: &'static str) -> Advice {
    let help = match tflite::variables(&named.path) {
        Ok(Some(Variables::Constant)) => {
            "its weights are resource variables, which OpenVINO's converter does not read: save \
             the model that it was made from (Keras: model.save(\"net.keras\")), and give cellc \
             that file"
        }
        _ => {
            "it writes resource variables, such as a state, which OpenVINO's converter does not \
             read: export the model that it was made from, with the state as an input and an output"
        }
    };
    advice(is, help, NONE)
}

/// Advice for a file of unknown content. A `.bin` file counts as weights of OpenVINO: the advice
/// compiles the `.xml` file next to it, if there is one.
fn of_text(named: &UnreadFile, is: &'static str) -> Advice {
    let beside = named.path.with_extension("xml");
    if named.path.extension() == Some(OsStr::new("bin")) {
        let lines = beside.is_file().then(|| named.compile(&beside.to_string_lossy(), &named.stem));
        return advice(
            is,
            "the .bin file holds the weights: give the .xml file that was saved with it",
            lines,
        );
    }
    advice(is, "if it was cut short or damaged, save or download it again", NONE)
}

/// Names of the supported models in a folder.
fn models(folder: &Path, names: &[String]) -> Vec<String> {
    let files = |is: fn(&Path) -> io::Result<bool>| -> Vec<String> {
        let is = |name: &&String| {
            Some(folder.join(name)).is_some_and(|path| path.is_file() && is(&path).unwrap_or(false))
        };
        names.iter().filter(is).cloned().collect()
    };
    files(is_model)
}

/// True if a file is a supported model, and not another file of the same syntax.
fn is_model(path: &Path) -> io::Result<bool> {
    if path.file_name().is_none_or(|name| !is_readable(&name.to_string_lossy())) {
        return Ok(false);
    }
    let content = Content::read(path)?;
    FORMATS.iter().try_fold(false, |is, format| Ok(is || (format.is_model)(&content, path)?))
}

/// Help for weights in JSON with a description of the network.
const DESCRIBED: &str = "put the weights into a .safetensors file, and with them what the JSON \
    says of the cell and of the skip";

/// Help for weights in JSON without a description of the network.
const WEIGHTS_ALONE: &str = "put the weights into a .safetensors file. The JSON does not say which \
    cell they are of: write rnn or gru in place of lstm where it is one; cellc says which layers \
    it finds";

/// Advice for weights under the key `state_dict` of a JSON file.
fn of_state_dict(named: &UnreadFile, content: &Content, is: &'static str) -> Advice {
    let Content::Json(keys) = content else { return advice(is, "", NONE) };
    let (literal, stem) = (named.in_python(), &named.stem);
    let tensors = format!("{stem}.safetensors");
    let load = format!("model = json.load(open({literal}))");
    let about = "about = {\"cellc.prefix\": \"rec\", \"cellc.head\": \"lin\"}";
    let cell = "if \"unit_type\" in data: about[\"cellc.cell\"] = data[\"unit_type\"].lower()";
    // the printed program looks `skip` up in a dictionary, so that it fails for other numbers
    let skip =
        "if \"skip\" in data: about[\"cellc.skip\"] = {0: \"false\", 1: \"true\"}[data[\"skip\"]]";
    let arrays = "weights = \
        {name: numpy.array(values, \"float32\") for name, values in model[\"state_dict\"].items()}";
    let of_data = ["data = model[\"model_data\"]", about, cell, skip];
    let (of_data, metadata, cell, help) = match keys.iter().any(|key| key == "model_data") {
        true => (&of_data[..], ", metadata=about", "", DESCRIBED),
        false => (&[][..], "", " --cell lstm", WEIGHTS_ALONE),
    };
    let save = format!("safetensors.numpy.save_file(weights, {}{metadata})", in_python(&tensors));
    let lines =
        [&["import json, numpy, safetensors.numpy", &load][..], of_data, &[arrays, &save]].concat();
    let python = python(&lines);
    let compile = format!("cellc {}{cell} {}", in_shell(&tensors), to_output(&named.model, stem));
    advice(
        is,
        help,
        [vec!["pip install safetensors numpy".to_owned()], python, vec![compile]].concat(),
    )
}
