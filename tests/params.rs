//! `mha params` from the outside: what a person or a program sees, and what bad flags are told.

#![expect(clippy::unwrap_used, reason = "a test that cannot run its program has failed")]

use std::path::Path;

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use assert_cmd::Command;
use serde_json::Value;

/// `mha params`, away from whatever the surroundings say about width and colour.
fn mha() -> Command {
    let mut command = run::mha(Path::new("."));
    command.arg("params");
    command
}

fn shown(args: &[&str]) -> String {
    let output = mha().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The page with each run of blanks made one, so that a sentence is found wherever its lines break.
fn flowing(args: &[&str]) -> String {
    shown(args).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&shown(&[args, &["--format", "json"]].concat())).unwrap()
}

#[track_caller]
fn refused(args: &[&str], said: &[&str]) {
    let output = mha().args(args).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?} wrote something");
    for part in said {
        assert!(error.contains(part), "{args:?} should say {part:?}, says:\n{error}");
    }
}

/// Course, §5: one head of 512 × 512 or eight of 512 × 64 are 262,144 each way; four matrices 1,048,576, with biases
/// 1,050,624.
#[test]
fn without_arguments_it_is_the_base_transformer_and_says_so() {
    let page = flowing(&[]);
    assert!(page.contains("You named no model, so this is the base Transformer."), "{page}");
    for row in [
        "│ W_Q ┆ 512 × 512 ┆ d_model × h·d_k ┆ 512 × 8·64 ┆ 262,144 │",
        "│ b_Q (if it had) ┆ 512 ┆ h·d_k ┆ 8·64 ┆ 512 │",
        "│ without biases ┆ 1,048,576 ┆ 6 × 1048576 ┆ 6,291,456 │",
        "│ with biases ┆ 1,050,624 ┆ 6 × 1050624 ┆ 6,303,744 │",
        "│ together ┆ 1,048,576 ┆ 1,048,576 │",
        "4·d_model² = 4·512² = 1,048,576, however many heads there are",
        "│ Q·Kᵀ ┆ h·n²·d_k ┆ 8·256²·64 ┆ 33,554,432 ┆ 33,554,432 │", // 256²·512
        "│ exponentials ┆ h·n² ┆ 8·256² ┆ 524,288 ┆ 65,536 │",
        "│ a token ┆ 2·layers·g·d_k·bytes ┆ 2·6·8·64·2 ┆ 12,288 ┆ 12 KiB │",
        "Attention only",
    ] {
        assert!(page.contains(row), "{row} is missing from\n{page}");
    }
}

/// Course, §7 and Vaswani et al. 2017, Table 3 (A).
#[test]
fn a_sweep_over_heads_says_what_stays_the_same() {
    let page = flowing(&["--sweep", "num-heads=1,4,8,16,32"]);
    for part in [
        "Parameters are 1,048,576 in every row: heads divide them, they do not add any.",
        "│ 1 ┆ 512 ┆ 24.9 ┆ 5.29 │",
        "│ 16 ┆ 32 ┆ 25.8 ┆ 4.91 │",
        "│ 32 ┆ 16 ┆ 25.4 ┆ 5.01 │",
        "Vaswani et al. 2017, Table 3 (A)",
    ] {
        assert!(page.contains(part), "{part} is missing from\n{page}");
    }
    assert!(!flowing(&["bert-base", "--sweep", "num-heads=1,12"]).contains("BLEU"));
}

/// Course, §11: 2·80·8·128 numbers of 2 bytes are 327,680 bytes a token, 8 times less than with 64.
#[test]
fn llama_2_70b_caches_eight_times_less_than_multi_head_attention() {
    let report = json(&["llama-2-70b"]);
    assert_eq!(report["kv_cache_bytes_per_token"], 327_680);
    assert_eq!(report["sharing"][0]["kv_cache_bytes_per_token"], 8 * 327_680);
    assert!(flowing(&["llama-2-70b"]).contains("Sharing makes the cache 8 times smaller"));
    // int4 is a quarter of fp16; q4_0 keeps 32 numbers in 18 bytes
    assert_eq!(json(&["llama-2-70b", "--kv-dtype", "int4"])["kv_cache_bytes_per_token"], 327_680 / 4);
    assert_eq!(json(&["llama-2-70b", "--kv-dtype", "q4_0"])["kv_cache_bytes_per_token"], 163_840 / 32 * 18);
}

