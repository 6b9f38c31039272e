//! Advice for operators that are not supported.

/// Advice for an unsupported operator written by ONNX Runtime's optimiser.
pub(super) const BEFORE_OPTIMISATION: &str = "ONNX Runtime writes it when it optimises a model: \
    use the file from before optimisation, or ORT_ENABLE_BASIC";

/// Advice for operators on blocks of channels. ONNX Runtime writes them only at its highest
/// optimisation level.
const BEFORE_LAYOUT: &str = "ONNX Runtime writes it when it optimises a model for one processor: \
    use the file from before optimisation, or ORT_ENABLE_EXTENDED";

/// Advice for an unsupported operator of ONNX Runtime's static quantiser.
const OTHER_FORMAT: &str =
    "ONNX Runtime's static quantiser writes it: quantise with quant_format=QuantFormat.QDQ";

/// Advice for an unsupported operator on features.
pub(super) const BEFORE_FEATURES: &str = "compute the features outside of the model";

/// Advice for a linear model.
const LINEAR: &str =
    "write it as Gemm with the coefficients and the intercepts, or compute it outside of the model";

/// Advice for all other operators.
const OUTSIDE: &str =
    "compute this part outside of the model, or replace it by operators that are read";

/// Advice for an unsupported operator.
pub(super) fn advice(domain: &str, name: &str) -> String {
    match name {
        _ if domain == "com.microsoft.nchwc" => BEFORE_LAYOUT.to_owned(),
        _ if domain == "com.microsoft"
            && (name.starts_with("QLinear") || name == "QEmbedLayerNormalization") =>
        {
            OTHER_FORMAT.to_owned()
        }
        "Inverse" | "GridSample" if domain == "com.microsoft" => OUTSIDE.to_owned(),
        _ if domain.starts_with("com.microsoft") || domain.starts_with("com.ms.") => {
            BEFORE_OPTIMISATION.to_owned()
        }
        "LinearRegressor" | "LinearClassifier" if domain == "ai.onnx.ml" => LINEAR.to_owned(),
        "TreeEnsemble"
        | "TreeEnsembleRegressor"
        | "TreeEnsembleClassifier"
        | "SVMRegressor"
        | "SVMClassifier"
            if domain == "ai.onnx.ml" =>
        {
            "compute what trees or support vectors decide outside of the model".to_owned()
        }
        _ if domain == "ai.onnx.ml" => BEFORE_FEATURES.to_owned(),
        "NonZero" | "Unique" | "NonMaxSuppression" | "Compress" => {
            "its output has another length at every call: compute it outside of the model"
                .to_owned()
        }
        "RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike"
        | "Bernoulli" | "Multinomial" => "give the random numbers as an input".to_owned(),
        _ => OUTSIDE.to_owned(),
    }
}
