//! What the literature says of heads and needs no labels to be measured, beside what is measured here.
//!
//! Clark et al. 2019 (“What Does BERT Look At?”) looked at BERT-base on a thousand passages, Kobayashi et al. 2020 at the
//! same model, Xiao et al. 2024 (“Efficient Streaming Language Models with Attention Sinks”) at Llama 2, Olsson et al.
//! 2022 (“In-context Learning and Induction Heads”) at small and large language models. A survey is of one model on one
//! text, or a few: it neither proves nor refutes a claim.

use std::collections::HashSet;
use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::role::{EVENNESS, SHARE};
use super::survey::{Survey, View, both_names};
use super::{HeadSurvey, Measure};
use crate::fault::Outcome;
use crate::model::{Model, Passage, Text};
use crate::number::number;
use crate::words::{n, t};

/// A claim, and what is measured here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `Clark et al. 2019`
    pub source: &'static str,
    /// What they found, in English: a key of [`crate::words::say`].
    pub claim: &'static str,
    /// What is measured here.
    pub here: String,
    /// On how much.
    pub sample: String,
}

/// Digits of the numbers in sentences.
const DIGITS: usize = 2;

/// The claims that have a meaning for the model, from a survey of texts.
pub fn of_texts(survey: &Survey) -> Vec<Claim> {
    let sample = sample(survey);
    let claim = |source, claim, here: Option<String>| {
        here.map(|here| Claim { source, claim, here, sample: sample.clone() })
    };
    let mut claims = Vec::new();
    if survey.is_causal {
        claims.extend(claim(
            "Xiao et al. 2024",
            n!("Beyond the first two layers, the first token gets much of the attention (a sink)."),
            sink(survey),
        ));
    } else {
        claims.extend(claim(
            "Clark et al. 2019",
            n!("In layers 6 to 10 of BERT's 12, over half of the attention goes to [SEP]."),
            separators(survey),
        ));
        claims.extend(claim(
            "Kobayashi et al. 2020",
            n!(
                "Separators get much weight, but their values are short: by weight · norm they give little of what is received."
            ),
            short_values(survey),
        ));
    }
    claims.extend(claim(
        "Clark et al. 2019",
        n!("Some heads give over half to the token before or after, most of them in early layers."),
        positional(survey),
    ));
    claims.extend(claim(
        "Clark et al. 2019",
        n!("Most heads give little to the query's own token."),
        itself(survey),
    ));
    claims.extend(claim(
        "Clark et al. 2019",
        n!("Very broad attention is found in low layers."),
        broad(survey),
    ));
    claims
}

/// The claim about induction, from a survey of [`repeated`] tokens.
pub fn of_repeated(survey: &Survey) -> Option<Claim> {
    let (layer, head, share) = best(survey, Measure::Induction, 0..survey.layers.len())?;
    let mut here = t!(
        "strongest: %{head}, share %{share}; %{count} of %{all} heads reach %{threshold}",
        head = both_names(layer, head),
        share = number(share, DIGITS),
        count = survey.heads().filter(|(.., head)| reaches(head, Measure::Induction, SHARE)).count(),
        all = survey.heads().count(),
        threshold = SHARE
    );
    here.push_str(&match best(survey, Measure::Previous, 0..layer) {
        Some((before, head, share)) => t!(
            "; of the heads in earlier layers, %{head} gives most to the token before: %{share}",
            head = both_names(before, head),
            share = number(share, DIGITS)
        ),
        None => t!("; no layer stands before it"),
    });
    let queries = survey.layers.first()?.heads.first()?.weights.queries(Measure::Induction);
    Some(Claim {
        source: "Olsson et al. 2022",
        claim: n!(
            "On random tokens that are repeated, induction heads attend to what followed the token the first time, with the help \
             of a previous-token head in an earlier layer."
        ),
        here,
        sample: t!(
            "%{tokens} tokens: random ones (seed %{seed}), twice; %{queries} queries of the second time",
            tokens = survey.tokens,
            seed = SEED,
            queries
        ),
    })
}

