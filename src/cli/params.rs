//! `mha params`: how many parameters, multiplications and cached bytes an attention layer has.

use clap::Args;

use super::{Common, Ending};
use crate::fault::Outcome;

/// Count parameters, multiplications and KV cache
#[derive(Debug, Args)]
pub(super) struct ParamsArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(_: &ParamsArgs) -> Outcome<Ending> {
    Ok(Ending::Done)
}
