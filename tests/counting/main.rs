//! Stories that count requests. They count what is repeated on a busy machine, too, so they run one after the other
//! and beside nothing else.

mod cost;
mod nodeless_cost;
