//! Lessons as pages: whole, true, linked, and no place for text to become anything else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mha::lesson::builtin;
use roxmltree::{Document, Node, ParsingOptions};
use sha2::{Digest, Sha256};

const SMALL: &str = include_str!("lesson_pages/small.yaml");

#[track_caller]
fn render(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, &[&["lessons", "render"], args].concat());
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha lessons render {}", args.join(" "));
    run.out
}

/// A folder with the small lesson in it.
fn room() -> tempfile::TempDir {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("small.yaml"), SMALL).unwrap();
    room
}

/// The page as another's parser of XML reads it.
#[track_caller]
fn parsed(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}"))
}

fn words(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect()
}

fn named<'a, 'i: 'a>(page: &'a Document<'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    page.descendants().filter(move |node| {
        node.has_tag_name(name) || node.has_tag_name(("http://www.w3.org/2000/svg", name))
    })
}

/// What can be checked by hand stands in the paper's own example: 1/√2 = 0.7071, 2/√2 = 1.4142, the softmax of
/// (1/√2, 0, 0) begins with 2.0281/4.0281 = 0.5035, an even row of three has log2 3 = 1.5850 bits. The whole
/// page stands in `snapshots`.
#[test]
fn a_lesson_in_markdown() {
    let room = room();
    let page = render(room.path(), &["small.yaml", "--format", "markdown"]);
    for number in [
        "is 1.4142.",
        "| a | 0.7071 |",
        "**0.5035**",
        "| 1.5850 |",
        "| cited | 5.29 | 5.00 |",
        "**2. head 2**",
    ] {
        assert!(page.contains(number), "{number}\n{page}");
    }
}

#[test]
fn a_lesson_in_html_is_well_formed_alone_and_accessible() {
    let room = room();
    let text = render(room.path(), &["small.yaml"]);
    let page = parsed(&text);
    let root = page.root_element();
    assert_eq!((root.tag_name().name(), root.attribute("lang")), ("html", Some("en")));
    assert_eq!(words(named(&page, "h1").next().unwrap()), "A small course");
    assert_eq!(named(&page, "h1").count(), 1);
    // headings go down one level at a time
    let levels: Vec<u32> = page
        .descendants()
        .filter_map(|node| node.tag_name().name().strip_prefix('h')?.parse().ok())
        .collect();
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    // a table says what it shows, or stands in what does
    for table in named(&page, "table") {
        let in_figure = table.ancestors().any(|node| node.has_tag_name("figure"));
        assert!(in_figure || table.children().any(|node| node.has_tag_name("caption")), "{}", words(table));
        assert!(
            table.descendants().any(|node| node.has_tag_name("th") && node.attribute("scope") == Some("row"))
        );
    }
    // hints, answers, the numbers of the plot, the task's hint and its solution: 2 + 1, 1, 1, 1 + 1
    assert_eq!(named(&page, "details").count(), 7);
    assert!(
        named(&page, "details")
            .all(|node| node.first_element_child().is_some_and(|first| first.has_tag_name("summary")))
    );
    let plot = named(&page, "svg").next().unwrap();
    assert_eq!((plot.attribute("role"), named(&page, "desc").count()), (Some("img"), 1));
    // nothing is fetched, nothing runs
    assert_eq!(named(&page, "script").count() + named(&page, "img").count(), 0);
    let style = words(named(&page, "style").next().unwrap());
    let hash = format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(&style)));
    let policy =
        named(&page, "meta").find(|node| node.attribute("http-equiv") == Some("Content-Security-Policy"));
    let policy = policy.and_then(|node| node.attribute("content")).unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.contains(&hash), "{policy}");
    assert!(
        page.descendants().all(|node| node.attribute("style").is_none()),
        "the policy allows no style of an element"
    );
    // the heat map's cells have the shade of their number: an even row has three alike
    let weights = named(&page, "table").find(|table| words(*table).starts_with("head.2.weights")).unwrap();
    let even = weights.descendants().rfind(|node| node.has_tag_name("tr")).unwrap();
    let shades: BTreeSet<_> = even.children().filter_map(|cell| cell.attribute("class")).collect();
    assert_eq!(shades.len(), 1, "{shades:?}");
}

