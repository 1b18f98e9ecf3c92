//! What was found out about a person's tensors, as a report.

use super::grid::Side;
use super::look::Tone;
use super::mistakes::mend;
use super::part::{Part, Table};
use crate::answers::Answers;
use crate::fault::{shell_word, visible};
use crate::mistakes::diagnose::{At, Checked, Diagnosis, Explanation, Measured, Status};
use crate::mistakes::difference::Whose;
use crate::ops::list;
use crate::plan::{Head, Name, StepId};
use crate::words::{n, say, t};

/// Where a mistake can be seen beside the right computation.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// On a lesson, as a command names it: quoted for a shell.
    Lesson(&'a str),
    /// On a layer of a model: the words that name the model and its text, quoted; and the layer, from 0.
    Layer(&'a [String], usize),
    /// On a layer of a lesson that is a stack, which no command shows alone.
    Nowhere,
}

impl Shown<'_> {
    fn command(&self, mistake: &str, form: &str) -> Option<Vec<String>> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Lesson(lesson) => {
                Some(owned(&["mha", "trace", lesson, "--mistake", &named(mistake, form)]))
            }
            Self::Layer(model, layer) => {
                let mut words = owned(&["mha", "compare"]);
                words.extend_from_slice(model);
                let layer = (layer + 1).to_string();
                words.extend(owned(&["--layer", &layer, "--variants", &format!("multi-head,{mistake}")]));
                Some(words)
            }
            Self::Nowhere => None,
        }
    }
}

/// A diagnosis to be told.
pub struct Report<'a> {
    /// The lesson's title.
    pub title: &'a str,
    /// Where a mistake can be seen.
    pub shown: Shown<'a>,
    /// The steps that the lesson has, in the order of the computation.
    pub known: &'a [Name],
    /// What was handed over.
    pub answers: &'a Answers,
    /// What was found out.
    pub diagnosis: &'a Diagnosis,
}

/// The report: each step, the verdict, and what explains it.
pub fn parts(report: &Report<'_>) -> Vec<Part> {
    let mut parts =
        vec![Part::Title(t!("%{lesson}: your tensors beside the right ones", lesson = report.title))];
    parts.extend(
        report.answers.remarks.iter().map(|remark| Part::Say(t!("%{words}.", words = visible(remark)))),
    );
    parts.push(Part::Table(steps(&report.diagnosis.steps)));
    parts.extend(layouts(&report.diagnosis.steps).map(Part::Say));
    parts.extend(left_out(&report.answers.left_out).map(Part::Say));
    match report.diagnosis.first_wrong.and_then(|first| report.diagnosis.steps.get(first)) {
        None => parts.extend(right(report.diagnosis)),
        Some(first) => wrong(report, first, &mut parts),
    }
    parts
}

/// What is told of each step; 80 columns hold the longest name of a head's step.
pub(super) const COLUMNS: [(&str, Side); 4] =
    [("", Side::Left), (n!("off by"), Side::Right), (n!("at"), Side::Left), (n!("cells off"), Side::Right)];

/// An empty table of steps.
pub(super) fn table_of_steps() -> Table {
    Table::new(&t!("step"), &COLUMNS.map(|(name, side)| (say(name), side)))
}

fn steps(steps: &[Checked]) -> Table {
    let mut table = table_of_steps();
    for step in steps {
        let mut cells = vec![status(step.status)];
        match (step.status, step.measured) {
            (Status::Shape, _) | (_, None) => {
                cells.extend([
                    t!("is %{size}", size = sizes(&step.shape)),
                    t!("should be %{size}", size = sizes(&step.expected)),
                ]);
                cells.push(String::new());
            }
            (status, Some(measured)) => cells.extend(figures(step.name, status, &measured)),
        }
        table.judged(tone(step.status), step.name.to_string(), cells);
    }
    table
}

/// The largest difference, where it is, and how many cells differ.
pub(super) fn figures(name: Name, status: Status, measured: &Measured) -> [String; 3] {
    let Measured { largest, at, cells, of, .. } = *measured;
    let off = match status {
        Status::Wrong => t!("%{count} of %{all}", count = cells, all = of),
        _ => t!("%{count} of %{all}", count = 0, all = of),
    };
    let place = if largest > 0.0 { cell(name, at) } else { String::new() };
    [distance(largest), place, off]
}

/// A difference in three digits; what no number is far from is said in words.
pub(super) fn distance(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value.is_infinite() => t!("no number"),
        value if (0.001..1e6).contains(&value) => format!("{value:.4}"),
        value => format!("{value:.1e}"),
    }
}

