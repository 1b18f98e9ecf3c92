//! Parts of a lesson as text: paragraphs, tables, heat maps, curves, what commands print.

use crate::course::command::{self, Runner};
use crate::course::workshop::in_words;
use crate::course::{Ran, Workshop};
use crate::fault::{Faults, Outcome, folded, shell_word, visible};
use crate::lesson::course::{Command, Figure, Figures, Look, Part, Plot, Shown, Timing};
use crate::lesson::quantity::Amount;
use crate::number::{digits_for, number, plain as written};
use crate::ops::{Layout, View};
use crate::plan::{Step, StepId, names};
use crate::views::grid::{Grid, Side};
use crate::views::heat::{self, paint::Colours};
use crate::views::page::{Detail, Page, width};
use crate::views::plot::{Chart, terminal as curves};
use crate::views::sheet::{self, Sheet};
use crate::views::{Scene, look, table};
use crate::words::t;

/// How the parts of a lesson are set.
#[derive(Clone, Copy)]
pub struct Setter<'a> {
    /// Width, digits, alphabet.
    pub page: Page,
    /// Of heat maps.
    pub colours: Colours,
    /// Whether tables are told line by line, without lines drawn around them.
    pub plain: bool,
    /// What runs a command that the lesson shows.
    pub runner: &'a Runner<'a>,
}

