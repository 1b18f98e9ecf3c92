//! Readers of each format that know nothing of how `mha` escapes: each fails where a text of a file has become more than a
//! text.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The first character that a terminal or a reader would obey: C0 and C1 of ECMA-48 but for the end of a line, bidirectional
/// controls, and what hides text.
fn command(text: &str) -> Option<usize> {
    text.char_indices().find_map(|(at, c)| {
        let obeyed = match u32::from(c) {
            0x0a => false,
            0x00..=0x1f | 0x7f..=0x9f => true,
            0x061c | 0x200e | 0x200f | 0x2028..=0x202e | 0x2066..=0x2069 => true,
            0x00ad | 0x200b | 0x2060 | 0xfeff | 0xfff9..=0xfffb | 0xffff | 0xe0000..=0xe0fff => true,
            _ => false,
        };
        obeyed.then_some(at)
    })
}

/// The text around a place, for a message.
fn around(text: &str, at: usize) -> String {
    let from = (0..=at.saturating_sub(60)).rev().find(|from| text.is_char_boundary(*from)).unwrap_or(0);
    text[from..].chars().take(100).collect()
}

/// Nothing commands.
#[track_caller]
pub(crate) fn quiet(text: &str, what: &str) {
    if let Some(at) = command(text) {
        panic!("{what}: a character commands in {:?}", around(text, at));
    }
}

/// Nothing commands, and no tower of accents stands on the lines above.
#[track_caller]
pub(crate) fn plain(text: &str, what: &str) {
    quiet(text, what);
    let tower = "\u{301}".repeat(9);
    assert!(!text.contains(&tower), "{what}: a tower of accents");
}

/// The same, with the colours of a terminal allowed: `ESC [`, numbers, `m`.
#[track_caller]
pub(crate) fn coloured(text: &str, what: &str) {
    let mut rest = text;
    let mut bare = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        let end = after.find(|c: char| !(c.is_ascii_digit() || c == ';')).unwrap_or(after.len());
        assert_eq!(after[end..].chars().next(), Some('m'), "{what}: more than a colour");
        rest = &after[end + 1..];
    }
    bare.push_str(rest);
    plain(&bare, what);
}

/// Valid JSON that can be shown.
#[track_caller]
pub(crate) fn json(text: &str, what: &str) -> Value {
    quiet(text, what);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// The same, where nobody looks at what it says.
#[track_caller]
pub(crate) fn data(text: &str, what: &str) {
    json(text, what);
}

/// Every line has as many cells as the first, and none is a formula; numbers are none.
#[track_caller]
pub(crate) fn csv(text: &str, what: &str) {
    plain(text, what);
    for record in csv::Reader::from_reader(text.as_bytes()).records() {
        for cell in &record.unwrap() {
            let begins = cell.trim_start().chars().next().unwrap_or('a');
            let is_formula = "=+-@＝＋－＠".contains(begins) && cell.parse::<f64>().is_err();
            assert!(!is_formula, "{what}: {cell:?} is a formula");
        }
    }
}

/// An element's name, and its attributes with their values.
type Element<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// The elements of a page as a browser finds them: a tag is what begins with `<` and a letter or a slash, the values of its
/// attributes stand in double quotes, and a script or a style ends at the first end of its name.
#[track_caller]
fn elements<'a>(page: &'a str, what: &str) -> Vec<Element<'a>> {
    let mut found = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").or(page.strip_prefix("<!DOCTYPE html>")).unwrap();
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        let name_end = rest.find([' ', '>', '/']).unwrap();
        if name_end == 0 {
            // the end of an element
            assert!(rest.starts_with('/'), "{what}: a stray < in {:?}", &rest[..rest.len().min(40)]);
            rest = rest.split_once('>').unwrap().1;
            continue;
        }
        let name = &rest[..name_end];
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric()), "{what}: no tag: {name:?}");
        rest = &rest[name_end..];
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>").or(rest.strip_prefix('>')) {
                rest = after;
                break;
            }
            let end = rest.find(['=', ' ', '>', '/']).unwrap();
            let attribute = &rest[..end];
            rest = &rest[end..];
            let mut value = "";
            if let Some(after) = rest.strip_prefix("=\"") {
                (value, rest) = after.split_once('"').unwrap();
            }
            assert!(
                !attribute.is_empty()
                    && attribute.bytes().all(|b| b.is_ascii_alphanumeric() || b"-:".contains(&b)),
                "{what}: no attribute: {attribute:?}"
            );
            attributes.push((attribute, value));
        }
        found.push((name, attributes));
        if matches!(name, "script" | "style") {
            rest = &rest[rest.find(&format!("</{name}")).unwrap()..];
        }
    }
    found
}

/// What stands between the tags of an element of a page, every time that it is there.
fn inside<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    page.split(&format!("<{name}"))
        .skip(1)
        .map(|after| after.split_once('>').unwrap().1.split_once(&format!("</{name}>")).unwrap().0)
        .collect()
}

