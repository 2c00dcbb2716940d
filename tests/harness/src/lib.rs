//! What the tests and the demo stand on.
