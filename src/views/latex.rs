//! A LaTeX document that plain pdflatex compiles: section by section, every step a matrix with its formula.

use std::io::{self, Write};

use super::matrix::Matrix;
use super::page::{Detail, width};
use super::sheet::Sheet;
use super::{Scene, table, tex};
use crate::plan::{Name, Projection, Step, StepId, names};

/// What the document is made with. `\letter` is asked for by [`tex::text`], `\rowname` and `\colname` by [`Matrix`].
const PREAMBLE: &str = r"% Made by mha; compile it with pdflatex. It needs what a basic TeX Live has.
% Letters that pdfLaTeX has no font for (Chinese, Cyrillic, emoji ...) are shown by their Unicode number. To see the
% letters themselves, compile with xelatex or lualatex and choose a font that has them, after the lines below:
%   \usepackage{fontspec} \setmainfont{Noto Serif CJK SC}
\documentclass[11pt]{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{amsmath,color,graphicx}
\ifdefined\Umathchar % XeLaTeX and LuaLaTeX
  \newcommand{\letter}[2]{#2}
\else
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage{textcomp}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
  \newcommand{\letter}[2]{\texttt{U+#1}\hspace{0.15em plus 0.1em}}
\fi
\setcounter{MaxMatrixCols}{40}
% The heading of a step: number, name, title, sizes.
\newcommand{\step}[4]{\par\pagebreak[2]\bigskip\noindent\textbf{#1}\quad\texttt{#2}\quad #3\hspace*{\fill}{\small #4}\par\nopagebreak}
% Names of rows stand before a matrix; names of columns above it, in a first row that takes no height.
\newcommand{\rowname}[1]{\text{\scriptsize\color[gray]{0.35}#1}}
\newcommand{\rowheight}{\dimexpr\arraystretch\normalbaselineskip\relax}
\newcommand{\colname}[1]{\smash{\raisebox{\dimexpr0.7\rowheight+0.45\normalbaselineskip\relax}{$\rowname{#1}$}}}
\newcommand{\headroom}[1]{\rule{0pt}{\dimexpr#1\rowheight/2+1.15\normalbaselineskip\relax}}
% What is wider than the line is made smaller.
\newsavebox{\wide}
\newcommand{\fit}[1]{\sbox{\wide}{$\displaystyle #1$}\ifdim\wd\wide>\linewidth\resizebox{\linewidth}{!}{\usebox{\wide}}\else\usebox{\wide}\fi}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5ex}
\setlength{\emergencystretch}{3em}
";

/// Writes the document.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    let told = scene.page.detail != Detail::Bare;
    writeln!(out, "{PREAMBLE}\\begin{{document}}")?;
    if !scene.title.is_empty() {
        writeln!(out, "\n{{\\LARGE\\bfseries\\raggedright {}\\par}}", said(scene, scene.title))?;
    }
    if told {
        say(scene, scene.summary, out)?;
    }
    if told && !scene.source.is_empty() {
        say(scene, &format!("Source: {}", scene.source), out)?;
    }
    for note in table::notes(scene) {
        say(scene, &note, out)?;
    }
    let numbers = table::numbers(scene);
    let mut section = String::new();
    for step in scene.steps.iter().filter_map(|id| scene.trace.plan().get(*id)) {
        let here = section_of(step.id);
        if here != section {
            writeln!(out, "\n\\section*{{{here}}}")?;
            section = here;
        }
        write_step(scene, numbers.get(&step.id.within()).copied().unwrap_or(0), step, out)?;
    }
    writeln!(out, "\n\\end{{document}}")
}

/// The section in which a step stands: what comes before the heads, each head, what comes after.
fn section_of(id: StepId) -> String {
    let section = match (id.head(), id.name) {
        (None, Name::Embedding) => "Embedding".to_owned(),
        (None, Name::Final) => "Last norm".to_owned(),
        (None, Name::Ffn(_) | Name::Hidden) => "Feed-forward network".to_owned(),
        (None, Name::AttentionResidual | Name::AttentionNorm) => "All heads together".to_owned(),
        (Some(head), _) => format!("Head {}", head.0 + 1),
        (None, Name::Concat | Name::Average | Name::Output) => "All heads together".to_owned(),
        (None, Name::W(Projection::O) | Name::B(Projection::O)) => "All heads together".to_owned(),
        _ => "Input and projections".to_owned(),
    };
    match (id.sequence, id.layer) {
        (Some(sequence), _) => format!("{section} (sequence {})", sequence + 1),
        (None, Some(layer)) => format!("{section} (layer {})", layer + 1),
        (None, None) => section,
    }
}

fn write_step(scene: &Scene<'_>, number: usize, step: &Step, out: &mut dyn Write) -> io::Result<()> {
    let detail = scene.page.detail;
    let formula = scene.trace.plan().formula(step, scene.page.layout);
    let title = said(scene, &names::title(step.id));
    let sizes = if detail == Detail::Bare { String::new() } else { said(scene, &formula.sizes) };
    let id = tex::text(&step.id.to_string());
    writeln!(out, "\n\\step{{{number}}}{{{id}}}{{{title}}}{{{sizes}}}")?;
    let Some(value) = scene.trace.get(step.id) else { return Ok(()) };
    let sheet = Sheet::new(step, value, scene.labels, scene.page.layout).with_exact(scene.exact, step.id);
    let matrix = Matrix::new(scene, step, &sheet);
    let sign = tex::formula(&names::sign(step.id));
    let is_told = detail != Detail::Bare && !step.inputs.is_empty();
    display(&sign, is_told.then_some(formula.equation.as_str()), &matrix, out)?;
    if let Some(note) = matrix.note() {
        say(scene, note, out)?;
    }
    for words in table::remarks(scene, step, sheet.why_not_exact()) {
        match words.strip_prefix("» ") {
            Some(story) => writeln!(out, "\n\\begin{{quote}}{}\\end{{quote}}", said(scene, story))?,
            None => say(scene, &words, out)?,
        }
    }
    Ok(())
}

/// Letters of this size that a line of the document holds.
const LINE: usize = 78;

/// The matrix after its formula where both fit one line; else below it, with no page break between the two.
fn display(sign: &str, equation: Option<&str>, matrix: &Matrix, out: &mut dyn Write) -> io::Result<()> {
    let formula = equation.map_or(sign.to_owned(), tex::formula);
    let long = equation.map_or(SIGN, width);
    // A sentence inside a formula reads ill with another “=” behind it.
    let is_sentence = formula.contains(r"\text");
    if equation.is_some() && (is_sentence || long + matrix.width() > LINE) {
        let formula = fitted(formula, long);
        let below = fitted(format!("{sign} =\n{}", matrix.tex()), SIGN + matrix.width());
        return writeln!(out, "\\begin{{gather*}}\n{formula} \\\\\n{below}\n\\end{{gather*}}");
    }
    let equation = fitted(format!("{formula} =\n{}", matrix.tex()), long + matrix.width());
    writeln!(out, "\\[\n{equation}\n\\]")
}

/// About how many letters wide `head_1 =` is.
const SIGN: usize = 6;

/// What may be too wide for the line is told to fit: the estimate may be off by a third before anything runs off the page.
fn fitted(maths: String, long: usize) -> String {
    if long > LINE * 2 / 3 { format!("\\fit{{{maths}}}") } else { maths }
}

/// A paragraph, where there is something to say.
fn say(scene: &Scene<'_>, text: &str, out: &mut dyn Write) -> io::Result<()> {
    if text.trim().is_empty() { Ok(()) } else { writeln!(out, "\n{}", said(scene, text)) }
}

/// Longest word that is left whole.
const LONGEST_WORD: usize = 24;

/// A sentence in this page's alphabet, escaped; a word too long for a line may break anywhere.
fn said(scene: &Scene<'_>, sentence: &str) -> String {
    let sentence = scene.page.letters(sentence);
    let words = sentence.split(' ').map(|word| {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() <= LONGEST_WORD {
            return None;
        }
        let parts = letters.chunks(LONGEST_WORD / 4).map(|part| tex::text(&part.iter().collect::<String>()));
        Some(parts.collect::<Vec<_>>().join(r"\allowbreak{}"))
    });
    // Signs are recognised in whole sentences, so only the long words are set by themselves.
    let mut set = Vec::new();
    let mut plain: Vec<&str> = Vec::new();
    for (word, broken) in sentence.split(' ').zip(words) {
        match broken {
            None => plain.push(word),
            Some(broken) => {
                if !plain.is_empty() {
                    set.push(tex::prose(&plain.join(" ")));
                    plain.clear();
                }
                set.push(broken);
            }
        }
    }
    if !plain.is_empty() {
        set.push(tex::prose(&plain.join(" ")));
    }
    set.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Head, HeadStep};

    #[test]
    fn steps_are_sorted_into_sections() {
        let scores = Head(1).step(HeadStep::Scores);
        assert_eq!(section_of(scores), "Head 2");
        assert_eq!(section_of(scores.in_sequence(Some(0))), "Head 2 (sequence 1)");
        assert_eq!(section_of(Name::W(Projection::Q).into()), "Input and projections");
        assert_eq!(section_of(Name::W(Projection::O).into()), "All heads together");
    }
}
