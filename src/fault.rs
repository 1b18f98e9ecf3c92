//! What a person is told when a request cannot be met: what, where, why, and how to mend it.

use std::fmt;
use std::io;

use crate::limits::FAULTS;

/// One thing that is wrong, said so that the person who meets it can act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, in their words and with their numbers.
    pub what: String,
    /// Where it is, where there is a place to point at.
    pub place: Option<Place>,
    /// Why it is wrong; empty where `what` says it all.
    pub why: String,
    /// What to try; empty where nothing can be tried.
    pub remedy: String,
}

/// A place in something that was given: a file, a line of it, or a flag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file as the person named it, or the flag (`--steps`).
    pub source: String,
    /// Line and column, both from 1.
    pub line_column: Option<(usize, usize)>,
    /// The path inside the file (`projections.w_q`, `all.npz, array w_q`), where there is one.
    pub path: String,
    /// The text of the line, to be shown with a caret under the column.
    pub text: Option<String>,
}

impl Fault {
    /// A fault with its reason and its remedy, so far without a place.
    pub fn new(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), place: None, why: why.into(), remedy: remedy.into() }
    }

    /// The same fault, at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The same fault, at a file or a flag as a whole, or at a key of it that is already known; keeps a place that has a
    /// source.
    #[must_use]
    pub fn in_source(mut self, source: impl Into<String>) -> Self {
        let place = self.place.get_or_insert_default();
        if place.source.is_empty() {
            place.source = source.into();
        }
        self
    }
}

/// Everything that is wrong with one request; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

/// The outcome of anything that a person's input can make impossible.
pub type Outcome<T> = Result<T, Faults>;

impl Faults {
    /// The same faults; those without a place are given this source.
    #[must_use]
    pub fn in_source(self, source: &str) -> Self {
        Self(self.0.into_iter().map(|fault| fault.in_source(source)).collect())
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A lesson's last one says how many more there are.
        for (index, fault) in self.0.iter().take(FAULTS + 1).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        match self.0.len().saturating_sub(FAULTS + 1) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more\n"),
        }
    }
}

impl std::error::Error for Faults {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", told(&self.what))?;
        if let Some(place) = &self.place {
            place.fmt(f)?;
        }
        for (word, text) in [("why", &self.why), ("try", &self.remedy)] {
            if !text.is_empty() {
                writeln!(f, "  {word}: {}", told(text))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  --> {}", told(&self.source))?;
        if let Some((line, column)) = self.line_column {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, " ({})", told(&self.path))?;
        }
        writeln!(f)?;
        let text = self.text.as_ref().filter(|text| !text.trim().is_empty());
        if let (Some((line, column)), Some(text)) = (self.line_column, text) {
            let number = line.to_string();
            let gutter = " ".repeat(number.len());
            // A line of a large matrix can be megabytes long: a window around the column is enough.
            let from = column.saturating_sub(60);
            let window: String = text.chars().skip(from).take(100).collect();
            let before: String = text.chars().skip(from).take(column.saturating_sub(1 + from)).collect();
            let indent = " ".repeat(unicode_width::UnicodeWidthStr::width(visible(&before).as_str()));
            writeln!(f, " {gutter} |\n {number} | {}\n {gutter} | {indent}^", visible(&window))?;
        }
        Ok(())
    }
}

/// A word of more letters than this is cut where a fault repeats it: whoever typed it, or whose file holds it, knows it by its
/// ends. Paths that people have are shorter.
const LONG_WORD: usize = 400;

/// How much of each end of a [`LONG_WORD`] is shown.
const ENDS: usize = 100;

/// A part of a fault, as it is shown: what is in it is [`visible`], and no word of it fills the screen.
fn told(text: &str) -> String {
    let shown = visible(text);
    if shown.len() <= LONG_WORD {
        return shown;
    }
    let short = |word: &str| {
        let letters = word.chars().count();
        if letters <= LONG_WORD {
            return word.to_owned();
        }
        let (start, end): (String, String) =
            (word.chars().take(ENDS).collect(), word.chars().skip(letters - ENDS).collect());
        format!("{start}…{end} ({letters} letters)")
    };
    shown.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// The most characters without a width of their own that stand upon one that has a width: letters of no script carry more,
/// and a tower of hundreds is drawn over the lines above and below.
const MOST_MARKS: usize = 8;

/// Text from a file or a command line, safe for a terminal: control characters are shown, not obeyed.
///
/// A tab becomes a blank; characters that reorder or hide text ([`commands`]) are shown as `\u{…}` too, and so are
/// accents, joiners and the like beyond eight in a row. What was made visible once stays as it is.
pub fn visible(text: &str) -> String {
    // Most of what is shown is numbers and names in ASCII.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        marks = match unicode_width::UnicodeWidthChar::width(c) {
            Some(0) => marks + 1,
            _ => 0,
        };
        match c {
            '\t' => shown.push(' '),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\u{1b}' => shown.push_str("\\e"),
            c if commands(c) || marks > MOST_MARKS => shown.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => shown.push(c),
        }
    }
    shown
}

