//! What the checkout must be like, without running anything for long.

mod command_line;
mod core_purity;
mod deploy;
mod documents;
mod image;
mod invariants;
mod manifests;
mod monitoring;
mod rooms;
mod settings;
