//! Empty: only the manifest counts.
