mod cluster_api;
mod evaluator;
mod notices;
mod pass;
mod standing;
mod succeeded;
