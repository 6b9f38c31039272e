//: streams
/// The state of one stream, a row of [`TYPE_NAME`]: plain data.
#[unused]
#[derive(Clone, COPIED Debug, PartialEq)]
pub struct RowState {
//* kept
    /// The FIELD_KIND `FIELD`.
    pub FIELD: [f32; ROW_LEN],
//.
}
#[unused_new]
impl RowState {
    /// The length of [`Self::to_bytes`].
    pub const BYTES: usize = ROW_BYTES;
    /// The first bytes of [`Self::to_bytes`]: a hash of the model and of the layout.
    const LAYOUT: [[u8; 4]; 2] = LAYOUT_HASH;
    /// The state before the first step.
    #[must_use]
//* zero at first
    pub const fn new() -> Self {
        RowState {
//.
//* kept and zero at first
            FIELD: [0.0; ROW_LEN],
//.
//* zero at first
        }
//.
//* not zero at first
    pub fn new() -> Self {
        let state = State::new();
        RowState {
//.
//* kept and not zero at first
            FIELD: FIRST_ROW,
//.
//* not zero at first
        }
//.
    }
    /// The state as little-endian bytes, after a hash of the model and of the layout.
    #[must_use]
    pub fn to_bytes(TAKEN_SELF) -> [u8; RowState::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let values = self.KEPT_CHAINED;
        let words = Self::LAYOUT.into_iter().chain(values.map(|value| value.to_le_bytes()));
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word;
        }
        bytes
    }
    /// The state of [`Self::to_bytes`], on any machine.
    ///
    /// # Errors
    /// Bytes of another model, or in another layout.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, OtherState> {
        let words = bytes.as_chunks().0;
        if bytes.len() != Self::BYTES || !words.starts_with(&Self::LAYOUT) {
            return Err(OtherState);
        }
        let mut state = Self::new();
        let values = state.KEPT_CHAINED_MUT;
        for (to, word) in values.zip(words.iter().skip(2)) {
            *to = f32::from_le_bytes(*word);
        }
        Ok(state)
    }
}
/// The bytes are no state of this model.
#[unused]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherState;
impl core::fmt::Display for OtherState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the bytes are no state of this model")
    }
}
impl core::error::Error for OtherState {}
/// The slices given to [`TYPE_NAME::step_many`] have different lengths.
#[unused]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalStreams;
impl core::fmt::Display for UnequalStreams {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the slices do not hold the same number of streams")
    }
}
impl core::error::Error for UnequalStreams {}
#[unused]
impl<'w> TYPE_NAME<'w> {
    /// The number of rows, each of them an independent stream.
    pub const ROWS: usize = STREAM_COUNT;
    /// The state of a row. `None`: there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<RowState> {
        Some(RowState {
//* kept
            FIELD: *FIELD_ROWS.get(row)?,
//.
        })
    }
    /// Sets the state of a row: a stream continues there. False, without effect: there is no such
    /// row.
    pub fn set_row(&mut self, row: usize, row_state: &RowState) -> bool {
//* kept
        if let Some(to) = FIELD_ROWS_MUT.get_mut(row) {
            *to = FIELD_GIVEN;
        }
//.
        row < Self::ROWS
    }
    /// Sets the state of a row to its initial value: another stream begins there. False, without
    /// effect: there is no such row.
    pub fn reset_row(&mut self, row: usize) -> bool {
        self.set_row(row, &RowState::new())
    }
    /// [`Self::step`] for the active rows. The other rows keep their states; their outputs mean
    /// nothing.
    pub fn step_active(&mut self, active: &[bool; STREAM_COUNT], STEP_PARAMETERS: ()) {
//* variables
        let FIELD = self.state.FIELD;
//.
        STEP;
//* kept in pairs
        for ((to, from), is_active) in FIELD_ROWS_MUT.iter_mut().zip(OUTPUT_ROWS.iter()).zip(active) {
            if *is_active {
                *to = *from;
            }
        }
//.
//* kept as variables
        for ((to, from), is_active) in FIELD_ROWS_MUT.iter_mut().zip(FIELD.as_chunks::<ROW_LEN>().0).zip(active) {
            if !*is_active {
                *to = *from;
            }
        }
//.
    }
    /// One step of each of these streams, STREAM_COUNT at a time: stream `i` reads `states[i]` and
    /// the inputs `i`, and writes the outputs `i` and `states[i]`. The bits are those of a step of
    /// one row. The rows of `self` are working memory: their states change.
    ///
    /// # Errors
    /// Slices of different lengths; nothing is computed then.
    pub fn step_many(&mut self, states: &mut [&mut RowState], MANY_PARAMETERS: ()) -> Result<(), UnequalStreams> {
        if UNEQUAL {
            return Err(UnequalStreams);
        }
        let groups = states.as_chunks_mut::<STREAM_COUNT>().0.iter_mut().zip(MANY_PLACES);
        for (states, MANY_NAMES) in groups {
//* flat inputs
            let mut rows = ROWS_ZERO;
            for (to, from) in rows.as_chunks_mut().0.iter_mut().zip(FIELD) {
                *to = *from;
            }
            let FIELD = &rows;
//.
            OUTPUTS_OF_GROUP;
            STEP_OF_GROUP;
//* outputs of a group
            for (to, from) in FIELD.iter_mut().zip(FROM_ROWS) {
                *to = *from;
            }
//.
        }
//* several rows
        let states = states.as_chunks_mut::<STREAM_COUNT>().1;
        if states.is_empty() {
            return Ok(());
        }
//.
//* many inputs and several rows
        let mut rows = ROWS_ZERO;
        for (to, from) in rows_MUT.iter_mut().zip(FIELD.as_chunks::<STREAM_COUNT>().1) {
            *to = *from;
        }
        let FIELD = &rows;
//.
//* several rows
        OUTPUTS;
        MANY_STEP;
//.
//* many outputs and several rows
        for (to, from) in FIELD.as_chunks_mut::<STREAM_COUNT>().1.iter_mut().zip(FROM_ROWS) {
            *to = *from;
        }
//.
        Ok(())
    }
    /// A step of the first rows, with these states.
    fn step_rows(&mut self, states: &mut [&mut RowState], STEP_PARAMETERS: ()) {
        for (row, row_state) in states.iter().enumerate() {
            self.set_row(row, row_state);
        }
        STEP;
        for (row, row_state) in states.iter_mut().enumerate() {
//* kept in pairs
            if let Some(from) = OUTPUT_ROWS.get(row) {
                row_state.FIELD = *from;
            }
//.
//* kept as variables
            if let Some(from) = FIELD_ROWS.get(row) {
                row_state.FIELD = *from;
            }
//.
        }
    }
}
