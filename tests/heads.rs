//! `mha heads`: measures beside what PyTorch's attention gives by their formulas, and the verb from outside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use approx::assert_relative_eq;
use mha::fault::Outcome;
use mha::heads::{Measure, Role, Survey, View, claims};
use mha::model::{Blueprint, Checkpoint, Embeddings, Model, Passage, Stored, Text};
use mha::plan::spec::{Alignment, Mask};
use mha::plan::{Attention, Layer, Layers, Name, Norm, NormPlace, Projection, Start, StepId};
use serde_json::Value;

const TEXT: &str = "The animal didn't cross the street because it was too tired";

fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models/bert-tiny")
}

fn surveyed(texts: &[&str]) -> Survey {
    let model = Model::open(tiny().to_str().unwrap()).unwrap();
    let mut survey = Survey::new(&model);
    for text in texts {
        let passage = model.read(&Text::One((*text).to_owned())).unwrap();
        survey.add(&model, passage).unwrap();
    }
    survey
}

/// The mean over the queries for which `keys` gives any, of what they give to those: query, key → is it meant?
fn share(map: &[f64], n: usize, keys: impl Fn(usize, usize) -> bool) -> Option<f64> {
    let of = |i: usize| (0..n).filter(|j| keys(i, *j)).map(|j| map[i * n + j]).collect::<Vec<_>>();
    let rows: Vec<Vec<f64>> = (0..n).map(of).filter(|row| !row.is_empty()).collect();
    (!rows.is_empty()).then(|| rows.iter().flatten().sum::<f64>() / rows.len() as f64)
}

