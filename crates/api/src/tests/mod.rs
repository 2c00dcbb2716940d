//! The examples of the documents that users of health checks know, read as the daemon reads them from an API
//! server, and judged by the core.
#![allow(clippy::arithmetic_side_effects, reason = "a test that fails says so")]

mod machine_health_checks;
mod malformed;
mod node_health_check;
#[allow(dead_code, reason = "the core's own tests use all of it")]
#[path = "../../../core/src/health/tests/objects.rs"]
mod objects;