/// A BERT layer's attention is 4·768² + 4·768; the norm beside W_O is not counted as attention. The whole
/// `BertForMaskedLM` of 109,514,298 parameters is what PyTorch allocates (see `tests/reference/params`).
#[test]
fn json_keeps_its_contract() {
    let report = json(&["bert"]);
    let layer = 4 * 768 * 768 + 4 * 768;
    assert_eq!(report["mha"], 1);
    assert_eq!(report["model"], "bert-base-uncased");
    assert_eq!(report["family"], "bert");
    assert_eq!(report["class"], "BertForMaskedLM");
    assert_eq!(report["num_layers"], 12);
    assert_eq!(report["total_parameters"], 109_514_298);
    assert_eq!(report["active_parameters"], 109_514_298);
    assert_eq!(report["attention_parameters"], 12 * layer);
    assert_eq!(report["attention_parameters_per_layer"], Value::from(vec![layer; 12]));
    assert_eq!(report["kv_cache_bytes_per_token"], Value::Null);
    let tensors = report["tensors"].as_array().unwrap();
    let first = tensors.iter().find(|tensor| tensor["group"] == "attention").unwrap();
    assert_eq!(first["name"], "bert.encoder.layer.0.attention.self.query.weight");
    assert_eq!((&first["shape"], &first["layer"]), (&Value::from(vec![768, 768]), &1.into()));
    let sum: u64 = tensors.iter().map(|tensor| tensor["count"].as_u64().unwrap()).sum();
    assert_eq!(sum, 109_514_298);
}

/// The same keys for a layer of one's own sizes, of which nothing but attention is known.
#[test]
fn a_layer_has_the_same_keys_as_a_model() {
    let report = json(&["--d-model", "768", "--num-heads", "12", "--layers", "12", "--bias"]);
    let layer = 4 * 768 * 768 + 4 * 768;
    for key in ["total_parameters", "active_parameters", "attention_parameters"] {
        assert_eq!(report[key], 12 * layer, "{key}");
    }
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 12 * 8);
    assert_eq!(tensors[0]["name"], "layer.1.w_q");
    assert_eq!(tensors[95]["name"], "layer.12.b_o");
    assert_eq!((&tensors[95]["group"], &tensors[95]["layer"]), (&"attention".into(), &12.into()));
}

#[test]
fn csv_is_a_line_a_figure_or_a_line_a_value_of_the_sweep() {
    let lines = shown(&["--format", "csv"]);
    assert!(lines.starts_with("section,name,formula,factors,value\n"), "{lines}");
    assert!(lines.contains("\nparameters,W_K,d_model × g·d_k,512 × 8·64,262144\n"), "{lines}");
    let sweep = shown(&["--format", "csv", "--sweep", "num-heads=8,16"]);
    assert_eq!(sweep.lines().count(), 3);
    assert!(sweep.lines().all(|line| line.split(',').count() == 12), "{sweep}");
    assert!(sweep.contains("\n8,64,1048576,") && sweep.contains(",25.8,4.92\n"), "{sweep}");
}

/// 32 heads of 128 to 16 of 256: as wide together, so the same matrices; 16 key/value heads instead of 8 of half the width
/// are as wide, too.
#[test]
fn flags_change_a_model_and_the_page_says_so() {
    let page = flowing(&["llama-3-8b", "--num-heads", "16"]);
    assert!(page.contains("Changed by flags: num_heads 16."), "{page}");
    assert!(page.contains("GQA: 16 query heads share 8 of keys and values, each 256 wide"), "{page}");
    // W_K and W_V are 4096 × 2048 now, where they were 4096 × 1024: 32 layers of 2·4096·1024 more
    let more = 32 * 2 * 4096 * 1024;
    assert_eq!(json(&["llama-3-8b", "--num-heads", "16"])["total_parameters"], 8_030_261_248_u64 + more);
    // one layer: 32 times less than all layers are, and the rest stays
    let one = json(&["llama-3-8b", "--layers", "1"])["total_parameters"].as_u64().unwrap();
    assert_eq!(one, 8_030_261_248 - 31 * 218_112_000);
}

