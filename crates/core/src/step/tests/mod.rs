//! Tests of `step` against a model of the world.

// Virtual milliseconds are small numbers, and a test that overflows fails.
#![allow(clippy::arithmetic_side_effects)]

mod acts;
mod arbitrary;
mod breaches;
mod clocks;
mod cluster_api;
mod confirmation;
mod contention;
mod control_plane;
mod cost;
mod crashes;
mod debts;
mod duo;
mod escalation;
mod escalation_acts;
mod escalation_exploration;
mod exploration;
mod explorer;
mod fallback;
mod fields;
mod generators;
mod invariants_intent;
mod invariants_recovery;
mod invariants_release;
mod last_attempt;
mod leaders;
mod menu;
mod metal3;
mod metal3_others;
mod metal3_servicing;
mod metal3_taken;
mod node_lease;
mod node_lease_acts;
mod node_lease_exploration;
mod nodes;
mod objects;
mod power_debt;
mod power_debt_traps;
mod quarantine;
mod requests;
mod restarting;
mod shell;
mod slow_bmc;
mod tables;
mod tables_proof;
mod tasks;
mod unsent;
mod waits;
mod watching;
mod without_node;
mod without_node_exploration;
mod without_node_live_check;
mod without_node_refusals;
mod world;
