//! Figures as SVG and PNG: read back by an XML parser and a PNG decoder of others'.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use roxmltree::{Document, Node};
use tempfile::TempDir;

/// The scores are q itself, since k is the identity and the scale 1. The first query scores 0 and ln 3, which
/// e^x turns into 1 : 3, so its weights are ¼ and ¾. The second scores both keys alike: ½ and ½.
const QUARTERS: &str = "
title: Quarters
tokens: [a, b]
attention: {num_heads: 1, scale: 1}
inputs: {q: [[0, 1.0986122886681098], [1, 1]], k: [[1, 0], [0, 1]], v: [[1], [2]]}
projections: {w_o: none}
";

/// On a scale from 0 to ¾ those lie at ⅓, 1, ⅔ and ⅔; matplotlib's viridis there, as a table of colours gives it.
const COLOURS: [[u8; 3]; 4] = [[49, 104, 142], [253, 231, 37], [53, 183, 121], [53, 183, 121]];

fn room(lesson: &str) -> TempDir {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), lesson).unwrap();
    room
}

#[track_caller]
fn svg(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, &[args, &["--format", "svg"]].concat());
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha {}", args.join(" "));
    run.out
}

/// Width, height and pixels, and dots a metre.
struct Picture {
    size: (u32, u32),
    rgb: Vec<u8>,
    dots: u32,
    bytes: usize,
}

impl Picture {
    fn at(&self, x: u32, y: u32) -> [u8; 3] {
        let at = 3 * (y * self.size.0 + x) as usize;
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }
}

#[track_caller]
fn png(folder: &Path, args: &[&str]) -> Picture {
    let run = run::run(folder, &[args, &["--format", "png", "--force", "-o", "out.png"]].concat());
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha {}", args.join(" "));
    decoded(&fs::read(folder.join("out.png")).unwrap())
}

fn decoded(file: &[u8]) -> Picture {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut rgb).unwrap();
    let info = reader.info();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    Picture { size: info.size(), rgb, dots: info.pixel_dims.map_or(0, |dims| dims.xppu), bytes: file.len() }
}

fn of_class<'a>(page: &'a Document<'_>, class: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    page.descendants().filter(move |node| node.attribute("class") == Some(class))
}

/// The rectangles of all cells, in order.
fn cells<'a>(page: &'a Document<'_>) -> Vec<Node<'a, 'a>> {
    of_class(page, "cells")
        .flat_map(|group| group.children().filter(|node| node.has_tag_name("rect")))
        .collect()
}

fn number(node: Node<'_, '_>, name: &str) -> u32 {
    node.attribute(name).unwrap().parse().unwrap()
}

fn colour(node: Node<'_, '_>) -> [u8; 3] {
    let hex = u32::from_str_radix(&node.attribute("fill").unwrap()[1..], 16).unwrap();
    let [_, red, green, blue] = hex.to_be_bytes();
    [red, green, blue]
}

fn texts<'a>(page: &'a Document<'_>) -> Vec<&'a str> {
    page.descendants()
        .filter(|node| node.has_tag_name("text"))
        .map(|node| {
            node.children().filter(|child| child.is_text()).find_map(|child| child.text()).unwrap_or("")
        })
        .collect()
}

#[track_caller]
fn near(is: [u8; 3], expected: [u8; 3]) {
    // The palette draws straight lines between every fifteenth colour of the table.
    assert!(is.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 5), "{is:?} is not about {expected:?}");
}