/// A whole page: its elements are those of such pages, it has a policy that allows its own style and script by their hashes
/// and nothing else, and nothing of it is a handler, a style of an element, or an address of somewhere else.
#[track_caller]
pub(crate) fn html(page: &str, what: &str) {
    const KNOWN: &str = "html head meta title link style body script noscript a article header main section aside footer nav form \
        fieldset legend label input h1 h2 h3 h4 p ul ol li dl dt dd div span br b i em strong kbd code pre table caption \
        thead tbody tr th td details summary figure figcaption blockquote q small sup sub button template svg g path rect \
        line polyline text tspan circle desc img image defs clippath lineargradient stop";
    plain(page, what);
    let known: BTreeSet<&str> = KNOWN.split_whitespace().collect();
    let elements = elements(page, what);
    let mut policies = Vec::new();
    for (name, attributes) in &elements {
        assert!(known.contains(name.to_lowercase().as_str()), "{what}: an element {name}");
        if attributes.contains(&("http-equiv", "Content-Security-Policy")) {
            policies.extend(attributes.iter().find(|(name, _)| *name == "content").map(|(_, value)| *value));
        }
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on") && *attribute != "style", "{what}: {attribute} of {name}");
            let is_address = matches!(*attribute, "href" | "src" | "xlink:href" | "action");
            let is_here =
                value.starts_with('#') || *value == "data:," || value.starts_with("data:image/png;base64,");
            assert!(!is_address || is_here, "{what}: {name} leads to {value}");
        }
    }
    let hashed = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let style = inside(page, "style");
    assert_eq!((style.len(), policies.len()), (1, 1), "{what}: one style, one policy");
    let scripts = inside(page, "script");
    let script = match scripts.as_slice() {
        [] => String::new(),
        [data, script] => {
            json(data, what);
            format!("script-src {}; ", hashed(script))
        }
        more => panic!("{what}: {} scripts", more.len()),
    };
    let style = hashed(style[0]);
    assert_eq!(
        policies[0],
        format!(
            "default-src 'none'; style-src {style}; {script}img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "{what}"
    );
}

/// XML as another reads it, of drawing elements only.
#[track_caller]
pub(crate) fn svg(figure: &str, what: &str) {
    plain(figure, what);
    let figure = roxmltree::Document::parse(figure).unwrap_or_else(|error| panic!("{what}: {error}"));
    const SVG: &str = "http://www.w3.org/2000/svg";
    const KNOWN: &str =
        "svg g title desc rect text tspan line path image style defs clipPath linearGradient stop";
    for node in figure.descendants() {
        assert!(!node.is_comment() && !node.is_pi(), "{what}: {node:?}");
        assert!(
            !node.is_element() || KNOWN.split(' ').any(|known| node.has_tag_name((SVG, known))),
            "{what}: {node:?}"
        );
        for attribute in node.attributes() {
            let value = attribute.value();
            assert!(!attribute.name().starts_with("on"), "{what}: {}", attribute.name());
            let is_here = value.starts_with("data:image/png") || value.starts_with('#');
            assert!(attribute.name() != "href" || is_here, "{what}: {value}");
        }
    }
}

/// Markdown as another reads it: no link, no picture, and of HTML only what folds and breaks lines.
#[track_caller]
pub(crate) fn markdown(page: &str, what: &str) {
    const OURS: [&str; 8] =
        ["<details>", "</details>", "<summary>", "</summary>", "<br>", "<code>", "</code>", "<!-- -->"];
    plain(page, what);
    let only_ours = |html: &CowStr<'_>| {
        let left = OURS.iter().fold(html.to_string(), |left, tag| left.replace(tag, ""));
        assert!(!left.contains('<'), "{what}: {html}");
    };
    for event in Parser::new_ext(page, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => only_ours(&html),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                panic!("{what}: leads to {dest_url}")
            }
            Event::Start(Tag::Strikethrough) => panic!("{what}: text is struck out"),
            _ => {}
        }
    }
}

/// LaTeX that reads no file, runs no program and ends where it should.
#[track_caller]
pub(crate) fn latex(page: &str, what: &str) {
    plain(page, what);
    for never in ["\\input{", "\\write", "\\immediate", "\\openin", "\\catcode", "^^"] {
        assert!(!page.contains(never), "{what}: {never}");
    }
    assert_eq!(page.matches("\\end{document}").count(), 1, "{what}");
    assert!(page.trim_end().ends_with("\\end{document}"), "{what}");
}

/// The code of a script without the words in it: without the string that it begins with, and without comments.
#[track_caller]
pub(crate) fn python(script: &str, what: &str) -> String {
    plain(script, what);
    let after = script.strip_prefix("\"\"\"").unwrap_or_else(|| panic!("{what}: no docstring"));
    let mut letters = after.char_indices();
    let end = loop {
        match letters.next().unwrap_or_else(|| panic!("{what}: the docstring never ends")) {
            (_, '\\') => drop(letters.next()),
            (at, '"') if after[at..].starts_with("\"\"\"") => break at + 3,
            _ => {}
        }
    };
    after[end..].lines().map(|line| line.split("  # ").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}
