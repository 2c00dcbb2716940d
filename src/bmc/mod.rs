//! Power control.
