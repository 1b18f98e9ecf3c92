//! The parts of a lesson, computed one by one.

use std::rc::Rc;

use super::{Asked, Block, Exercise, Format, Leaf, Matrix, Short, Steps, Table};
use crate::course::command::{Runner, allowed, excerpt};
use crate::course::myths::Myth;
use crate::course::workshop::in_words;
use crate::course::{Ran, Right, Workshop};
use crate::fault::{Fault, Outcome};
use crate::lesson::course::{Command, Figure, Figures, Look, Part, Shown, Task, Timing};
use crate::lesson::{Answer, Question};
use crate::number::{Form, digits_for, number, written};
use crate::ops::Layout;
use crate::plan::{Step, StepId, names};
use crate::trace::Cell;
use crate::views::Scene;
use crate::views::derivation::Derivation;
use crate::views::excerpt::Excerpt;
use crate::views::heat::figure;
use crate::views::heat::panels::{self, Group, Panel, Scale};
use crate::views::heat::svg::{self, Pixels};
use crate::views::page::Page;
use crate::views::plot::Chart;
use crate::views::sheet::Sheet;
use crate::words::{say, t};

/// Computes a lesson.
pub(super) fn leaf(
    name: &str,
    workshop: &Workshop,
    run: &Runner<'_>,
    page: &Page,
    format: Format,
) -> Outcome<Leaf> {
    // HTML has every letter in ASCII too, by its number.
    let page = &Page { ascii: page.ascii && format == Format::Markdown, ..*page };
    let walk = Walk { workshop, run, page };
    let problem = workshop.problem();
    let blocks: Vec<Block> = workshop.parts().iter().map(|part| walk.block(part)).collect::<Outcome<_>>()?;
    Ok(Leaf {
        name: name.to_owned(),
        title: walk.filled(&problem.title),
        summary: walk.filled(&problem.summary),
        source: walk.filled(&problem.source),
        topics: problem.course.topics.clone(),
        blocks,
        digits: page.digits,
        format,
    })
}

struct Walk<'a> {
    workshop: &'a Workshop,
    run: &'a Runner<'a>,
    page: &'a Page,
}

