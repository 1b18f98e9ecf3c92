//! Worked examples in exact numbers.