/// W_Q 96·(4·7), W_K 40·(2·7), W_V 40·(2·5), W_O (4·5)·96: 2,688 + 560 + 400 + 1,920 = 5,568.
/// The cache keeps 2·(7 + 5) = 24 numbers a token, in fp32 96 bytes.
#[test]
fn every_size_can_be_given() {
    let sizes = "--d-model 96 --num-heads 4 --num-kv-heads 2 --d-k 7 --d-v 5 --d-kv-model 40 --kv-dtype fp32";
    let args: Vec<&str> = sizes.split(' ').collect();
    let report = json(&args);
    assert_eq!(report["attention_parameters"], 5_568);
    assert_eq!(report["kv_cache_bytes_per_token"], 96);
    let page = flowing(&args);
    assert!(page.contains("g·(d_k + d_v)") || page.contains("layers·g·(d_k + d_v)·bytes"), "{page}");
    assert!(page.contains("Not equal, because keys and values are shared"), "{page}");
    let wide = flowing(&["--d-model", "96", "--num-heads", "5", "--d-k", "7"]);
    assert!(wide.contains("But h·d_k = 5·7 = 35 is not d_model = 96"), "{wide}");
}

/// Totals that the publishers' checkpoints state in their headers.
#[test]
fn published_models_have_their_published_counts() {
    for (name, total) in [
        ("gpt2-xl", 1_557_611_200_u64),
        ("llama-2-13b", 13_015_864_320),
        ("llama-3-70b", 70_553_706_496),
        ("llama-3.1-405b", 405_853_388_800),
        ("qwen2.5-72b", 72_706_203_648),
        ("qwen3-235b-a22b", 235_093_634_560),
        ("mixtral-8x22b", 140_620_634_112),
        ("gemma-3-27b", 27_432_406_640),
    ] {
        assert_eq!(json(&[name])["total_parameters"], total, "{name}");
    }
}

/// 8 devices hold an eighth of the matrices; and what fits is what one device has left: 32 GiB − weights, over the bytes of
/// one token on it. LLaMA-2 70B in int8 on 8 devices: 1 of 8 key/value heads each, 2·80·1·128·2 bytes a token.
#[test]
fn memory_and_devices_go_together() {
    let report = json(&["llama-2-70b", "--dtype", "int8", "--memory", "32GiB", "--tensor-parallel", "8"]);
    let each = report["tensor_parallel"]["parameters_each"].as_u64().unwrap();
    let norms = 161 * 8192; // two a layer and the last, on every device
    assert_eq!(each, (68_976_648_192 - norms) / 8 + norms);
    assert_eq!(report["tensor_parallel"]["kv_cache_bytes_per_token_each"], 40_960);
    let left = 32 * (1 << 30) - each;
    assert_eq!(report["memory"]["longest_context"], left / 40_960);
    let page = flowing(&["llama-2-70b", "--dtype", "int8", "--memory", "32GiB", "--tensor-parallel", "8"]);
    assert!(page.contains("What fits into 32 GiB on each of 8 devices"), "{page}");
}

/// Of 8 experts of which each token uses 2, a batch of 2 is expected to read 8·(1 − (6/8)²) = 3.5.
#[test]
fn a_batch_reads_more_experts_than_a_token() {
    let bytes = |batch: &str| {
        json(&["mixtral-8x7b", "--batch", batch])["decoding"]["weight_bytes"].as_u64().unwrap() as f64
    };
    let expert = 32.0 * 3.0 * 4096.0 * 14336.0 * 2.0; // 32 layers, three matrices, 2 bytes
    assert!((bytes("2") - bytes("1") - 1.5 * expert).abs() < 64.0, "{} {}", bytes("1"), bytes("2"));
}

/// 2·6·8·64 numbers of 2 bytes, and 256 tokens of them.
#[test]
fn a_layers_figures_can_be_asked_for_as_a_models_can() {
    let a_token = flowing(&["--explain", "kv-cache-per-token"]);
    assert_eq!(a_token.trim(), "KV cache bytes per token = 2·layers·g·d_k·bytes = 2·6·8·64·2 = 12288");
    assert!(flowing(&["--explain", "kv-cache"]).contains("= 3145728"));
    // the same name in two sections: 8·256² exponentials, and 4·256·512² + 2·256²·512 multiplications
    let layer = shown(&["--explain", "one_layer"]);
    assert!(layer.contains("one layer (exponentials) = h·n² = 8·256² = 524288\n"), "{layer}");
    assert!(layer.contains("one layer (multiplications) = 335544320\n"), "{layer}");
    let of_model = flowing(&["llama-2-7b", "--explain", "q_proj"]);
    assert!(of_model.contains("h·d_k") && of_model.contains("= 16,777,216 parameters"), "{of_model}");
}

