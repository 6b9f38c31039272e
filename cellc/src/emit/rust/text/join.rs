/// Runs the two halves of a cell, at the same time if it can. [`Pair`] does so; a thread pool that you have already can too.
#[unused]
pub trait Join {
    /// Calls both once, on any threads, and returns when both have returned.
    fn join(&mut self, here: &mut (dyn FnMut() + Send), there: &mut (dyn FnMut() + Send));
}