/// A cell of a stacked step by the name that it has in a trace: `head.2.scores[1,3]`.
pub(super) fn cell(name: Name, at: At) -> String {
    let name = match (name, at.head) {
        (Name::Stack(stack), Some(head)) => Name::Head(Head(head), stack.of_a_head()),
        (other, _) => other,
    };
    let id = StepId::of(at.sequence, name);
    format!("{id}[{},{}]", at.row + 1, at.column + 1)
}

/// A step that is off by rounding is as it should be.
pub(super) fn tone(status: Status) -> Tone {
    match status {
        Status::Right | Status::Rounding => Tone::Right,
        Status::Wrong | Status::Shape => Tone::Wrong,
    }
}

pub(super) fn status(status: Status) -> String {
    match status {
        Status::Right => t!("matches"),
        Status::Rounding => t!("rounding"),
        Status::Wrong => t!("wrong"),
        Status::Shape => t!("wrong shape"),
    }
}

/// A shape as people write it.
pub(super) fn sizes(shape: &[usize]) -> String {
    if shape.is_empty() {
        return t!("one number");
    }
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
}

/// What is said of a tensor that came scaled.
const SCALED: &str =
    n!("it is multiplied by the scale already, which is as good as scaling the scores (once)");

/// What was recognised in the tensors' layouts, and what it is worth: tensors that are alike in one sentence.
pub(super) fn layouts(steps: &[Checked]) -> impl Iterator<Item = String> {
    let recognised = steps.iter().filter(|step| step.status != Status::Shape).filter_map(|step| {
        let mut said: Vec<&str> = step.how.iter().map(|layout| say(layout.told())).collect();
        if step.scaled {
            said.push(say(SCALED));
        }
        (!said.is_empty()).then(|| (step.called.as_str(), list(said)))
    });
    together(recognised).into_iter().map(|(names, said)| match names.as_slice() {
        [_] => t!(
            "Your %{name} was recognised in another layout: %{said}.",
            name = visible(&list(names.iter().copied())),
            said
        ),
        _ => t!(
            "Your %{names} were each recognised in another layout: %{said}.",
            names = visible(&list(names.iter().copied())),
            said
        ),
    })
}

pub(super) fn left_out(left_out: &[(String, String)]) -> impl Iterator<Item = String> {
    together(left_out.iter().map(|(name, why)| (name.as_str(), why.as_str()))).into_iter().map(
        |(names, why)| {
            t!("Not compared: %{names} (%{why}).", names = visible(&list(names)), why = visible(why))
        },
    )
}

/// Names of which the same is said, each thing said once.
fn together<'a, T: PartialEq>(said: impl Iterator<Item = (&'a str, T)>) -> Vec<(Vec<&'a str>, T)> {
    let mut all: Vec<(Vec<&str>, T)> = Vec::new();
    for (name, what) in said {
        match all.iter_mut().find(|(_, known)| *known == what) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], what)),
        }
    }
    all
}

/// That all of these steps are right, and how closely that is known.
pub(super) fn verdict_of_right(steps: &[&Checked]) -> Vec<Part> {
    let rounded = steps.iter().any(|step| step.status == Status::Rounding);
    let grains = grains(steps.iter().copied());
    let mut said = match steps.len() {
        1 => t!("Right: what you have is what mha computes"),
        2 => t!("Right: both steps are what mha computes"),
        steps => t!("Right: all %{steps} steps are what mha computes", steps),
    };
    said.push_str(&match rounded {
        true => t!(", but for what rounding every step to %{grains} loses.", grains),
        false => t!(", as closely as %{grains} can tell.", grains),
    });
    vec![Part::Title(t!("Verdict")), Part::Say(said)]
}

fn right(diagnosis: &Diagnosis) -> Vec<Part> {
    let mut parts = verdict_of_right(&diagnosis.steps.iter().collect::<Vec<_>>());
    if !diagnosis.otherwise.is_empty() {
        let names: Vec<String> =
            diagnosis.otherwise.iter().map(|one| one.names().join(&t!(" and "))).collect();
        parts.push(Part::Say(t!(
            "That holds in the layout above. As they stand, %{mistakes} gives these tensors, too: if you did not exchange \
             their axes yourself, that is the mistake (mha mistakes NAME tells of it).",
            mistakes = names.join(&t!(", or "))
        )));
    }
    parts
}

