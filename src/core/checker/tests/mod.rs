mod cluster_api;
mod notices;
mod pass;
mod standing;
mod succeeded;
