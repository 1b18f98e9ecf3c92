//! Texts and ids that a model cannot read.

use mha::model::Text;
use serde_json::{Value, json};

use super::{change, opened, read, right, tells};

#[test]
fn ids_end_where_the_embedding_ends() {
    let room = right();
    let model = opened(room.path());
    let said = |ids: &[u32]| model.read(&Text::Ids(ids.to_vec())).map_err(|faults| faults.to_string());
    assert_eq!(said(&[2, 139]).unwrap().ids, [2, 139]);
    tells(
        "140 rows",
        &said(&[2, 140]).unwrap_err(),
        &["there is no token 140", "ids end at 139", "--> --tokens"],
    );
    tells("the last", &said(&[u32::MAX]).unwrap_err(), &["there is no token 4294967295"]);
    tells("none", &said(&[]).unwrap_err(), &["there is no token in the text"]);
}

#[test]
fn a_text_that_does_not_fit_says_how_long_it_is() {
    let room = right();
    let mut model = opened(room.path());
    let most = model.blueprint.most_tokens.unwrap();
    // [CLS] and [SEP] take two places.
    let fits = "the ".repeat(most - 2);
    assert_eq!(read(&model, &fits).unwrap().ids.len(), most);
    let told = read(&model, &format!("{fits} the")).unwrap_err();
    let words = [format!("the text has {} tokens", most + 1), format!("the model has {most} positions")];
    tells("one too many", &told, &[&words[0], &words[1], &format!("give at most {most} tokens")]);

    model.blueprint.most_tokens = None;
    assert_eq!(read(&model, &"the ".repeat(4_094)).unwrap().ids.len(), 4_096);
    tells("any model", &read(&model, &"the ".repeat(4_095)).unwrap_err(), &["4097 tokens", "n² weights"]);
    let told = model.read(&Text::Ids(vec![5; 4_097])).unwrap_err().to_string();
    tells("ids too", &told, &["4097 tokens", "--> --tokens"]);
    let told = read(&model, &"the ".repeat(100_000)).unwrap_err();
    tells("a book", &told, &["the text is 391 KiB long", "up to 256 KiB"]);
}

#[test]
fn a_text_without_a_token_is_refused() {
    let room = right();
    let marked = opened(room.path());
    for empty in ["", "  \n "] {
        let told = read(&marked, empty).unwrap_err();
        tells("only marks", &told, &["there is no token in the text", "it is blank", "--> --text"]);
    }
    change(room.path(), "tokenizer.json", |tokenizer| tokenizer["post_processor"] = Value::Null);
    let model = opened(room.path());
    assert_eq!(read(&model, "the").unwrap().labels, ["the"]);
    for empty in ["", "  \n "] {
        let told = read(&model, empty).unwrap_err();
        tells("nothing", &told, &["there is no token in the text", "a word in it", "--> --text"]);
    }
}

#[test]
fn a_pair_needs_a_model_that_tells_two_texts_apart() {
    let room = right();
    let mut model = opened(room.path());
    let pair = Text::Pair("the".to_owned(), "animal".to_owned());
    assert_eq!(model.read(&pair).unwrap().segments, [0, 0, 0, 1, 1]);
    // DistilBERT has no segments, and reads pairs by their separators.
    let segments = model.blueprint.embeddings.segments.take();
    assert_eq!(model.read(&pair).unwrap().segments, [0; 5]);
    model.blueprint.is_causal = true;
    let told = model.read(&pair).unwrap_err().to_string();
    tells("a model that reads on", &told, &["this model (BERT) reads one text, not a pair", "--> --pair"]);
    (model.blueprint.is_causal, model.blueprint.embeddings.segments) = (false, segments);

    change(room.path(), "tokenizer.json", |tokenizer| {
        tokenizer["post_processor"]["pair"][3]["Sequence"]["type_id"] = json!(2);
    });
    let told = opened(room.path()).read(&pair).unwrap_err().to_string();
    tells("a third segment", &told, &["into segment 3", "the model knows 2"]);
}
