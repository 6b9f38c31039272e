//! Formats that are recognised but not supported, a row for each.

use std::path::Path;

use super::content::Content;
use super::{hdf5, tflite};

/// A format that is recognised but not supported.
#[derive(Debug)]
pub struct UnreadFormat {
    /// The format's name in the book. Empty if the row is not for a format of models.
    pub name: &'static str,
    /// Endings of file names, each with its kind of file.
    pub endings: &'static [(&'static str, &'static str)],
    /// The means of recognition (content, name or JSON key), as printed in the book.
    pub recognised_by: &'static str,
    /// The conversion to a supported format, as printed in the book.
    pub way: &'static str,
    /// The test for files of the format.
    pub(super) holds: Holds,
    /// The kind of file, which completes the message "FILE is ...".
    pub(super) is: &'static str,
    pub(super) says: Says,
}

/// The test for files of a format.
#[derive(Debug)]
pub(super) enum Holds {
    Content(fn(&Content, &Path) -> bool),
    /// A JSON object with this key.
    Key(&'static str),
}

/// The advice in the message for a file.
#[derive(Debug)]
pub(super) enum Says {
    /// Help and commands, both with the placeholders of `UnreadFile::filled`.
    Help(&'static str, &'static [&'static str]),
    /// Advice computed from the content of the file.
    Computed(Computed),
}

/// Kinds of advice computed from the content of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Computed {
    TorchSave,
    StateDict,
    Compressed,
    Archive,
    CutSafeTensors,
    Folder,
    Text,
    TfLiteVariables,
}

impl UnreadFormat {
    /// True if a file with this content and path is of this format.
    pub(super) fn matches(&self, content: &Content, path: &Path) -> bool {
        match (&self.holds, content) {
            (Holds::Content(holds), _) => holds(content, path),
            (Holds::Key(key), Content::Json(keys)) => keys.iter().any(|other| other == key),
            (Holds::Key(_), _) => false,
        }
    }
}

/// True if a JSON object with one of these keys is known to be of an unsupported format.
pub(super) fn is_foreign(keys: &[String]) -> bool {
    UNREAD
        .iter()
        .any(|row| matches!(row.holds, Holds::Key(key) if keys.iter().any(|other| other == key)))
}

/// The test for files whose content matches a pattern.
macro_rules! holds {
    ($content:pat) => {
        Holds::Content(|content, _| matches!(content, $content))
    };
}

/// A row for JSON files recognised by a key.
const fn json(key: &'static str, name: &'static str, is: &'static str, says: Says) -> UnreadFormat {
    let way = match says {
        Says::Computed(_) => "`.safetensors`",
        Says::Help(..) => "as printed",
    };
    UnreadFormat {
        name,
        endings: &[],
        recognised_by: "JSON key",
        way,
        holds: Holds::Key(key),
        is,
        says,
    }
}

/// A row for files other than models. The book does not list these rows.
const fn no_model(holds: Holds, is: &'static str, says: Says) -> UnreadFormat {
    UnreadFormat { name: "", endings: &[], recognised_by: "", way: "", holds, is, says }
}

const CONFIGURATION: &str = "the configuration of a model, without its weights";
const CONFIGURATION_ALONE: Says = Says::Help("give the file that holds the model", &[]);
const CONVERT: &str = "convert it to a model of OpenVINO";
const KERAS_STEPS: &str = "convert it to a model of OpenVINO, with the number of steps of a call \
    in place of 100 where it is open; stateful=True has no effect after that: a state that is kept \
    is an input (initial_state=h) and an output (return_state=True)";
const AGAIN: &str = "save or download it again";
const ORIGINAL: &str = "export of the original";

/// Commands that convert a Keras model to OpenVINO. The input shapes have the model's batch size,
/// which a stateful model fixes, or else 1. Open sizes become 100: Keras traces some recurrent
/// layers with one step if the number of steps is open. Several inputs are given as a dictionary.
const BY_KERAS: &[&str] = &[
    "pip install keras openvino scipy",
    "python3 - <<'END'",
    "import os",
    "os.environ[\"KERAS_BACKEND\"] = \"openvino\"",
    "import keras",
    "model = keras.saving.load_model($PY, compile=False)",
    KERAS_SHAPES,
    KERAS_INPUTS,
    KERAS_EXPORT,
    "END",
    "cellc $XML $OUT",
];

/// Python statement: shapes of a Keras model's inputs, with open sizes replaced.
const KERAS_SHAPES: &str =
    "shapes = [(x.shape[0] or 1, *(n or 100 for n in x.shape[1:])) for x in model.inputs]";

/// Python statement: the inputs of a Keras model by name, with the shapes above.
const KERAS_INPUTS: &str = "inputs = \
    {x.name: keras.layers.InputSpec(dtype=x.dtype, shape=shape) for x, shape in zip(model.inputs, \
    shapes)}";

/// Python statement: the export of a Keras model with the inputs above.
const KERAS_EXPORT: &str = "model.export($XML_PY, format=\"openvino\", input_signature=[inputs] if \
    len(inputs) > 1 else [*inputs.values()])";

/// All recognised but unsupported formats. The first matching row applies.
pub static UNREAD: &[UnreadFormat] = &[
    UnreadFormat {
        name: "PyTorch",
        endings: &[("pt", "PyTorch file"), ("pth", "PyTorch file"), ("ckpt", "PyTorch file")],
        recognised_by: "content",
        way: "weights as `.safetensors`",
        holds: holds!(Content::TorchSave),
        is: "a file that PyTorch saved (torch.save)",
        says: Says::Computed(Computed::TorchSave),
    },
    UnreadFormat {
        name: "torch.export",
        endings: &[("pt2", "PyTorch file")],
        recognised_by: "content",
        way: "`torch.onnx.export` with the state ([PyTorch](../frameworks.md#pytorch))",
        holds: holds!(Content::TorchExport),
        is: "a model of torch.export",
        says: Says::Help(
            "export it to ONNX: open sizes stay open, and a state that is an input and an output \
             stays one",
            &[
                "pip install torch onnx onnxscript",
                "python3 - <<'END'",
                "import torch",
                "torch.onnx.export(torch.export.load($PY), f=$ONNX_PY)",
                "END",
                "cellc $ONNX $OUT",
            ],
        ),
    },
    UnreadFormat {
        name: "TorchScript",
        endings: &[],
        recognised_by: "content",
        way: "`torch.onnx.export` with the state ([PyTorch](../frameworks.md#pytorch))",
        holds: holds!(Content::TorchScript),
        is: "a TorchScript model",
        says: Says::Help(
            "export it to ONNX, with a tensor of the right shape for each input; to leave the \
             steps of the first input open, add input_names=[\"x\"], dynamic_axes={\"x\": {1: \
             \"steps\"}}",
            &[
                "pip install torch onnx",
                "python3 - <<'END'",
                "import torch",
                "model = torch.jit.load($PY, map_location=\"cpu\").eval()",
                "shapes = [(1, 16, 1)]  # one for each tensor that forward takes",
                "names = [x.name for x in model.forward.schema.arguments[1:] if not \
                 x.has_default_value()]",
                "assert len(shapes) >= len(names), f\"shapes needs a shape for each of {names}\"",
                "inputs = tuple(torch.zeros(shape) for shape in shapes)",
                "torch.onnx.export(model, inputs, $ONNX_PY, dynamo=False)",
                "END",
                "cellc $ONNX $OUT",
            ],
        ),
    },
    UnreadFormat {
        name: "Keras",
        endings: &[("keras", "Keras model")],
        recognised_by: "content",
        way: "Keras's `model.export`",
        holds: holds!(Content::Keras),
        is: "a Keras model",
        says: Says::Help(KERAS_STEPS, BY_KERAS),
    },
    UnreadFormat {
        name: "Keras in HDF5",
        endings: &[],
        recognised_by: "content",
        way: "Keras's `model.export`",
        holds: Holds::Content(|content, path| {
            *content == Content::Hdf5 && hdf5::has_model(path).unwrap_or(false)
        }),
        is: "a Keras model (HDF5)",
        says: Says::Help(KERAS_STEPS, BY_KERAS),
    },
    UnreadFormat {
        name: "HDF5",
        endings: &[("h5", "HDF5 file"), ("hdf5", "HDF5 file")],
        recognised_by: "content",
        way: "Keras's `model.export`",
        holds: holds!(Content::Hdf5),
        is: "an HDF5 file",
        says: Says::Help(
            "it holds no whole Keras model. For the weights of one (save_weights), add these lines \
             to the program that builds the model, with the number of steps of a call in place of \
             100; run it with KERAS_BACKEND=openvino in its environment (pip install keras \
             openvino scipy), then cellc $XML $OUT",
            &["model.load_weights($PY)", KERAS_SHAPES, KERAS_INPUTS, KERAS_EXPORT],
        ),
    },
    UnreadFormat {
        name: "SavedModel",
        endings: &[],
        recognised_by: "content",
        way: "`ovc`",
        holds: holds!(Content::SavedModel),
        is: "a SavedModel of TensorFlow",
        says: Says::Help(
            CONVERT,
            &[
                "pip install openvino",
                "ovc $FOLDER --output_model model.xml --compress_to_fp16=False",
                "cellc model.xml $MODEL_OUT",
            ],
        ),
    },
    UnreadFormat {
        name: "TensorFlow",
        endings: &[("pb", "TensorFlow graph")],
        recognised_by: "content",
        way: "`ovc`",
        holds: holds!(Content::FrozenGraph),
        is: "a graph of TensorFlow",
        says: Says::Help(
            CONVERT,
            &[
                "pip install openvino",
                "mv $PATH $AS_PB",
                "ovc $AS_PB --compress_to_fp16=False",
                "cellc $XML $OUT",
            ],
        ),
    },
    // the row for models with resource variables precedes the row for all TensorFlow Lite models
    UnreadFormat {
        name: "`.tflite` with variables",
        endings: &[],
        recognised_by: "content",
        way: ORIGINAL,
        holds: Holds::Content(|content, path| {
            *content == Content::TfLite
                && tflite::variables(path).is_ok_and(|variables| variables.is_some())
        }),
        is: "a TensorFlow Lite model",
        says: Says::Computed(Computed::TfLiteVariables),
    },
    UnreadFormat {
        name: "TensorFlow Lite",
        endings: &[("tflite", "TensorFlow Lite model")],
        recognised_by: "content",
        way: "`ovc`",
        holds: holds!(Content::TfLite),
        is: "a TensorFlow Lite model",
        says: Says::Help(
            "convert it to a model of OpenVINO. Of a model with recurrent layers the converter \
             writes out every step; the Keras model that it was made from gives shorter code: save \
             it as .keras, and give cellc that file",
            &[
                "pip install openvino",
                "mv $PATH $AS_TFLITE",
                "ovc $AS_TFLITE --compress_to_fp16=False",
                "cellc $XML $OUT",
            ],
        ),
    },
    UnreadFormat {
        name: "ONNX Runtime",
        endings: &[("ort", "model of ONNX Runtime")],
        recognised_by: "content",
        way: ORIGINAL,
        holds: holds!(Content::Ort),
        is: "a model of ONNX Runtime (.ort)",
        says: Says::Help(
            "nothing converts it back: give the .onnx file that it was made from, which cellc \
             reads",
            &[],
        ),
    },
    UnreadFormat {
        name: "MNN",
        endings: &[("mnn", "model of MNN")],
        recognised_by: "name",
        way: ORIGINAL,
        holds: holds!(Content::Mnn),
        is: "a model of MNN (.mnn)",
        says: Says::Help(
            "nothing converts it back: it is mostly made from an .onnx file, which cellc reads; \
             else export the model that it was made from to ONNX (PyTorch: $EXPORT)",
            &[],
        ),
    },
    UnreadFormat {
        name: "ExecuTorch",
        endings: &[("pte", "program of ExecuTorch")],
        recognised_by: "content",
        way: ORIGINAL,
        holds: holds!(Content::ExecuTorch),
        is: "a program of ExecuTorch (.pte)",
        says: Says::Help(
            "nothing converts it back: export the model that it was made from to ONNX, by $EXPORT",
            &[],
        ),
    },
    UnreadFormat {
        name: "ncnn",
        endings: &[("param", "model of ncnn")],
        recognised_by: "content",
        way: ORIGINAL,
        holds: holds!(Content::Ncnn),
        is: "a model of ncnn (.param)",
        says: Says::Help(
            "nothing converts it back: export the model that it was made from to ONNX (PyTorch: \
             $EXPORT)",
            &[],
        ),
    },
    UnreadFormat {
        name: "Core ML",
        endings: &[
            ("mlmodel", "Core ML model"),
            ("mlpackage", "Core ML model"),
            ("mlmodelc", "Core ML model"),
        ],
        recognised_by: "content",
        way: ORIGINAL,
        holds: holds!(Content::CoreMl),
        is: "a Core ML model",
        says: Says::Help(
            "nothing converts it back: convert the model that it was made from (PyTorch, Keras, \
             ONNX). One `gru` of BNNSGraph can be declared with its weights: \
             cellc::Builder::apple_gru",
            &[],
        ),
    },
    UnreadFormat {
        name: "pickle",
        endings: &[("pkl", "Python pickle")],
        recognised_by: "content",
        way: "as printed",
        holds: holds!(Content::Pickle),
        is: "a Python pickle",
        says: Says::Help(
            "it can only be read by the program that wrote it: load it there, and save the model \
             by openvino.save_model",
            &[],
        ),
    },
    UnreadFormat {
        name: "NumPy",
        endings: &[("npy", "NumPy array"), ("npz", "NumPy archive")],
        recognised_by: "content",
        way: "as printed",
        holds: holds!(Content::Numpy),
        is: "a file of NumPy arrays",
        says: Says::Help(
            "arrays alone do not say what is computed: declare the layers by cellc::Builder, and \
             give the arrays to weights_of",
            &[],
        ),
    },
    UnreadFormat {
        name: "GGUF",
        endings: &[("gguf", "GGUF file")],
        recognised_by: "content",
        way: "none",
        holds: holds!(Content::Gguf),
        is: "a GGUF file (a language model)",
        says: Says::Help("cellc compiles recurrent networks", &[]),
    },
    UnreadFormat {
        name: "gzip",
        endings: &[("gz", "gzip file")],
        recognised_by: "content",
        way: "as printed",
        holds: holds!(Content::Compressed(_)),
        is: "a compressed file",
        says: Says::Computed(Computed::Compressed),
    },
    UnreadFormat {
        name: "zip",
        endings: &[("zip", "zip archive")],
        recognised_by: "content",
        way: "as printed",
        holds: holds!(Content::Archive(..)),
        is: "an archive",
        says: Says::Computed(Computed::Archive),
    },
    json(
        "state_dict",
        "NeuralPi",
        "weights of PyTorch as JSON under the key state_dict (NeuralPi, \
         Automated-GuitarAmpModelling)",
        Says::Computed(Computed::StateDict),
    ),
    json(
        "class_name",
        "Keras configuration",
        "the configuration of a Keras model, without its weights",
        Says::Help("give the .keras file that the model was saved to", &[]),
    ),
    json(
        "modelTopology",
        "TensorFlow.js",
        "a model of TensorFlow.js",
        Says::Help("convert the model that it was made from", &[]),
    ),
    json(
        "weight_map",
        "safetensors index",
        "the index of several safetensors files",
        Says::Help("give the .safetensors file that has the recurrent layers", &[]),
    ),
    json("architectures", "", CONFIGURATION, CONFIGURATION_ALONE),
    json("model_type", "", CONFIGURATION, CONFIGURATION_ALONE),
    json(
        "nbformat",
        "Jupyter",
        "a Jupyter notebook",
        Says::Help("run it, and let it export the model", &[]),
    ),
    no_model(holds!(Content::Json(_)), "JSON", Says::Help("", &[])),
    no_model(holds!(Content::Empty), "empty", Says::Help(AGAIN, &[])),
    no_model(holds!(Content::CutOnnx), "an ONNX model that is cut short", Says::Help(AGAIN, &[])),
    no_model(
        holds!(Content::CutZip),
        "a zip archive that is cut short",
        Says::Help("PyTorch and Keras save such archives: save or download it again", &[]),
    ),
    no_model(
        holds!(Content::CutSafeTensors(..)),
        "a safetensors file",
        Says::Computed(Computed::CutSafeTensors),
    ),
    no_model(holds!(Content::Folder(_)), "a folder", Says::Computed(Computed::Folder)),
    no_model(
        holds!(Content::WebPage),
        "a web page",
        Says::Help("the link led to a page about the file: download the file itself", &[]),
    ),
    no_model(
        holds!(Content::LfsPointer),
        "a pointer of Git LFS",
        Says::Help(
            "the file itself is not here yet: let Git fetch it, in the folder that it is in",
            &["git lfs pull --include $NAME"],
        ),
    ),
    no_model(
        Holds::Content(|_, _| true),
        "of no format that cellc knows",
        Says::Computed(Computed::Text),
    ),
];
