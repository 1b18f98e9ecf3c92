//! A lesson as GitHub's Markdown. Answers and hints are folded away in `<details>`, which GitHub shows.

use std::fmt::Write;

use super::{
    Asked, Block, Chapter, Exercise, File, Leaf, Link, Matrix, Neighbours, Place, Steps, Table, paragraphs,
};
use crate::fault::visible;
use crate::number::{digits_for, number};
use crate::views::markdown_text::{inline, line};
use crate::views::plot::svg::{self, Ground};
use crate::views::plot::{Chart, short};
use crate::words::t;

/// The page, and the figures that stand beside it.
pub(super) fn page(leaf: &Leaf, place: Place, neighbours: &Neighbours) -> (String, Vec<File>) {
    let mut sheet = Sheet { leaf, place, text: String::new(), figures: Vec::new(), asks: 0 };
    sheet.text.push_str(&format!("# {}\n\n", line(&leaf.title)));
    sheet.say(&leaf.summary);
    if !leaf.source.is_empty() {
        sheet.say(&t!("Source: %{source}", source = leaf.source));
    }
    for block in &leaf.blocks {
        sheet.block(block);
    }
    let ways = ways(neighbours);
    if !ways.is_empty() {
        let _ = write!(sheet.text, "---\n\n{ways}\n");
    }
    (sheet.text.trim_end().to_owned() + "\n", sheet.figures)
}

