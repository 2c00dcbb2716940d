//! The process: starts the watches and controllers, and ends them.

pub(crate) mod driving;
pub(crate) mod event_mapping;
pub(crate) mod gone;
pub(crate) mod prepare;
pub(crate) mod run;