/// The table of shared heads says of every row what the model of that row counts.
#[test]
fn a_row_of_the_sharing_table_is_the_model_with_so_many_heads() {
    for name in ["llama-3-8b", "qwen2-0.5b", "gemma-3-1b", "starcoder2-3b"] {
        for row in json(&[name])["sharing"].as_array().unwrap() {
            let heads = row["num_kv_heads"].to_string();
            let built = json(&[name, "--num-kv-heads", &heads])["total_parameters"].clone();
            assert_eq!(row["total_parameters"], built, "{name} with {heads}");
        }
    }
}

#[test]
fn models_are_listed_and_searched() {
    let all = shown(&["--list", "--width", "200"]);
    for name in
        ["transformer-base", "bert-base-uncased", "gpt3-175b", "llama-2-7b", "deepseek-v3", "whisper-tiny"]
    {
        assert!(all.contains(name), "{name}");
    }
    let found = shown(&["--list", "bert-large"]);
    assert!(found.contains("bert-large-uncased") && !found.contains("gpt3"), "{found}");
    let csv = shown(&["--list", "llama-2", "--format", "csv"]);
    assert!(csv.contains("\nllama-2-70b,68976648192,8192,64,8,128,80,LlamaForCausalLM\n"), "{csv}");
    assert_eq!(json(&["--list", "gpt-3"])["presets"][0]["name"], "gpt3-175b");
    assert!(flowing(&["--list", "families"]).contains("│ qwen3_next ┆ base, causal-lm"));
}

#[test]
fn a_page_fits_its_width_and_its_alphabet() {
    let width = |line: &str| line.chars().count(); // nothing on this page is wider than one column
    for preset in ["transformer-base", "bert-base", "llama-2-70b", "deepseek-v3", "t5-small", "gpt3-175b"] {
        for columns in ["40", "80", "200"] {
            let page = shown(&[preset, "--width", columns, "--sweep", "seq-len=512,2048"]);
            let most: usize = columns.parse().unwrap();
            let long: Vec<&str> = page.lines().filter(|line| width(line) > most).collect();
            assert!(long.is_empty(), "{preset} at {columns}: {long:?}");
        }
        assert!(shown(&[preset, "--ascii", "--sweep", "h=8"]).is_ascii(), "{preset}");
    }
    assert!(shown(&["--color", "always"]).contains("\u{1b}[1m"));
    assert!(!shown(&[]).contains('\u{1b}'));
    assert!(shown(&["--quiet"]).len() < shown(&[]).len());
}

#[test]
fn bad_flags_are_told_what_would_be_good() {
    refused(
        &["--num-heads", "0"],
        &["num_heads cannot be 0", "--> --num-heads", "for example --num-heads 8"],
    );
    refused(&["--num-heads", "-8"], &["num_heads cannot be -8", "--> --num-heads"]);
    refused(&["--d-model", "big"], &["d_model cannot be big", "--> --d-model"]);
    refused(&["--d-model", "1e3"], &["d_model cannot be 1e3"]);
    refused(&["--seq-len", ""], &["seq_len cannot be empty", "--> --seq-len"]);
    refused(&["--seq-len", "1000000000000000000000000000000"], &["cannot be as large as", "--> --seq-len"]);
    refused(&["--layers", "1000000"], &["layers cannot be as large as", "10000"]);
    refused(&["--num-heads", "7"], &["cannot share d_model = 512", "num_heads to 4 or 8", "--> --num-heads"]);
    refused(
        &["--d-model", "100"],
        &["8 heads cannot share d_model = 100", "num_heads to 5 or 10", "--> --d-model"],
    );
    refused(&["--num-kv-heads", "3"], &["cannot share 3 key/value heads", "2 or 4", "--> --num-kv-heads"]);
    refused(&["llama-2-70b", "--num-heads", "4"], &["cannot share 8 key/value heads", "--> --num-heads"]);
    refused(&["--batch", "0", "--d-k", "x"], &["batch cannot be 0", "d_k cannot be x"]);
    refused(&["--batch", "1000000000", "--seq-len", "1000000000"], &["too large to count"]);
    refused(&["bert-base-uncasd"], &["no preset is called bert-base-uncasd", "bert-base-uncased", "--list"]);
    refused(&["\u{1b}[2Jx"], &["no preset is called \\e[2Jx"]);
    refused(&["--list", "zzz"], &["no preset is called zzz", "--list"]);
    refused(&["--list", "--num-heads", "8"], &["takes no sizes", "--> --num-heads"]);
    refused(&["--list", "--bias"], &["takes no sizes", "--> --bias"]);
    refused(&["--sweep", "num-heads"], &["has no =", "--sweep num-heads=1,4,8,16,32"]);
    refused(&["--sweep", "num-head=1"], &["num-head cannot be swept", "--sweep num-heads="]);
    refused(&["--sweep", "num-heads=3,8"], &["3 heads cannot share", "num_heads to 2 or 4", "--> --sweep"]);
    refused(&["--sweep", "seq-len=1,-2"], &["seq_len cannot be -2", "--> --sweep"]);
    refused(&["--sweep", "seq-len=1,1000000000", "--batch", "1000000000"], &["too large to count"]);
    refused(&["--dtype", "fp17"], &["fp17", "fp16"]);
    refused(&["--format", "yaml"], &["yaml", "json"]);
}