#[test]
fn every_lesson_that_comes_with_mha_is_a_page_in_both_formats_and_languages() {
    for (lang, format, ending) in [("en", "html", "html"), ("zh", "markdown", "md")] {
        let room = tempfile::tempdir().unwrap();
        render(room.path(), &["--all", "--output", "course", "--format", format, "--lang", lang]);
        let index = fs::read_to_string(room.path().join(format!("course/index.{ending}"))).unwrap();
        for lesson in builtin::all() {
            let name = format!("{}.{ending}", lesson.name);
            let page = fs::read_to_string(room.path().join("course").join(&name)).unwrap();
            assert!(index.contains(&name), "{name} is not in the index");
            // A question may end with the name of a cell itself.
            let asked = lesson.text.matches("]?").count();
            assert!(page.matches("]?").count() <= asked, "{name} has a number that could not be computed");
            if format == "html" {
                parsed(&page);
            }
        }
    }
}

#[test]
fn pages_lead_to_each_other_and_to_an_index_by_topic() {
    let room = room();
    render(room.path(), &["two-heads", "small.yaml", "--output", "pages"]);
    let text = fs::read_to_string(room.path().join("pages/index.html")).unwrap();
    let index = parsed(&text);
    let headings: Vec<String> = named(&index, "h2").map(words).collect();
    assert!(headings.contains(&"2. The mechanism".to_owned()), "{headings:?}");
    for name in ["index.html", "small.html", "two-heads.html"] {
        let text = fs::read_to_string(room.path().join("pages").join(name)).unwrap();
        let page = parsed(&text);
        for link in named(&page, "a").filter_map(|link| link.attribute("href")) {
            let there = match link.strip_prefix('#') {
                Some(id) => page.descendants().any(|node| node.attribute("id") == Some(id)),
                None => room.path().join("pages").join(link).is_file(),
            };
            assert!(there, "{name} leads to {link}");
        }
    }
}

#[test]
fn figures_of_markdown_stand_beside_it() {
    let room = room();
    render(room.path(), &["small.yaml", "--format", "markdown", "--output", "pages"]);
    let page = fs::read_to_string(room.path().join("pages/small.md")).unwrap();
    let figures: Vec<&str> = page
        .split("](")
        .filter_map(|rest| rest.split_once(')'))
        .map(|(name, _)| name)
        .filter(|name| name.ends_with(".svg"))
        .collect();
    assert_eq!(figures, ["small-1.svg", "small-2.svg"], "a heat map and a plot");
    for name in figures {
        let svg = fs::read_to_string(room.path().join("pages").join(name)).unwrap();
        assert_eq!(Document::parse(&svg).unwrap().root_element().tag_name().name(), "svg");
    }
}