#[test]
fn every_weight_is_a_rectangle_of_its_colour_with_its_number() {
    let room = room(QUARTERS);
    let text = svg(room.path(), &["trace", "lesson.yaml"]);
    let page = Document::parse(&text).unwrap();

    let cells = cells(&page);
    assert_eq!(cells.len(), 4);
    for (cell, expected) in cells.iter().zip(COLOURS) {
        near(colour(*cell), expected);
    }
    let numbers: Vec<&str> = of_class(&page, "numbers")
        .flat_map(|group| group.children())
        .filter_map(|t| t.text())
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(numbers, ["0.25", "0.75", "0.50", "0.50"]);
    let place = |at: usize| (number(cells[at], "x"), number(cells[at], "y"));
    let side = number(cells[0], "width");
    let (x, y) = place(0);
    assert_eq!([place(1), place(2), place(3)], [(x + side, y), (x, y + side), (x + side, y + side)]);
    let told = cells[1].first_element_child().unwrap().text();
    assert_eq!(told, Some("query a, key b: 0.750000"));
    for word in ["Quarters", "attention weights", "head 1", "query", "key", "a", "b", "0.75"] {
        assert!(texts(&page).contains(&word), "{word} is not in {:?}", texts(&page));
    }
}

#[test]
fn a_picture_for_slides_has_the_same_colours_at_twice_the_size() {
    let room = room(QUARTERS);
    let text = svg(room.path(), &["trace", "lesson.yaml"]);
    let page = Document::parse(&text).unwrap();
    let picture = png(room.path(), &["trace", "lesson.yaml"]);

    let root = page.root_element();
    assert_eq!(picture.size, (2 * number(root, "width"), 2 * number(root, "height")));
    // 192 dots on an inch of 0.0254 metres.
    assert_eq!(picture.dots, (192.0_f64 / 0.0254).round() as u32);
    for (cell, expected) in cells(&page).into_iter().zip(COLOURS) {
        // A little inside the corner, where no number stands.
        let pixel = picture.at(2 * number(cell, "x") + 4, 2 * number(cell, "y") + 4);
        assert_eq!(pixel, colour(cell));
        near(pixel, expected);
    }
    assert_eq!(picture.at(0, 0), [255, 255, 255], "the paper is white");
    // Ink in the middle of the cell of ¼: its number is there, drawn with the font inside.
    let cell = cells(&page)[0];
    let (left, top, side) = (2 * number(cell, "x"), 2 * number(cell, "y"), 2 * number(cell, "width"));
    let inked = (left..left + side).flat_map(|x| (top..top + side).map(move |y| (x, y)));
    assert!(inked.filter(|(x, y)| picture.at(*x, *y) == [255, 255, 255]).count() > 20, "no number is drawn");
}

#[test]
fn hostile_names_stay_text() {
    let hostile = r#"
title: "</title><script>alert(1)</script> & ]]> \e[2J"
tokens: ["<script>alert(2)</script>", "]]>", "\u202Eevil\u0007", "\" onload=\"x' &lt; \uFFFF"]
attention: {num_heads: 1, scale: 1}
inputs: {q: [[1], [2], [3], [4]], k: [[1], [2], [3], [4]], v: [[1], [2], [3], [4]]}
projections: {w_o: none}
"#;
    let room = room(hostile);
    let text = svg(room.path(), &["trace", "lesson.yaml"]);
    let page = Document::parse(&text).unwrap();

    let known = ["svg", "title", "desc", "g", "rect", "text", "path", "linearGradient", "stop"];
    for node in page.descendants().filter(Node::is_element) {
        assert!(known.contains(&node.tag_name().name()), "<{}>", node.tag_name().name());
        assert!(node.attributes().all(|a| !a.name().starts_with("on")), "{:?}", node.attributes());
    }
    assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')));
    let texts = texts(&page);
    for label in ["<script>alert(2…", "]]>", "\\u{202e}evil\\u{…"] {
        assert!(texts.contains(&label), "{label} is not in {texts:?}");
    }
    let title = page.descendants().find(|node| node.has_tag_name("title")).unwrap();
    assert!(title.text().unwrap().starts_with("</title><script>alert(1)</script> & ]]> \\e[2J"));
    // What a label is cut short of is told when the pointer rests on it.
    let whole = page.descendants().filter(|node| node.has_tag_name("title")).filter_map(|node| node.text());
    assert!(whole.into_iter().any(|text| text == "<script>alert(2)</script>"));
    png(room.path(), &["trace", "lesson.yaml"]);
}

