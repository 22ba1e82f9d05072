//! The engine as a Python extension module, `efface._efface`: convert, call the engine, convert back.
//!
//! Whatever takes long runs on a worker thread without the interpreter's lock, and stops when Ctrl-C is pressed. Reports
//! are JSON; the package around this module gives them their shape. `_efface.pyi` is the interface.

mod arrow;
mod cells;
mod config;
mod engine;
mod errors;
mod features;
mod functions;
mod ids;
mod rows;
mod state;
mod work;

/// Certified data removal. Private: use the package `efface`.
#[pyo3::pymodule]
mod _efface {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::features::{EncodedRows, FeatureEncoder};
    #[pymodule_export]
    use crate::functions::{
        decision, draws_noise, in_own_units, longest_row, onnx_runtime_at_hand, plan, to_onnx, transform,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("USUAL_MISSING_MARKERS", efface_data::USUAL_MISSING_MARKERS.to_vec())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
