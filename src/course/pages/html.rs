//! A lesson as one HTML page: it fetches nothing and runs nothing, and a policy forbids everything but its own style.
//!
//! The markup is well-formed XML too, so that other tools can read it.

use std::fmt::Write;

use super::markdown::points;
use super::{Asked, Block, Chapter, Exercise, Leaf, Link, Matrix, Neighbours, Steps, Table, paragraphs};
use crate::views::html::{policy, shade};
use crate::views::markup::html;
use crate::views::plot::Chart;
use crate::views::plot::svg::{self, Ground};
use crate::words::{Language, language, t};

/// The page.
pub(super) fn page(leaf: &Leaf, neighbours: &Neighbours) -> String {
    let mut sheet = Sheet { leaf, text: String::new(), asks: 0 };
    let _ = write!(sheet.text, "<header>\n<h1>{}</h1>\n", html(&leaf.title));
    sheet.say("summary", &leaf.summary);
    if !leaf.source.is_empty() {
        sheet.say("source", &t!("Source: %{source}", source = leaf.source));
    }
    sheet.text.push_str("</header>\n<main id=\"lesson\" tabindex=\"-1\">\n");
    for block in &leaf.blocks {
        sheet.block(block);
    }
    sheet.text.push_str("</main>\n");
    sheet.text.push_str(&ways(neighbours));
    whole(&leaf.title, &sheet.text)
}

/// The page that leads to all others.
pub(super) fn index(chapters: &[Chapter]) -> String {
    let title = t!("Lessons on multi-head attention");
    let mut body =
        format!("<header>\n<h1>{}</h1>\n</header>\n<main id=\"lesson\" tabindex=\"-1\">\n", html(&title));
    for chapter in chapters {
        let _ = write!(body, "<section>\n<h2>{}</h2>\n<ul>\n", html(&chapter.title));
        for (link, summary) in &chapter.lessons {
            let summary = if summary.is_empty() { String::new() } else { format!(": {}", html(summary)) };
            let _ = writeln!(body, "<li>{}{summary}</li>", to(link, ""));
        }
        body.push_str("</ul>\n</section>\n");
    }
    body.push_str("</main>\n");
    whole(&title, &body)
}

/// A page around its body.
fn whole(title: &str, body: &str) -> String {
    // A browser that reads CRLF hashes LF, whatever a checkout has made of the file.
    let style = format!("{}{}", include_str!("page.css").replace('\r', ""), shade::css());
    let lang = match language() {
        Language::En => "en",
        Language::Zh => "zh-Hans",
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"generator\" content=\"mha\"/>\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\"/>\n<style>{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#lesson\">{}</a>\n{body}<footer>{}</footer>\n</body>\n</html>\n",
        policy(&style, None),
        html(title),
        html(&t!("Skip to the lesson")),
        html(&t!("Every number on this page was computed by mha.")),
    )
}

fn to(link: &Link, relation: &str) -> String {
    let relation = if relation.is_empty() { String::new() } else { format!(" rel=\"{relation}\"") };
    format!("<a href=\"{}\"{relation}>{}</a>", html(&link.file), html(&link.title))
}

fn ways(neighbours: &Neighbours) -> String {
    let Neighbours { before, index, after } = neighbours;
    let ways = [
        before.as_ref().map(|link| format!("<li>← {}</li>", to(link, "prev"))),
        index.as_ref().map(|link| format!("<li>{}</li>", to(link, "contents"))),
        after.as_ref().map(|link| format!("<li>{} →</li>", to(link, "next"))),
    ];
    let ways: String = ways.into_iter().flatten().collect();
    match ways.is_empty() {
        true => ways,
        false => format!("<nav aria-label=\"{}\"><ul>{ways}</ul></nav>\n", html(&t!("Other lessons"))),
    }
}

struct Sheet<'a> {
    leaf: &'a Leaf,
    text: String,
    /// Questions and tasks so far: they are numbered together, as `mha learn --from` counts them.
    asks: usize,
}

