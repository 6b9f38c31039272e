//! Buffers and windows under their names in generated code.

use std::rc::Rc;

use crate::kernel::Element;

/// A buffer or window with its name in the generated code.
#[derive(Clone, Debug)]
pub(in crate::emit) struct Block {
    pub(in crate::emit) name: String,
    /// The number of elements.
    pub(in crate::emit) len: usize,
    /// The element type.
    pub(in crate::emit) element: Element,
    /// True for weights and constants in the file, and for narrow weights.
    pub(in crate::emit) bytes: bool,
    /// In a loop over the column groups of a panel: the offset of the panel in the block, and the
    /// group.
    pub(in crate::emit) group: Option<(usize, Rc<ColumnGroup>)>,
}

/// The columns of a panel in one iteration of a loop over column groups.
#[derive(Debug)]
pub(in crate::emit) struct ColumnGroup {
    /// The name of the group in the loop.
    pub(in crate::emit) name: String,
    /// The number of columns.
    pub(in crate::emit) width: usize,
    /// The number of columns of the panel.
    pub(in crate::emit) columns: usize,
}

impl Block {
    /// The index in the block of an element of the first column group.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.group.as_ref().map_or(0, |(start, _)| *start) + offset
    }
}
