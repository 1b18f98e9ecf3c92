//! `mha lessons schema`: what an editor needs to know of lesson files.

use clap::Args;

use crate::cli::output::{self, Content};
use crate::cli::{Common, Ending};
use crate::fault::Outcome;
use crate::lesson::schema::SCHEMA;

#[derive(Debug, Args)]
#[command(after_help = "\
An editor that knows YAML (VS Code with the YAML extension, Helix, Neovim, JetBrains …) explains every key, completes it \
and marks what is wrong, once it knows the schema. Keep the schema beside your lessons:

  mha lessons schema --output mha-lesson.schema.json

Then begin a lesson with this line:

  # yaml-language-server: $schema=mha-lesson.schema.json

The schema knows the form of a lesson; whether its shapes fit and its claims are true, mha lessons validate tells.")]
pub(super) struct SchemaArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

pub(super) fn run(args: &SchemaArgs) -> Outcome<Ending> {
    output::write(&args.common, Content::Text, |out| write!(out, "{SCHEMA}"))?;
    Ok(Ending::Done)
}
