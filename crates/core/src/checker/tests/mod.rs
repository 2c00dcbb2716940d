mod activation;
mod cluster_api;
mod evaluator;
mod events;
mod machine_health;
mod pass;