/// The seed of the random tokens.
const SEED: u64 = 1;
/// How many of them there are at most; they stand twice in the passage.
const HALF: usize = 24;
/// Fewer say nothing.
const LEAST: usize = 4;

/// Random tokens of a model's vocabulary, all different, twice in a row; before them what the model puts before every
/// text. Special tokens, and such as have no name, are left out.
///
/// The generator is ChaCha8 with the seed 1 as its key. `None` where the model's positions or its vocabulary leave no room.
///
/// # Errors
/// The checkpoint has no vocabulary.
pub fn repeated(model: &Model, passage: &Passage) -> Outcome<Option<Passage>> {
    let shape = model.checkpoint.shape(&model.blueprint.embeddings.tokens)?;
    let vocabulary = shape.first().copied().unwrap_or(0).min(u32::MAX as usize) as u64;
    let starts = passage.is_special.first() == Some(&true);
    let mut ids: Vec<u32> = passage.ids.iter().copied().filter(|_| starts).take(1).collect();
    let room = model.blueprint.most_tokens.map_or(HALF, |most| most.saturating_sub(ids.len()) / 2).min(HALF);
    let mut key = [0; 32];
    key[..8].copy_from_slice(&SEED.to_le_bytes());
    let mut chacha = ChaCha8Rng::from_seed(key);
    let (mut drawn, mut seen) = (Vec::new(), HashSet::new());
    // A small vocabulary of many special tokens may not hold enough.
    for _ in 0..1000 * HALF {
        if vocabulary == 0 || drawn.len() == room {
            break;
        }
        let id = (chacha.next_u64() % vocabulary) as u32;
        if seen.insert(id) && is_ordinary(model, id) {
            drawn.push(id);
        }
    }
    if drawn.len() < LEAST {
        return Ok(None);
    }
    ids.extend(&drawn);
    ids.extend(&drawn);
    model.read(&Text::Ids(ids)).map(Some)
}

/// Whether a token is one of a language's: it has a name, which does not stand in brackets ([MASK], <unk>, <0x0A>).
fn is_ordinary(model: &Model, id: u32) -> bool {
    let Ok(read) = model.read(&Text::Ids(vec![id])) else { return false };
    let label = read.labels.first().map_or("", String::as_str);
    let bracketed = [('[', ']'), ('<', '>')]
        .iter()
        .any(|(open, close)| label.len() > 2 && label.starts_with(*open) && label.ends_with(*close));
    let is_nameless = model.tokens.is_some() && label == id.to_string();
    !bracketed && !is_nameless && read.is_special.first() != Some(&true)
}

fn sample(survey: &Survey) -> String {
    let (tokens, heads) = (survey.tokens, survey.heads().count());
    match survey.texts {
        1 => t!("1 text of %{tokens} tokens, %{heads} heads", tokens, heads),
        texts => t!("%{texts} texts of %{tokens} tokens together, %{heads} heads", texts, tokens, heads),
    }
}

fn reaches(head: &HeadSurvey, measure: Measure, least: f64) -> bool {
    head.weights.mean(measure).is_some_and(|mean| mean >= least)
}

/// The head of some layers with the most of a measure: its layer, itself, and how much.
fn best(survey: &Survey, measure: Measure, layers: Range<usize>) -> Option<(usize, usize, f64)> {
    let heads = survey.heads().filter(|(layer, ..)| layers.contains(layer));
    let measured = heads.filter_map(|(layer, head, of)| Some((layer, head, of.weights.mean(measure)?)));
    measured.reduce(|best, head| if head.2 > best.2 { head } else { best })
}

/// `layers 3–5 of 6`
fn named(layers: &Range<usize>, all: usize) -> String {
    match layers.len() {
        1 => t!("layer %{from} of %{all}", from = layers.end, all),
        _ => t!("layers %{from}–%{to} of %{all}", from = layers.start + 1, to = layers.end, all),
    }
}

