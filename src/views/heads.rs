//! `mha heads`: a map of all heads, a table of some, the thresholds, and claims of the literature beside what is measured.

use std::io::{self, Write};

use super::grid::Side::{Left, Right};
use super::heads_map;
use super::heat::paint::Colours;
use super::heat::panels::{Panel, Scale};
use super::heat::terminal;
use super::number::number;
use super::page::{Page, shorten};
use super::params::Words;
use super::part::{self, Part, Table};
use super::sheet::Sheet;
use crate::heads::claims::Claim;
use crate::heads::role::{EVENNESS, LARGEST, QUERIES, SHARE, TIMES_EVEN, largest_share};
use crate::heads::survey::short_name;
use crate::heads::{HeadSurvey, Measure, Role, Survey, Tally, View};
use crate::words::{say, t};

/// A survey, and what of it is shown.
pub struct Shown<'a> {
    /// What the heads do.
    pub survey: &'a Survey,
    /// By weights or by norms.
    pub view: View,
    /// What the model read, in a few words.
    pub read: String,
    /// Layers and heads of the map, from 0.
    pub layers: Vec<usize>,
    /// Heads of the map, from 0.
    pub columns: Vec<usize>,
    /// The heads that are listed, in order: layer and head, from 0.
    pub listed: Vec<(usize, usize)>,
    /// How many heads the list was cut from.
    pub of: usize,
    /// What the list is sorted by.
    pub sort: &'static str,
    /// Lines of a file of texts that were left out, from 1, and why.
    pub skipped: &'a [(usize, String)],
    /// What the literature says, beside what is measured.
    pub claims: &'a [Claim],
    /// The look of the page.
    pub page: Page,
}

impl Shown<'_> {
    /// A head of the survey.
    pub(super) fn head(&self, layer: usize, head: usize) -> Option<&HeadSurvey> {
        self.survey.layers.get(layer)?.heads.get(head)
    }

    /// Its numbers, in the view that is shown.
    pub(super) fn tally(&self, layer: usize, head: usize) -> Option<&Tally> {
        Some(self.head(layer, head)?.tally(self.view))
    }

    /// Its types, the clearest first; none where there is no such head.
    pub(super) fn roles(&self, layer: usize, head: usize) -> Vec<Role> {
        self.head(layer, head).map(|of| self.survey.roles(layer, of, self.view)).unwrap_or_default()
    }

    /// What a cell of the map says: the first type's letter (small where it only has the largest share, and none a type),
    /// its measure, and whether there are more types.
    pub(super) fn cell(&self, layer: usize, head: usize) -> Option<(Role, char, f64, bool)> {
        let roles = self.roles(layer, head);
        let tally = self.tally(layer, head)?;
        let first = *roles.first()?;
        match first.measure() {
            Some(measure) => Some((first, first.letter(), tally.mean(measure)?, roles.len() > 1)),
            None => {
                let (measure, share) = largest_share(tally)?;
                Some((first, Role::Share(measure).letter().to_ascii_lowercase(), share, false))
            }
        }
    }

    fn number(&self, value: Option<f64>) -> String {
        value.map_or_else(|| "–".to_owned(), |value| number(value, self.page.digits))
    }
}

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write(shown: &Shown<'_>, colours: Colours, words: Words, out: &mut dyn Write) -> io::Result<()> {
    let page = &shown.page;
    write!(out, "{}", part::terminal(&heading(shown), page, words))?;
    write!(out, "\n{}", heads_map::text(shown, colours))?;
    write!(out, "{}", part::terminal(&[Part::Say(legend())], page, words))?;
    let mut rest = vec![Part::Title(table_title(shown))];
    rest.extend(table(shown));
    rest.push(Part::Title(t!("Types, and from where on a head carries them")));
    rest.extend(types(shown));
    rest.extend(claims(shown));
    write!(out, "{}", part::below(&rest, page, words))
}

/// Writes one measure as a heat map, layers in rows and heads in columns.
///
/// # Errors
/// Those of the writer.
pub fn write_heatmap(
    shown: &Shown<'_>,
    measure: Measure,
    colours: Colours,
    words: Words,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{}", part::terminal(&heading(shown), &shown.page, words))?;
    let value = |layer: usize, head: usize| {
        shown.tally(layer, head).and_then(|tally| tally.mean(measure)).unwrap_or(f64::NAN)
    };
    let values = nalgebra::DMatrix::from_fn(shown.layers.len(), shown.columns.len(), |r, c| {
        value(shown.layers[r], shown.columns[c])
    });
    let rows = shown.layers.iter().map(|layer| t!("layer %{layer}", layer = layer + 1)).collect();
    let columns = shown.columns.iter().map(|head| (head + 1).to_string()).collect();
    let panel =
        Panel::of_matrix(measure.name().to_owned(), Sheet::of_matrix(values.as_view(), rows, columns));
    let scale = Scale::of(std::slice::from_ref(&panel), false);
    let what = t!("%{measure}: %{meaning}", measure = measure.name(), meaning = say(measure.meaning()));
    let what = t!("%{what}; rows: layers, columns: heads", what);
    terminal::write_panel(&what, panel, &scale, &shown.page, colours, out)
}