fn grains<'a>(steps: impl Iterator<Item = &'a Checked>) -> String {
    let mut names: Vec<String> = Vec::new();
    for step in steps {
        let name = step.grain.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    list(names.iter().map(String::as_str))
}

fn wrong(report: &Report<'_>, first: &Checked, parts: &mut Vec<Part>) {
    let diagnosis = report.diagnosis;
    parts.push(Part::Title(t!("First wrong step: %{step}", step = first.name)));
    parts.push(Part::Say(evidence(diagnosis, first)));
    if diagnosis.explanations.is_empty() {
        unexplained(report, parts);
    } else {
        explanations(diagnosis, report.shown, parts);
    }
}

/// The mistakes that give exactly these tensors; there is at least one.
pub(super) fn explanations(diagnosis: &Diagnosis, shown: Shown<'_>, parts: &mut Vec<Part>) {
    match diagnosis.explanations.as_slice() {
        [] => return,
        [one] => {
            parts.push(Part::Title(headline(one)));
            parts.push(Part::Say(match one.mistakes.len() {
                1 => t!("With this mistake mha computes %{yours}.", yours = yours(diagnosis)),
                _ => t!("With these two mha computes %{yours}.", yours = yours(diagnosis)),
            }));
            explained(shown, one, parts);
        }
        several => {
            parts.push(Part::Title(t!(
                "%{count} explanations that your tensors cannot tell apart",
                count = several.len()
            )));
            parts.push(Part::Say(t!("With each of them mha computes %{yours}.", yours = yours(diagnosis))));
            parts.push(Part::Say(match (diagnosis.telling, shown) {
                (Some(name), _) => t!("Give %{step} as well, and this check tells them apart.", step = name),
                (None, Shown::Lesson(_)) => t!(
                    "They give the same numbers at every step of this lesson: either name is right here, and other inputs \
                     would be needed to tell them apart."
                ),
                (None, Shown::Layer(..) | Shown::Nowhere) => t!(
                    "They give the same numbers at every step of this layer: either name is right here, and other inputs \
                     would be needed to tell them apart."
                ),
            }));
            for explanation in several {
                parts.push(Part::Title(headline(explanation)));
                explained(shown, explanation, parts);
            }
        }
    }
    parts.push(Part::Say(to_confirm()));
}

/// What to do once it is mended.
pub(super) fn to_confirm() -> String {
    t!("To confirm: mend it, compute again, and run this check again.")
}

/// What kind of difference the first wrong step shows.
fn evidence(diagnosis: &Diagnosis, first: &Checked) -> String {
    let before = diagnosis.first_wrong.unwrap_or(0);
    let so_far = match before {
        0 => String::new(),
        1 => t!(" %{step} before it is right.", step = diagnosis.steps[0].name),
        many => t!(" The %{many} steps before it are right.", many),
    };
    let said = match (&diagnosis.difference, first.status) {
        (Some(difference), Status::Wrong) => capital(&difference.told(first.name, &Whose::Right)),
        _ => t!(
            "Yours is %{size}, and it should be %{expected}",
            size = sizes(&first.shape),
            expected = sizes(&first.expected)
        ),
    };
    let alone = match first.one_head {
        Some(head) => t!(
            " These are the right numbers of head %{head} alone: %{step} holds all heads, one after the other.",
            head = head + 1,
            step = first.name
        ),
        None => String::new(),
    };
    format!("{}{alone}", t!("%{said}.%{so_far}", said, so_far))
}

/// The first letter large.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn headline(explanation: &Explanation) -> String {
    let names = explanation.names();
    match names.as_slice() {
        [one] => t!("The mistake: %{one}", one),
        several => t!("Two mistakes: %{both}", both = several.join(&t!(" and "))),
    }
}

fn yours(diagnosis: &Diagnosis) -> String {
    match diagnosis.steps.len() {
        1 => t!("exactly your %{step}", step = diagnosis.steps[0].name),
        steps => t!("exactly your %{steps} tensors", steps),
    }
}

fn explained(shown: Shown<'_>, explanation: &Explanation, parts: &mut Vec<Part>) {
    for (place, (mistake, form)) in explanation.mistakes.iter().enumerate() {
        let mut table = Table::new(mistake.name, &[(&t!("from %{step} on", step = form.first), Side::Left)]);
        table.line(&t!("mistake"), &[say(mistake.summary)]);
        let alike = explanation.forms_alike(mistake);
        // Where every form that can be made here gives these tensors, none of them is worth a word.
        let ways = explanation.ways.get(place).copied().unwrap_or(mistake.forms.len());
        let chosen = if alike.len() + 1 < ways { form.name } else { "" };
        match alike.as_slice() {
            _ if chosen.is_empty() => (),
            [] => table.line(&t!("form"), &[chosen]),
            alike => {
                let words =
                    t!("%{form}; just as well: %{others}", form = chosen, others = alike.join(&t!("; ")));
                table.row(t!("form"), vec![words]);
            }
        }
        table.line(&t!("right"), &[say(mistake.right)]);
        table.line(&t!("yours"), &[say(mistake.wrong)]);
        mend(mistake, &mut table);
        parts.push(Part::Table(table));
        side_by_side(shown, mistake.name, chosen, parts);
    }
}