/// Every measure of every head, from the attention that transformers computed from the same folder.
#[test]
fn every_measure_agrees_with_pytorchs_attention() {
    let survey = surveyed(&[TEXT]);
    let expected: Value = serde_json::from_slice(&fs::read(tiny().join("expected.json")).unwrap()).unwrap();
    let ids: Vec<u64> =
        expected["texts"][0]["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    let arrays = mha::arrays::read_all(&tiny().join("expected_1.npz")).unwrap();
    let (_, attentions) = arrays.iter().find(|(name, _)| name == "attentions").unwrap();
    let n = ids.len();
    let mut compared = 0;
    for (layer, head, of) in survey.heads() {
        let from = (layer * 4 + head) * n * n;
        let map = &attentions.data[from..from + n * n];
        let rows = || map.chunks(n);
        let mean = |sum: f64| Some(sum / n as f64);
        let entropy = mean(rows().flatten().map(|p| -p * p.log2()).sum()).unwrap();
        let distance = |(at, p): (usize, &f64)| p * (at / n).abs_diff(at % n) as f64;
        for (measure, want) in [
            (Measure::Previous, share(map, n, |i, j| j + 1 == i)),
            (Measure::Next, share(map, n, |i, j| j == i + 1)),
            (Measure::Itself, share(map, n, |i, j| j == i)),
            (Measure::First, share(map, n, |_, j| j == 0)),
            (Measure::Separator, share(map, n, |_, j| j + 1 == n)),
            (Measure::Punctuation, None),
            (Measure::Same, share(map, n, |i, j| i != j && ids[i] == ids[j])),
            (Measure::Induction, share(map, n, |i, j| j > 0 && j < i && ids[j - 1] == ids[i])),
            (Measure::Distance, mean(map.iter().enumerate().map(distance).sum())),
            (Measure::Entropy, Some(entropy)),
            (Measure::Evenness, Some(entropy / (n as f64).log2())),
            (Measure::Largest, mean(rows().map(|row| row.iter().copied().fold(0.0, f64::max)).sum())),
        ] {
            let is = of.weights.mean(measure);
            assert_eq!(is.is_some(), want.is_some(), "{layer} {head} {measure:?}");
            if let (Some(is), Some(want)) = (is, want) {
                // Entropies of four bits, distances of ten tokens: a hundred-thousandth of them, as the weights themselves.
                assert_relative_eq!(is, want, epsilon = 1e-5, max_relative = 1e-5);
                compared += 1;
            }
        }
        let peak = of.peak.as_ref().unwrap();
        let (at, most) =
            map.iter().enumerate().reduce(|most, one| if one.1 > most.1 { one } else { most }).unwrap();
        assert_relative_eq!(peak.weight, *most, epsilon = 1e-5);
        assert_eq!(peak.place, [0, at / n, at % n]);
    }
    assert_eq!(compared, 8 * 11);
}

/// NumPy from the same files: N = A · ‖v · W_O[8i..8i+8]‖, each row over its sum; of every head the mean of N[i, i−1], of
/// N[i, n] and of the rows' entropies.
#[test]
fn norms_agree_with_numpy() {
    #[rustfmt::skip]
    let numpy = [
        [0.039727, 0.022460, 4.301413], [0.033194, 0.036220, 4.339882],
        [0.041137, 0.053630, 4.406067], [0.048604, 0.034858, 4.229146],
        [0.036494, 0.057561, 4.435957], [0.035763, 0.010183, 4.369503],
        [0.035546, 0.108756, 4.418231], [0.038166, 0.014719, 4.528992],
    ];
    let survey = surveyed(&[TEXT]);
    assert_eq!(survey.heads().count(), numpy.len());
    for ((.., of), [previous, separator, entropy]) in survey.heads().zip(numpy) {
        let mean = |measure| of.norms.mean(measure).unwrap();
        assert_relative_eq!(mean(Measure::Previous), previous, epsilon = 2e-6);
        assert_relative_eq!(mean(Measure::Separator), separator, epsilon = 2e-6);
        assert_relative_eq!(mean(Measure::Entropy), entropy, epsilon = 2e-5);
    }
}

/// 27 and n queries: the mean of both is weighted by them.
#[test]
fn over_several_texts_every_query_has_one_vote() {
    let other = "Each head looks for something else.";
    let (one, two, both) = (surveyed(&[TEXT]), surveyed(&[other]), surveyed(&[TEXT, other]));
    assert_eq!((both.texts, both.tokens), (2, one.tokens + two.tokens));
    for (((.., a), (.., b)), (.., both)) in one.heads().zip(two.heads()).zip(both.heads()) {
        let share = |of: &mha::heads::HeadSurvey| of.weights.mean(Measure::First).unwrap();
        let (na, nb) = (one.tokens as f64, two.tokens as f64);
        assert_relative_eq!(share(both), (na * share(a) + nb * share(b)) / (na + nb), epsilon = 1e-12);
    }
}

/// Tensors in memory.
struct Tensors(BTreeMap<String, Vec<usize>>, BTreeMap<String, Vec<f32>>);

impl Checkpoint for Tensors {
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.0
    }

    fn stored_as(&self, _: &str) -> Option<String> {
        Some("F32".to_owned())
    }

    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>> {
        let width: usize = self.shape(name)?[1..].iter().product();
        Ok(self.1[name][rows.start * width..rows.end * width].to_vec())
    }

    fn source(&self) -> String {
        "memory".to_owned()
    }
}