/// What the model is, and what it read.
pub(super) fn heading(shown: &Shown<'_>) -> Vec<Part> {
    let survey = shown.survey;
    let heads = survey.heads().count();
    let kind = if survey.is_causal { t!("causal") } else { t!("not causal") };
    let mut parts = vec![
        Part::Title(t!("What the heads of %{model} do", model = survey.model)),
        Part::Say(t!(
            "%{family}, %{kind}: %{layers} layers, %{heads} heads in all. Read: %{read}",
            family = survey.family,
            kind,
            layers = survey.layers.len(),
            heads,
            read = shown.read
        )),
    ];
    for (line, why) in shown.skipped.iter().take(5) {
        parts.push(Part::Say(t!("Line %{line} was left out: %{why}.", line, why)));
    }
    if shown.skipped.len() > 5 {
        parts.push(Part::Say(t!("%{count} more lines were left out.", count = shown.skipped.len() - 5)));
    }
    if shown.view == View::Norms {
        parts.push(Part::Say(match survey.has_output_projection {
            true => t!(
                "All numbers are those of weight · ‖value · W_O‖, each row over its sum (Kobayashi et al. 2020): W_O is the head's \
                 own block of rows; its bias and norms after it are left out."
            ),
            false => t!(
                "All numbers are those of weight · ‖value‖, each row over its sum (after Kobayashi et al. 2020): there is no W_O."
            ),
        }));
    }
    parts
}

/// What the letters of the map mean.
fn legend() -> String {
    let letters: Vec<String> = Role::ALL
        .into_iter()
        .filter(|role| *role != Role::Mixed)
        .map(|role| format!("{} {}", role.letter(), role.name()))
        .collect();
    t!(
        "A cell a head, a row a layer: the letter of its type and how much of that it has, in percent (%{letters}); + marks more \
         types than one. A small letter has no type: it names the largest share.",
        letters = letters.join(", ")
    )
}

fn table_title(shown: &Shown<'_>) -> String {
    match shown.listed.len() == shown.of {
        true if shown.of == 1 => t!("The one head"),
        true => t!("All %{count} heads, by %{sort}", count = shown.of, sort = shown.sort),
        false => t!(
            "%{count} of %{all} heads, by %{sort} (--top %{all} shows all)",
            count = shown.listed.len(),
            all = shown.of,
            sort = shown.sort
        ),
    }
}

/// The heads that are listed, and what even attention would give.
pub(super) fn table(shown: &Shown<'_>) -> Vec<Part> {
    let names = [(t!("types"), Left), (t!("strongest weight"), Left)];
    let measures = Measure::ALL.into_iter().map(|measure| (measure.name().to_owned(), Right));
    let [types, strongest] = names;
    let columns = std::iter::once(types).chain(measures).chain([strongest]).collect();
    let mut table = Table { corner: t!("layer.head"), columns, ..Table::default() };
    for (layer, head) in &shown.listed {
        let Some(of) = shown.head(*layer, *head) else { continue };
        let roles: Vec<&str> = shown.roles(*layer, *head).into_iter().map(Role::name).collect();
        let numbers = measured(shown, of.tally(shown.view));
        let peak = of.peak.as_ref().map_or_else(String::new, |peak| {
            let [query, key] = peak.tokens.each_ref().map(|token| shorten(token, 14));
            format!("{query} → {key} {}", number(peak.weight, shown.page.digits))
        });
        let name = format!("{}.{} = {}", layer + 1, head + 1, short_name(*layer, *head));
        table.row(name, std::iter::once(roles.join(", ")).chain(numbers).chain([peak]).collect());
    }
    let mut last: Option<&Tally> = None;
    let layers = shown.layers.iter().filter_map(|at| Some((*at, &shown.survey.layers.get(*at)?.even)));
    for (layer, even) in layers {
        // Layers with windows of their own see fewer keys.
        if last != Some(even) {
            let name = match last {
                None => t!("even"),
                Some(_) => t!("even, layer %{layer}", layer = layer + 1),
            };
            let numbers = measured(shown, even);
            table.row(name, std::iter::once(String::new()).chain(numbers).chain([String::new()]).collect());
        }
        last = Some(even);
    }
    vec![
        Part::Table(table),
        Part::Say(t!(
            "Shares are means over the queries that count for them, and may overlap: the token before can be the first one. – \
             means that no query counts. “even” is what even attention to every key in sight would give. mha heads \
             --explain-measures has every definition."
        )),
    ]
}

