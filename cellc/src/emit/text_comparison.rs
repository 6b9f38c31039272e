//! Comparison of texts of several instruction sets that differ only in vector types and counts.

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// The type of vectors of f32 with a number of lanes.
    Numbers(usize),
    /// The type of the bits of vectors with a number of lanes.
    Bits(usize),
    /// A function on vectors with a number of lanes.
    Function(&'a str, usize),
    /// A kernel of the instruction set.
    Kernel(&'a str),
    Count(usize),
    Text(&'a str),
}

impl Token<'_> {
    /// True if the tokens may belong to one shared text.
    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbers(_), Self::Numbers(_)) | (Self::Bits(_), Self::Bits(_)) => true,
            (Self::Count(_), Self::Count(_)) => true,
            (Self::Function(a, _), Self::Function(b, _)) => a == b,
            _ => self == other,
        }
    }

    /// The number of the token, possibly different between instruction sets. 0 without a number.
    pub(super) fn number(&self) -> usize {
        match self {
            Self::Numbers(n) | Self::Bits(n) | Self::Function(_, n) | Self::Count(n) => *n,
            Self::Kernel(_) | Self::Text(_) => 0,
        }
    }
}

/// True if two texts differ only in types and counts.
pub(super) fn are_alike(a: &[Token<'_>], b: &[Token<'_>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_alike(b))
}

/// Groups of texts that differ only in types and counts, by the indices of the texts.
pub(super) fn groups(texts: &[Vec<Token<'_>>]) -> Vec<Vec<usize>> {
    let mut ungrouped: Vec<usize> = (0..texts.len()).collect();
    let mut groups = Vec::new();
    while let Some(&first) = ungrouped.first() {
        let (alike, others): (Vec<_>, Vec<_>) =
            ungrouped.into_iter().partition(|at| are_alike(&texts[first], &texts[*at]));
        ungrouped = others;
        groups.push(alike);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::{Token, groups};

    #[test]
    fn texts_are_grouped_by_what_may_not_differ() {
        let tokens = |lanes, word| {
            vec![Token::Numbers(lanes), Token::Function("add", lanes), Token::Text(word)]
        };
        let texts = [
            tokens(4, "a"),
            tokens(8, "b"),
            tokens(16, "a"),
            vec![Token::Count(4)],
            tokens(2, "b"),
        ];
        assert_eq!(groups(&texts), [vec![0, 2], vec![1, 4], vec![3]]);
    }
}