/// Two causal layers of two query heads that share one key/value head, with W_Q = 0: every query looks at all it sees
/// alike. 40 tokens, 4 wide.
fn asks_nothing() -> Model {
    let mut tensors = Tensors(BTreeMap::new(), BTreeMap::new());
    let mut put = |name: &str, shape: [usize; 2], number: fn(usize) -> f32| {
        tensors.0.insert(name.to_owned(), shape.to_vec());
        tensors.1.insert(name.to_owned(), (0..shape[0] * shape[1]).map(number).collect());
    };
    let mut matrices = BTreeMap::new();
    put("tokens", [40, 4], |at| (at % 7) as f32 - 2.5);
    put("q", [4, 4], |_| 0.0);
    put("kv", [2, 4], |at| (at % 3) as f32 - 0.5);
    put("o", [4, 4], |at| (at % 5) as f32 * 0.25);
    for layer in 0..2 {
        for (projection, tensor) in
            [(Projection::Q, "q"), (Projection::K, "kv"), (Projection::V, "kv"), (Projection::O, "o")]
        {
            let id = StepId::from(Name::W(projection)).in_layer(Some(layer));
            matrices.insert(id, Stored::linear(tensor));
        }
    }
    let attention = Attention {
        num_kv_heads: 1,
        masks: vec![Mask::Causal(Alignment::TopLeft)],
        ..Attention::multi_head(4, 2)
    };
    let norm = || Norm::Layer(mha::ops::LayerNorm { eps: 1e-5, gain: None, shift: None });
    let layer = || Layer {
        attention: attention.clone(),
        norms: [norm(), norm()],
        found_norms: None,
        feed_forward: None,
    };
    let blueprint = Blueprint {
        family: "test",
        layers: Layers {
            first: 0,
            start: Some(Start::default()),
            layers: vec![layer(), layer()],
            norm: NormPlace::None,
            residual: true,
            last: None,
        },
        embeddings: Embeddings {
            tokens: "tokens".to_owned(),
            positions: None,
            segments: None,
            padding: None,
        },
        matrices,
        readout: None,
        most_tokens: Some(12),
        is_causal: true,
        stretch: BTreeMap::new(),
    };
    Model { name: "asks-nothing".to_owned(), blueprint, checkpoint: Arc::new(tensors), tokens: None }
}

/// Even attention over 1 to 4 keys, by hand; the first query has no choice.
#[test]
fn a_causal_model_that_asks_nothing_is_even_and_broad() {
    let model = asks_nothing();
    let passage = model.read(&Text::Ids(vec![3, 5, 3, 8])).unwrap();
    let mut survey = Survey::new(&model);
    survey.add(&model, passage).unwrap();
    assert_eq!(survey.heads().count(), 4);
    for (layer, head, of) in survey.heads() {
        let mean = |measure| of.weights.mean(measure);
        let even = (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0) / 3.0;
        for measure in [Measure::Previous, Measure::First, Measure::Itself, Measure::Largest] {
            assert_relative_eq!(mean(measure).unwrap(), even, epsilon = 1e-6);
        }
        assert_eq!(mean(Measure::Next), None, "nothing that follows is seen");
        // Query 3 repeats token 1, after which 5 came: one of three keys.
        assert_relative_eq!(mean(Measure::Induction).unwrap(), 1.0 / 3.0, epsilon = 1e-6);
        // 1/2 · 1; 1/3 · (2 + 1); 1/4 · (3 + 2 + 1).
        assert_relative_eq!(mean(Measure::Distance).unwrap(), (0.5 + 1.0 + 1.5) / 3.0, epsilon = 1e-6);
        assert_relative_eq!(mean(Measure::Evenness).unwrap(), 1.0, epsilon = 1e-6);
        assert_eq!(survey.roles(layer, of, View::Weights), [Role::Broad], "{layer} {head}");
    }
}

/// Room for 12 tokens: 6 random ones, twice; the second six each look back at one key of the 7 to 12 they see.
#[test]
fn the_induction_claim_reads_random_tokens_twice() {
    let model = asks_nothing();
    let first = model.read(&Text::Ids(vec![1, 2])).unwrap();
    let passage = claims::repeated(&model, &first).unwrap().unwrap();
    let (once, again) = passage.ids.split_at(6);
    assert_eq!(once, again);
    assert!(passage.ids.iter().all(|id| *id < 40));
    let different: std::collections::BTreeSet<_> = once.iter().collect();
    assert_eq!(different.len(), 6);
    assert_eq!(claims::repeated(&model, &first).unwrap().unwrap(), passage, "the seed decides");
    let mut survey = Survey::new(&model);
    survey.add(&model, passage).unwrap();
    let (.., of) = survey.heads().next().unwrap();
    // Query 7 + t sees 7 + t keys.
    let want = (7..=12).map(|seen| 1.0 / f64::from(seen)).sum::<f64>() / 6.0;
    assert_relative_eq!(of.weights.mean(Measure::Induction).unwrap(), want, epsilon = 1e-6);
    assert_eq!(of.weights.queries(Measure::Induction), 6);
    let claim = claims::of_repeated(&survey).unwrap();
    assert!(claim.here.contains("0 of 4 heads reach 0.4"), "{}", claim.here);
    assert!(claim.sample.contains("6 queries"), "{}", claim.sample);
}

