//! From signals to remediations.

pub(crate) mod annotation;
mod retention;
