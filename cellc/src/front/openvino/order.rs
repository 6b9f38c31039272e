//! The layers to read, and their topological order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::kinds::LayerType;
use super::layers::GraphReader;
use super::xml::ElementId;
use crate::diagnostic::Diagnostic;

impl GraphReader<'_, '_> {
    /// Marks the layers to read: Parameters, Results, Assigns, and the layers that these depend on.
    /// Refuses a graph without a Result.
    pub(super) fn reach(&mut self, root: ElementId) {
        let mut open: Vec<usize> = (0..self.layers.len())
            .filter(|&i| {
                matches!(
                    self.layers[i].kind,
                    LayerType::Result | LayerType::Assign | LayerType::Parameter
                )
            })
            .collect();
        while let Some(index) = open.pop() {
            if std::mem::replace(&mut self.layers[index].reached, true) {
                continue;
            }
            open.extend(
                self.layers[index].incoming.iter().map(|&edge| self.edges[edge].from_layer),
            );
        }
        if !self.layers.iter().any(|layer| layer.kind == LayerType::Result) {
            let graph = if self.is_body() { "body" } else { "model" };
            self.push(
                Diagnostic::error(self.document.origin(root), format!("the {graph} has no Result"))
                    .valid("at least one layer of type Result")
                    .help("save a model that has an output"),
            );
        }
    }

    /// The marked layers in topological order, otherwise in document order. Layers of a cycle,
    /// which is reported as an error, and layers that depend on it come last.
    pub(super) fn order(&mut self) -> Vec<usize> {
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); self.layers.len()];
        let mut waits_for: Vec<usize> = vec![0; self.layers.len()];
        for (index, layer) in self.layers.iter().enumerate().filter(|(_, layer)| layer.reached) {
            for &edge in &layer.incoming {
                readers[self.edges[edge].from_layer].push(index);
                waits_for[index] += 1;
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> = (0..self.layers.len())
            .filter(|&i| self.layers[i].reached && waits_for[i] == 0)
            .map(Reverse)
            .collect();
        let mut order = Vec::new();
        while let Some(Reverse(index)) = ready.pop() {
            order.push(index);
            for &reader in &readers[index] {
                waits_for[reader] -= 1;
                if waits_for[reader] == 0 {
                    ready.push(Reverse(reader));
                }
            }
        }
        let stuck: Vec<usize> = (0..self.layers.len())
            .filter(|&i| self.layers[i].reached && waits_for[i] > 0)
            .collect();
        if let Some(&first) = stuck.first() {
            self.cycle(first, &waits_for);
        }
        order.extend(stuck);
        order
    }

    /// Reports the cycle found by walking against the edges from `start`. `waits_for`: the number
    /// of inputs of each layer from layers that have no place in the order.
    fn cycle(&mut self, start: usize, waits_for: &[usize]) {
        const MOST_NAMED: usize = 8;
        let mut path = vec![start];
        let mut path_index = HashMap::from([(start, 0)]);
        // each waiting layer reads a waiting layer, so the walk ends in a cycle
        while let Some(previous) = self.layers[path[path.len() - 1]]
            .incoming
            .iter()
            .map(|&edge| self.edges[edge].from_layer)
            .find(|&layer| waits_for[layer] > 0)
        {
            if let Some(&at) = path_index.get(&previous) {
                path.drain(..at);
                break;
            }
            path_index.insert(previous, path.len());
            path.push(previous);
        }
        path.reverse();
        let names: Vec<String> =
            path.iter().take(MOST_NAMED).map(|&layer| self.label(layer)).collect();
        let more = if path.len() > MOST_NAMED {
            format!(" ... ({} layers)", path.len())
        } else {
            String::new()
        };
        let found = format!("a cycle: {}{more} -> back to the first", names.join(" -> "));
        self.error(
            path[0],
            self.document.origin(self.layers[path[0]].element),
            found,
            "a graph without cycles",
            "feed what a cell computes back between calls: as a Result, and as the Parameter that \
             starts the next call",
        );
    }
}
