//! What is said of a file that is not read: what it is, and the lines that make of it one that is.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::content::Content;
use super::foreign::FOREIGN;
use super::lines::{Advice, advice, in_python, in_shell, python, to_output};
use super::readers::{FORMATS, are_read, endings, is_readable};
use super::{saved, tflite};
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::front::export::EXPORT_WITH_OPEN_STEPS;
use crate::front::model_file::ModelFile;

/// The endings of formats that are not read, and what a file of that name should be.
const ENDINGS: [(&str, &str); 22] = [
    ("pt", "PyTorch file"),
    ("pth", "PyTorch file"),
    ("ckpt", "PyTorch file"),
    ("pt2", "PyTorch file"),
    ("keras", "Keras model"),
    ("h5", "HDF5 file"),
    ("hdf5", "HDF5 file"),
    ("tflite", "TensorFlow Lite model"),
    ("pb", "TensorFlow graph"),
    ("mlmodel", "Core ML model"),
    ("mlpackage", "Core ML model"),
    ("mlmodelc", "Core ML model"),
    ("gguf", "GGUF file"),
    ("ort", "model of ONNX Runtime"),
    ("pte", "program of ExecuTorch"),
    ("mnn", "model of MNN"),
    ("param", "model of ncnn"),
    ("npz", "NumPy archive"),
    ("npy", "NumPy array"),
    ("pkl", "Python pickle"),
    ("zip", "zip archive"),
    ("gz", "gzip file"),
];

/// Nothing to copy.
const NONE: [&str; 0] = [];

/// The refusal of a file or folder of this content.
pub(super) fn refusal(file: ModelFile, content: &Content) -> Diagnostic {
    let shown = quoted(&file.shown());
    let Advice { is, mut help, lines } = of(file, content);
    if file.is_piped() && lines.iter().any(|line| line.contains(SAVED_PIPE)) {
        help.insert_str(0, &format!("save what came through the pipe as a file, here {SAVED_PIPE}; then "));
    }
    let ending = file.path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let named = endings().chain(ENDINGS).find(|(known, _)| *known == ending).map(|(_, name)| name);
    let found = match content {
        Content::Unknown | Content::Text if ending == "bin" => format!("{shown} is no model"),
        Content::Unknown | Content::Text => match named {
            Some(name) => format!("{shown} is no {name}, whatever its name says"),
            None => format!("{shown} is of no format that cellc knows"),
        },
        Content::Empty
        | Content::CutOnnx
        | Content::CutZip
        | Content::CutSafeTensors(..)
        | Content::Folder(_)
        | Content::WebPage
        | Content::LfsPointer => format!("{shown} is {is}"),
        _ => format!("{shown} is {is}, which cellc does not read"),
    };
    let diagnostic = Diagnostic::error(Origin::Unknown, found).valid(are_read()).lines(lines);
    if help.is_empty() { diagnostic } else { diagnostic.help(help) }
}

/// The file in lines about a model that came through a pipe.
const SAVED_PIPE: &str = "piped_model";

