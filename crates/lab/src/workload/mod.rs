//! Flow sizes, arrivals, and where flows go.

pub mod cdf;
pub mod library;
pub mod random;
pub mod table;

pub use cdf::{Cdf, Interpolation};