/// The layers as deep in this model as layers 6 to 10 are in one of 12.
fn separators(survey: &Survey) -> Option<String> {
    let count = survey.layers.len();
    let layers = 5 * count / 12..(10 * count).div_ceil(12);
    let share = survey.mean(layers.clone(), Measure::Separator, View::Weights)?;
    Some(t!(
        "%{layers}, as deep as those: share to separators %{share}",
        layers = named(&layers, count),
        share = number(share, DIGITS)
    ))
}

fn short_values(survey: &Survey) -> Option<String> {
    let all = 0..survey.layers.len();
    let by_weight = survey.mean(all.clone(), Measure::Separator, View::Weights)?;
    let by_norm = survey.mean(all, Measure::Separator, View::Norms)?;
    Some(t!(
        "all heads: share to separators %{by_weight} by weight, %{by_norm} by weight · norm",
        by_weight = number(by_weight, DIGITS),
        by_norm = number(by_norm, DIGITS)
    ))
}

fn positional(survey: &Survey) -> Option<String> {
    let over_half = |measure: Measure| -> Vec<String> {
        let heads = survey.heads().filter(|(.., head)| reaches(head, measure, 0.5));
        heads.map(|(layer, ..)| (layer + 1).to_string()).collect()
    };
    let (before, after) = (over_half(Measure::Previous), over_half(Measure::Next));
    let told = |direction: String, layers: &[String]| match layers {
        [] => t!("%{direction}: no head", direction),
        [layer] => t!("%{direction}: 1 head, in layer %{layer}", direction, layer),
        layers => t!(
            "%{direction}: %{count} heads, in layers %{layers}",
            direction,
            count = layers.len(),
            layers = layers.join(&t!(", "))
        ),
    };
    let mut words = told(t!("token before"), &before);
    if !survey.is_causal {
        words.push_str(&t!("; "));
        words.push_str(&told(t!("token after"), &after));
    }
    Some(t!("%{words} (%{layers} layers in all)", words, layers = survey.layers.len()))
}

fn itself(survey: &Survey) -> Option<String> {
    let measured: Vec<f64> =
        survey.heads().filter_map(|(.., head)| head.weights.mean(Measure::Itself)).collect();
    let even = survey.layers.first()?.even.mean(Measure::Itself)?;
    let below = measured.iter().filter(|share| **share < 0.1).count();
    Some(t!(
        "%{below} of %{all} heads give less than 0.1 of it; even attention gives %{even}",
        below,
        all = measured.len(),
        even = number(even, DIGITS)
    ))
}

fn broad(survey: &Survey) -> Option<String> {
    let half = survey.layers.len().div_ceil(2);
    let told = |layers: Range<usize>| {
        let heads =
            survey.layers.get(layers.clone()).unwrap_or_default().iter().flat_map(|layer| &layer.heads);
        let heads: Vec<_> = heads.collect();
        let broad = heads.iter().filter(|head| reaches(head, Measure::Evenness, EVENNESS)).count();
        t!(
            "%{layers}: %{broad} of %{all} heads",
            layers = named(&layers, survey.layers.len()),
            broad,
            all = heads.len()
        )
    };
    let lower = told(0..half);
    if half == survey.layers.len() {
        return Some(lower);
    }
    Some(t!("%{lower}; %{upper}", lower, upper = told(half..survey.layers.len())))
}

fn sink(survey: &Survey) -> Option<String> {
    let count = survey.layers.len();
    let layers = 2..count;
    let share = survey.mean(layers.clone(), Measure::First, View::Weights)?;
    let heads = survey.heads().filter(|(layer, ..)| layers.contains(layer));
    let heads: Vec<_> = heads.map(|(.., head)| head).collect();
    let even = survey.layers.last()?.even.mean(Measure::First)?;
    Some(t!(
        "%{layers}: share to the first token %{share}, where even attention gives %{even}; %{reach} of %{all} heads reach \
         %{threshold}",
        layers = named(&layers, count),
        share = number(share, DIGITS),
        even = number(even, DIGITS),
        reach = heads.iter().filter(|head| reaches(head, Measure::First, SHARE)).count(),
        all = heads.len(),
        threshold = SHARE
    ))
}
