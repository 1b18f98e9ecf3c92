//! `mha completions`: what teaches a shell to complete the words of `mha`.

use clap::{Args, ValueEnum};

use super::output::{self, Content};
use super::{Common, Ending, complete};
use crate::fault::{Fault, Outcome, reason};

/// Teach your shell to complete commands, lessons, steps, models and mistakes
#[derive(Debug, Args)]
#[command(after_help = "\
What a shell offers then comes from mha itself, and fits what is typed: behind `mha trace rope --steps` the steps of that lesson.

A line in the file that your shell reads when it starts:
  source <(mha completions bash)            in ~/.bashrc
  source <(mha completions zsh)             in ~/.zshrc, below compinit
  mha completions fish | source             in ~/.config/fish/config.fish
  eval (mha completions elvish | slurp)     in ~/.config/elvish/rc.elv
  mha completions powershell | Out-String | Invoke-Expression
                in the file that $PROFILE names")]
pub(super) struct CompletionsArgs {
    /// The shell to teach
    #[arg(value_name = "SHELL")]
    shell: Shell,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Shells that can be taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
}

/// Prints the script.
pub(super) fn run(args: &CompletionsArgs) -> Outcome<Ending> {
    let shell = args.shell.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let script = complete::script(&shell).map_err(|error| {
        let remedy = "name another shell";
        Fault::new("the script cannot be made", reason(&error), remedy).in_source("SHELL")
    })?;
    output::write(&args.common, Content::Text, |out| out.write_all(&script))?;
    Ok(Ending::Done)
}
