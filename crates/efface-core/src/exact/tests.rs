//! The sums against integers that are added up one by one. What models do with them is tested in `tests/it/exact.rs`.

use super::*;
use crate::rounding::UpperBound;
use crate::rows::{BLOCK_ROWS, Features, RowBlock, RowBlocks, RowShape, WeightSum};

/// Rows of a formula, in blocks of a given size, with numbers as targets.
struct Formula {
    dim: usize,
    n_rows: usize,
    block: usize,
    row_weight: f64,
}

impl Formula {
    fn value(&self, i: usize, j: usize) -> f64 {
        // Columns of different sizes, and the last one zero in most rows.
        let x = ((i * 7919 + j * 104_729 + 13) % 10_007) as f64 / 5_003.5 - 1.0;
        let size = 3f64.powf(j as f64 - 2.0);
        if j == self.dim - 1 && i % 50 != 3 { 0.0 } else { x * size }
    }

    fn label(i: usize) -> f64 {
        ((i * 31 + 5) % 97) as f64 - 48.0
    }
}

impl RowBlocks for Formula {
    fn row_shape(&self) -> RowShape {
        RowShape {
            dim: self.dim,
            n_rows: self.n_rows,
            weight_sum: (0..self.n_rows).map(|_| WeightSum::of_row(self.row_weight)).sum(),
            row_norm_bound: UpperBound::INFINITE,
        }
    }

    fn n_blocks(&self) -> usize {
        self.n_rows.div_ceil(self.block)
    }

    fn visit_block(&self, index: usize, visitor: &mut dyn FnMut(&RowBlock<'_>)) -> Result<(), StoreError> {
        let rows = index * self.block..self.n_rows.min((index + 1) * self.block);
        let n = rows.len();
        let values: Vec<f64> = rows.clone().flat_map(|i| (0..self.dim).map(move |j| self.value(i, j))).collect();
        let labels: Vec<f64> = rows.map(Self::label).collect();
        visitor(&RowBlock {
            features: Features::F64(&values),
            labels: &labels,
            selectors: &vec![0; n],
            present: &vec![true; n],
            row_weights: &vec![self.row_weight; n],
        });
        Ok(())
    }
}

/// The nearest integer of a value on the grid of a column, found without slices: a double holds the quotient exactly.
fn integer(value: f64, largest: f64) -> i128 {
    let mut grid = 1.0;
    while grid <= largest {
        grid *= 2.0;
    }
    while grid > 2.0 * largest {
        grid /= 2.0;
    }
    (value / grid * 2f64.powi(41)).round_ties_even() as i128
}

#[test]
fn sums_are_those_of_integers_added_up_one_by_one() {
    for (dim, n_rows, block) in [(1, 5, 3), (7, 700, BLOCK_ROWS), (40, 300, 17), (300, 64, BLOCK_ROWS)] {
        let rows = Formula { dim, n_rows, block, row_weight: 1.0 };
        let sums = ExactSums::over(&rows, vec![Problem::regression()]).expect("readable");
        let column = |j: usize| -> Vec<f64> {
            (0..n_rows).map(|i| if j < dim { rows.value(i, j) } else { Formula::label(i) }).collect()
        };
        let columns: Vec<Vec<i128>> = (0..=dim)
            .map(|j| {
                let values = column(j);
                let largest = values.iter().fold(0_f64, |most, x| most.max(x.abs()));
                values.iter().map(|x| if largest > 0.0 { integer(*x, largest) } else { 0 }).collect()
            })
            .collect();
        let mut place = 0;
        for j in 0..=dim {
            for i in j..=dim {
                let exact: i128 = columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum();
                assert_eq!(sums.parts().1.expect("made")[place], exact, "d = {dim}, entry ({i}, {j})");
                place += 1;
            }
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let sums = ExactSums::over(&Formula { dim: 3, n_rows: 20, block: 7, row_weight: 1.0 }, vec![Problem::regression()])
        .expect("readable");
    let (ranges, triangle) = sums.parts();
    let kept = |dim, triangle| ExactSums::from_parts(dim, vec![Problem::regression()], ranges.clone(), triangle);
    let triangle = triangle.map(<[i128]>::to_vec);
    assert_eq!(kept(3, triangle.clone()), Some(sums.clone()));
    assert!(kept(3, None).is_some_and(|sums| sums.needs_pass()));
    assert!(kept(2, triangle.clone()).is_none());
    assert!(kept(3, triangle.map(|mut t| t.split_off(1))).is_none());
    assert!(kept(usize::MAX, None).is_none());
}

/// A finite value and a finite weight may have an infinite product, which no integer stands for.
#[test]
fn products_beyond_double_precision_are_refused() {
    let rows = |n_rows, row_weight| Formula { dim: 648, n_rows, block: 256, row_weight };
    // 3⁶⁴⁵ is about 5e307.
    assert!(ExactSums::over(&rows(3, 1.0), vec![Problem::regression()]).is_ok());
    assert!(ExactSums::over(&rows(3, 1e6), vec![Problem::regression()]).is_err());
    let mut sums = ExactSums::over(&rows(30, 1.0), vec![Problem::regression()]).expect("readable");
    let (before, leaving) = (sums.clone(), rows(2, 1.0));
    for n_rows in [3, 20] {
        let (added, removed) = (rows(n_rows, 1e6), Some(&leaving as &dyn RowStore));
        assert!(sums.change(&Change { removed, added: Some(&added) }).is_err());
        assert!(sums == before, "a refusal changes nothing");
    }
}
