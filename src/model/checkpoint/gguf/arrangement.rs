//! Where a row of a Hugging Face tensor stands in the file, where llama.cpp's converter moved it.

use std::ops::Range;

/// How a tensor of the file becomes the one that the model's own code knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// As it stands.
    Same,
    /// Less one: the file's norms have their 1 added.
    LessOne,
    /// Inputs in rows where the file has outputs in rows.
    Transposed,
    /// The rows of each head in two halves, where the file has them interleaved: of each head so many.
    Halves {
        /// Rows of one head; even.
        head: usize,
    },
    /// Head by head the query, key and value rows, where the file has all queries, all keys and all values.
    HeadByHead {
        /// How many heads.
        heads: usize,
        /// Rows of one head's queries.
        head: usize,
    },
}

impl Arrangement {
    /// The row of the file that holds a row of the tensor.
    pub(super) fn stored_row(self, row: usize) -> usize {
        match self {
            Self::Same | Self::LessOne | Self::Transposed => row,
            Self::Halves { head } => {
                let (start, within) = (row / head * head, row % head);
                let half = head / 2;
                start + within % half * 2 + within / half
            }
            Self::HeadByHead { heads, head } => {
                let (of_head, within) = (row / (3 * head), row % (3 * head));
                within / head * (heads * head) + of_head * head + within % head
            }
        }
    }

    /// A number of the tensor, from the file's.
    pub(super) fn value(self, stored: f32) -> f32 {
        if self == Self::LessOne { stored - 1.0 } else { stored }
    }

    /// The rows of the file that hold these rows of the tensor, and perhaps others between them.
    pub(super) fn stored_rows(self, rows: Range<usize>) -> Range<usize> {
        match self {
            Self::Same | Self::LessOne | Self::Transposed => rows,
            Self::Halves { head } => rows.start / head * head..rows.end.next_multiple_of(head),
            Self::HeadByHead { .. } => {
                let stored = || rows.clone().map(|row| self.stored_row(row));
                stored().min().unwrap_or(0)..stored().max().map_or(0, |last| last + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arrangement: Arrangement, rows: usize) -> Vec<usize> {
        (0..rows).map(|row| arrangement.stored_row(row)).collect()
    }

    /// Two heads of six rows: `a b c | d e f` stands as `a d b e c f`, so d (row 3) is the file's row 1.
    #[test]
    fn interleaved_halves_are_put_apart() {
        assert_eq!(order(Arrangement::Halves { head: 6 }, 12), [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]);
        assert_eq!(Arrangement::Halves { head: 6 }.stored_rows(7..8), 6..12);
    }

    /// Two heads of two rows: the file has q11 q12 q21 q22, k11 …, v11 …; the model q11 q12 k11 k12 v11 v12, q21 ….
    #[test]
    fn queries_keys_and_values_are_packed_head_by_head_again() {
        let packed = Arrangement::HeadByHead { heads: 2, head: 2 };
        assert_eq!(order(packed, 12), [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]);
        assert_eq!(packed.stored_rows(2..6), 4..10);
    }
}
