//! Whether the matrices of a model can be stored as the options say.

use super::Validation;
use crate::encoding::matrices;
use crate::options::{Arithmetic, WeightFormat};

impl Validation<'_> {
    /// Refuses weights that are known at run time only, and those that the format cannot hold.
    pub(super) fn weight_format(&mut self) {
        let format = self.options.stored();
        let given = self.options.weight_format;
        let fits = match self.options.arithmetic {
            Arithmetic::F32 => !matches!(given, WeightFormat::Int16 | WeightFormat::Int8Pair),
            Arithmetic::Int16 => given == WeightFormat::F32,
            Arithmetic::Int8 | Arithmetic::Int8x16 => matches!(given, WeightFormat::F32 | WeightFormat::Int8),
        };
        if !fits {
            let (arithmetic, given) = (self.options.arithmetic.name(), given.name());
            let found = format!("weights stored as {given} cannot be multiplied in {arithmetic}");
            self.diagnostics.push(self.at_layer(None, found).valid("leave out one of the two"));
        }
        if format == WeightFormat::F32 {
            return;
        }
        let name = match self.options.arithmetic {
            Arithmetic::F32 => format.name().to_owned(),
            other => format!("{} arithmetic", other.name()),
        };
        let mut problems = Vec::new();
        let inputs = self.valid.parameters.iter().zip(&self.model.parameters);
        for (parameter, &node) in inputs.filter(|(parameter, _)| parameter.weight) {
            let found = format!("{name} for weights that are given at run time, as {:?} is", parameter.names[0]);
            let problem = self.at_layer(Some(&self.model.nodes[node].name), found).valid("f32");
            problems.push(problem.help("leave out the weight format, or make the weights constants of the model"));
        }
        for matrix in matrices(&self.valid) {
            let too_large = matrix.elements().find(|k| !format.holds(matrix.tensor.get_f32(*k)));
            if let Some(k) = too_large {
                let value = matrix.tensor.get_f32(k);
                let found =
                    format!("element {k} of {} of {:?} is {value:e}: {name} cannot hold it", matrix.name, matrix.of);
                let problem = self.at_layer(Some(matrix.of), found);
                problems.push(match format {
                    WeightFormat::F16 => {
                        problem.valid("-65504 to 65504").help("the other formats have the range of f32")
                    }
                    _ => problem.valid("finite numbers").help("leave out the weight format, or correct the model"),
                });
            }
        }
        problems.into_iter().for_each(|problem| self.diagnostics.push(problem));
    }
}
