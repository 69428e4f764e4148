//! Small building blocks of ports and machines: a token bucket, a hash of one number, and a prefetch hint.

mod hash;
mod prefetch;
mod token_bucket;

pub use hash::mix;
pub use prefetch::{prefetch, prefetch_at};
pub use token_bucket::TokenBucket;