impl Walk<'_> {
    fn filled(&self, text: &str) -> String {
        self.page.letters(&self.workshop.filled(text, self.page.digits))
    }

    fn block(&self, part: &Part) -> Outcome<Block> {
        Ok(match part {
            Part::Say(text) => Block::Say(self.filled(text)),
            Part::Show { steps, look } => Block::Steps(self.steps(self.workshop, steps, *look)?),
            Part::Ask(question) => Block::Ask(self.asked(question)?),
            Part::Task(task) => Block::Task(self.exercise(task)?),
            Part::Table(figures) => Block::Figures(self.figures(figures)?),
            Part::Plot(plot) => {
                let mut chart = Chart::new(plot, self.workshop.curve(plot)?);
                chart.title = self.filled(&chart.title);
                chart.label = self.filled(&chart.label);
                chart.curves.iter_mut().for_each(|curve| curve.label = self.filled(&curve.label));
                Block::Plot(chart)
            }
            Part::Command(command) => self.command(command)?,
            Part::Time(timing) => Block::Figures(self.times(timing)?),
        })
    }

    /// Steps as they are in `workshop`: the lesson's own, or the changed one of a task.
    fn steps(&self, workshop: &Workshop, shown: &[Shown], look: Look) -> Outcome<Steps> {
        let mut found: Vec<(Rc<Ran>, StepId, Option<&str>)> = Vec::new();
        for Shown { step, run } in shown {
            let ran = workshop.ran(run.as_deref())?;
            let ids = ran.sheets(*step);
            if ids.is_empty() {
                return Err(in_words(format!("there is no step {step}")));
            }
            found.extend(ids.into_iter().map(|id| (Rc::clone(&ran), id, run.as_deref())));
        }
        let scenes: Vec<Scene<'_>> =
            found.iter().map(|(ran, ..)| ran.scene(Page { layout: Layout::Rows, ..*self.page })).collect();
        let panels: Vec<Option<Panel<'_>>> = match look {
            Look::Table => found.iter().map(|_| None).collect(),
            Look::Heatmap => {
                scenes.iter().zip(&found).map(|(scene, (_, id, _))| panels::of_step(scene, *id)).collect()
            }
        };
        let scales: Vec<Option<Scale>> = scales(&panels, &found);
        let mut matrices = Vec::with_capacity(found.len());
        for (((ran, id, run), panel), scale) in found.iter().zip(&panels).zip(&scales) {
            if let Some(step) = ran.plan.get(*id) {
                matrices.push(self.matrix(ran, step, *run, panel.as_ref(), *scale));
            }
        }
        let figure = match look {
            Look::Table => None,
            Look::Heatmap => self.figure(panels, &found)?,
        };
        Ok(Steps { matrices, figure })
    }

    fn matrix(
        &self,
        ran: &Ran,
        step: &Step,
        run: Option<&str>,
        panel: Option<&Panel<'_>>,
        scale: Option<Scale>,
    ) -> Matrix {
        let letters = |text: &str| self.page.letters(text);
        let name = match run {
            Some(run) => format!("{}@{run}", step.id),
            None => step.id.to_string(),
        };
        let formula = ran.plan.formula(step, Layout::Rows);
        let formula = if step.inputs.is_empty() {
            String::new()
        } else {
            format!("{} · {}", formula.equation, formula.sizes)
        };
        let mut matrix = Matrix {
            name,
            title: letters(&names::title(step.id)),
            formula: letters(&formula),
            rows: Vec::new(),
            columns: Vec::new(),
            cells: Vec::new(),
            scale: panel.and(scale),
            note: String::new(),
        };
        let Some(value) = ran.trace.get(step.id) else { return matrix };
        let sheet = Sheet::new(step, value, &ran.problem.labels, Layout::Rows);
        let part = Excerpt::of(sheet.shape());
        let digits = digits_for(sheet.numbers(), self.page.digits);
        let named = |at: Option<usize>, names: &[String], gap: &str| {
            at.and_then(|at| names.get(at)).map_or_else(|| letters(gap), |name| letters(name))
        };
        matrix.rows = part.rows.iter().map(|row| named(*row, &sheet.rows, "⋮")).collect();
        matrix.columns = part.columns.iter().map(|column| named(*column, &sheet.columns, "…")).collect();
        let cell = |row: Option<usize>, column: Option<usize>| match (row, column) {
            (Some(row), Some(column)) => {
                let shade = panel.map(|panel| panel.cell(row, column));
                (letters(&sheet.text(row, column, digits)), shade)
            }
            (None, _) => (letters("⋮"), None),
            (_, None) => (letters("…"), None),
        };
        matrix.cells = part
            .rows
            .iter()
            .map(|row| part.columns.iter().map(|column| cell(*row, *column)).collect())
            .collect();
        matrix.note = part.note().map(letters).unwrap_or_default();
        matrix
    }

    /// The panels as one figure, a block a kind of matrix.
    fn figure(
        &self,
        panels: Vec<Option<Panel<'_>>>,
        found: &[(Rc<Ran>, StepId, Option<&str>)],
    ) -> Outcome<Option<String>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (panel, (_, id, run)) in panels.into_iter().zip(found) {
            let Some(mut panel) = panel else { continue };
            if let Some(run) = run {
                panel.caption = format!("{} @{run}", panel.caption);
            }
            let what = names::kind(id.name);
            match groups.iter_mut().find(|group| group.what == what) {
                Some(group) => group.panels.push(panel),
                None => {
                    groups.push(Group { what, panels: vec![panel], scale: Scale { least: 0.0, most: 0.0 } })
                }
            }
        }
        for group in &mut groups {
            group.scale = Scale::of(&group.panels, group.panels.iter().all(Panel::are_weights));
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let figure = figure::Figure::new("", groups, 2)?;
        let drawn = svg::text(&figure, Pixels::Embedded)
            .map_err(|error| in_words(format!("the heat map cannot be drawn: {error}")))?;
        Ok(Some(drawn))
    }

    fn asked(&self, question: &Question) -> Outcome<Asked> {
        let right = self.workshop.right(question)?;
        let choices: Vec<String> = match &question.answer {
            Answer::Choice(choices, _) | Answer::Computed(choices, _) => {
                choices.iter().map(|choice| self.filled(choice)).collect()
            }
            Answer::Cell(..) | Answer::Value(_) | Answer::Shape(_) => Vec::new(),
        };
        let told = |answer: &Right| match answer {
            Right::Numbers(numbers) => {
                let digits = digits_for(numbers.iter(), self.page.digits);
                let cells: Vec<String> = numbers.iter().map(|cell| number(*cell, digits)).collect();
                self.page.letters(&cells.join("  "))
            }
            Right::Shape(rows, columns) => self.page.letters(&format!("{rows} × {columns}")),
            Right::Choice(at) => {
                choices.get(*at).map(|choice| format!("{}. {choice}", at + 1)).unwrap_or_default()
            }
        };
        let hints = &question.hints;
        let hints = [
            (t!("Hint"), &hints.hint),
            (t!("Where to look"), &hints.place),
            (t!("How it comes about"), &hints.why),
        ];
        let hints =
            hints.into_iter().filter_map(|(kind, hint)| Some((kind, self.filled(hint.as_ref()?)))).collect();
        let slips = self.workshop.own_slips(question).into_iter().flatten();
        let wrong = slips.filter_map(|slip| {
            let myth = slip.myth.as_deref().and_then(Myth::find);
            let why = match (slip.say.as_str(), slip.mistake, myth) {
                ("", Some(mistake), _) => self.page.letters(say(mistake.summary)),
                ("", None, Some(myth)) => self.page.letters(&myth.refuted().join(" ")),
                (own, ..) => self.filled(own),
            };
            (!why.is_empty()).then(|| (told(&slip.answer), why))
        });
        Ok(Asked {
            ask: self.filled(&question.ask),
            answer: told(&right),
            wrong: wrong.collect(),
            hints,
            because: self.filled(&question.because),
            derivation: self.derivation(&question.answer)?,
            choices,
        })
    }

    fn derivation(&self, answer: &Answer) -> Outcome<Vec<String>> {
        let Answer::Cell(step, row, column) = *answer else { return Ok(Vec::new()) };
        let ran = self.workshop.ran(None)?;
        let cell = Cell { step: ran.placed(step), row, column };
        let Some(derivation) = Derivation::of(&ran.trace, cell, self.page.digits) else {
            return Ok(Vec::new());
        };
        let mut lines = vec![format!("{step}[{},{}]", row + 1, column + 1)];
        lines.extend(derivation.lines.iter().map(|line| format!("  = {line}")));
        lines.extend(derivation.largest.map(|(names, number)| format!("m = {names} = {number}")));
        Ok(lines.iter().map(|line| self.page.letters(line)).collect())
    }

    fn exercise(&self, task: &Task) -> Outcome<Exercise> {
        let solved = self.workshop.changed(&task.solution)?;
        let solution = serde_yaml::to_string(&task.solution)
            .map_err(|error| Fault::new("the solution cannot be written", error.to_string(), ""))?;
        Ok(Exercise {
            ask: self.filled(&task.ask),
            change: task.change.clone(),
            checks: task.checks.iter().map(|check| self.page.letters(&check.to_string())).collect(),
            hints: task.hints.iter().map(|hint| (t!("Hint"), self.filled(hint))).collect(),
            solution: self.page.letters(&solution),
            because: self.page.letters(&solved.filled(&task.because, self.page.digits)),
            reached: self.steps(&solved, &task.watch, Look::Table)?,
        })
    }

    fn figures(&self, figures: &Figures) -> Outcome<Table> {
        let cell = |cell: &Figure| match cell {
            Figure::Words(words) => Ok(self.filled(words)),
            Figure::Computed(quantity) => {
                let value = quantity.number(self.workshop).map_err(in_words)?;
                Ok(self.page.letters(&written(value, self.page.digits, Form::Page)))
            }
        };
        let row = |row: &Vec<Figure>| row.iter().map(cell).collect::<Outcome<Vec<String>>>();
        Ok(Table {
            title: self.filled(&figures.title),
            columns: figures.columns.iter().map(|head| self.filled(head)).collect(),
            rows: figures.rows.iter().map(row).collect::<Outcome<_>>()?,
            source: self.filled(&figures.source),
        })
    }

    fn times(&self, timing: &Timing) -> Outcome<Table> {
        let times = self.workshop.times(timing)?;
        let row = |timed: &crate::course::Timed| {
            let times = [timed.best, timed.median].map(|time| self.page.letters(&Short(time).to_string()));
            [vec![self.filled(&timed.label)], times.to_vec()].concat()
        };
        Ok(Table {
            title: self.filled(&timing.title),
            columns: vec![String::new(), t!("best"), t!("median")],
            rows: times.iter().map(row).collect(),
            source: t!("measured on the machine that made this page"),
        })
    }

    fn command(&self, command: &Command) -> Outcome<Block> {
        let words = allowed(command)?;
        let output = (self.run)(words).map_err(|why| {
            let what = format!("`{}` shows nothing: {why}", command.words.join(" "));
            Fault::new(what, "", "mend the command; `mha lessons validate` tries all of them")
        })?;
        let line = shlex::try_join(command.words.iter().map(String::as_str))
            .unwrap_or_else(|_| command.words.join(" "));
        let output = excerpt(command, &output).into_iter().map(|line| self.page.letters(line)).collect();
        Ok(Block::Command { line: self.page.letters(&line), output })
    }
}

/// What the shades of each panel stand for: the same for all of a kind, so that they can be compared.
fn scales(panels: &[Option<Panel<'_>>], found: &[(Rc<Ran>, StepId, Option<&str>)]) -> Vec<Option<Scale>> {
    let kind = |at: usize| names::kind(found[at].1.name);
    let of_kind = |at: usize| {
        let alike = (0..panels.len())
            .filter(|other| kind(*other) == kind(at))
            .filter_map(|other| panels[other].as_ref());
        let scales: Vec<Scale> =
            alike.map(|panel| Scale::of(std::slice::from_ref(panel), panel.are_weights())).collect();
        let least = scales.iter().map(|scale| scale.least).fold(f64::INFINITY, f64::min);
        let most = scales.iter().map(|scale| scale.most).fold(f64::NEG_INFINITY, f64::max);
        Scale { least, most }
    };
    (0..panels.len()).map(|at| panels[at].as_ref().map(|_| of_kind(at))).collect()
}
