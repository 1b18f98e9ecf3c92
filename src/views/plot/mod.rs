//! Curves on two axes: as text for a terminal ([`terminal`]), as SVG for a page ([`svg`]), and as lines of numbers for
//! whoever listens instead of looking ([`Chart::told`]).
//!
//! Lines are told apart by their markers, so that a chart can be read without colour.

mod axis;
pub mod svg;
pub mod terminal;

use axis::Axis;
pub use axis::short;

use crate::fault::visible;
use crate::lesson::course;
use crate::number::{digits_for, number};
use crate::views::page::Page;

/// Several lines over one horizontal axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis is.
    pub label: String,
    /// The lines.
    pub curves: Vec<Curve>,
    /// Which axes are logarithmic: horizontal, vertical.
    pub log: [bool; 2],
}

/// One line of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// What it is.
    pub label: String,
    /// Its points from left to right: (horizontal, height).
    pub points: Vec<(f64, f64)>,
}

impl Chart {
    /// The plot of a lesson with its points, a list a line.
    pub fn new(plot: &course::Plot, points: Vec<Vec<(f64, f64)>>) -> Self {
        let curve =
            |(line, points): (&course::Line, Vec<(f64, f64)>)| Curve { label: line.label.clone(), points };
        Self {
            title: plot.title.clone(),
            label: plot.label.clone(),
            curves: plot.lines.iter().zip(points).map(curve).collect(),
            log: plot.log,
        }
    }

    /// Every point as a line of its own: `scaled, d_k = 8: 1.5833`. Names are safe to show.
    pub fn told(&self, page: &Page) -> Vec<String> {
        let mut lines = Vec::new();
        for curve in &self.curves {
            let digits = digits_for(curve.points.iter().map(|(_, y)| y), page.digits);
            for (x, y) in &curve.points {
                let place = format!("{} = {}", visible(&self.label), axis::short(*x));
                let words = format!("{}, {place}: {}", visible(&curve.label), number(*y, digits));
                lines.push(page.letters(&words));
            }
        }
        lines
    }

    /// The chart in words, for who cannot see it: what is shown, and where each line begins and ends.
    pub fn description(&self, digits: usize) -> String {
        let mut words = String::new();
        for curve in &self.curves {
            if let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) {
                let digits = digits_for([&first.1, &last.1], digits);
                words.push_str(&format!(
                    "{}: {} → {} ({} {} → {}). ",
                    visible(&curve.label),
                    number(first.1, digits),
                    number(last.1, digits),
                    visible(&self.label),
                    axis::short(first.0),
                    axis::short(last.0),
                ));
            }
        }
        words.trim_end().to_owned()
    }

    /// The horizontal axis and the vertical one.
    fn axes(&self) -> (Axis, Axis) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        (
            Axis::tight(points().map(|(x, _)| *x), self.log[0]),
            Axis::rounded(points().map(|(_, y)| *y), self.log[1]),
        )
    }

    /// How many points have no place on the axes: what is not finite, and what is not above 0 on a logarithmic axis.
    fn placeless(&self, axes: &(Axis, Axis)) -> usize {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        points.filter(|(x, y)| axes.0.place(*x).is_none() || axes.1.place(*y).is_none()).count()
    }

    /// The numbers on the horizontal axis, each once, in increasing order: a tick can stand at each.
    fn stops(&self, axis: &Axis) -> Vec<(f64, f64)> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let mut stops: Vec<(f64, f64)> = points.filter_map(|(x, _)| Some((axis.place(*x)?, *x))).collect();
        stops.sort_by(|a, b| a.1.total_cmp(&b.1));
        stops.dedup_by(|a, b| a.1 == b.1);
        stops
    }
}

/// Which of texts that stand centred at places have room without touching: the first and the last come first, then
/// the others from left to right. Texts are given with their middle and their width, in any unit.
fn with_room(texts: &[(f64, f64)], apart: f64) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    let ends = [0, texts.len().saturating_sub(1)];
    for at in ends.into_iter().chain(0..texts.len()) {
        let Some((middle, wide)) = texts.get(at) else { continue };
        let free = |other: &usize| {
            let (there, broad) = texts[*other];
            (middle - there).abs() >= (wide + broad) / 2.0 + apart
        };
        if kept.iter().all(free) {
            kept.push(at);
        }
    }
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entropy against d_k: two lines of four points on a logarithmic axis.
    pub(super) fn entropies() -> Chart {
        let xs = [4.0, 16.0, 64.0, 256.0];
        let curve = |label: &str, ys: [f64; 4]| Curve {
            label: label.to_owned(),
            points: xs.into_iter().zip(ys).collect(),
        };
        Chart {
            title: "Entropy of the attention weights".to_owned(),
            label: "d_k".to_owned(),
            curves: vec![curve("scaled", [2.5, 2.5, 2.5, 2.5]), curve("unscaled", [2.0, 1.0, 0.5, 0.25])],
            log: [true, false],
        }
    }

    #[test]
    fn every_point_is_told_on_a_line_of_its_own() {
        let told = entropies().told(&Page { digits: 2, ..Page::default() });
        assert_eq!(told.len(), 8);
        assert_eq!(told[0], "scaled, d_k = 4: 2.50");
        assert_eq!(told[7], "unscaled, d_k = 256: 0.25");
    }

    #[test]
    fn what_has_no_place_is_counted() {
        let mut chart = entropies();
        chart.curves[0].points[0].1 = f64::NAN;
        chart.curves[1].points[1].0 = 0.0; // nowhere on a logarithmic axis
        let axes = chart.axes();
        assert_eq!(chart.placeless(&axes), 2);
    }

    /// Widths of 3 at 0, 2, 4, 10: the ends stay; the one at 2 would touch the first, the one at 4 has a blank.
    #[test]
    fn ticks_that_would_touch_are_left_out() {
        assert_eq!(with_room(&[(0.0, 3.0), (2.0, 3.0), (4.0, 3.0), (10.0, 3.0)], 1.0), [0, 2, 3]);
        assert_eq!(with_room(&[(0.0, 3.0)], 1.0), [0]);
        assert_eq!(with_room(&[], 1.0), [0; 0]);
    }
}
