//! The rules of health checks, row by row, and what holds for all of them.

mod cluster_api;
mod cluster_api_v1beta1;
mod cluster_api_v1beta2;
mod documented_limits;
mod documents;
mod generators;
mod objects;
mod openshift;
mod openshift_targets;
mod overlap;
mod properties;
mod reading;
mod selector;
mod short_circuit;
mod short_circuit_outcome;
mod vouching;
mod without_node;
