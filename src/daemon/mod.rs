//! The process: starts the watches and controllers, and ends them.

pub(crate) mod controllers;
mod counting;
pub(crate) mod event_mapping;
pub(crate) mod log_level;
pub(crate) mod on_delete;
pub(crate) mod prepare;
pub(crate) mod run;

#[cfg(test)]
mod tests;
