//! Too many features for a matrix: nothing is known of the Hessian but that it is there.

use super::Curvature;
use crate::linalg::Operator;
use crate::rounding::UpperBound;
use crate::rows::Sign;
use crate::sums::GramSum;

/// No matrix. No step is taken on it: what rows leave behind in the gradient is known and claimed, and settling finds the
/// minimiser by L-BFGS.
pub(crate) struct NoMatrix;

impl Operator for NoMatrix {
    fn multiply(&self, _: f64, _: &[f64], _: UpperBound, _: &mut [f64]) -> UpperBound {
        UpperBound::INFINITE
    }

    fn size(&self, _: f64) -> UpperBound {
        UpperBound::INFINITE
    }

    fn error(&self) -> UpperBound {
        UpperBound::INFINITE
    }

    fn precondition(&mut self, _: &mut [f64]) {}
}

impl Curvature for NoMatrix {
    fn is_known(&self) -> bool {
        false
    }

    fn distance_from(&self, _: &[f64]) -> UpperBound {
        UpperBound::INFINITE
    }

    fn image_norm(&self, _: &[f64], _: UpperBound) -> UpperBound {
        UpperBound::INFINITE
    }

    fn update(&mut self, _: &GramSum, _: Sign) {}

    fn is_worn(&self, _: usize) -> bool {
        false
    }

    fn refresh(&mut self, _: f64) {}
}
