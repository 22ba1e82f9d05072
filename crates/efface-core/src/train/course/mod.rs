//! All problems on their way to their minimisers, in lock-step: one pass over the rows answers the questions of all of them.

mod problem;

use std::sync::Arc;

use rayon::prelude::*;

use self::problem::{Arrival, Course, Stage};
use super::Phase;
use crate::linalg::{Cholesky, TrackedMatrix};
use crate::model::Fit;
use crate::objective::{Measurement, Objective};
use crate::rows::{Point, RowStore, StoreError, fold};

/// Where courses head, and by which means.
pub(crate) struct Route<'a> {
    pub(crate) objective: Objective<'a>,
    /// Stop when the residual is at most this, or as small as rounding lets it be measured.
    pub(crate) tolerance: f64,
    pub(crate) means: Means<'a>,
    /// A matrix is made for problems of at most so many weights.
    pub(crate) max_matrix_dim: usize,
}

/// How matrices are used on the way.
#[derive(Clone, Copy)]
pub(crate) enum Means<'a> {
    /// Training without a matrix: L-BFGS alone.
    Descent,
    /// Training: L-BFGS on the factor of a majorizer of every Hessian, down to a rough gradient; then Newton steps on the
    /// factor of the true Hessian, formed again while a step gains too little.
    Majorizer {
        /// K. (largest ℓ″)·K + ridge·I is above every Hessian.
        gram: &'a TrackedMatrix,
    },
    /// Settling: Newton steps on the factor at hand; where they gain too little on a new Hessian, L-BFGS for a while, and
    /// another one. L-BFGS for a fit that has no factor, on that of a majorizer where there is a Gram matrix.
    Nearby {
        /// K.
        gram: Option<&'a TrackedMatrix>,
    },
}

impl<'a> Means<'a> {
    /// K, where there is one.
    pub(crate) fn gram(self) -> Option<&'a TrackedMatrix> {
        match self {
            Self::Descent => None,
            Self::Majorizer { gram } => Some(gram),
            Self::Nearby { gram } => gram,
        }
    }
}

/// What the courses took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort {
    /// Passes over the rows, each for all problems.
    pub(crate) passes: usize,
    /// Hessians formed, over all problems.
    pub(crate) hessians: usize,
}

/// Courses that could not be run to their end.
pub(crate) enum CourseError {
    Store(StoreError),
    /// A problem has no rows that count.
    NoRows,
    /// A matrix is not positive definite in floating point.
    Singular,
}

impl CourseError {
    /// Settling asks nothing of the rows but to be read.
    pub(crate) fn of_settling(self) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::NoRows | Self::Singular => StoreError("the model could not be settled".into()),
        }
    }
}

impl From<StoreError> for CourseError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Brings all fits to their minimisers. They are changed when all of them have arrived: after an error each is as it was.
pub(crate) fn run(
    route: &Route<'_>,
    fits: &mut [Fit],
    rows: &dyn RowStore,
    report: &mut dyn FnMut(Phase),
) -> Result<Effort, CourseError> {
    let mut courses: Vec<Course<'_>> = fits.iter().map(|fit| Course::new(route, fit)).collect();
    let mut effort = Effort::default();
    while courses.iter().any(|course| !matches!(course.stage, Stage::Done)) {
        // Hessians wait until no course has a question, so that they, too, are formed together.
        if courses.iter().all(|course| course.question().is_none()) {
            majorize(&mut courses)?;
            form_hessians(&mut courses, rows, &mut effort)?;
            continue;
        }
        let asked: Vec<_> = courses.iter().filter_map(Course::asked).collect();
        let mut answers = route.objective.measure(rows, &asked)?.into_iter();
        effort.passes += 1;
        let asking: Vec<(&mut Course<'_>, Measurement)> =
            courses.iter_mut().filter(|course| course.question().is_some()).zip(&mut answers).collect();
        asking.into_par_iter().try_for_each(|(course, answer)| course.tell(answer))?;
        let gradient_norm = courses.iter().map(Course::gradient_norm).fold(0.0, f64::max);
        let n_done = courses.iter().filter(|course| matches!(course.stage, Stage::Done)).count();
        report(Phase { n_done, n_problems: courses.len(), passes: effort.passes, gradient_norm });
    }
    let arrivals: Vec<Arrival> = courses.into_iter().map(Course::arrival).collect();
    fits.iter_mut().zip(arrivals).for_each(|(fit, arrival)| arrival.enter(fit));
    Ok(effort)
}

/// Factors of the majorizer, one for all courses of equal ridge.
fn majorize(courses: &mut [Course<'_>]) -> Result<(), CourseError> {
    let mut made: Vec<(f64, Arc<Cholesky>)> = Vec::new();
    for course in courses.iter_mut().filter(|course| matches!(course.stage, Stage::Majorize)) {
        let (Some(gram), Some((_, at))) = (course.route.means.gram(), &course.at) else { continue };
        // c·K + ridge·I and K + (ridge/c)·I have the same direction; the factor c is put back when solving.
        let divisor = course.route.objective.loss.curvature_bound();
        let ridge = course.route.objective.ridge.over(at.count.weight_sum);
        let known = made.iter().find(|(of, _)| *of == ridge).map(|(_, factor)| Arc::clone(factor));
        let factor = match known {
            Some(factor) => factor,
            None => Arc::new(Cholesky::of(gram, ridge / divisor).ok_or(CourseError::Singular)?),
        };
        made.push((ridge, Arc::clone(&factor)));
        course.majorize(factor, divisor);
    }
    Ok(())
}

/// The Hessians of all courses that wait for one, in as few passes as memory allows. For a loss of constant curvature 1 it
/// is the Gram matrix, already at hand.
fn form_hessians(courses: &mut [Course<'_>], rows: &dyn RowStore, effort: &mut Effort) -> Result<(), CourseError> {
    let mut waiting: Vec<&mut Course<'_>> =
        courses.iter_mut().filter(|course| matches!(course.stage, Stage::Form)).collect();
    effort.hessians += waiting.len();
    let longest = waiting.iter().map(|course| course.n_weights()).max().unwrap_or(0);
    for group in waiting.chunk_by_mut(|a, b| a.gram().is_some() == b.gram().is_some()) {
        if let Some(gram) = group[0].gram() {
            for course in group {
                course.take_hessian(gram.clone().at_any_point())?;
            }
            continue;
        }
        for group in group.chunks_mut(fold::matrices_at_once(longest)) {
            let points: Vec<Point<'_>> = group.iter().filter_map(|course| course.standing()).collect();
            let sums = rows.curvature(group[0].route.objective.loss, &points)?;
            effort.passes += 1;
            for (course, sum) in group.iter_mut().zip(sums) {
                course.take_hessian(sum.into())?;
            }
        }
    }
    Ok(())
}
