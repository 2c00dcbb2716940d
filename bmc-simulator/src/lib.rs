//! Simulates fleets of BMCs.
