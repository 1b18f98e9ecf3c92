//! `mha heads` as one page for a browser: it fetches nothing and runs nothing, and a policy forbids everything but its own
//! style.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::grid::Side;
use super::heads::{self, Shown};
use super::heads_map::{cell, ground};
use super::heat::palette::{hex, ink};
use super::html::policy;
use super::html::text::html_in_ascii;
use super::markup::html;
use super::part::{Part, Table};
use crate::heads::survey::both_names;
use crate::heads::{Measure, Role};
use crate::words::{Language, language, say, t};

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    // A browser that reads CRLF hashes LF, whatever a checkout has made of the file.
    let style = format!("{}{}", include_str!("heads.css").replace('\r', ""), colours());
    let title = html(&t!("What the heads of %{model} do", model = shown.survey.model));
    let body = body(shown);
    let letters = |text: String| if shown.page.ascii { html_in_ascii(&text) } else { text };
    let language = match language() {
        Language::En => "en",
        Language::Zh => "zh",
    };
    write!(
        out,
        "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"mha\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{style}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        policy(&style, None),
        letters(title),
        letters(body),
    )
}

/// A class a type: its colour, and ink that can be read on it.
fn colours() -> String {
    let mut css = String::new();
    for role in Role::ALL {
        if let Some(ground) = ground(role) {
            // Writing to a String does not fail.
            let _ = writeln!(
                css,
                ".{}{{background:{};color:{}}}",
                class(role),
                hex(ground),
                hex(ink(ground).rgb())
            );
        }
    }
    css
}

fn class(role: Role) -> String {
    format!("t-{}", role.name())
}

fn body(shown: &Shown<'_>) -> String {
    let mut page =
        format!("<a class=\"skip\" href=\"#heads\">{}</a>\n<header>\n", html(&t!("Skip to the heads")));
    parts(&heads::heading(shown), 1, &mut page);
    page.push_str("</header>\n<main id=\"heads\" tabindex=\"-1\">\n");
    map(shown, &mut page);
    types(shown, &mut page);
    let title = t!("%{count} heads, by %{sort}", count = shown.listed.len(), sort = shown.sort);
    parts(&[Part::Title(title)], 2, &mut page);
    parts(&heads::table(shown), 2, &mut page);
    claims(shown, &mut page);
    parts(&heads::definitions(), 2, &mut page);
    page.push_str("</main>\n");
    page
}

/// Headings, sentences and tables.
fn parts(parts: &[Part], level: u8, page: &mut String) {
    for part in parts {
        let _ = match part {
            Part::Title(title) => writeln!(page, "<h{level}>{}</h{level}>", html(title)),
            Part::Say(text) | Part::Caption(text) => writeln!(page, "<p>{}</p>", html(text)),
            Part::Command(words) => writeln!(page, "<p><code>{}</code></p>", html(&words.join(" "))),
            Part::Table(of) => {
                table(of, page);
                Ok(())
            }
        };
    }
}

fn table(table: &Table, page: &mut String) {
    let side = |side: Side| if side == Side::Left { " class=\"words\"" } else { "" };
    page.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    let _ = write!(page, "<th scope=\"col\" class=\"words\">{}</th>", html(&table.corner));
    for (name, of) in &table.columns {
        let _ = write!(page, "<th scope=\"col\"{}>{}</th>", side(*of), html(name));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (name, cells) in &table.rows {
        let _ = write!(page, "<tr><th scope=\"row\" class=\"words\">{}</th>", html(name));
        for (cell, (_, of)) in cells.iter().zip(&table.columns) {
            let _ = write!(page, "<td{}>{}</td>", side(*of), html(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// A row a layer, a cell a head; what a cell says stands in its title too.
fn map(shown: &Shown<'_>, page: &mut String) {
    let _ = write!(
        page,
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"map\">\n<thead><tr><th scope=\"col\">{}</th>",
        html(&t!("layer"))
    );
    for head in &shown.columns {
        let _ = write!(page, "<th scope=\"col\">h{}</th>", head + 1);
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for layer in &shown.layers {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", layer + 1);
        for head in &shown.columns {
            let (role, text) = cell(shown, *layer, *head);
            let _ = write!(
                page,
                "<td class=\"{}\" title=\"{}\">{}</td>",
                class(role),
                html(&told(shown, *layer, *head)),
                html(&text)
            );
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// `layer 3 head 5 = L2H4: previous, first; previous 0.61, …`
fn told(shown: &Shown<'_>, layer: usize, head: usize) -> String {
    let types: Vec<&str> = shown.roles(layer, head).into_iter().map(Role::name).collect();
    let mean = |measure: Measure| {
        let mean = shown.tally(layer, head)?.mean(measure)?;
        Some(format!("{} {}", measure.name(), super::number::number(mean, shown.page.digits)))
    };
    let measures: Vec<String> = Measure::ALL.into_iter().filter_map(mean).collect();
    format!("{}: {}; {}", both_names(layer, head), types.join(", "), measures.join(", "))
}

/// What the letters and colours mean, and from where on a head carries a type.
fn types(shown: &Shown<'_>, page: &mut String) {
    page.push_str("<div class=\"scroll\" tabindex=\"0\"><table class=\"types\">\n<tbody>\n");
    for role in Role::ALL {
        let count = shown
            .survey
            .heads()
            .filter(|(layer, _, of)| shown.survey.roles(*layer, of, shown.view).contains(&role));
        let _ = writeln!(
            page,
            "<tr><td class=\"{}\">{}</td><th scope=\"row\" class=\"words\">{}</th><td class=\"words\">{}</td>\
             <td class=\"words\">{}</td><td>{}</td></tr>",
            class(role),
            role.letter(),
            html(role.name()),
            html(say(role.meaning())),
            html(&heads::threshold(role)),
            html(&t!("%{count} heads", count = count.count())),
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn claims(shown: &Shown<'_>, page: &mut String) {
    if shown.claims.is_empty() {
        return;
    }
    parts(&[Part::Title(t!("What the literature says, and what is measured here"))], 2, page);
    let columns = [(t!("claim"), Side::Left), (t!("here"), Side::Left), (t!("sample"), Side::Left)];
    let mut all = Table { corner: t!("source"), columns: columns.to_vec(), ..Table::default() };
    for claim in shown.claims {
        all.line(claim.source, &[say(claim.claim), &claim.here, &claim.sample]);
    }
    table(&all, page);
    parts(&[Part::Say(heads::caution(shown))], 2, page);
}