/// `1 number`, `2 numbers`: in English, as faults and the files that programs read are.
pub fn counted(count: impl fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// A name as a person types it into a shell.
pub fn shell_word(name: &str) -> String {
    // What cannot be quoted holds a zero byte, which no name of a file can.
    shlex::try_quote(name).map_or_else(|_| name.to_owned(), std::borrow::Cow::into_owned)
}

/// Whether a character tells a terminal or a reader what to do, and shows nothing itself: control characters; what orders
/// text (bidirectional marks, overrides, isolates), breaks its lines or hides in it (blanks of no width, soft hyphens,
/// annotations, tags that spell a second text); and two that are no characters, which XML has no place for.
///
/// Not the joiner (U+200D) and the variation selectors of emoji, nor the non-joiner (U+200C) of Persian.
pub fn commands(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Why the system refused, in words a person uses; the same words on every system where there are some.
pub fn reason(error: &io::Error) -> String {
    let words = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder",
        io::ErrorKind::PermissionDenied => "its permissions do not allow it",
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder",
        io::ErrorKind::StorageFull => "no space is left on the disk",
        io::ErrorKind::QuotaExceeded => "your share of the disk is used up",
        io::ErrorKind::FileTooLarge => "the file would be longer than it may be there",
        io::ErrorKind::ReadOnlyFilesystem => "nothing can be written there: the disk is read-only",
        io::ErrorKind::InvalidFilename => "the name is too long, or not one that a file can have",
        _ => "",
    };
    if !words.is_empty() {
        return words.to_owned();
    }
    // "… (os error 28) at path …": the number and our own temporary name help nobody.
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// What keeps a text from being JSON, in words a person uses.
pub fn no_json(error: &serde_json::Error) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("EOF", "it ends before every bracket and quote is closed"),
        ("expected `:`", "a colon is missing behind a name"),
        ("expected `,` or `]`", "a comma or a ] is missing"),
        ("expected `,` or `}`", "a comma or a } is missing"),
        (
            "expected value",
            "a value is missing, or is none: values are numbers, \"texts\", true, false, null, lists and objects",
        ),
        ("expected ident", "a word stands there that JSON does not have: it has true, false and null"),
        ("key must be a string", "a name stands without double quotes"),
        ("trailing comma", "a comma stands before a closing bracket"),
        ("trailing characters", "something follows behind its end"),
        ("control character", "a text holds a line break or a tab: they are written \\n and \\t"),
        (
            "invalid escape",
            "a text holds a \\ before a letter that it does not go with: \\ itself is written \\\\",
        ),
        ("invalid number", "a number is not written as one: 0.5, -2 or 1e-3"),
        ("number out of range", "a number is too large"),
        ("recursion limit", "its brackets are nested too deeply"),
    ];
    let told = error.to_string();
    let said = told.split(" at line ").next().unwrap_or_default();
    WORDS.iter().find(|(words, _)| said.contains(words)).map_or(said, |(_, words)| words).to_owned()
}

/// A told fault folded at blanks to a terminal's width; a line that quotes a file is cut around the place that the caret
/// below it points at.
pub fn folded(told: &str, width: usize) -> String {
    const HANGING: &str = "       ";
    let mut text = String::with_capacity(told.len());
    let mut lines = told.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((quoted, pointed)) = lines.peek().and_then(|below| excerpt(line, below, width)) {
            text.push_str(&format!("{quoted}\n{pointed}\n"));
            lines.next();
            continue;
        }
        let is_prose =
            ["error: ", "warning: ", "  why: ", "  try: "].iter().any(|start| line.starts_with(start));
        let mut taken = 0;
        for (index, word) in line.split(' ').enumerate() {
            let wide = unicode_width::UnicodeWidthStr::width(word);
            if is_prose && taken > HANGING.len() && taken + 1 + wide > width {
                text.push('\n');
                text.push_str(HANGING);
                taken = HANGING.len();
            } else if index > 0 {
                text.push(' ');
                taken += 1;
            }
            text.push_str(word);
            taken += wide;
        }
        text.push('\n');
    }
    text
}

