//! Whether the parts of a course can be told as they are written.

use super::super::command;
use super::{Check, Scope};
use crate::fault::Fault;
use crate::lesson::course::{Command, Figure, Figures, Part, Plot};

impl Check<'_> {
    pub(super) fn part(&mut self, part: &Part, path: &str) {
        match part {
            Part::Say(text) => self.sentence(text, &format!("{path}.say")),
            Part::Show { steps, .. } => {
                let many = steps.len() > 1;
                for (index, shown) in steps.iter().enumerate() {
                    let item = if many { format!("[{}]", index + 1) } else { String::new() };
                    self.step(shown, &format!("{path}.show{item}"));
                }
            }
            Part::Ask(question) => self.question(question, path),
            Part::Task(task) => self.task(task, path),
            Part::Table(figures) => self.table(figures, &format!("{path}.table")),
            Part::Plot(plot) => self.plot(plot, &format!("{path}.plot")),
            Part::Command(shown) => self.command(shown, path),
            Part::Time(timing) => {
                self.sentence(&timing.title, &format!("{path}.time.title"));
                for (index, (label, run)) in timing.runs.iter().enumerate() {
                    let path = format!("{path}.time.runs[{}]", index + 1);
                    self.sentence(label, &path);
                    self.is_run(run.as_deref(), &path);
                }
            }
        }
    }

    fn table(&mut self, figures: &Figures, path: &str) {
        for text in [&figures.title, &figures.source].into_iter().chain(&figures.columns) {
            self.sentence(text, path);
        }
        for (r, row) in figures.rows.iter().enumerate() {
            for (c, cell) in row.iter().enumerate() {
                let path = format!("{path}.rows[{}][{}]", r + 1, c + 1);
                match cell {
                    Figure::Words(text) => self.sentence(text, &path),
                    Figure::Computed(quantity) => self.number(quantity, &path),
                }
            }
        }
    }

    fn plot(&mut self, plot: &Plot, path: &str) {
        self.sentence(&plot.title, &format!("{path}.title"));
        self.sentence(&plot.label, &format!("{path}.x.label"));
        let runs = plot.lines.iter().enumerate().fold(true, |all, (index, line)| {
            self.sentence(&line.label, &format!("{path}.lines[{}].label", index + 1));
            self.runs_of(&line.value, &format!("{path}.lines[{}].value", index + 1)) && all
        });
        if !runs || matches!(self.scope, Scope::Texts) {
            return;
        }
        match self.workshop.drawn(plot) {
            Err((key, faults)) => {
                self.faults(&format!("{path}.{key}"), faults, "the plot cannot be drawn");
            }
            Ok(curves) if plot.log[1] && curves.iter().flatten().any(|(_, y)| *y <= 0.0) => {
                let what = "a curve comes to 0 or less, on a logarithmic axis";
                let remedy = "leave log_y out";
                self.fault(path, Fault::new(what, "only numbers above 0 have a logarithm", remedy));
            }
            Ok(_) => {}
        }
    }

    fn command(&mut self, shown: &Command, path: &str) {
        let (lines, path) = (format!("{path}.lines"), format!("{path}.command"));
        let output = match (command::allowed(shown), self.scope) {
            (Err(fault), _) => return self.fault(&path, fault),
            (Ok(_), Scope::Texts) => return,
            (Ok(words), Scope::All(run)) => run(words),
        };
        match output {
            Err(why) => {
                let what = format!("{} cannot be run: {why}", shown.words.join(" "));
                self.fault(&path, Fault::new(what, "", "type it into a shell, and mend it there"));
            }
            Ok(output) => {
                let there = output.lines().count();
                if let Some([from, to]) = shown.lines.filter(|[_, to]| *to > there) {
                    let what = format!("lines {from} to {to} are to be shown, but it prints {there}");
                    self.fault(&lines, Fault::new(what, "", "name lines that are there"));
                }
            }
        }
    }
}