fn measured(shown: &Shown<'_>, tally: &Tally) -> Vec<String> {
    Measure::ALL.into_iter().map(|measure| shown.number(tally.mean(measure))).collect()
}

/// From where on a head carries a type, in signs.
pub(super) fn threshold(role: Role) -> String {
    match role {
        Role::Share(measure) => t!(
            "%{measure} ≥ %{share} and ≥ %{times} × even",
            measure = measure.name(),
            share = SHARE,
            times = TIMES_EVEN
        ),
        Role::Broad => format!("evenness ≥ {EVENNESS}"),
        Role::Content => t!("no other type, largest ≥ %{largest}", largest = LARGEST),
        Role::Mixed => t!("no other type"),
    }
}

/// The thresholds, and how many heads reach them.
fn types(shown: &Shown<'_>) -> Vec<Part> {
    let columns =
        [(t!("letter"), Left), (t!("threshold"), Left), (t!("heads"), Right), (t!("meaning"), Left)];
    let mut table = Table { corner: t!("type"), columns: columns.to_vec(), ..Table::default() };
    for role in Role::ALL {
        let heads = shown.survey.heads();
        let count = heads.filter(|(layer, _, of)| shown.survey.roles(*layer, of, shown.view).contains(&role));
        let letter = match role {
            Role::Mixed => t!("small"),
            role => role.letter().to_string(),
        };
        let cells = vec![letter, threshold(role), count.count().to_string(), say(role.meaning()).to_owned()];
        table.row(role.name(), cells);
    }
    vec![
        Part::Table(table),
        Part::Say(t!(
            "A share that fewer than %{queries} queries counted for names nothing. The thresholds are choices of this program, not \
             of the literature.",
            queries = QUERIES
        )),
    ]
}

/// Claims of the literature, a table each.
fn claims(shown: &Shown<'_>) -> Vec<Part> {
    if shown.claims.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![Part::Title(t!("What the literature says, and what is measured here"))];
    for claim in shown.claims {
        let mut table = Table::new(claim.source, &[("", Left)]);
        table.line(&t!("claim"), &[say(claim.claim)]);
        table.line(&t!("here"), &[&claim.here]);
        table.line(&t!("sample"), &[&claim.sample]);
        parts.push(Part::Table(table));
    }
    parts.push(Part::Say(caution(shown)));
    parts
}

/// How much the comparison is worth.
pub(super) fn caution(shown: &Shown<'_>) -> String {
    match shown.survey.texts {
        1 => t!(
            "The papers looked at other models and at many texts. This is one model on one text: a sign, neither a proof nor a \
             refutation. --texts FILE takes many."
        ),
        _ => t!(
            "The papers looked at other models and at other texts. This is one model on these: a sign, neither a proof nor a \
             refutation."
        ),
    }
}

/// Every definition, with its formula, and every threshold.
pub fn definitions() -> Vec<Part> {
    let mut table = Table::new(&t!("measure"), &[(&t!("definition, and which queries count"), Left)]);
    for measure in Measure::ALL {
        let cell = t!(
            "%{formula}: %{meaning} (%{counted})",
            formula = measure.formula(),
            meaning = say(measure.meaning()),
            counted = say(measure.counted())
        );
        table.row(measure.name(), vec![cell]);
    }
    let mut types = Table::new(&t!("type"), &[(&t!("threshold"), Left), (&t!("meaning"), Left)]);
    for role in Role::ALL {
        types.row(role.name(), vec![threshold(role), say(role.meaning()).to_owned()]);
    }
    vec![
        Part::Title(t!("What mha heads measures")),
        Part::Say(t!(
            "A is a head's attention weights: A[i, j] is what query i gives to key j, over the sum of its row. Every measure is the \
             mean over the queries that count. A query that sees one key alone has no choice and counts for nothing: in a causal \
             model that is the first. Over several texts every query has one vote."
        )),
        Part::Table(table),
        Part::Say(t!(
            "With --norms, A[i, j] is weight · ‖value j · W_O‖ over the sum of its row (Kobayashi et al. 2020), where W_O is the \
             head's own block of rows; its bias and norms after it are left out. A key with a large weight and a short value then \
             counts for little."
        )),
        Part::Title(t!("Types, and from where on a head carries them")),
        Part::Table(types),
        Part::Say(t!(
            "“even” is what even attention to every key in sight would give: in a short text every key has a large share. A share \
             that fewer than %{queries} queries counted for names nothing. The thresholds are choices of this program, not of the \
             literature.",
            queries = QUERIES
        )),
    ]
}