/// A quoted line and the caret below it, cut to a width; `None` where they fit, or are none.
fn excerpt(line: &str, below: &str, width: usize) -> Option<(String, String)> {
    /// Columns for the sign that something is left out, which is `...` in ASCII.
    const LEFT_OUT: usize = 3;
    let gutter = below.find("| ")? + 2;
    let is_excerpt =
        below.ends_with('^') && below[..gutter].trim() == "|" && line.get(..gutter)?.ends_with("| ");
    let room = width.checked_sub(gutter + 2 * LEFT_OUT).filter(|room| *room > LEFT_OUT)?;
    if !is_excerpt || unicode_width::UnicodeWidthStr::width(line) <= width {
        return None;
    }
    let caret = below.len() - gutter - 1;
    let from = caret.saturating_sub(room / 2);
    let (mut shown, mut column, mut start, mut taken) = (String::new(), 0, None, 0);
    let mut letters = line[gutter..].chars().peekable();
    while let Some(letter) = letters.peek() {
        let wide = unicode_width::UnicodeWidthChar::width(*letter).unwrap_or(0);
        if column >= from {
            if taken + wide > room {
                break;
            }
            start.get_or_insert(column);
            shown.push(*letter);
            taken += wide;
        }
        column += wide;
        letters.next();
    }
    let start = start.unwrap_or(column);
    let before = if start > 0 { "…" } else { "" };
    let after = if letters.peek().is_some() { "…" } else { "" };
    let indent = " ".repeat(caret.saturating_sub(start) + before.chars().count());
    Some((format!("{}{before}{shown}{after}", &line[..gutter]), format!("{}{indent}^", &below[..gutter])))
}