/// 4 heads of 40,000 tokens are 6.4 thousand million weights.
#[test]
fn a_text_of_too_many_weights_is_refused_before_anything_is_computed() {
    let model = asks_nothing();
    let labels = vec!["x".to_owned(); 40_000];
    let passage = Passage {
        ids: vec![1; 40_000],
        segments: vec![0; 40_000],
        pieces: labels.clone(),
        labels,
        is_special: vec![false; 40_000],
    };
    let refused = Survey::new(&model).add(&model, passage).unwrap_err().to_string();
    assert!(refused.contains("6400000000 weights"), "{refused}");
}

/// `mha heads --model bert-tiny …`, from its own folder.
fn heads(args: &[&str]) -> run::Run {
    let folder = tiny();
    run::run(&folder, &[&["heads", "--model", folder.to_str().unwrap()], args].concat())
}

#[track_caller]
fn page(args: &[&str]) -> String {
    let run = heads(args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{}", args.join(" "));
    run.out
}

#[test]
fn a_page_fits_its_width_and_says_both_names() {
    for width in ["40", "80", "200"] {
        for more in [&[][..], &["--ascii"], &["--norms", "--lang", "zh"], &["--format", "heatmap"]] {
            let page = page(&[&["--text", TEXT, "--width", width], more].concat());
            for line in page.lines() {
                let wide = unicode_width::UnicodeWidthStr::width(line);
                assert!(wide <= width.parse().unwrap(), "{width} {more:?}: {line}");
            }
            assert!(!more.contains(&"--ascii") || page.is_ascii(), "{page}");
        }
    }
    let page = page(&["--text", TEXT]);
    for telling in ["2.4 = L1H3", "layer h1", "previous ≥ 0.4 and ≥ 2 × even", "Clark et al. 2019"] {
        assert!(page.contains(telling) || page.contains(&telling.replace(' ', "   ")), "{telling}: {page}");
    }
}

/// Colour says nothing that the letters do not: without its codes the page is the same.
#[test]
fn colour_adds_nothing_but_colour() {
    let plain = page(&["--text", TEXT]);
    assert!(!plain.contains('\u{1b}'));
    let coloured = page(&["--text", TEXT, "--color", "always"]);
    assert!(coloured.contains("\u{1b}[48;5;") || coloured.contains(";48;5;"), "{coloured}");
    let mut bare = String::new();
    for (at, piece) in coloured.split('\u{1b}').enumerate() {
        bare.push_str(if at == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    let trimmed = |page: &str| page.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&bare), trimmed(&plain));
}

#[test]
fn json_holds_every_number_and_counts_from_one() {
    let json: Value = serde_json::from_str(&page(&["--text", TEXT, "--format", "json"])).unwrap();
    assert_eq!((&json["mha"], &json["family"], &json["tokens"]), (&1.into(), &"BERT".into(), &27.into()));
    let heads = json["heads"].as_array().unwrap();
    let names: Vec<&str> = heads.iter().map(|head| head["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["L0H0", "L0H1", "L0H2", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"]);
    assert_eq!((&heads[5]["layer"], &heads[5]["head"]), (&2.into(), &2.into()));
    // The second head of the second layer, as in `norms_agree_with_numpy`.
    assert!((heads[5]["norms"]["previous"].as_f64().unwrap() - 0.035763).abs() < 2e-6);
    assert!(heads[5]["weights"]["punctuation"].is_null(), "there is none in the text");
    assert!(heads.iter().all(|head| !head["types"].as_array().unwrap().is_empty()));
    assert!(json["claims"].as_array().unwrap().len() >= 4);
    assert_relative_eq!(json["even"][0]["first"].as_f64().unwrap(), 1.0 / 27.0, epsilon = 1e-12);
}

/// Sorted by a measure, the largest first; only what was asked for.
#[test]
fn heads_are_chosen_and_sorted() {
    let csv = page(&["--text", TEXT, "--format", "csv", "--sort", "entropy", "--layer", "2", "--top", "3"]);
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let entropy = columns.iter().position(|name| *name == "entropy").unwrap();
    assert_eq!(columns.len(), 4 + 2 * 12);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() == 3 && rows.iter().all(|row| row[0] == "2"), "{csv}");
    let values: Vec<f64> = rows.iter().map(|row| row[entropy].parse().unwrap()).collect();
    assert!(values[0] > values[1] && values[1] > values[2], "{values:?}");
    let beyond = heads(&["--text", TEXT, "--layer", "3", "--head", "1,5"]);
    assert_eq!(beyond.status, Some(2));
    assert!(
        beyond.err.contains("there is no layer 3") && beyond.err.contains("there is no head 5"),
        "{}",
        beyond.err
    );
}