/// A causal mask hides 3 · 2 / 2 of nine places, for each of two heads.
#[test]
fn hidden_places_are_crossed_out_and_the_legend_says_so() {
    let room = tempfile::tempdir().unwrap();
    let text = svg(room.path(), &["compare", "--variants", "causal"]);
    let page = Document::parse(&text).unwrap();
    let hidden = cells(&page)
        .into_iter()
        .filter(|cell| cell.first_element_child().unwrap().text().unwrap().ends_with(": masked"));
    assert_eq!(hidden.map(|cell| assert_eq!(colour(cell), [255, 255, 255])).count(), 6);
    assert!(texts(&page).contains(&"masked"));
}

#[test]
fn large_problems_give_small_files() {
    let big = "
attention: {d_model: 16, num_heads: 8, mask: causal}
inputs: {x: {random: {seed: 3, shape: [512, 16]}}}
projections: {w_q: {random: {seed: 7}}, w_k: {random: {seed: 8}}, w_v: {random: {seed: 9}}, w_o: none}
";
    let room = room(big);
    let text = svg(room.path(), &["trace", "lesson.yaml"]);
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    let page = Document::parse(&text).unwrap();
    let images: Vec<Node<'_, '_>> = page.descendants().filter(|node| node.has_tag_name("image")).collect();
    assert_eq!((images.len(), cells(&page).len()), (8, 0));
    assert!(
        texts(&page).contains(&"Each cell is the largest of 2 × 2 neighbours (512 × 512 in all)."),
        "{:?}",
        texts(&page)
    );

    let picture = png(room.path(), &["trace", "lesson.yaml"]);
    assert!(picture.bytes < 1_000_000, "{} bytes", picture.bytes);

    // Both draw the same 256 × 256 pixels: white above the diagonal, where a key comes later than its query.
    for image in images {
        let href = image.attribute("href").unwrap().strip_prefix("data:image/png;base64,").unwrap();
        let embedded = decoded(&BASE64_STANDARD.decode(href).unwrap());
        assert_eq!(embedded.size, (256, 256));
        let (x, y, side) = (number(image, "x"), number(image, "y"), number(image, "width") / 256);
        for query in 0..256 {
            for key in 0..256 {
                let colour = embedded.at(key, query);
                assert_eq!(colour == [255, 255, 255], key > query, "query {query}, key {key}");
                assert_eq!(colour, picture.at(2 * (x + key * side), 2 * (y + query * side)));
            }
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let room = tempfile::tempdir().unwrap();
    let run = run::run(room.path(), &["compare", "--variants", "flash", "--format", "svg"]);
    assert_eq!((run.status, run.out.as_str()), (Some(2), ""));
    assert!(run.err.starts_with("error: there is nothing to draw"), "{}", run.err);
}

/// A panel of 24 tokens is 360 pixels a side: 256 of them are 33 million pixels.
#[test]
fn more_heads_than_a_figure_holds_are_refused_and_a_few_of_them_are_not() {
    let many = "
attention: {d_model: 256, num_heads: 256}
inputs: {x: {random: {seed: 3, shape: [24, 256]}}}
projections: {w_q: {random: {seed: 7}}, w_k: {random: {seed: 8}}, w_v: {random: {seed: 9}}, w_o: none}
";
    let room = room(many);
    let run = run::run(room.path(), &["trace", "lesson.yaml", "--format", "png", "-o", "all.png"]);
    assert_eq!(run.status, Some(2));
    assert!(run.err.starts_with("error: a figure of 256 panels would be "), "{}", run.err);
    assert!(run.err.contains("fewer heads"), "{}", run.err);
    assert!(!room.path().join("all.png").exists());
    let page = svg(room.path(), &["trace", "lesson.yaml", "--heads", "7,256"]);
    assert!(page.contains(">head 7<") && page.contains(">head 256<"));
}
