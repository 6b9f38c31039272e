//! Layers of several steps per call, with states kept by no call.

use std::collections::HashSet;

use super::StateMessages;
use crate::diagnostic::{Diagnostic, Message, message, quoted};
use crate::model::{Node, counted};
use crate::request::flag;
use crate::stream::states::FoundStates;

impl StateMessages<'_, '_> {
    /// Adds a notice of the layers with several steps per call whose states begin anew at each
    /// call.
    pub(super) fn begin_anew(&mut self) {
        let layers = &self.found.begin_anew;
        let Some(&(first, steps)) = layers.first() else { return };
        let names: HashSet<*const Node> =
            layers.iter().map(|(node, _)| std::ptr::from_ref(*node)).collect();
        let notice = self.anew(first, names.len(), steps);
        self.restart_warnings.push(notice);
    }

    /// The notice of `count` layers; `node` is the first.
    fn anew(&self, node: &Node, count: usize, steps: usize) -> Diagnostic {
        let found = match count {
            1 => format!(
                "the state of {} begins anew at each call of {steps} steps: nothing keeps it \
                 between calls",
                quoted(&node.name)
            ),
            _ => format!(
                "the states of {} begin anew at each call of {steps} steps: nothing keeps them \
                 between calls",
                counted(count, "layer")
            ),
        };
        // a model with open steps has one row: an export is advised untried only for one row
        let FoundStates { core, initial_elements, is_one_row, .. } = self.found;
        let (remedy, lines) =
            self.hints.advice_to_open(core, initial_elements, steps, *is_one_row).unzip();
        let mut remedies: Vec<Message> = remedy.into_iter().collect();
        let producer = self.hints.context.model.producer.as_deref();
        if producer == Some("keras") {
            // Keras unrolls the steps in ONNX files
            remedies.push(
                "export the Keras model by model.export with format=\"openvino\" and an open \
                 number of steps"
                    .into(),
            );
        }
        let keras = self.in_keras();
        remedies.push(message!(
            "export the model with the state as an input and an output{}, which are then found",
            keras
        ));
        let (remedies, no_state) = (Message::joined(remedies, "; or "), flag::NO_STATE.setting());
        let notice = Diagnostic::notice(node.origin.clone(), found).layer(node.label());
        let help = message!(
            "to keep the state, {}; if every call is a whole sequence, pass {}",
            remedies,
            no_state
        );
        notice.help(help).lines(lines.unwrap_or_default())
    }

    /// How Keras makes a state an input and an output; empty if PyTorch wrote the model.
    pub(super) fn in_keras(&self) -> &'static str {
        match self.hints.context.model.producer.as_deref() {
            Some("pytorch") => "",
            _ => {
                " (in Keras, where stateful=True has no effect on an exported model: \
                 initial_state=h and return_state=True)"
            }
        }
    }
}