/// The clearest head of each type comes before the second of any; heads without a type come last.
#[test]
fn the_clearest_of_every_type_come_first() {
    let args = ["--text", TEXT, "--format", "json", "--sort", "strongest", "--no-claims"];
    let json: Value = serde_json::from_str(&page(&args)).unwrap();
    let heads = json["heads"].as_array().unwrap();
    let types: Vec<&str> = heads.iter().map(|head| head["types"][0].as_str().unwrap()).collect();
    let rank = |at: usize| {
        let before = types[..at].iter().filter(|kind| **kind == types[at]).count();
        (types[at] == "mixed", before)
    };
    let ranks: Vec<(bool, usize)> = (0..types.len()).map(rank).collect();
    assert!(ranks.is_sorted(), "{types:?}");
    assert_eq!(types.len(), 8);
}

#[test]
fn many_texts_are_read_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("texts.txt");
    fs::write(&file, format!("{TEXT}\n\n  Each head looks for something else.  \n")).unwrap();
    let args = ["--texts", file.to_str().unwrap(), "--format", "json", "--no-claims"];
    let json: Value = serde_json::from_str(&page(&args)).unwrap();
    assert_eq!(json["texts"], 2);
    assert_eq!(json["claims"].as_array().unwrap().len(), 0);
    let both = surveyed(&[TEXT, "Each head looks for something else."]);
    let (.., of) = both.heads().next().unwrap();
    let is = json["heads"][0]["weights"]["first"].as_f64().unwrap();
    assert_relative_eq!(is, of.weights.mean(Measure::First).unwrap(), epsilon = 1e-9);
    for (text, why) in [(&b"\n \n"[..], "it is empty"), (&b"\xff\n"[..], "it is not UTF-8")] {
        fs::write(&file, text).unwrap();
        let run = heads(&args);
        assert!(run.status == Some(2) && run.err.contains(why), "{}", run.err);
    }
}

#[test]
fn an_html_page_stands_alone_and_shows_tokens_as_text() {
    let page = page(&["--text", "</script><b>x", "--format", "html"]);
    assert!(page.contains("default-src 'none'") && page.ends_with("</html>\n"));
    for never in ["<script", "<b>", " style=", "http://", "https://", "url("] {
        assert!(!page.contains(never), "{never}");
    }
    assert_eq!(page.matches("layer 2 head 4 = L1H3").count(), 1);
}

#[test]
fn a_request_that_cannot_be_met_says_why() {
    let here = Path::new(".");
    for (args, told) in [
        (&["heads", "--text", "x"][..], "--model"),
        (&["heads"], "no model was named"),
        (&["heads", "--model", "no-such-folder", "--text", "x"], "no-such-folder"),
    ] {
        let run = run::run(here, args);
        assert_eq!(run.status, Some(2), "{args:?}");
        assert!(run.err.contains(told), "{args:?}: {}", run.err);
    }
    let explained = run::run(here, &["heads", "--explain-measures"]);
    assert_eq!(explained.status, Some(0));
    for measure in Measure::ALL {
        assert!(explained.out.contains(measure.name()), "{}", measure.name());
    }
}
