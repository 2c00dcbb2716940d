//! Narrow views of the kinds of others: only what is read, never written back whole.
