//! The trade-off of ε and δ: what the releases so far prove, and what the promise allows.

use efface_core::accounting::gaussian;
use efface_core::noise::NoiseLaw;
use efface_core::rounding::UpperBound;
use efface_ledger::certificate::ReleaseCertificate;
use efface_report::{Axis, Chart, Series};

/// The chart of a certificate under the Gaussian law; nothing where there is no curve.
pub(super) fn curve(c: &ReleaseCertificate) -> Option<Chart> {
    let (epsilon, delta) = (c.promise.epsilon, c.promise.delta);
    let drawable = NoiseLaw::by_tag(&c.law) == Some(NoiseLaw::Gaussian)
        && (1e-9..1e9).contains(&epsilon)
        && (1e-200..1.0).contains(&delta);
    if !drawable || c.noise_std == 0.0 {
        return None;
    }
    // Three powers of ten to the left of the promise and four below it.
    let (left, right, floor) = (epsilon.log10() - 3.0, epsilon.log10() + 0.4, 10f64.powf(delta.log10().floor() - 4.0));
    let line = |name: &str, mu: f64| {
        let at = |step: u32| 10f64.powf(left + (right - left) * f64::from(step) / f64::from(STEPS));
        let points = (0..=STEPS).map(|step| (at(step), gaussian::delta(at(step), UpperBound::new(mu)).get()));
        Series::line(name, points.take_while(|(_, delta)| *delta > floor))
    };
    let (so_far, limit) = (line("proved so far", c.mu_total), line("allowed for life", c.mu_limit));
    let promise = Series { joined: false, ..Series::line("promise", [(epsilon, delta)]) };
    (!so_far.points.is_empty() && !limit.points.is_empty()).then(|| Chart {
        id: "curve".to_owned(),
        caption: "δ, the chance that ε does not hold, over ε. The lower the line, the less can be told.".to_owned(),
        x: Axis::log("ε"),
        y: Axis::log("δ"),
        series: vec![so_far, limit, promise],
        ..Chart::default()
    })
}

const STEPS: u32 = 240;
