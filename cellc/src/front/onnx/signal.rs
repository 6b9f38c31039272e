//! Fourier transforms, window functions and mel weights.

use super::graph::{Call, GraphReader, Outputs};
use super::tensors::element_type;
use crate::model::{Dft, ElementType, Op, SpectralWindow};

/// DFT.
pub(super) fn dft(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axis = match call.version < 20 {
        true => {
            let axis = call.attributes.int("axis").unwrap_or(1);
            reader.integer(axis)
        }
        false => call.input(2).unwrap_or_else(|| reader.integer(-2)),
    };
    let [inverse, one_sided] =
        ["inverse", "onesided"].map(|name| call.attributes.flag(name, false));
    let op = Op::Dft(Dft { inverse, one_sided, parts_of_real: true });
    Some(vec![
        reader.op(op, [Some(call.x()), Some(axis), call.input(1)].into_iter().flatten().collect()),
    ])
}

/// STFT.
pub(super) fn stft(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let one_sided = call.attributes.flag("onesided", true);
    let (signal, step, window) = (call.x(), call.input(1)?, call.input(2));
    let length = match (call.input(3), window) {
        (Some(length), _) => length,
        (None, Some(window)) => reader.op_of(Op::ShapeOf, vec![window], ElementType::I64),
        (None, None) => {
            let help = "connect frame_length, or export the model again";
            reader.error("neither a window nor a frame_length", "one of them", help);
            return None;
        }
    };
    let inputs = [Some(signal), Some(step), Some(length), window].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Stft { one_sided }, inputs)])
}

/// The element type in the attribute `output_datatype`, f32 by default. `None` after an error.
fn output_type(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<ElementType> {
    let stated = call.attributes.int("output_datatype").unwrap_or(1);
    let element = element_type(i32::try_from(stated).unwrap_or(0));
    element.map_err(|problem| reader.report(problem.of(&format!("output_datatype={stated}")))).ok()
}

/// HannWindow, HammingWindow and BlackmanWindow: a sum of cosines with the factors `cosines`.
pub(super) fn window(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    cosines: [f64; 3],
) -> Outputs {
    let element = output_type(reader, call)?;
    let periodic = call.attributes.flag("periodic", true);
    let op = Op::SpectralWindow(SpectralWindow { cosines, periodic });
    Some(vec![reader.op_of(op, vec![call.x()], element)])
}

/// MelWeightMatrix.
pub(super) fn mel_weights(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let element = output_type(reader, call)?;
    let inputs = call.inputs.iter().copied().flatten().collect();
    Some(vec![reader.op_of(Op::MelWeights, inputs, element)])
}
