//! From signals to remediations.

pub(crate) mod annotation;
pub(crate) mod health_check;
mod retention;