/// The page that leads to all others.
pub(super) fn index(chapters: &[Chapter]) -> String {
    let mut text = format!("# {}\n\n", t!("Lessons on multi-head attention"));
    for chapter in chapters {
        let _ = writeln!(text, "## {}\n", inline(&chapter.title));
        for (link, summary) in &chapter.lessons {
            let summary = if summary.is_empty() { String::new() } else { format!(": {}", inline(summary)) };
            let _ = writeln!(text, "- {}{summary}", to(link));
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

fn to(link: &Link) -> String {
    format!("[{}]({})", inline(&link.title), link.file)
}

fn ways(neighbours: &Neighbours) -> String {
    let Neighbours { before, index, after } = neighbours;
    let ways = [
        before.as_ref().map(|link| format!("← {}", to(link))),
        index.as_ref().map(to),
        after.as_ref().map(|link| format!("{} →", to(link))),
    ];
    ways.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

struct Sheet<'a> {
    leaf: &'a Leaf,
    place: Place,
    text: String,
    figures: Vec<File>,
    /// Questions and tasks so far: they are numbered together, as `mha learn --from` counts them.
    asks: usize,
}

impl Sheet<'_> {
    fn say(&mut self, text: &str) {
        for paragraph in paragraphs(text) {
            let _ = writeln!(self.text, "{}\n", line(&paragraph));
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Say(text) => self.say(text),
            Block::Steps(steps) => self.steps(steps),
            Block::Ask(asked) => self.asked(asked),
            Block::Task(task) => self.task(task),
            Block::Figures(table) => self.table(table),
            Block::Plot(chart) => self.plot(chart),
            Block::Command { line, output } => {
                self.fenced("console", &[vec![format!("$ {line}")], output.clone()].concat())
            }
        }
    }

    /// A figure beside the page; `None` where there is no beside.
    fn beside(&mut self, svg: &str) -> Option<String> {
        if self.place == Place::Alone {
            return None;
        }
        let name = format!("{}-{}.svg", self.leaf.name, self.figures.len() + 1);
        self.figures.push(File { name: name.clone(), text: svg.to_owned() });
        Some(name)
    }

    fn steps(&mut self, steps: &Steps) {
        if let Some(name) = steps.figure.as_deref().and_then(|svg| self.beside(svg)) {
            let names: Vec<&str> = steps.matrices.iter().map(|matrix| matrix.name.as_str()).collect();
            let alt = t!("Heat map of %{steps}", steps = names.join(", "));
            let _ = writeln!(self.text, "![{}]({name})\n", inline(&alt));
            return self.folded(&t!("The numbers"), |sheet| sheet.matrices(&steps.matrices));
        }
        self.matrices(&steps.matrices);
    }

    fn matrices(&mut self, matrices: &[Matrix]) {
        for matrix in matrices {
            let _ =
                writeln!(self.text, "**`{}`** · {}\n", matrix.name.replace('`', ""), inline(&matrix.title));
            if !matrix.formula.is_empty() {
                self.say(&matrix.formula);
            }
            self.row(&[&[String::new()], matrix.columns.as_slice()].concat());
            let _ = writeln!(self.text, "| --- |{}", " ---: |".repeat(matrix.columns.len()));
            for (name, cells) in matrix.rows.iter().zip(&matrix.cells) {
                let cells: Vec<String> = cells.iter().map(|(text, _)| text.clone()).collect();
                self.row(&[std::slice::from_ref(name), cells.as_slice()].concat());
            }
            self.text.push('\n');
            self.say(&matrix.note);
        }
    }

    fn row(&mut self, cells: &[String]) {
        let cells: Vec<String> = cells.iter().map(|cell| inline(cell)).collect();
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    fn table(&mut self, table: &Table) {
        self.caption(&table.title);
        self.row(&table.columns);
        let sides =
            (0..table.columns.len()).map(|column| if table.is_number(column) { " ---: |" } else { " --- |" });
        let _ = writeln!(self.text, "|{}", sides.collect::<String>());
        for row in &table.rows {
            self.row(row);
        }
        self.text.push('\n');
        if !table.source.is_empty() {
            self.say(&t!("Source: %{source}", source = table.source));
        }
    }

    fn caption(&mut self, title: &str) {
        if !title.is_empty() {
            let _ = writeln!(self.text, "**{}**\n", inline(title));
        }
    }

    fn plot(&mut self, chart: &Chart) {
        self.caption(&chart.title);
        let drawn = svg::text(chart, Ground::Paper, self.leaf.digits);
        match self.beside(&drawn) {
            Some(name) => {
                let alt = chart.description(self.leaf.digits);
                let _ = writeln!(self.text, "![{}]({name})\n", inline(&alt));
                self.folded(&t!("The numbers"), |sheet| sheet.points(chart));
            }
            None => self.points(chart),
        }
    }

    fn points(&mut self, chart: &Chart) {
        let labels: Vec<String> = chart.curves.iter().map(|curve| curve.label.clone()).collect();
        self.row(&[std::slice::from_ref(&chart.label), labels.as_slice()].concat());
        let _ = writeln!(self.text, "|{}", " ---: |".repeat(labels.len() + 1));
        for row in points(chart, self.leaf.digits) {
            self.row(&row);
        }
        self.text.push('\n');
    }

    fn asked(&mut self, asked: &Asked) {
        self.asks += 1;
        let _ = writeln!(self.text, "**{}**\n", t!("Question %{number}", number = self.asks));
        self.say(&asked.ask);
        for (at, choice) in asked.choices.iter().enumerate() {
            let _ = writeln!(self.text, "{}. {}", at + 1, inline(choice));
        }
        if !asked.choices.is_empty() {
            self.text.push('\n');
        }
        self.hints(&asked.hints);
        self.folded(&t!("Answer"), |sheet| {
            let _ = writeln!(sheet.text, "**{}**\n", inline(&asked.answer));
            sheet.say(&asked.because);
            if !asked.derivation.is_empty() {
                sheet.fenced("text", &asked.derivation);
            }
            for (answer, say) in &asked.wrong {
                let _ = writeln!(
                    sheet.text,
                    "- {}",
                    inline(&t!("Not %{answer}: %{reason}", answer = answer, reason = say))
                );
            }
            if !asked.wrong.is_empty() {
                sheet.text.push('\n');
            }
        });
    }

    fn task(&mut self, task: &Exercise) {
        self.asks += 1;
        let _ = writeln!(self.text, "**{}**\n", t!("Task %{number}", number = self.asks));
        self.say(&task.ask);
        self.say(&t!("May be changed: %{keys}.", keys = task.change.join(", ")));
        self.say(&t!("Reached where: %{conditions}.", conditions = task.checks.join("; ")));
        self.hints(&task.hints);
        self.folded(&t!("A solution"), |sheet| {
            let lines: Vec<String> = task.solution.lines().map(str::to_owned).collect();
            sheet.fenced("yaml", &lines);
            sheet.say(&task.because);
            sheet.steps(&task.reached);
        });
    }

    fn hints(&mut self, hints: &[(String, String)]) {
        for (kind, hint) in hints {
            self.folded(kind, |sheet| sheet.say(hint));
        }
    }

    fn folded(&mut self, title: &str, inside: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.text, "<details><summary>{}</summary>\n", inline(title));
        inside(self);
        self.text.push_str("</details>\n\n");
    }

    /// Lines as they are, between fences that no line of them can end.
    fn fenced(&mut self, language: &str, lines: &[String]) {
        let run = |line: &String| line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(lines.iter().map(run).max().unwrap_or(0).max(2) + 1);
        let _ = writeln!(self.text, "{fence}{language}");
        for line in lines {
            let _ = writeln!(self.text, "{}", visible(line));
        }
        let _ = writeln!(self.text, "{fence}\n");
    }
}

/// The points of a chart as rows: the horizontal number, then the height of each line there.
pub(super) fn points(chart: &Chart, digits: usize) -> Vec<Vec<String>> {
    let Some(longest) = chart.curves.iter().map(|curve| &curve.points).max_by_key(|points| points.len())
    else {
        return Vec::new();
    };
    let row = |at: usize, x: f64| {
        let heights = chart.curves.iter().map(|curve| {
            let digits = digits_for(curve.points.iter().map(|(_, y)| y), digits);
            curve.points.get(at).map(|(_, y)| number(*y, digits)).unwrap_or_default()
        });
        std::iter::once(short(x)).chain(heights).collect()
    };
    longest.iter().enumerate().map(|(at, (x, _))| row(at, *x)).collect()
}