fn of(model: ModelFile, content: &Content) -> Advice {
    let path = if model.is_piped() { Path::new(SAVED_PIPE) } else { model.path };
    let (file, name) = (in_shell(&path.to_string_lossy()), path.file_name().unwrap_or(path.as_os_str()));
    let stem = Path::new(name).file_stem().unwrap_or(name).to_string_lossy().into_owned();
    let literal = in_python(&path.to_string_lossy());
    let compile_as = |file: &str, stem: &str| format!("cellc {} {}", in_shell(file), to_output(&model, stem));
    let compile = compile_as(&format!("{stem}.xml"), &stem);
    let saved = in_python(&format!("{stem}.xml"));
    let save = format!("openvino.save_model(model, {saved}, compress_to_fp16=False)");
    const CONVERT: &str = "convert it to a model of OpenVINO";
    // ovc goes by the name
    let by_ovc = |ending: &str| {
        let right = path.extension().and_then(OsStr::to_str) == Some(ending);
        let named = in_shell(&path.with_extension(ending).to_string_lossy());
        let rename = (!right).then(|| format!("mv {file} {named}"));
        let file = if right { &file } else { &named };
        let convert = format!("ovc {file} --compress_to_fp16=False");
        let lines = std::iter::once("pip install openvino".to_owned()).chain(rename);
        lines.chain([convert, compile.clone()]).collect::<Vec<_>>()
    };
    let torch = |load: &[&str]| {
        let load = load.iter().map(|line| line.replace("FILE", &literal));
        let lines: Vec<String> =
            std::iter::once("import torch, openvino".to_owned()).chain(load).chain([save.clone()]).collect();
        let lines = python(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        [vec!["pip install torch openvino".to_owned()], lines, vec![compile.clone()]].concat()
    };
    let by_keras = || {
        let model = format!("model = keras.saving.load_model({literal}, compile=False)");
        let export = format!("model.export({saved}, format=\"openvino\", input_signature=signature)");
        let lines = python(&[
            "import os",
            "os.environ[\"KERAS_BACKEND\"] = \"openvino\"",
            "import keras",
            &model,
            KERAS_STEPS,
            KERAS_SIGNATURE,
            &export,
        ]);
        [vec!["pip install keras openvino scipy".to_owned()], lines, vec![compile.clone()]].concat()
    };
    match content {
        Content::Empty => advice("empty", "save or download it again", NONE),
        Content::CutOnnx => advice("an ONNX model that is cut short", "save or download it again", NONE),
        Content::TorchScript => {
            let load = ["model = torch.jit.load(FILE, map_location=\"cpu\").eval()", EXAMPLE, WITH_EXAMPLE];
            advice("a TorchScript model", CONVERT, torch(&load))
        }
        Content::TorchExport => {
            let load =
                ["program = torch.export.load(FILE)", SHAPES, "model = openvino.convert_model(program, input=shapes)"];
            advice("a model of torch.export", CONVERT, torch(&load))
        }
        Content::TorchSave => saved::of(model, path, &stem),
        Content::Keras => advice("a Keras model", KERAS, by_keras()),
        Content::Hdf5 => {
            let help = "if it is a whole Keras model, convert it to a model of OpenVINO, with the number of steps of a call in place of 100; if it \
                        holds weights alone (save_weights), load them into the model in the program that builds it, and export that";
            advice("an HDF5 file", help, by_keras())
        }
        Content::TfLite if tflite::has_variables(model.path).unwrap_or(false) => {
            let help = "it keeps its state in resource variables, which OpenVINO's converter does not read: export the model that it was made from, \
                        with the state as an input and an output, to ONNX";
            advice("a TensorFlow Lite model", help, NONE)
        }
        Content::TfLite => advice("a TensorFlow Lite model", CONVERT, by_ovc("tflite")),
        Content::Runtime(is) => {
            let help = format!(
                "nothing converts it back: export the model that it was made from to ONNX (PyTorch: \
                 {EXPORT_WITH_OPEN_STEPS}); an .ort or .mnn file is mostly made from an .onnx file, which cellc reads"
            );
            advice(is, &help, NONE)
        }
        Content::SavedModel => {
            // the folder is the model
            let folder = if path.is_dir() { Some(path) } else { path.parent() };
            let folder = folder.filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            let lines = [
                "pip install openvino".to_owned(),
                format!(
                    "ovc {} --output_model model.xml --compress_to_fp16=False",
                    in_shell(&folder.to_string_lossy())
                ),
                compile_as("model.xml", "model"),
            ];
            advice("a SavedModel of TensorFlow", CONVERT, lines)
        }
        Content::FrozenGraph => advice("a graph of TensorFlow", CONVERT, by_ovc("pb")),
        Content::CoreMl => {
            let help = "nothing converts it back: convert the model that it was made from (PyTorch, Keras, ONNX). One `gru` of BNNSGraph can be \
                        declared with its weights: cellc::Builder::apple_gru";
            advice("a Core ML model", help, NONE)
        }
        Content::Pickle => {
            let help = "it can only be read by the program that wrote it: load it there, and save the model by openvino.save_model";
            advice("a Python pickle", help, NONE)
        }
        Content::Numpy => {
            let help = "arrays alone do not say what is computed: declare the layers by cellc::Builder, and give the arrays to weights_of";
            advice("a file of NumPy arrays", help, NONE)
        }
        Content::Gguf => advice("a GGUF file (a language model)", "cellc compiles recurrent networks", NONE),
        Content::WebPage => {
            let help = "the link led to a page about the file: download the file itself";
            advice("a web page", help, NONE)
        }
        Content::LfsPointer => {
            let lines = [format!("git lfs pull --include {}", in_shell(&name.to_string_lossy()))];
            advice(
                "a pointer of Git LFS",
                "the file itself is not here yet: let Git fetch it, in the folder that it is in",
                lines,
            )
        }
        Content::Compressed(unpack) => {
            advice("a compressed file", "unpack it, and give what comes out", [format!("{unpack} {file}")])
        }
        Content::Archive(unpack, inside) => {
            let inside = inside.iter().find(|name| is_readable(name)).map(|name| compile_as(name, &stem));
            let lines = std::iter::once(format!("{unpack} {file}")).chain(inside);
            advice("an archive", "unpack it, and give the model that is in it", lines)
        }
        Content::CutZip => advice(
            "a zip archive that is cut short",
            "PyTorch and Keras save such archives: save or download it again",
            NONE,
        ),
        Content::CutSafeTensors(needs, has) => {
            let is = format!("a safetensors file of {has} bytes whose header alone takes {needs}");
            advice(&is, "it is cut short: save or download it again", NONE)
        }
        Content::Folder(names) => match &models(path, names)[..] {
            [] => advice("a folder without a model", "give the model's file", NONE),
            [one] => {
                advice("a folder", "give the model in it", [compile_as(&path.join(one).to_string_lossy(), "model")])
            }
            several => {
                let lines = several.iter().take(8).map(|name| compile_as(&path.join(name).to_string_lossy(), "model"));
                advice("a folder", "give one of the models in it", lines)
            }
        },
        Content::Json(keys) => of_json(model, &literal, &stem, keys),
        Content::Unknown | Content::Text => {
            let beside = path.with_extension("xml");
            if path.extension() == Some(OsStr::new("bin")) {
                let lines = beside.is_file().then(|| compile_as(&beside.to_string_lossy(), &stem));
                return advice("", "the .bin file holds the weights: give the .xml file that was saved with it", lines);
            }
            advice("", "if it was cut short or damaged, save or download it again", NONE)
        }
        // these are read
        Content::Onnx | Content::Xml | Content::SafeTensors => advice("a model", "", NONE),
    }
}

/// Which files of a folder are models that are read, or else that can be converted.
fn models(folder: &Path, names: &[String]) -> Vec<String> {
    let files = |is: fn(&Path) -> io::Result<bool>| -> Vec<String> {
        let is =
            |name: &&String| Some(folder.join(name)).is_some_and(|path| path.is_file() && is(&path).unwrap_or(false));
        names.iter().filter(is).cloned().collect()
    };
    files(is_model)
}

/// Whether a file is a model that is read, and no other file of the same format.
fn is_model(path: &Path) -> io::Result<bool> {
    if path.file_name().is_none_or(|name| !is_readable(&name.to_string_lossy())) {
        return Ok(false);
    }
    let content = Content::of(path)?;
    FORMATS.iter().try_fold(false, |is, format| Ok(is || (format.is_model)(&content, path)?))
}

/// Keras traces some recurrent layers with one step where the number of steps is open.
const KERAS: &str =
    "convert it to a model of OpenVINO, with the number of steps of a call in place of 100 where it is open";

/// The shapes of the inputs, each with a batch of 1, and 100 in place of open sizes.
const KERAS_STEPS: &str = "shapes = [(1,) + tuple(n or 100 for n in x.shape[1:]) for x in model.inputs]";
const KERAS_SIGNATURE: &str =
    "signature = [keras.layers.InputSpec(dtype=x.dtype, shape=shape) for x, shape in zip(model.inputs, shapes)]";

/// What the program was exported for.
const SHAPES: &str = "shapes = [tuple(x.shape) for x in program.example_inputs[0]]";

/// The shape is the user's affair.
const EXAMPLE: &str = "x = torch.zeros(1, 1, 1)  # of the shape that the model takes";
const WITH_EXAMPLE: &str = "model = openvino.convert_model(model, example_input=x, input=list(x.shape))";

/// Help for weights in JSON that says what is computed with them.
const DESCRIBED: &str =
    "put the weights into a .safetensors file, and with them what the JSON says of the cell and of the skip";

/// Help for weights in JSON that says no more.
const WEIGHTS_ALONE: &str = "put the weights into a .safetensors file. The JSON does not say which cell they are of: write rnn or gru in \
                             place of lstm where it is one; cellc says which layers it finds";

fn of_json(model: ModelFile, literal: &str, stem: &str, keys: &[String]) -> Advice {
    let Some((key, is, help)) = FOREIGN.iter().find(|(key, _, _)| keys.iter().any(|other| other == key)) else {
        return advice("JSON", "", NONE);
    };
    if *key != "state_dict" {
        return advice(is, help, NONE);
    }
    let tensors = format!("{stem}.safetensors");
    let load = format!("model = json.load(open({literal}))");
    let about = "about = {\"cellc.prefix\": \"rec\", \"cellc.head\": \"lin\"}";
    let cell = "if \"unit_type\" in data: about[\"cellc.cell\"] = data[\"unit_type\"].lower()";
    // by its numbers, so that no other is taken for one of them
    let skip = "if \"skip\" in data: about[\"cellc.skip\"] = {0: \"false\", 1: \"true\"}[data[\"skip\"]]";
    let arrays = "weights = {name: numpy.array(values, \"float32\") for name, values in model[\"state_dict\"].items()}";
    let of_data = ["data = model[\"model_data\"]", about, cell, skip];
    let (of_data, metadata, cell, help) = match keys.iter().any(|key| key == "model_data") {
        true => (&of_data[..], ", metadata=about", "", DESCRIBED),
        false => (&[][..], "", " --cell lstm", WEIGHTS_ALONE),
    };
    let save = format!("safetensors.numpy.save_file(weights, {}{metadata})", in_python(&tensors));
    let lines = [&["import json, numpy, safetensors.numpy", &load][..], of_data, &[arrays, &save]].concat();
    let python = python(&lines);
    let compile = format!("cellc {}{cell} {}", in_shell(&tensors), to_output(&model, stem));
    advice(is, help, [vec!["pip install safetensors numpy".to_owned()], python, vec![compile]].concat())
}
