//! One page for a browser, in one file: every step's table, and for every number where it comes from.
//!
//! The page fetches nothing: its style and its script stand in it, and a policy forbids everything else. The script
//! computes nothing: what it shows and lights stands in the page as data (`data.rs`). Without it the tables are there.

mod data;
mod extent;
mod matrix;
mod sections;
pub(crate) mod shade;
pub(crate) mod text;
mod words;

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use self::extent::Extent;
use self::text::{html_in_ascii, lang};
use super::heat::panels::Scale;
use super::json_text::{in_ascii, in_script};
use super::markup::html;
use super::page::{Detail, Layout, Page};
use super::{Scene, table};
use crate::words::{Language, language, t};

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    // A browser that reads CRLF hashes LF, whatever a checkout has made of these files.
    let script = words::of_script(include_str!("page.js").replace('\r', ""));
    let style = format!("{}{}", include_str!("page.css").replace('\r', ""), shade::css());
    let extent = Extent::of(scene);
    let data = in_script(&data::of(scene, &extent));
    let sheet = Sheet::new(scene, extent);
    let body = body(&sheet)?;
    let ascii = scene.page.ascii;
    let (data, body) = if ascii { (in_ascii(&data), html_in_ascii(&body)) } else { (data, body) };
    let title = if ascii { html_in_ascii(&html(scene.title)) } else { html(scene.title) };
    let layout = match scene.page.layout {
        Layout::Rows => "rows",
        Layout::Columns => "columns",
    };
    let language = match language() {
        Language::En => "en",
        Language::Zh => "zh",
    };
    write!(
        out,
        "<!doctype html>\n<html lang=\"{language}\" data-layout=\"{layout}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"mha\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{style}</style>\n</head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n",
        policy(&style, Some(&script)),
    )
}

/// What a page may do, for its `Content-Security-Policy`: apply the style and run the script that stand in it, each known by
/// its hash, and show pictures that stand in it. It fetches nothing, sends nothing, and nothing that came in with a text
/// is a style or a script of it.
pub(crate) fn policy(style: &str, script: Option<&str>) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let script = script.map_or_else(String::new, |script| format!("script-src {}; ", hash(script)));
    format!(
        "default-src 'none'; style-src {}; {script}img-src data:; base-uri 'none'; form-action 'none'",
        hash(style)
    )
}

/// A scene facing both ways, and how much of it is shown.
struct Sheet<'a> {
    /// With tokens in rows, then with tokens in columns.
    facing: [Scene<'a>; 2],
    /// How the page faces at first.
    layout: Layout,
    extent: Extent,
    /// What the shades stand for.
    scale: Scale,
}

impl<'a> Sheet<'a> {
    fn new(scene: &Scene<'a>, extent: Extent) -> Self {
        let facing = |layout| Scene { page: Page { layout, ..scene.page }, ..*scene };
        Self {
            facing: [facing(Layout::Rows), facing(Layout::Columns)],
            layout: scene.page.layout,
            extent,
            scale: shade::scale(scene),
        }
    }

    /// As it faces at first.
    fn scene(&self) -> &Scene<'a> {
        match self.layout {
            Layout::Rows => &self.facing[0],
            Layout::Columns => &self.facing[1],
        }
    }

    fn tells(&self) -> bool {
        self.scene().page.detail != Detail::Bare
    }

    /// What is said with tokens in rows and what with tokens in columns, of which the page shows one; each is HTML.
    fn both(&self, said: impl Fn(&Scene<'a>) -> String) -> String {
        let [rows, columns] = [said(&self.facing[0]), said(&self.facing[1])];
        if rows == columns {
            return rows;
        }
        format!("<span class=\"in-rows\">{rows}</span><span class=\"in-columns\">{columns}</span>")
    }
}

fn body(sheet: &Sheet<'_>) -> io::Result<String> {
    let scene = sheet.scene();
    let sections = sections::of(scene, sheet.extent.steps);
    let mut page = String::new();
    page.push_str(&format!("<a class=\"skip\" href=\"#steps\">{}</a>\n<header>\n", t!("Skip to the steps")));
    page.push_str(&format!("<h1{}>{}</h1>\n", lang(scene.title), html(scene.title)));
    if sheet.tells() {
        for (class, said) in [("summary", scene.summary), ("source", scene.source)] {
            if !said.is_empty() {
                let words = match class {
                    "source" => t!("Source: %{source}", source = html(said)),
                    _ => html(said),
                };
                page.push_str(&format!("<p class=\"{class}\"{}>{words}</p>\n", lang(said)));
            }
        }
        page.push_str(&format!("<p class=\"in-columns\">{}</p>\n", html(&table::turned())));
        if let Some(said) = table::sequences(scene) {
            page.push_str(&format!("<p>{}</p>\n", html(&said)));
        }
    }
    if sheet.extent.steps < scene.steps.len() {
        let words = t!(
            "Only the first %{shown} of %{all} steps stand here, so that a browser can show the page: --steps, --heads and \
             --sequence choose others.",
            shown = sheet.extent.steps,
            all = scene.steps.len()
        );
        page.push_str(&format!("<p class=\"note\">{words}</p>\n"));
    }
    page.push_str(&controls());
    page.push_str("</header>\n");
    page.push_str(&sections::contents(&sections));
    page.push_str("<main id=\"steps\" tabindex=\"-1\">\n");
    for section in &sections {
        sections::write(sheet, section, &mut page)?;
    }
    page.push_str("</main>\n");
    page.push_str(&panel());
    Ok(page)
}

/// Shown once the script runs.
fn controls() -> String {
    let choice = |name: &str, value: &str, checked: &str, word: String| {
        format!("<label><input type=\"radio\" name=\"{name}\" value=\"{value}\"{checked}>{word}</label>")
    };
    format!(
        "<form id=\"controls\" hidden autocomplete=\"off\">\n<fieldset><legend>{}</legend>{}{}</fieldset>\n\
         <fieldset><legend>{}</legend>{}{}{}</fieldset>\n</form>\n<noscript><p class=\"note\">{}</p></noscript>\n",
        t!("A token is a"),
        choice("layout", "rows", "", t!("row")),
        choice("layout", "columns", "", t!("column")),
        t!("Colours"),
        choice("theme", "auto", " checked", t!("as the system")),
        choice("theme", "light", "", t!("light")),
        choice("theme", "dark", "", t!("dark")),
        t!(
            "This page can show where each number comes from once JavaScript is on. Without it, %{command} does.",
            command = "<code>mha trace --explain 'head.1.scores[1,1]'</code>"
        )
    )
}

/// Where the derivation of a number is shown.
fn panel() -> String {
    format!(
        "<aside id=\"panel\" aria-label=\"{}\" hidden>\n\
         <div id=\"derivation\" aria-live=\"polite\" aria-atomic=\"true\"><p class=\"hint\">{}</p>\n\
         <p class=\"hint keys\">{}</p></div>\n</aside>\n",
        t!("Where a number comes from"),
        t!("Point at a number, or tap it, to see where it comes from."),
        t!(
            "With the keyboard: <kbd>Tab</kbd> to a table, arrow keys from number to number, <kbd>Enter</kbd> holds one, \
             <kbd>Enter</kbd> again goes on to its sources, <kbd>Esc</kbd> lets go."
        )
    )
}