#[test]
fn nothing_is_replaced_unless_that_is_said() {
    let room = room();
    fs::create_dir(room.path().join("pages")).unwrap();
    fs::write(room.path().join("pages/index.html"), "mine").unwrap();
    let refused = run::run(room.path(), &["lessons", "render", "small.yaml", "--output", "pages"]);
    assert_eq!(refused.status, Some(2));
    assert!(refused.err.contains("index.html stand") && refused.err.contains("--force"), "{}", refused.err);
    assert!(!room.path().join("pages/small.html").exists(), "nothing is written where one file is refused");
    assert_eq!(fs::read_to_string(room.path().join("pages/index.html")).unwrap(), "mine");
    render(room.path(), &["small.yaml", "--output", "pages", "--force"]);
    assert!(fs::read_to_string(room.path().join("pages/index.html")).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn several_lessons_need_a_folder_and_a_broken_one_says_why() {
    let room = room();
    let run = run::run(room.path(), &["lessons", "render", "two-heads", "small.yaml"]);
    assert_eq!(run.status, Some(2));
    assert!(run.err.contains("add --output FOLDER"), "{}", run.err);
    fs::write(
        room.path().join("wrong.yaml"),
        SMALL
            .replace("head.2.weights[1,1] > 0.9", "head.9.weights[1,1] > 0.9")
            .replace("cell: head.2.weights[1,1]", "cell: head.7.weights[1,1]"),
    )
    .unwrap();
    let run = run::run(room.path(), &["lessons", "render", "wrong.yaml", "--output", "pages"]);
    assert_eq!(run.status, Some(2));
    assert!(run.err.contains("head.7.weights"), "{}", run.err);
    assert!(!room.path().join("pages").exists());
}

#[test]
fn a_page_in_chinese_says_everything_in_chinese() {
    let room = room();
    let text = render(room.path(), &["small.yaml", "--lang", "zh"]);
    let page = parsed(&text);
    assert_eq!(page.root_element().attribute("lang"), Some("zh-Hans"));
    let summaries: BTreeSet<String> = named(&page, "summary").map(words).collect();
    assert!(summaries.contains("答案") && summaries.contains("提示"), "{summaries:?}");
    assert!(!summaries.contains("Answer"), "{summaries:?}");
    // the locale has the same say as the flag
    let mut located = run::mha(room.path());
    located.args(["lessons", "render", "small.yaml"]).env("LANG", "zh_CN.UTF-8");
    assert_eq!(run::ended(&mut located).out, text);
}

#[test]
fn text_of_a_lesson_is_text() {
    let room = tempfile::tempdir().unwrap();
    let evil = r#"</title></style></details></script><img src=x onerror=alert(1)>\"'&\u202e`|*_[a](javascript:b) @octocat"#;
    let lesson = format!(
        r#"{{"title": "{0}", "summary": "{0}", "source": "{0}", "tokens": ["{0}", "b"],
        "attention": {{"d_model": 2, "num_heads": 1}}, "inputs": {{"x": [[1, 0], [0, 1]]}},
        "projections": {{"w_q": "identity", "w_k": "identity", "w_v": "identity", "w_o": "identity"}},
        "course": [{{"say": "{0}"}}, {{"show": "head.1.weights", "as": "heatmap"}},
          {{"ask": "{0}", "choices": ["{0}", "b"], "answer": 2, "because": "{0}", "hints": {{"hint": "{0}"}}, "wrong": [{{"choice": 1, "say": "{0}"}}]}},
          {{"table": {{"title": "{0}", "columns": ["{0}", "b"], "rows": [["{0}", "{0}"]], "source": "{0}"}}}},
          {{"plot": {{"title": "{0}", "x": {{"label": "{0}", "values": [1, 2]}}, "change": {{"attention": {{"scale": "$"}}}}, "lines": [{{"label": "{0}", "value": "entropy(weights)"}}]}}}},
          {{"task": "{0}", "change": ["attention.scale"], "checks": ["head.1.weights[1,1] > 0.9"], "solution": {{"attention": {{"scale": 5}}}}, "hints": ["{0}"], "because": "{0}"}}]}}"#,
        evil
    );
    fs::write(room.path().join("evil.yaml"), lesson).unwrap();
    let text = render(room.path(), &["evil.yaml"]);
    let known = BTreeSet::from([
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "a",
        "header",
        "h1",
        "h2",
        "p",
        "main",
        "div",
        "table",
        "caption",
        "span",
        "br",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "section",
        "ol",
        "ul",
        "li",
        "details",
        "summary",
        "figure",
        "figcaption",
        "svg",
        "desc",
        "path",
        "text",
        "g",
        "pre",
        "code",
        "footer",
    ]);
    let page = parsed(&text);
    for node in page.descendants().filter(Node::is_element) {
        assert!(known.contains(node.tag_name().name()), "{}", node.tag_name().name());
        assert!(node.attributes().all(|attribute| !attribute.name().starts_with("on")), "{node:?}");
    }
    let ascii = render(room.path(), &["evil.yaml", "--ascii"]);
    assert!(ascii.is_ascii() && words(parsed(&ascii).root_element()) == words(page.root_element()));
    for (place, args) in [
        ("page", &["evil.yaml", "--format", "markdown"][..]),
        ("index", &["evil.yaml", "--format", "markdown", "--output", "pages"]),
    ] {
        let out = render(room.path(), args);
        let page = if place == "page" {
            out
        } else {
            fs::read_to_string(room.path().join("pages/index.md")).unwrap()
        };
        for never in ["<img", "</title>", "</script>", "</style>", "\u{202e}", "[a](", "@octocat"] {
            assert!(!page.contains(never), "{never} in the {place}:\n{page}");
        }
        assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
    }
}

/// A wrong answer may name a myth and say nothing more: the myth speaks for itself.
#[test]
fn a_myth_is_refuted_on_a_page() {
    let room = room();
    let wrong = "quiz: [{ask: Best?, choices: [always, not always], answer: 2, wrong: [{choice: 1, myth: more-heads}]}]";
    let lesson = format!(
        "title: One\ntokens: [a]\nattention: {{d_model: 1, num_heads: 1}}\ninputs: {{x: [[1]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n{wrong}\n"
    );
    fs::write(room.path().join("one.yaml"), lesson).unwrap();
    for format in ["markdown", "html"] {
        let page = render(room.path(), &["one.yaml", "--format", format]);
        assert!(page.contains("More heads are always better.") && page.contains("mha params"), "{page}");
    }
}

/// Words of the lesson, of the steps and of the frame alike.
#[test]
fn a_lesson_in_markdown_is_ascii_where_that_is_asked_for() {
    let room = room();
    let page = render(room.path(), &["two-heads", "--format", "markdown", "--ascii"]);
    assert!(page.contains("queries of head 1"), "{page}");
    assert!(page.is_ascii() && !page.contains("\\u{"), "{page}");
}
