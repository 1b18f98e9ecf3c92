//! `mha ablate`: heads switched off, beside hand calculation and beside PyTorch (`tests/ablate/generate.py`).

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

#[path = "ablate/laws.rs"]
mod laws;
#[path = "ablate/pytorch.rs"]
mod pytorch;

use assert_cmd::Command;
use serde_json::Value;

fn mha(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("mha").unwrap();
    command.args(arguments).env("NO_COLOR", "1").env("LC_ALL", "C");
    command
}

/// What a page says, and that it ended well.
fn page(arguments: &[&str]) -> String {
    let done = mha(arguments).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&page(&[arguments, &["--format", "json"]].concat())).unwrap()
}

/// What is said on standard error by a request that cannot be met.
fn refused(arguments: &[&str]) -> String {
    let done = mha(arguments).assert().code(2);
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

fn close(is: f64, want: f64) {
    assert!((is - want).abs() < 1e-12, "{is} is not {want}");
}

/// W_O is the identity: columns 1 and 2 of the output are head 1's, 3 and 4 head 2's. Head 2 reads the right half of x:
/// a = (1, 0), b = (0, 1), c = (0, 0). Token a scores 1/√2 against itself and 0 against b and c, so that its weights are
/// s = e^(1/√2) / (e^(1/√2) + 2) and (1 − s) / 2 twice, and it finds s · (1, 0) + (1 − s) / 2 · (0, 1).
#[test]
fn the_second_head_of_the_first_example_holds_columns_three_and_four() {
    let report = json(&["ablate", "--head", "2"]);
    let layer = &report["layers"][0];
    let (before, after) = (rows(&layer["before"]), rows(&layer["after"]));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before[..2], after[..2]);
        assert_eq!(after[2..], [0.0, 0.0]);
    }
    let power = 0.5f64.sqrt().exp();
    let own = power / (power + 2.0);
    let rest = (1.0 - own) / 2.0;
    for (row, [third, fourth]) in [[own, rest], [rest, own], [1.0 / 3.0, 1.0 / 3.0]].into_iter().enumerate() {
        close(before[row][2], third);
        close(before[row][3], fourth);
        close(
            layer["change"]["tokens"][row]["change"].as_f64().unwrap(),
            (third * third + fourth * fourth).sqrt(),
        );
    }
    assert_eq!(layer["contributions"]["adds_up"], true);
    assert_eq!(report["heads"][0]["head"], 2);
    assert_eq!(report["last"], Value::Null, "the output is what comes out at the end");
}

/// In head 2 the values of a, b and c are (1, 0), (0, 1) and (0, 0): even weights blend them to (1/3, 1/3) for every token.
/// The mean of what the head finds is ((s + (1 − s)/2 + 1/3) / 3) in both columns.
#[test]
fn even_weights_and_the_mean_give_every_token_the_same() {
    let after = |with: &str| {
        let report = json(&["ablate", "two-heads", "--head", "2", "--with", with]);
        rows(&report["layers"][0]["after"])
    };
    let power = 0.5f64.sqrt().exp();
    let own = power / (power + 2.0);
    let mean = (own + (1.0 - own) / 2.0 + 1.0 / 3.0) / 3.0;
    for (with, third) in [("uniform", 1.0 / 3.0), ("mean", mean)] {
        for row in after(with) {
            close(row[2], third);
            close(row[3], third);
        }
    }
}

/// The lesson says it by hand: only the ? asks. Heads 1 and 2 both praise, head 3 denies four times as strongly, head 4 adds a
/// tenth of common words; its column of W_O is the smallest, and so is what is lost with it.
#[test]
fn heads_are_ranked_by_what_their_absence_changes() {
    let report = json(&["ablate", "pruning", "--each"]);
    let heads: Vec<u64> =
        report["heads"].as_array().unwrap().iter().map(|head| head["head"].as_u64().unwrap()).collect();
    assert_eq!(heads[0], 3);
    assert_eq!(heads[3], 4);
    // Each by itself changes as much as the same head alone.
    for ranked in report["heads"].as_array().unwrap() {
        let one = json(&["ablate", "pruning", "--head", &ranked["head"].to_string()]);
        assert_eq!(ranked["output"], one["layers"][0]["change"]["all"]["relative"]);
        assert_eq!(ranked["cosine"], one["layers"][0]["change"]["all"]["cosine"]);
    }
    let in_order = json(&["ablate", "pruning", "--each", "--sort", "layer"]);
    assert_eq!(in_order["heads"][0]["head"], 1);
}

