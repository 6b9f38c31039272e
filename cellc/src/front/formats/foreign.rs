//! JSON that is known to be something that is not read.

/// JSON files of other programs: a key found in each, the name of the format, and the advice.
pub(super) const FOREIGN: [(&str, &str, &str); 7] = [
    ("state_dict", "weights of PyTorch as JSON under the key state_dict (NeuralPi, Automated-GuitarAmpModelling)", ""),
    (
        "class_name",
        "the configuration of a Keras model, without its weights",
        "give the .keras file that the model was saved to",
    ),
    ("modelTopology", "a model of TensorFlow.js", "convert the model that it was made from"),
    (
        "weight_map",
        "the index of several safetensors files",
        "give the .safetensors file that has the recurrent layers",
    ),
    ("architectures", "the configuration of a model, without its weights", "give the file that holds the model"),
    ("model_type", "the configuration of a model, without its weights", "give the file that holds the model"),
    ("nbformat", "a Jupyter notebook", "run it, and let it export the model"),
];

/// Whether an object with these keys is known to be something that is not read.
pub(super) fn is_foreign(keys: &[String]) -> bool {
    FOREIGN.iter().any(|(key, _, _)| keys.iter().any(|other| other == key))
}
