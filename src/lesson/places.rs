//! Where in the text of a lesson each value stands: line and column, from 1.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::reader::{Spot, clipped};
use crate::fault::{Fault, Place, counted};

/// A longer line is not shown beside its fault.
const LONGEST_LINE: usize = 10_000;

/// Line and column, both from 1.
pub(super) type LineColumn = (usize, usize);

/// The place of a marker of the event parser.
pub(super) fn line_column(marker: &Marker) -> LineColumn {
    (marker.line().max(1), marker.col() + 1)
}

/// The text of a line (from 1), unless it is a very long one.
pub(super) fn line(text: &str, number: usize) -> Option<String> {
    // \r\n is one break, a lone \r is one too, as in the parser that counted the lines.
    let mut rest = text;
    for _ in 1..number {
        let end = rest.find(['\n', '\r'])?;
        let step = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[end + step..];
    }
    rest.split(['\n', '\r']).next().filter(|line| line.len() <= LONGEST_LINE).map(str::to_owned)
}

/// A scalar or the start of a list or mapping, met on a walk through the text.
pub(super) struct Met<'w> {
    /// Where in the lesson's structure.
    pub(super) spot: &'w Spot,
    /// Where in the text: a key's own place for what stands under it.
    pub(super) at: LineColumn,
    /// What was typed, for a number or word without quotes.
    pub(super) typed: Option<&'w str>,
}

/// Visits every value of a text that has passed [`check`], in the order of the text.
pub(super) fn walk(text: &str, mut visit: impl FnMut(Met)) {
    enum Frame {
        List { next: usize, length: usize },
        Mapping { key: Option<LineColumn>, length: usize },
    }
    let mut spot = Spot::root();
    let mut frames: Vec<Frame> = Vec::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { return };
        let mut at = line_column(&span.start);
        match event {
            Event::SequenceEnd | Event::MappingEnd => {
                frames.pop();
                if let Some(Frame::List { length, .. } | Frame::Mapping { length, .. }) = frames.last() {
                    spot.cut(*length);
                }
                continue;
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {}
            _ => continue,
        }
        match (frames.last_mut(), &event) {
            (Some(Frame::Mapping { key: key @ None, .. }), Event::Scalar(word, ..)) => {
                spot.push_key(word);
                *key = Some(at);
                continue;
            }
            (Some(Frame::Mapping { key, .. }), _) => at = key.take().unwrap_or(at),
            (Some(Frame::List { next, .. }), _) => {
                spot.push_item(*next);
                *next += 1;
            }
            (None, _) => {}
        }
        let typed = match &event {
            Event::Scalar(word, ScalarStyle::Plain, ..) => Some(word.as_ref()),
            _ => None,
        };
        visit(Met { spot: &spot, at, typed });
        let length = spot.as_str().len();
        match event {
            Event::SequenceStart(..) => frames.push(Frame::List { next: 0, length }),
            Event::MappingStart(..) => frames.push(Frame::Mapping { key: None, length }),
            _ => {
                if let Some(Frame::List { length, .. } | Frame::Mapping { length, .. }) = frames.last() {
                    spot.cut(*length);
                }
            }
        }
    }
}

/// The faults that are told, each at its place, and how many are not told.
pub(super) fn told(text: &str, source: &str, faults: Vec<(Fault, Spot)>, untold: usize) -> Vec<Fault> {
    let mut told = locate(text, source, faults);
    if untold > 0 {
        let what = format!("{} more like these", counted(untold, "fault"));
        told.push(Fault::new(what, "", "mend the first ones, and look again").in_source(source));
    }
    told
}

/// Gives faults their line and column; one whose value is not in the text (a missing key) gets that of the
/// section it is missing from.
fn locate(text: &str, source: &str, faults: Vec<(Fault, Spot)>) -> Vec<Fault> {
    let mut wanted: HashSet<Spot> = HashSet::new();
    for (_, spot) in &faults {
        let mut next = Some(spot.clone());
        while let Some(spot) = next {
            next = spot.parent();
            wanted.insert(spot);
        }
    }
    let mut places: HashMap<Spot, LineColumn> = HashMap::new();
    walk(text, |met| {
        if let Some(spot) = wanted.get(met.spot) {
            places.entry(spot.clone()).or_insert(met.at);
        }
    });
    let mut faults: Vec<(LineColumn, Fault)> = faults
        .into_iter()
        .map(|(fault, spot)| {
            let ancestors = std::iter::successors(Some(spot.clone()), Spot::parent);
            let at = ancestors.into_iter().find_map(|spot| places.get(&spot).copied()).unwrap_or((1, 1));
            let place = Place {
                source: source.to_owned(),
                line_column: Some(at),
                path: clipped(spot.as_str()),
                text: line(text, at.0),
            };
            (at, fault.at(place))
        })
        .collect();
    faults.sort_by_key(|(at, _)| *at);
    faults.into_iter().map(|(_, fault)| fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_keys_own_or_the_items_own() {
        let text = "a: 1\nb:\n  c: [[1, 2], [3, 45]]\n  d: {e: f}\n";
        let mut places = Vec::new();
        walk(text, |met| places.push((met.spot.to_string(), met.at)));
        let at = |spot: &str| places.iter().find(|(name, _)| name == spot).map(|(_, at)| *at);
        assert_eq!(at("a"), Some((1, 1)));
        assert_eq!(at("b.c"), Some((3, 3)));
        assert_eq!(at("b.c[2]"), Some((3, 15)));
        assert_eq!(at("b.c[2][2]"), Some((3, 19)));
        assert_eq!(at("b.d.e"), Some((4, 7)));
        assert_eq!(places.len(), 1 + 1 + 1 + 1 + 6 + 1 + 1);
    }

    #[test]
    fn lines_are_found_whatever_ends_them() {
        assert_eq!(line("a\r\nb\rc\nd", 2).as_deref(), Some("b"));
        assert_eq!(line("a\r\nb\rc\nd", 3).as_deref(), Some("c"));
        assert_eq!(line("a\r\nb\rc\nd", 4).as_deref(), Some("d"));
        assert_eq!(line("a", 2), None);
    }
}