/// Keeping one of four heads is replacing the three others.
#[test]
fn keeping_a_head_is_replacing_all_others() {
    let kept = json(&["ablate", "pruning", "--head", "3", "--keep-only"]);
    let replaced = json(&["ablate", "pruning", "--head", "1,2,4"]);
    assert_eq!(kept["heads"], replaced["heads"]);
    assert_eq!(kept["layers"], replaced["layers"]);
    assert!(page(&["ablate", "pruning", "--head", "3", "--keep-only"]).contains("all heads but head 3"));
    let each = json(&["ablate", "pruning", "--each", "--keep-only"]);
    let of_three = each["heads"].as_array().unwrap().iter().find(|head| head["head"] == 3).unwrap();
    assert_eq!(of_three["output"], kept["layers"][0]["change"]["all"]["relative"]);
}

/// A stack of layers: what is changed in layer 1 changes what comes out of layer 2 as well, and both countings are told.
#[test]
fn a_stack_shows_its_layer_and_its_end() {
    let page_of = |arguments: &[&str]| page(&[&["ablate", "induction"], arguments].concat());
    let text = page_of(&["--layer", "1", "--head", "1"]);
    assert!(text.contains("layer 1 head 1 (L0H0) set to zero"), "{text}");
    assert!(text.contains("layer.1.output · how far every token moves"), "{text}");
    assert!(text.contains("Check: the parts add up to the output."), "{text}");
    for named in ["L0H0", "layer.1.head.1"] {
        assert_eq!(page_of(&["--heads", named]), text);
    }
    let report = json(&["ablate", "induction", "--layer", "1", "--head", "1"]);
    assert!(report["last"]["change"]["all"]["change"].as_f64().unwrap() > 0.0);
}

#[test]
fn csv_has_a_line_a_token_and_a_line_a_head() {
    let text = page(&["ablate", "--head", "1", "--format", "csv"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "step,token,name,norm,change,relative,cosine");
    assert!(lines[1].starts_with("output,1,a,"), "{}", lines[1]);
    assert!(lines[4].starts_with("output,all,,"), "{}", lines[4]);
    assert_eq!(lines.len(), 5);
    let text = page(&["ablate", "--each", "--format", "csv"]);
    assert_eq!(text.lines().next(), Some("layer,head,name,output,last,cosine,loss"));
    assert_eq!(text.lines().count(), 3);
}

/// No line is longer than the page is wide, and an ASCII page has no other letters.
#[test]
fn pages_fit() {
    for width in ["40", "80", "132"] {
        for arguments in [&["--head", "1"][..], &["--each"], &["--each", "--format", "heatmap"]] {
            let text = page(&[&["ablate", "pruning", "--width", width, "--ascii"], arguments].concat());
            assert!(text.is_ascii(), "{text}");
            for line in text.lines() {
                assert!(line.len() <= width.parse().unwrap(), "{line}");
            }
        }
    }
}

#[test]
fn what_cannot_be_done_is_told_with_a_way_out() {
    for (arguments, what) in [
        (&["ablate"][..], "no head was named"),
        (&["ablate", "--head", "3"], "there is no head 3"),
        (&["ablate", "--head", "1", "--layer", "1"], "this is one attention call, without layers"),
        (&["ablate", "induction", "--head", "1"], "no layer was named"),
        (&["ablate", "induction", "--head", "1", "--layer", "99"], "there is no layer 99"),
        (&["ablate", "--heads", "second"], "\"second\" is no head"),
        (&["ablate", "--head", "1,2", "--keep-only"], "no head is left to be replaced"),
        (&["ablate", "--head", "1", "--format", "heatmap"], "one ablation is no map"),
        (&["ablate", "--each", "--sort", "loss"], "there is no loss to rank by"),
        (&["ablate", "--head", "1", "--sequence", "2"], "there is no sequence 2"),
        (&["ablate", "--head", "1", "--each"], "cannot be used with"),
        (&["ablate", "--head", "0"], "a whole number from 1 is needed"),
        (&["ablate", "two-heads", "--model", "x", "--head", "1"], "cannot be used with"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(what), "{arguments:?}: {said}");
    }
}
