//! Limits for the work and the memory of operations on constants.

use super::limits::{
    FOLDED_PER_BYTE, FOLDS_PER_BYTE, MOST_FOLDED, MOST_FOLDED_BYTES, MOST_FOLDED_EVER,
};
use super::translator::Translator;
use crate::model::{ElementType, Node};

impl Translator<'_, '_> {
    /// Refuses a result of an operation on constants that is too much together with all others.
    pub(crate) fn folds(&mut self, node: &Node, count: usize, element: ElementType) -> Option<()> {
        // integers and booleans are held in 64 bits
        let size = if element.is_float() && element != ElementType::F64 { 4 } else { 8 };
        self.current.spent.folded.bytes =
            self.current.spent.folded.bytes.saturating_add(count.saturating_mul(size));
        let most = MOST_FOLDED_BYTES
            .saturating_add(self.current.spent.folded.given.saturating_mul(FOLDED_PER_BYTE));
        if self.current.spent.folded.bytes > most {
            let found =
                format!("operations on constants give {} bytes", self.current.spent.folded.bytes);
            let valid = format!(
                "256 MiB and {FOLDED_PER_BYTE} times the bytes of the model's constants: {most} \
                 bytes or fewer, all together"
            );
            let help = "compute with smaller tensors, and let operators broadcast them";
            self.error_of_many(node, found, valid, help);
            return None;
        }
        self.folding(node, count)
    }

    /// Refuses operations on constants with too much work in total.
    pub(crate) fn folding(&mut self, node: &Node, elements: usize) -> Option<()> {
        self.affords(node, elements)?;
        self.current.spent.folded.elements =
            self.current.spent.folded.elements.saturating_add(elements);
        Some(())
    }

    /// Refuses an operation with several passes over constants before the first pass. Each pass
    /// counts again, by [`Self::folding`].
    pub(crate) fn affords(&mut self, node: &Node, elements: usize) -> Option<()> {
        let all = self.current.spent.folded.elements.saturating_add(elements);
        let most = MOST_FOLDED
            .saturating_add(self.current.spent.folded.given.saturating_mul(FOLDS_PER_BYTE));
        let most = most.min(MOST_FOLDED_EVER);
        if all > most {
            let found = format!("operations on constants compute {all} elements and products");
            let valid = format!(
                "{MOST_FOLDED} and {FOLDS_PER_BYTE} for each byte of the model's constants: {most} \
                 or fewer, all together"
            );
            self.error_of_many(
                node,
                found,
                valid,
                "compute the constants before the model is saved",
            );
            return None;
        }
        Some(())
    }
}
