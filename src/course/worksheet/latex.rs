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
\newcommand{\beside}[1]{\fit{#1}\hspace{0.8cm plus 0.4cm}}
\newcommand{\room}{\rule[-0.28cm]{0pt}{0.78cm}}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5ex}
\setlength{\lineskiplimit}{1ex}
\setlength{\lineskip}{2ex}
\setlength{\emergencystretch}{3em}
\raggedbottom
\AtBeginDocument{\raggedright}
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
    writeln!(out, "\n\\medskip\\noindent")?;
    for table in &exercise.tables {
        match table.filled {
            Filled::Blank => write_block(sheet, table, out)?,
            Filled::Given | Filled::Printed => write_beside(sheet, table, out)?,
        }
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

/// A table that is there to be read: as many side by side as the line holds.
fn write_beside(sheet: &Sheet, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let purpose = tex::prose(&words::purpose(table, sheet.is_key));
    let (id, title) = (tex::text(&table.id), tex::prose(&table.title));
    writeln!(out, "\\beside{{\\begin{{tabular}}[t]{{@{{}}l@{{}}}}")?;
    writeln!(out, "\\textbf{{{}}} \\texttt{{{id}}} {title} {{\\small ({purpose})}} \\\\", table.number)?;
    for formula in formulas(table) {
        writeln!(out, "{formula} \\\\")?;
    }
    writeln!(out, "{}\\end{{tabular}}}}", grid(sheet, table))
}

/// A table to be filled in, or its answer: a block of its own, with room to write. Its heading stays with it.
fn write_block(sheet: &Sheet, table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let purpose = tex::prose(&words::purpose(table, sheet.is_key));
    let (id, title) = (tex::text(&table.id), tex::prose(&table.title));
    writeln!(out, "\n\\begin{{minipage}}{{\\linewidth}}")?;
    writeln!(out, "\\step{{{}}}{{{id}}}{{{title}}}{{{purpose}}}", table.number)?;
    for formula in formulas(table) {
        writeln!(out, "\\fit{{{formula}}}\\par")?;
    }
    writeln!(out, "\\smallskip\\fit{{{}}}\\par", grid(sheet, table))?;
    match &table.worked {
        Some(worked) if sheet.is_key => writeln!(out, "{{\\small\\raggedright {}\\par}}", breakable(worked))?,
        Some(_) | None if sheet.is_key => {}
        _ => writeln!(out, "\\vspace{{1.2cm}}")?,
    }
    writeln!(out, "\\end{{minipage}}\\par")
}

fn formulas(table: &Table) -> impl Iterator<Item = String> {
    table.copies.iter().chain(&table.equation).map(|one| format!("$\\displaystyle {}$", tex::formula(one)))
}

/// The numbers, with lines around them. Blanks are as wide as the line allows, up to what a hand likes.
fn grid(sheet: &Sheet, table: &Table) -> String {
    let is_blank = table.filled == Filled::Blank;
    let (count, is_to_write) = (table.columns.len(), is_blank && !sheet.is_key);
    let column = match is_to_write {
        true => {
            let width = (15.0 / count.max(1) as f64 - 0.45).clamp(0.5, 1.5);
            format!(">{{\\raggedleft\\arraybackslash}}p{{{width:.2}cm}}|")
        }
        false => "r|".to_owned(),
    };
    let end = format!("\\\\ \\cline{{2-{}}}", count + 1);
    let name = |name: &String| format!("\\multicolumn{{1}}{{c}}{{\\footnotesize {}}}", tex::text(name));
    let names: Vec<String> = table.columns.iter().map(name).collect();
    let mut text =
        format!("\\begin{{tabular}}[t]{{r|{}}}\n& {} {end}\n", column.repeat(count), names.join(" & "));
    for (r, name) in table.rows.iter().enumerate() {
        let room = if is_to_write { "\\room " } else { "" };
        // A minus, where text has a hyphen.
        let number = |number: &str| tex::text(number).replacen('-', "\\textminus{}", 1);
        let cell = |c: usize| match table.cell(r, c, sheet.is_key).map(number) {
            Some(number) if is_blank => format!("\\textbf{{{number}}}"),
            Some(number) => number,
            None => String::new(),
        };
        let cells: Vec<String> = (0..count).map(cell).collect();
        text.push_str(&format!("{room}\\footnotesize {} & {} {end}\n", tex::text(name), cells.join(" & ")));
    }
    text.push_str("\\end{tabular}");
    text
}