impl Setter<'_> {
    /// A part that asks nothing, with an empty line behind it; nothing for questions and tasks.
    pub fn part(&self, part: &Part, workshop: &Workshop) -> String {
        let text = match part {
            Part::Say(text) => Ok(self.say(text, workshop)),
            Part::Show { steps, look: Look::Heatmap } if !self.plain => self.heat_maps(steps, workshop),
            Part::Show { steps, .. } => {
                let tables: Outcome<Vec<_>> = steps.iter().map(|shown| self.step(shown, workshop)).collect();
                tables.map(|tables| tables.join("\n"))
            }
            Part::Table(figures) => Ok(self.figures(figures, workshop)),
            Part::Plot(plot) => self.plot(plot, workshop),
            Part::Command(command) => Ok(self.command(command)),
            Part::Time(timing) => self.times(timing, workshop),
            Part::Ask(_) | Part::Task(_) => return String::new(),
        };
        text.unwrap_or_else(|faults| self.faults(&faults)) + "\n"
    }

    /// A text of the lesson with its numbers, broken into lines.
    pub fn say(&self, text: &str, workshop: &Workshop) -> String {
        let filled = workshop.filled(text, self.page.digits);
        filled.split("\n\n").map(|text| self.words(text)).collect::<Vec<_>>().join("\n")
    }

    /// Words, broken into lines; whatever stands in them is shown, not obeyed.
    pub fn words(&self, text: &str) -> String {
        self.page.paragraph(&visible(&text.replace(['\n', '\r'], " ")), 0)
    }

    /// The same behind a mark, and right of it.
    pub fn item(&self, mark: &str, text: &str) -> String {
        let mark = self.page.letters(mark);
        let indent = width(&mark) + 1;
        let text = self.page.paragraph(&visible(&text.replace(['\n', '\r'], " ")), indent);
        match text.trim_start() {
            "" => format!("{mark}\n"),
            text => format!("{mark} {text}"),
        }
    }

    /// What is wrong, as everywhere: what, where, why, what to try.
    pub fn faults(&self, faults: &Faults) -> String {
        folded(&self.page.letters(&faults.to_string()), self.page.width)
    }

    /// A step with its name, its formula and its numbers; of a stack, one head after the other.
    ///
    /// # Errors
    /// There is no such step or run; the run cannot be computed.
    pub fn step(&self, shown: &Shown, workshop: &Workshop) -> Outcome<String> {
        let ran = workshop.ran(shown.run.as_deref())?;
        let ids = ran.sheets(shown.step);
        if ids.is_empty() {
            ran.value(shown.step).map_err(in_words)?;
        }
        let one = |id: &StepId| self.sheet(*id, shown.run.as_deref(), &ran);
        Ok(ids.iter().map(one).collect::<Vec<_>>().join("\n"))
    }

    fn sheet(&self, id: StepId, run: Option<&str>, ran: &Ran) -> String {
        let (Some(step), Some(value)) = (ran.plan.get(id), ran.view(id)) else { return String::new() };
        let page = &self.page;
        let name = run.map_or_else(|| id.to_string(), |run| format!("{id}@{}", visible(run)));
        let title = page.letters(&names::title(id));
        let together = width(&name) + width(page.between()) + width(&title);
        let mut text = match () {
            () if self.plain => self.words(&t!("%{name}: %{title}", name, title)),
            () if together <= page.width => format!("{}{}{title}\n", look::name(&name), page.between()),
            () => format!("{}\n{}", look::name(&name), page.paragraph(&title, 0)),
        };
        if page.detail != Detail::Bare {
            text.push_str(&page.paragraph(&table::formula(&ran.plan, step, page), 0));
        }
        text.push_str(&match self.plain {
            true => self.lines(step, value, ran),
            false => {
                let sheet = Sheet::new(step, value, &ran.problem.labels, Layout::Rows);
                table::grid(&sheet, step, page).render(page)
            }
        });
        text
    }

    /// A matrix line by line: `row a: 0.7071, 0.0000`.
    fn lines(&self, step: &Step, value: View<'_, f64>, ran: &Ran) -> String {
        let (rows, columns) = sheet::names(step, &ran.problem.labels);
        let digits = digits_for(value.iter(), self.page.digits);
        let mut text = self.words(&t!("columns: %{names}", names = columns.join(", ")));
        for (row, name) in rows.iter().enumerate() {
            let numbers: Vec<String> = value.row(row).iter().map(|value| number(*value, digits)).collect();
            let numbers = numbers.join(", ");
            text.push_str(&match name.as_str() {
                "" => self.words(&numbers),
                name => self.words(&t!("row %{name}: %{numbers}", name = name, numbers = numbers)),
            });
        }
        text
    }

    fn heat_maps(&self, steps: &[Shown], workshop: &Workshop) -> Outcome<String> {
        let mut text = String::new();
        // Runs have traces of their own: what one of them has stands side by side.
        for of_one_run in steps.chunk_by(|a, b| a.run == b.run) {
            let run = of_one_run.first().and_then(|shown| shown.run.as_deref());
            let ran = workshop.ran(run)?;
            let ids: Vec<StepId> = of_one_run.iter().flat_map(|shown| ran.sheets(shown.step)).collect();
            let title = run.map(|run| t!("In the run %{run}:", run = run)).unwrap_or_default();
            if !text.is_empty() {
                text.push('\n');
            }
            let page = Page { digits: self.page.digits.min(2), ..self.page };
            let scene = Scene { title: &title, steps: &ids, batch: None, ..ran.scene(page) };
            let mut bytes = Vec::new();
            // A list of bytes takes all that is written.
            if heat::terminal::write(&scene, self.colours, &mut bytes).is_ok() {
                text.push_str(String::from_utf8_lossy(&bytes).trim_start_matches('\n'));
            }
        }
        Ok(text)
    }

    fn figures(&self, figures: &Figures, workshop: &Workshop) -> String {
        let cell = |figure: &Figure| match figure {
            Figure::Words(words) => visible(words),
            Figure::Computed(quantity) => match workshop.amount(quantity) {
                Ok(Amount::Number(value)) => written(value, self.page.digits),
                Ok(Amount::Truth(true)) => "✓".to_owned(),
                Ok(Amount::Truth(false)) => "✗".to_owned(),
                Ok(Amount::Matrix(_)) | Err(_) => "?".to_owned(),
            },
        };
        let rows = figures.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        let mut text = self.table(&figures.title, &figures.columns, rows);
        if !figures.source.is_empty() {
            text.push_str(&self.words(&t!("Source: %{source}", source = figures.source)));
        }
        text
    }

    /// A table whose first column names its rows; the texts are safe to show.
    pub(super) fn table(&self, title: &str, columns: &[String], rows: Vec<Vec<String>>) -> String {
        let text = look::title(&visible(&title.replace(['\n', '\r'], " ")), &self.page);
        if self.plain {
            return text + &self.told(columns, &rows);
        }
        let of_column = |column: usize| rows.iter().filter_map(move |row| row.get(column));
        let side = |column| match of_column(column).all(|cell| is_a_figure(cell)) {
            true => Side::Right,
            false => Side::Left,
        };
        let first = |row: &Vec<String>| row.first().cloned().unwrap_or_default();
        let grid = Grid {
            corner: columns.first().cloned().unwrap_or_default(),
            columns: columns.iter().skip(1).cloned().collect(),
            rows: rows.iter().map(first).collect(),
            align: (1..columns.len()).map(side).collect(),
            cells: rows.iter().map(|row| row.iter().skip(1).cloned().collect()).collect(),
            whole: true,
            ..Grid::default()
        };
        // A head that a narrow page has to fold stands far from its numbers: such a table is told line by line.
        let room = Grid::room_beside(&grid.rows, &self.page);
        let is_folded = grid.columns.iter().any(|head| width(&self.page.letters(head)) > room);
        text + &if is_folded { self.told(columns, &rows) } else { grid.render(&self.page) }
    }

    /// The rows of a table line by line, each number behind the head of its column: `heads: 8; d_k: 64`.
    fn told(&self, columns: &[String], rows: &[Vec<String>]) -> String {
        let cell = |(column, cell): (&String, &String)| match column.as_str() {
            "" => cell.clone(),
            column => t!("%{column}: %{cell}", column, cell),
        };
        let line = |row: &Vec<String>| columns.iter().zip(row).map(cell).collect::<Vec<_>>().join(&t!("; "));
        rows.iter().map(|row| self.words(&line(row))).collect()
    }

    fn plot(&self, plot: &Plot, workshop: &Workshop) -> Outcome<String> {
        let chart = Chart::new(plot, workshop.curve(plot)?);
        if !self.plain {
            return Ok(curves::text(&chart, &self.page));
        }
        let told: String = chart.told(&self.page).iter().map(|line| self.words(line)).collect();
        Ok(self.words(&chart.title) + &told)
    }

    fn command(&self, command: &Command) -> String {
        let typed: Vec<String> = command.words.iter().map(|word| shell_word(word)).collect();
        let typed = format!("$ {}\n", self.page.letters(&visible(&typed.join(" "))));
        let printed = match command::allowed(command) {
            Ok(words) => (self.runner)(words),
            Err(fault) => return typed + &self.faults(&fault.into()),
        };
        match printed {
            Ok(printed) => {
                let [from, to] = command.lines.unwrap_or([1, usize::MAX]);
                let kept = printed
                    .lines()
                    .skip(from.saturating_sub(1))
                    .take(to.saturating_sub(from.saturating_sub(1)));
                typed + &kept.map(|line| format!("{line}\n")).collect::<String>()
            }
            Err(why) => typed + &self.words(&why),
        }
    }

    fn times(&self, timing: &Timing, workshop: &Workshop) -> Outcome<String> {
        let times = workshop.times(timing)?;
        let first = times.first().map_or(0.0, |timed| timed.median.as_secs_f64());
        let micro = |time: std::time::Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
        let rows = times.iter().map(|timed| {
            let ratio = timed.median.as_secs_f64() / first;
            let ratio = if ratio.is_finite() { format!("{ratio:.2}") } else { String::new() };
            vec![visible(&timed.label), micro(timed.best), micro(timed.median), ratio]
        });
        let columns = [t!("on this machine"), t!("best"), t!("median"), t!("median, first = 1")];
        Ok(self.table(&timing.title, &columns, rows.collect()))
    }
}

/// Whether a cell of a table is set to the right: a number, perhaps with a unit.
fn is_a_figure(cell: &str) -> bool {
    let mut letters = cell.trim_start_matches(['-', '−', '+', '~', '≈']).chars();
    letters.next().is_none_or(|c| c.is_ascii_digit() || matches!(c, '∞' | '–' | '—'))
}
