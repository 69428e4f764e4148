//! Flow sizes, arrivals, and where flows go.

pub mod cdf;
pub mod library;
pub mod random;

pub use cdf::{Cdf, Interpolation};
