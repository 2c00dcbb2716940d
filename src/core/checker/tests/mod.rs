mod cluster_api;
mod pass;
mod standing;
