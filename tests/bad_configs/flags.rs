//! Flags that a model cannot answer.

use std::fs;

use super::{CONFIG, LLAMA, limited, refused, with};

/// `mha params config.json FLAGS` is refused at the flag.
#[track_caller]
fn case(flags: &[&str], first: &str) {
    of(LLAMA, flags, first);
}

#[track_caller]
fn of(config: &str, flags: &[&str], first: &str) {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join(CONFIG), config).unwrap();
    let run = limited(room.path(), &[&[CONFIG], flags].concat());
    refused(&flags.join(" "), &run, first, flags[0]);
}

#[test]
fn a_class_and_a_family_are_known() {
    case(&["--class", "nonsense"], "the class nonsense of type llama is not known");
    case(&["--class", "masked-lm"], "the class masked-lm of type llama is not known");
    case(&["--class", "\u{1b}[2J"], "the class \\e[2J of type llama is not known");
    case(&["--as", "nonsense"], "the model type nonsense is not known");
    case(&["--as", "lama"], "the model type lama is not known");
}

#[test]
fn memory_is_a_number_with_a_unit() {
    for size in [
        "x",
        "",
        "0",
        "0GiB",
        "-1GiB",
        "24",
        "24G",
        "24Gi",
        "1e3GB",
        "1.2.3GB",
        "nan",
        "inf",
        "999999999999TB",
    ] {
        case(&["--memory", size], &format!("{size} is no size of memory"));
    }
}

#[test]
fn devices_and_lengths_are_counted() {
    let huge = "1000000000000000000000000000000";
    for number in ["0", "-1", "abc", "2.5", "", huge] {
        case(&["--tensor-parallel", number], &format!("--tensor-parallel cannot be {number}"));
        case(&["--source-len", number], &format!("--source-len cannot be {number}"));
    }
    case(&["--seq-len", "0"], "seq_len cannot be 0");
    case(&["--seq-len", huge], &format!("seq_len cannot be as large as {huge}"));
    case(&["--batch", "-1"], "batch cannot be -1");
    case(&["--layers", "99999999"], "layers cannot be as large as 99999999");
}

#[test]
fn a_figure_is_one_of_the_model() {
    case(&["--explain", "nonsense"], "no figure of this model is called nonsense");
    case(&["--explain", "kv_cach"], "no figure of this model is called kv_cach");
    of(
        &with(LLAMA, "\"architectures\": [\"LlamaModel\"]")
            .replace("llama", "bert")
            .replace("LlamaModel", "BertModel"),
        &["--explain", "kv-cache"],
        "no figure of this model is called kv-cache",
    );
}

#[test]
fn a_changed_size_makes_a_model() {
    case(&["--num-kv-heads", "3"], "4 query heads cannot share 3 key/value heads equally");
    case(&["--num-heads", "7"], "7 query heads cannot share 2 key/value heads equally");
    case(&["--d-v", "3"], "d_v cannot be changed in a config of type llama");
    case(&["--bias"], "--bias is for layers of your own sizes");
    case(&["--sweep", "nonsense=1"], "nonsense cannot be swept");
    case(&["--sweep", "d-v=1,2"], "d-v cannot be swept");
    case(&["--sweep", "num-heads"], "a sweep needs a size and its values, and num-heads has no =");
    case(&["--sweep", "layers=0"], "layers cannot be 0");
    let gpt2 = r#"{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2}"#;
    let first = "num_kv_heads cannot be changed in a config of type gpt2";
    of(gpt2, &["--sweep", "num-kv-heads=1,2"], first);
    of(gpt2, &["--num-kv-heads", "2"], first);
}

/// The key stands beside the flag that changed it.
#[test]
fn a_sweep_that_makes_no_model_names_the_key() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join(CONFIG), LLAMA).unwrap();
    let run = limited(room.path(), &[CONFIG, "--sweep", "num-kv-heads=2,3"]);
    let first = "4 query heads cannot share 3 key/value heads equally";
    refused("three of four", &run, first, "--sweep (num_key_value_heads)");
}

#[test]
fn questions_about_whole_models_need_one() {
    let room = tempfile::tempdir().unwrap();
    for question in [
        &["--class", "base"][..],
        &["--as", "llama"],
        &["--memory", "24GiB"],
        &["--tensor-parallel", "2"],
        &["--source-len", "4"],
        &["--tensors"],
        &["--attention-only"],
    ] {
        let flag = question[0];
        for args in [question.to_vec(), [&["--d-model", "64"], question].concat()] {
            refused(flag, &limited(room.path(), &args), &format!("{flag} needs a whole model"), flag);
        }
    }
}
