//! A sheet for plain pdflatex, on the paper that the person has.

use std::io::{self, Write};

use super::sheet::{Exercise, Filled, Sheet, Table};
use super::words;
use crate::views::tex;

/// What the document is made with; `\letter` is asked for by [`tex::text`].
const PREAMBLE: &str = r"% Made by mha worksheet; compile it with pdflatex. It needs what a basic TeX Live has.
% For letter paper: replace a4paper by letterpaper. For Chinese letters: compile with xelatex, and after the lines below
%   \usepackage{fontspec} \setmainfont{Noto Serif CJK SC}
\documentclass[11pt]{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{amsmath,array,graphicx}
\ifdefined\Umathchar % XeLaTeX and LuaLaTeX
  \newcommand{\letter}[2]{#2}
\else
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage{textcomp}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
  \newcommand{\letter}[2]{\texttt{U+#1}\hspace{0.15em plus 0.1em}}
\fi
% The heading of a step: number, name, title, what to do with it.
\newcommand{\step}[4]{\par\medskip\noindent\textbf{#1}\quad\texttt{#2}\quad #3\hspace*{\fill}{\small (#4)}\par\nopagebreak}
% What is wider than the line is made smaller.
\newsavebox{\wide}
\newcommand{\fit}[1]{\sbox{\wide}{#1}\ifdim\wd\wide>\linewidth\resizebox{\linewidth}{!}{\usebox{\wide}}\else\usebox{\wide}\fi}
\newcommand{\room}{\rule[-0.28cm]{0pt}{0.78cm}}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5ex}
\setlength{\emergencystretch}{3em}
\raggedbottom
\sloppy
";

/// Writes the document.
///
/// # Errors
/// Those of the writer.
pub fn write(sheet: &Sheet, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{PREAMBLE}\\begin{{document}}")?;
    for (at, exercise) in sheet.exercises.iter().enumerate() {
        if at > 0 {
            writeln!(out, "\n\\clearpage")?;
        }
        write_exercise(sheet, exercise, out)?;
    }
    writeln!(out, "\n\\end{{document}}")
}

fn write_exercise(sheet: &Sheet, exercise: &Exercise, out: &mut dyn Write) -> io::Result<()> {
    let heading = words::heading(sheet, exercise);
    writeln!(out, "\n{{\\Large\\bfseries\\raggedright {}\\par}}", breakable(&heading))?;
    if !sheet.is_key {
        let [name, date] = words::name_and_date().map(|word| tex::prose(&word));
        writeln!(
            out,
            "\n\\bigskip\n{name}: \\hrulefill\\quad {date}: \\makebox[4cm]{{\\hrulefill}}\\par\\bigskip"
        )?;
    }
    for fact in &exercise.facts {
        writeln!(out, "\n{}", tex::prose(fact))?;
    }
    if !sheet.is_key {
        writeln!(out, "\n{}", tex::prose(&words::instructions(sheet.digits).join(" ")))?;
    }
    for table in &exercise.tables {
        write_table(sheet, table, out)?;
    }
    writeln!(out, "\n\\bigskip")?;
    for said in [words::again(exercise), words::grade(exercise)] {
        writeln!(out, "\n{{\\small\\ttfamily\\raggedright {}\\par}}", breakable(&said))?;
    }
    Ok(())
}

/// Letters after which a long word may be broken.
const PIECE: usize = 6;

/// A text escaped, in which a word that is too long for a line may break.
fn breakable(said: &str) -> String {
    let word = |word: &str| {
        let letters: Vec<char> = word.chars().collect();
        match letters.len() {
            0..=24 => tex::text(word),
            _ => {
                let pieces = letters.chunks(PIECE).map(|piece| tex::text(&piece.iter().collect::<String>()));
                pieces.collect::<Vec<_>>().join(r"\allowbreak{}")
            }
        }
    };
    said.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn write_table(sheet: &Sheet, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let is_blank = table.filled == Filled::Blank;
    let purpose = tex::prose(&words::purpose(table, sheet.is_key));
    // A table and its heading stay together.
    writeln!(out, "\n\\begin{{minipage}}{{\\linewidth}}")?;
    writeln!(
        out,
        "\\step{{{}}}{{{}}}{{{}}}{{{purpose}}}",
        table.number,
        tex::text(&table.id),
        tex::prose(&table.title)
    )?;
    let formulas: Vec<String> =
        table.copies.iter().chain(&table.equation).map(|one| tex::formula(one)).collect();
    for formula in formulas {
        writeln!(out, "\\fit{{$\\displaystyle {formula}$}}\\par")?;
    }
    // Blanks are as wide as the line allows, up to what a hand likes.
    let width = (15.0 / table.columns.len().max(1) as f64 - 0.45).clamp(0.5, 1.5);
    let column = format!("|>{{\\raggedleft\\arraybackslash}}p{{{width:.2}cm}}");
    writeln!(out, "\\smallskip\\fit{{\\begin{{tabular}}{{r{}|}}", column.repeat(table.columns.len()))?;
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|name| format!("\\multicolumn{{1}}{{c}}{{\\footnotesize {}}}", tex::text(name)))
        .collect();
    writeln!(out, "& {} \\\\ \\cline{{2-{}}}", names.join(" & "), table.columns.len() + 1)?;
    for (r, name) in table.rows.iter().enumerate() {
        let room = if is_blank && !sheet.is_key { "\\room " } else { "" };
        let cell = |c: usize| match table.cell(r, c, sheet.is_key) {
            Some(number) if is_blank => format!("\\textbf{{{}}}", tex::text(number)),
            Some(number) => tex::text(number),
            None => String::new(),
        };
        let cells: Vec<String> = (0..table.columns.len()).map(cell).collect();
        writeln!(
            out,
            "{room}\\footnotesize {} & {} \\\\ \\cline{{2-{}}}",
            tex::text(name),
            cells.join(" & "),
            table.columns.len() + 1
        )?;
    }
    writeln!(out, "\\end{{tabular}}}}\\par")?;
    match &table.worked {
        Some(worked) if sheet.is_key => writeln!(out, "{{\\small\\raggedright {}\\par}}", breakable(worked))?,
        _ if is_blank => writeln!(out, "\\vspace{{1.5cm}}")?,
        _ => {}
    }
    writeln!(out, "\\end{{minipage}}")
}
