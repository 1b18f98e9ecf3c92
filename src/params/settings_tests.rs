use super::*;
use crate::params::presets;

fn flags(given: &[(Key, u64)]) -> Settings {
    let mut settings = Settings::of_flags();
    for (key, value) in given {
        settings.set(*key, *value);
    }
    settings
}

#[test]
fn what_is_not_given_follows_from_what_is() {
    let shape = flags(&[(Key::DModel, 96), (Key::NumHeads, 4)]).resolve().unwrap();
    let Layer { num_kv_heads, d_k, d_v, d_kv_model, .. } = shape.layer;
    assert_eq!([num_kv_heads, d_k, d_v, d_kv_model, shape.layers, shape.batch], [4, 24, 24, 96, 1, 1]);
    let wide = flags(&[(Key::DModel, 96), (Key::NumHeads, 5), (Key::DK, 7), (Key::DV, 3)]).resolve().unwrap();
    assert_eq!((wide.layer.d_k, wide.layer.d_v), (7, 3));
}

#[test]
fn a_flag_beats_the_preset_and_says_what_it_replaced() {
    let mut settings = Settings::of_preset(presets::find("bert").unwrap());
    settings.set(Key::NumHeads, 16);
    let shape = settings.resolve().unwrap();
    assert_eq!((shape.layer.num_heads, shape.layer.d_k, shape.layers), (16, 48, 12)); // 768 / 16
    assert_eq!(shape.sizes[1], (Key::NumHeads, 16, Origin::Instead("bert-base", 12)));
}

#[test]
fn heads_that_do_not_divide_are_answered_with_the_nearest_that_do() {
    let said = flags(&[(Key::NumHeads, 7)]).resolve().unwrap_err().to_string();
    assert!(
        said.contains("7 heads cannot share d_model = 512") && said.contains("num_heads to 4 or 8"),
        "{said}"
    );
    assert!(said.contains("--> --num-heads"), "{said}");
    // 8 heads stand in, so the flag to look at is --d-model; 100 = 5 · 20 = 10 · 10
    let said = flags(&[(Key::DModel, 100)]).resolve().unwrap_err().to_string();
    assert!(said.contains("--> --d-model") && said.contains("num_heads to 5 or 10"), "{said}");
    let said = Settings::of_flags().swept(Key::NumHeads, 3).resolve().unwrap_err().to_string();
    assert!(said.contains("--> --sweep") && said.contains("num_heads to 2 or 4"), "{said}");
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let faults = flags(&[(Key::NumHeads, 6), (Key::NumKvHeads, 4)]).resolve().unwrap_err();
    assert_eq!(faults.0.len(), 2, "{faults}");
    assert!(faults.0[1].remedy.contains("3 or 6"), "{faults}");
    let mut llama = Settings::of_preset(presets::find("llama-2-70b").unwrap());
    llama.set(Key::NumHeads, 4);
    let said = llama.resolve().unwrap_err().to_string();
    assert!(said.contains("4 query heads cannot share 8") && said.contains("num_kv_heads to 4"), "{said}");
}

#[test]
fn only_whole_numbers_of_a_reasonable_size_are_taken() {
    for (text, said) in [
        ("0", "num_heads cannot be 0"),
        ("-8", "num_heads cannot be -8"),
        ("8.0", "cannot be 8.0"),
        ("eight", "cannot be eight"),
        ("", "cannot be empty"),
        ("+8", "cannot be +8"),
        ("٨", "cannot be ٨"),
        ("1000000001", "as large as"),
        ("1000000000000000000000000000000", "as large as"),
    ] {
        let shown = Key::NumHeads.parse(text).unwrap_err().to_string();
        assert!(shown.contains(said), "{text}: {shown}");
    }
    assert_eq!(Key::NumHeads.parse("008"), Ok(8));
    assert!(Key::Layers.parse("10001").is_err());
}
