mod activation;
mod cluster_api;
mod evaluator;
mod notices;
mod pass;
mod succeeded;