/// The known word nearest to `word`, where one is near enough to be what was meant: spelled alike, or with `word` as a
/// part of its name (`heads` of `num_heads`).
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    let alike = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &candidate.to_lowercase()), *candidate))
        .filter(|(score, _)| *score > 0.78)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate);
    let has_it_as_a_part = |candidate: &&&str| {
        word.len() > 2 && candidate.to_lowercase().split(['_', '-', '.']).any(|part| part == word)
    };
    let bare = |text: &str| text.to_lowercase().replace(['_', '-', '.', ' '], "");
    let same = known.iter().find(|candidate| bare(candidate) == bare(&word)).copied();
    same.or(alike)
        .or_else(|| known.iter().filter(has_it_as_a_part).min_by_key(|candidate| candidate.len()).copied())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::texts;

    #[test]
    fn a_word_that_fills_the_screen_is_shown_by_its_ends() {
        let long = format!("{}{}", "a".repeat(70_000), "z".repeat(50_000));
        let shown =
            Fault::new(format!("there is no lesson called {long}"), "", "").in_source(&long).to_string();
        let cut = format!("{}…{} (120000 letters)", "a".repeat(100), "z".repeat(100));
        assert_eq!(shown, format!("error: there is no lesson called {cut}\n  --> {cut}\n"));
        let path = "d/".repeat(150);
        assert_eq!(Fault::new(&path, "", "").to_string(), format!("error: {path}\n"));
    }

    #[test]
    fn a_fault_says_what_where_why_and_what_to_try() {
        let fault = Fault::new("w_v is 1 × 2, but X · W_V needs 3 × 2", "rows: d_model", "give w_v 3 rows")
            .at(Place {
                source: "causal.yaml".into(),
                line_column: Some((7, 8)),
                path: String::new(),
                text: Some("  w_v: [[1, 2]]".into()),
            });
        assert_eq!(
            fault.to_string(),
            "error: w_v is 1 × 2, but X · W_V needs 3 × 2\n  --> causal.yaml:7:8\n   |\n 7 |   w_v: [[1, 2]]\n   \
             |        ^\n  why: rows: d_model\n  try: give w_v 3 rows\n"
        );
    }

    #[test]
    fn control_characters_are_shown_and_never_obeyed() {
        assert_eq!(visible("a\u{1b}[2Jb\u{7}\u{202e}"), "a\\e[2Jb\\u{7}\\u{202e}");
        assert_eq!(visible("a\tb\r\n\u{9b}31m\0"), "a b\\r\\n\\u{9b}31m\\u{0}");
    }

    /// The tags spell “A”, the annotation hides “b”: neither would be seen.
    #[test]
    fn what_hides_in_a_text_is_shown() {
        assert_eq!(
            visible("\u{e0041}\u{fff9}a\u{fffa}b\u{fffb}c\u{ad}d\u{ffff}"),
            "\\u{e0041}\\u{fff9}a\\u{fffa}b\\u{fffb}c\\u{ad}d\\u{ffff}"
        );
    }

    #[test]
    fn letters_of_every_script_and_emoji_stay_as_they_are() {
        for text in
            ["नमस्ते", "می\u{200c}خواهم", "שָׁלוֹם", "ཧཀྵྨླྺྼྻྂ", "각", "ệ", "👩\u{200d}🔬", "❤\u{fe0f}", "注意力"]
        {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn a_tower_of_accents_ends_after_eight() {
        let tower = format!("e{}f", "\u{301}".repeat(10));
        let shown = format!("e{}\\u{{301}}\\u{{301}}f", "\u{301}".repeat(8));
        assert_eq!(visible(&tower), shown);
        assert_eq!(visible(&shown), shown);
    }

    /// The judge knows what a terminal obeys from its own standards, not from what is escaped here: C0 and C1 of ECMA-48, and
    /// the bidirectional controls of Unicode's UAX 9.
    fn obeys(shown: &str) -> bool {
        shown.chars().any(|c| {
            matches!(u32::from(c), 0x00..=0x1f | 0x7f..=0x9f | 0x61c | 0x200e..=0x200f | 0x202a..=0x202e | 0x2066..=0x2069)
        })
    }

    proptest! {
        #[test]
        fn no_terminal_obeys_what_is_visible(text in texts()) {
            let shown = visible(&text);
            prop_assert!(!obeys(&shown), "{:?}", shown);
            prop_assert_eq!(visible(&shown), shown.clone(), "what is visible stays as it is");
        }

        /// Whatever stands in a fault, its lines are those of a fault: nobody else's text begins one.
        #[test]
        fn a_fault_is_told_on_its_own_lines(text in texts(), column in 1usize..200) {
            let place = Place { source: text.clone(), line_column: Some((3, column)), path: text.clone(), text: Some(text.clone()) };
            let told = Fault::new(text.clone(), text.clone(), text).at(place).to_string();
            for line in told.lines() {
                prop_assert!(!obeys(line), "{:?}", line);
                prop_assert!(
                    ["error: ", "  --> ", "   |", " 3 | ", "  why: ", "  try: "].iter().any(|start| line.starts_with(start)),
                    "{:?}", line
                );
            }
        }
    }

    #[test]
    fn the_systems_refusals_are_said_in_words() {
        let said = |kind: io::ErrorKind| reason(&io::Error::from(kind));
        assert_eq!(said(io::ErrorKind::NotFound), "there is no such file or folder");
        assert_eq!(said(io::ErrorKind::StorageFull), "no space is left on the disk");
        assert!(!reason(&io::Error::from_raw_os_error(5)).contains("os error"));
    }

    #[test]
    fn a_long_reason_is_folded_at_blanks_and_a_quoted_line_is_not() {
        let told = "error: no step is called nosuch\n 1 | a line of a file that is longer\n  try: use names as listed\n";
        let folded = folded(told, 24);
        assert_eq!(
            folded,
            "error: no step is called\n       nosuch\n 1 | a line of a file that is longer\n  try: use names as\n       \
             listed\n"
        );
    }

    #[test]
    fn a_quoted_line_is_cut_around_its_caret() {
        // 20 columns: 5 for the number and its line, 3 on either side for what is left out, 9 for the text; the caret
        // stands in their middle (4 letters before it).
        let told = " 3 | abcdefghijklmnopqrstuvwxyz\n   |             ^\n";
        assert_eq!(folded(told, 20), " 3 | …ijklmnopq…\n   |      ^\n");
        let told = " 3 | abcdefghijklmnopqrstuvwxyz\n   |  ^\n";
        assert_eq!(folded(told, 20), " 3 | abcdefghi…\n   |  ^\n");
        assert_eq!(folded(told, 40), told);
    }

    #[test]
    fn a_typo_finds_the_word_that_was_meant() {
        assert_eq!(nearest("num_head", ["d_model", "num_heads", "scale"]), Some("num_heads"));
        assert_eq!(nearest("zzz", ["d_model", "num_heads"]), None);
        assert_eq!(nearest("wq", ["b_q", "w_q"]), Some("w_q"));
        assert_eq!(nearest("heads", ["d_model", "num_kv_heads", "num_heads"]), Some("num_heads"));
    }
}
