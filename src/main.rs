//! `mha`: arguments in, exit status out.

fn main() {}
