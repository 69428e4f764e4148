//! Small parts that ports and machines are made of: a token bucket, a hash of one number, a hint to the processor.

mod hash;
mod prefetch;
mod token_bucket;

pub use hash::mix;
pub use prefetch::{prefetch, prefetch_at};
pub use token_bucket::TokenBucket;