#[test]
fn an_output_file_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.txt");
    let path = file.to_str().unwrap();
    assert!(shown(&["--output", path]).is_empty());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), shown(&[]));
    refused(&["--output", path], &["the output file exists", "--force"]);
    refused(&["--num-heads", "7", "--force", "--output", path], &["7 heads"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), shown(&[]));
}

/// Numbers joined by + − · / and min(a, b), with brackets, as a fraction; what stands in every figure's `factors`.
struct Sum<'a>(&'a str);

impl Sum<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.0.trim_start();
        let found = rest.strip_prefix(sign);
        self.0 = found.unwrap_or(rest);
        found.is_some()
    }

    fn sum(&mut self) -> (i128, i128) {
        let (mut over, mut under) = self.product();
        loop {
            let sign = if self.takes("+") {
                1
            } else if self.takes("−") {
                -1
            } else {
                return (over, under);
            };
            let (a, b) = self.product();
            (over, under) = (over * b + sign * a * under, under * b);
        }
    }

    fn product(&mut self) -> (i128, i128) {
        let (mut over, mut under) = self.number();
        loop {
            if self.takes("·") {
                let (a, b) = self.number();
                (over, under) = (over * a, under * b);
            } else if self.takes("/") {
                let (a, b) = self.number();
                (over, under) = (over * b, under * a);
            } else {
                return (over, under);
            }
        }
    }

    fn number(&mut self) -> (i128, i128) {
        if self.takes("½") {
            return (1, 2);
        }
        if self.takes("min(") {
            let (a, _) = self.sum();
            assert!(self.takes(","));
            let (b, _) = self.sum();
            assert!(self.takes(")"));
            return (a.min(b), 1);
        }
        if self.takes("(") {
            let inside = self.sum();
            assert!(self.takes(")"), "{}", self.0);
            return inside;
        }
        let rest = self.0.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        self.0 = &rest[end..];
        (rest[..end].parse().unwrap_or_else(|_| panic!("no number at {rest:?}")), 1)
    }
}

/// 2·(3 + 4)/7 = 2; min(5, 9)·½ = 5/2
#[test]
fn the_reader_of_factors_reads_factors() {
    assert_eq!(Sum("2·(3 + 4)/7").sum(), (14, 7));
    assert_eq!(Sum("min(5, 9)·½ − 1").sum(), (3, 2));
}

#[test]
fn every_figure_is_what_its_numbers_come_to() {
    let run = "--memory 80GB --tensor-parallel 2 --batch 3 --seq-len 5000 --kv-dtype q8_0";
    for name in [
        "llama-3-8b",
        "gemma-3-1b",
        "deepseek-v3",
        "t5-small",
        "mixtral-8x7b",
        "bert-base",
        "qwen3-next-80b-a3b",
    ] {
        let args: Vec<&str> = [name, "--explain", "all"].into_iter().chain(run.split(' ')).collect();
        let figures = json(&args);
        let figures = figures["figures"].as_array().unwrap();
        assert!(figures.len() > 10, "{name}");
        for figure in figures {
            let (factors, value) =
                (figure["factors"].as_str().unwrap(), i128::from(figure["value"].as_u64().unwrap()));
            let mut reader = Sum(factors);
            let (over, under) = reader.sum();
            assert!(reader.0.trim().is_empty(), "{name}: {factors}");
            // bytes of blocks are rounded up, parts of experts and ratios down
            let (down, up) =
                (over.div_euclid(under), over.div_euclid(under) + i128::from(over.rem_euclid(under) != 0));
            let shared = figure["note"].as_str().unwrap().contains("layers share");
            assert!(
                value == down || value == up || shared,
                "{name}: {} = {factors} is not {value}",
                figure["figure"]
            );
        }
    }
}
