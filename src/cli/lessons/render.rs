//! `mha lessons render`: lessons as pages, with everything computed.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Args, ValueEnum};

use crate::cli::lesson::{self, Files, Wanted};
use crate::cli::output::{self, Content};
use crate::cli::{Common, Ending, command, complete};
use crate::course::pages::{self, File, Format, Leaf};
use crate::fault::{Fault, Outcome, reason};
use crate::lesson::builtin;
use crate::ops::Layout;
use crate::views::page::ascii;
use crate::words::{Language, language};

#[derive(Debug, Args)]
#[command(after_help = "\
Questions stand with their hints and answers folded away, tasks with a solution, commands with what they print.

Examples:
  mha lessons render two-heads --format markdown
                                               one page, to standard output
  mha lessons render mine.yaml --output pages  a page and an index, in a folder
  mha lessons render --all --output course     the whole course
  mha lessons render --all --lang zh --output 课程
                                               the same in Chinese")]
pub(super) struct RenderArgs {
    /// Names or paths
    #[arg(required_unless_present = "all", add = complete::lessons())]
    lessons: Vec<String>,
    /// All lessons that come with mha
    #[arg(long, conflicts_with = "lessons")]
    all: bool,
    /// What the pages are written in
    #[arg(long, value_name = "FORMAT", default_value = "html")]
    format: Chosen,
    /// Let lessons name files outside their folder
    #[arg(long)]
    allow_outside: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// The words for [`Format`].
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Chosen {
    /// As GitHub shows it
    Markdown,
    /// For a browser, and for paper
    Html,
}

/// Columns that the output of a command may take on a page.
const COMMAND_WIDTH: usize = 80;

pub(super) fn run(args: &RenderArgs) -> Outcome<Ending> {
    let common = &args.common;
    let format = match args.format {
        Chosen::Markdown => Format::Markdown,
        Chosen::Html => Format::Html,
    };
    let names: Vec<String> = match args.all {
        true => builtin::all().iter().map(|lesson| lesson.name.to_owned()).collect(),
        false => args.lessons.clone(),
    };
    let folder = common.output.as_ref().filter(|path| path.as_os_str() != "-");
    if folder.is_none() && names.len() > 1 {
        let why = "several lessons are several files, and standard output is one";
        return Err(Fault::new("there is no folder for the pages", why, "add --output FOLDER").into());
    }
    let leaves = names.iter().map(|name| leaf(name, args, format)).collect::<Outcome<Vec<Leaf>>>()?;
    let settled = |text: String| match format {
        Format::Html if common.ascii => pages::html_in_ascii(&text),
        Format::Markdown if common.ascii => ascii(&text),
        _ => text,
    };
    match (folder, leaves.as_slice()) {
        (None, [leaf]) => {
            let text = settled(pages::alone(leaf));
            output::write(common, Content::Text, |out| out.write_all(text.as_bytes()))?;
        }
        (None, _) => {}
        (Some(folder), _) => {
            let files = pages::folder(leaves, format);
            let files = files.into_iter().map(|file| File { text: settled(file.text), ..file });
            keep(folder, &files.collect::<Vec<_>>(), common)?;
        }
    }
    Ok(Ending::Done)
}

fn leaf(name: &str, args: &RenderArgs, format: Format) -> Outcome<Leaf> {
    let common = &args.common;
    let source = lesson::source(name);
    let problem = lesson::load(name, common, Files::allowed(args.allow_outside), Wanted::All)?;
    let lang = match language() {
        Language::En => "en",
        Language::Zh => "zh",
    };
    let shows = |words: &[String]| {
        let mut words = words.to_vec();
        if !words.iter().any(|word| word == "--lang" || word.starts_with("--lang=")) {
            words.extend(["--lang".to_owned(), lang.to_owned()]);
        }
        command::output(&words, COMMAND_WIDTH)
    };
    let stem = Path::new(name)
        .file_stem()
        .map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let page = common.page(Layout::Rows);
    pages::leaf(&stem, &lesson::workshop(problem), &shows, &page, format)
        .map_err(|faults| faults.in_source(&source))
}

/// Writes the files into the folder, all of them or none: where one is there already and nobody said to replace it, where
/// the disk is full.
pub(in crate::cli) fn keep(folder: &Path, files: &[File], common: &Common) -> Outcome<()> {
    let shown = folder.display().to_string();
    if !common.force {
        let there: Vec<String> = files
            .iter()
            .filter(|file| fs::symlink_metadata(folder.join(&file.name)).is_ok())
            .map(|file| file.name.clone())
            .collect();
        if let [first, more @ ..] = there.as_slice() {
            let others = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            let what = format!("{first}{others} stand in the folder already");
            let remedy = "add --force to replace them, or name another folder";
            return Err(Fault::new(what, "nothing is replaced unless you say so", remedy)
                .in_source(shown)
                .into());
        }
    }
    let made = make(folder).map_err(|error| {
        let what = "the folder cannot be made";
        Fault::new(what, reason(&error), "name a folder in a place that you may write to")
            .in_source(shown.clone())
    })?;
    let files: Vec<_> = files.iter().map(|file| (folder.join(&file.name), file.text.as_str())).collect();
    output::write_together(&files, common.force).inspect_err(|_| {
        for folder in made {
            // One that something stands in stays.
            let _ = fs::remove_dir(folder);
        }
    })
}

/// Makes a folder with those above it; gives those that were not there, the inmost first.
fn make(folder: &Path) -> io::Result<Vec<&Path>> {
    let missing = folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
    let missing = missing.collect();
    fs::create_dir_all(folder)?;
    Ok(missing)
}