/// The command that shows a mistake beside the right computation, where there is one.
pub(super) fn side_by_side(shown: Shown<'_>, mistake: &str, form: &str, parts: &mut Vec<Part>) {
    if let Some(command) = shown.command(mistake, form) {
        parts.push(Part::Say(t!("Right and wrong side by side:")));
        parts.push(Part::Command(command));
    }
}

/// A form of a mistake as a command names it.
fn named(mistake: &str, form: &str) -> String {
    let named = if form.is_empty() { mistake.to_owned() } else { format!("{mistake}/{form}") };
    shell_word(&named)
}

fn unexplained(report: &Report<'_>, parts: &mut Vec<Part>) {
    let diagnosis = report.diagnosis;
    if partly(diagnosis, report.shown, parts) {
        return;
    }
    parts.push(Part::Title(t!("No known mistake")));
    let tried = diagnosis.tried;
    let pairs = |pairs: usize| if pairs == 1 { t!("1 pair") } else { t!("%{pairs} pairs", pairs) };
    let mut said = t!(
        "Nothing in the catalogue gives exactly these tensors, so no mistake is named. Tried: the %{forms} that can be made \
         in this lesson, counting every form, and %{pairs} of them.",
        forms = tried.forms,
        pairs = pairs(tried.pairs)
    );
    if tried.left_out > 0 {
        said.push_str(&t!(
            " Not tried, because the problem is large: %{pairs}.",
            pairs = pairs(tried.left_out)
        ));
    }
    parts.push(Part::Say(said));
    match &diagnosis.after {
        Some(after) => {
            let next = after.next_wrong.and_then(|next| diagnosis.steps.get(next));
            parts.push(Part::Say(match next {
                None => {
                    t!("Everything after it follows from it: mend this step, and the rest is right.")
                }
                Some(step) => {
                    t!(
                        "Even computed from your own, %{step} is wrong: there is a second mistake.",
                        step = step.name
                    )
                }
            }));
            for explanation in &after.explanations {
                parts.push(Part::Title(headline(explanation)));
                explained(report.shown, explanation, parts);
            }
        }
        None => parts.push(Part::Say(further_up(report))),
    }
}

/// What accounts for the first wrong steps, where nothing accounts for all; whether there is such a thing.
pub(super) fn partly(diagnosis: &Diagnosis, shown: Shown<'_>, parts: &mut Vec<Part>) -> bool {
    let Some(partly) = &diagnosis.partly else { return false };
    let names: Vec<String> = partly.explanations.iter().map(|one| one.names().join(&t!(" and "))).collect();
    let from = diagnosis.steps.get(partly.wrong_from).map(|step| step.name.to_string()).unwrap_or_default();
    parts.push(Part::Title(t!("Partly explained")));
    parts.push(Part::Say(t!(
        "%{mistakes} accounts for what you have before %{from}; from %{from} on more is wrong, and nothing in the \
         catalogue gives it.",
        mistakes = names.join(&t!(", or ")),
        from
    )));
    for explanation in &partly.explanations {
        explained(shown, explanation, parts);
    }
    true
}

/// Where to look for what nothing explains.
fn further_up(report: &Report<'_>) -> String {
    let steps = &report.diagnosis.steps;
    let first = report.diagnosis.first_wrong.and_then(|first| steps.get(first)).map(|first| first.name);
    let before = report.known.iter().take_while(|name| Some(**name) != first);
    let missing: Vec<String> =
        before.filter(|name| steps.iter().all(|step| step.name != **name)).map(Name::to_string).collect();
    if steps.iter().all(|step| step.status == Status::Shape) {
        return t!(
            "No tensor has the shape that this lesson asks for: see whether they belong to another one."
        );
    }
    let place = match missing.as_slice() {
        [] => t!("Every step before it is right, so it is this step itself that goes wrong."),
        missing => t!(
            "Give %{steps} as well: the first wrong step may be found further up.",
            steps = list(missing.iter().rev().take(2).map(String::as_str))
        ),
    };
    t!("%{place} If another run gives other numbers, look for dropout.", place)
}