impl Sheet<'_> {
    fn say(&mut self, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        for paragraph in paragraphs(text) {
            // Writing to a String does not fail.
            let _ = writeln!(self.text, "<p{class}>{}</p>", html(&paragraph));
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Say(text) => self.say("", text),
            Block::Steps(steps) => self.steps(steps),
            Block::Ask(asked) => self.asked(asked),
            Block::Task(task) => self.task(task),
            Block::Figures(table) => self.table(table),
            Block::Plot(chart) => self.plot(chart),
            Block::Command { line, output } => {
                self.lines(&[vec![format!("$ {line}")], output.clone()].concat())
            }
        }
    }

    /// Tables side by side; heat maps are the same tables with shaded cells.
    fn steps(&mut self, steps: &Steps) {
        self.text.push_str("<div class=\"beside\">\n");
        for matrix in &steps.matrices {
            self.matrix(matrix);
        }
        self.text.push_str("</div>\n");
    }

    fn matrix(&mut self, matrix: &Matrix) {
        let formula = match matrix.formula.as_str() {
            "" => String::new(),
            formula => format!("<br/>{}", html(formula)),
        };
        let _ = writeln!(
            self.text,
            "<div class=\"scroll\"><table><caption><span class=\"name\">{}</span> · {}{formula}</caption>",
            html(&matrix.name),
            html(&matrix.title)
        );
        self.text.push_str("<thead><tr><td></td>");
        for name in &matrix.columns {
            let _ = write!(self.text, "<th scope=\"col\">{}</th>", html(name));
        }
        self.text.push_str("</tr></thead>\n<tbody>\n");
        for (name, cells) in matrix.rows.iter().zip(&matrix.cells) {
            let _ = write!(self.text, "<tr><th scope=\"row\">{}</th>", html(name));
            for (text, shown) in cells {
                let class = match (matrix.scale, shown) {
                    (Some(scale), Some(cell)) => format!(" class=\"{}\"", shade::class(scale, *cell)),
                    _ => String::new(),
                };
                let _ = write!(self.text, "<td{class}>{}</td>", html(text));
            }
            self.text.push_str("</tr>\n");
        }
        self.text.push_str("</tbody></table>\n");
        self.say("note", &matrix.note);
        self.text.push_str("</div>\n");
    }

    fn table(&mut self, table: &Table) {
        let side = |column: usize| if table.is_number(column) { "" } else { " class=\"left\"" };
        self.text.push_str("<div class=\"scroll\"><table class=\"words\">");
        if !table.title.is_empty() {
            let _ = write!(self.text, "<caption>{}</caption>", html(&table.title));
        }
        self.text.push_str("\n<thead><tr>");
        for (at, head) in table.columns.iter().enumerate() {
            let _ = match head.is_empty() {
                true => write!(self.text, "<td></td>"),
                false => write!(self.text, "<th scope=\"col\"{}>{}</th>", side(at), html(head)),
            };
        }
        self.text.push_str("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            self.text.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                let _ = match at {
                    0 => write!(self.text, "<th scope=\"row\">{}</th>", html(cell)),
                    at => write!(self.text, "<td{}>{}</td>", side(at), html(cell)),
                };
            }
            self.text.push_str("</tr>\n");
        }
        self.text.push_str("</tbody></table></div>\n");
        if !table.source.is_empty() {
            self.say("source", &t!("Source: %{source}", source = table.source));
        }
    }

    fn plot(&mut self, chart: &Chart) {
        self.text.push_str("<figure>\n");
        if !chart.title.is_empty() {
            let _ = writeln!(self.text, "<figcaption>{}</figcaption>", html(&chart.title));
        }
        self.text.push_str(&svg::text(chart, Ground::Page, self.leaf.digits));
        let heads = std::iter::once(&chart.label).chain(chart.curves.iter().map(|curve| &curve.label));
        let table = Table {
            columns: heads.cloned().collect(),
            rows: points(chart, self.leaf.digits),
            ..Table::default()
        };
        self.folded(&t!("The numbers"), |sheet| sheet.table(&table));
        self.text.push_str("</figure>\n");
    }

    fn asked(&mut self, asked: &Asked) {
        self.asks += 1;
        let title = t!("Question %{number}", number = self.asks);
        let _ = write!(self.text, "<section class=\"question\">\n<h2>{}</h2>\n", html(&title));
        self.say("ask", &asked.ask);
        if !asked.choices.is_empty() {
            self.text.push_str("<ol>");
            for choice in &asked.choices {
                let _ = write!(self.text, "<li>{}</li>", html(choice));
            }
            self.text.push_str("</ol>\n");
        }
        self.hints(&asked.hints);
        self.folded(&t!("Answer"), |sheet| {
            sheet.say("answer", &asked.answer);
            sheet.say("", &asked.because);
            if !asked.derivation.is_empty() {
                sheet.lines(&asked.derivation);
            }
            if !asked.wrong.is_empty() {
                sheet.text.push_str("<ul>");
                for (answer, say) in &asked.wrong {
                    let words = t!("Not %{answer}: %{reason}", answer = answer, reason = say);
                    let _ = write!(sheet.text, "<li>{}</li>", html(&words));
                }
                sheet.text.push_str("</ul>\n");
            }
        });
        self.text.push_str("</section>\n");
    }

    fn task(&mut self, task: &Exercise) {
        self.asks += 1;
        let title = t!("Task %{number}", number = self.asks);
        let _ = write!(self.text, "<section class=\"task\">\n<h2>{}</h2>\n", html(&title));
        self.say("ask", &task.ask);
        self.say("", &t!("May be changed: %{keys}.", keys = task.change.join(", ")));
        self.say("", &t!("Reached where: %{conditions}.", conditions = task.checks.join("; ")));
        self.hints(&task.hints);
        self.folded(&t!("A solution"), |sheet| {
            let lines: Vec<String> = task.solution.lines().map(str::to_owned).collect();
            sheet.lines(&lines);
            sheet.say("", &task.because);
            sheet.steps(&task.reached);
        });
        self.text.push_str("</section>\n");
    }

    fn hints(&mut self, hints: &[(String, String)]) {
        for (kind, hint) in hints {
            self.folded(kind, |sheet| sheet.say("", hint));
        }
    }

    fn folded(&mut self, title: &str, inside: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.text, "<details><summary>{}</summary>", html(title));
        inside(self);
        self.text.push_str("</details>\n");
    }

    fn lines(&mut self, lines: &[String]) {
        let lines: Vec<String> = lines.iter().map(|line| html(line)).collect();
        let _ = writeln!(self.text, "<pre tabindex=\"0\"><code>{}</code></pre>", lines.join("\n"));
    }
}
