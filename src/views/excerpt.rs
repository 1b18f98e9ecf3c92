//! Which rows and columns of a large matrix a page shows: its corners, with a gap where the middle is left out.

use crate::words::t;

/// Widest and tallest that a matrix is shown whole; beyond that so many lines stand on both sides of the gap.
const MOST_COLUMNS: usize = 16;
const COLUMNS_BESIDE_GAP: usize = 6;
const MOST_ROWS: usize = 32;
const ROWS_BESIDE_GAP: usize = 8;

/// The rows and columns to show, in order; `None` is the gap.
pub(crate) struct Excerpt {
    pub(crate) rows: Vec<Option<usize>>,
    pub(crate) columns: Vec<Option<usize>>,
    left_out: Option<String>,
}

impl Excerpt {
    /// What to show of a matrix of this shape.
    pub(crate) fn of((rows, columns): (usize, usize)) -> Self {
        let shown_rows = lines(rows, MOST_ROWS, ROWS_BESIDE_GAP);
        let shown_columns = lines(columns, MOST_COLUMNS, COLUMNS_BESIDE_GAP);
        let missing = [(rows, &shown_rows, t!("rows")), (columns, &shown_columns, t!("columns"))]
            .into_iter()
            .filter(|(_, shown, _)| shown.contains(&None))
            .map(|(count, shown, what)| {
                t!("%{left} of %{all} %{what}", left = count + 1 - shown.len(), all = count, what)
            })
            .collect::<Vec<_>>();
        let left_out = (!missing.is_empty()).then(|| {
            t!("%{what} left out here; --format csv has them all.", what = missing.join(&t!(" and ")))
        });
        Self { rows: shown_rows, columns: shown_columns, left_out }
    }

    /// Says what is left out, where something is.
    pub(crate) fn note(&self) -> Option<&str> {
        self.left_out.as_deref()
    }
}

fn lines(count: usize, most: usize, beside_gap: usize) -> Vec<Option<usize>> {
    if count <= most {
        return (0..count).map(Some).collect();
    }
    let tail = (count - beside_gap..count).map(Some);
    (0..beside_gap).map(Some).chain([None]).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_matrix_keeps_its_corners_and_says_what_is_gone() {
        let excerpt = Excerpt::of((3, 20));
        assert_eq!(excerpt.rows, [Some(0), Some(1), Some(2)]);
        assert_eq!(excerpt.columns.len(), 13);
        assert_eq!(excerpt.columns[5..8], [Some(5), None, Some(14)]);
        // 20 − 6 − 6
        assert_eq!(excerpt.note(), Some("8 of 20 columns left out here; --format csv has them all."));
        assert_eq!(
            Excerpt::of((40, 40)).note(),
            Some("24 of 40 rows and 28 of 40 columns left out here; --format csv has them all.")
        );
        assert!(Excerpt::of((32, 16)).note().is_none());
    }
}
