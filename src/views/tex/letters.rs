//! Any text as LaTeX that shows it and does not obey it.

use super::formula::formula;
use crate::fault::visible;

/// The text for LaTeX's text mode: control characters shown, special characters escaped.
///
/// Letters that the T1 encoding has go out as they are, Greek and mathematical signs as maths. Everything else (Chinese,
/// Cyrillic, emoji …) becomes `\letter{4E2D}{中}`: the document that uses it must define that command, as
/// [`super::super::latex`] does, since plain pdfLaTeX has no letter for it and would stop.
pub fn text(words: &str) -> String {
    let shown = visible(words);
    let mut safe = String::with_capacity(shown.len());
    let mut letters = shown.chars().peekable();
    while let Some(c) = letters.next() {
        if c == '√' {
            // √3 in a sentence has a bar over the 3.
            let mut under = String::new();
            while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                under.push(digit);
            }
            safe.push_str(&match under.as_str() {
                "" => r"\(\surd\)".to_owned(),
                under => format!(r"\(\sqrt{{{under}}}\)"),
            });
            continue;
        }
        push(&mut safe, c);
        // -- would become a dash, '' and ,, quotes: a pair of braces keeps the two apart.
        if matches!(c, '-' | '\'' | ',') && letters.peek() == Some(&c) {
            safe.push_str("{}");
        }
    }
    safe
}

/// Signs of attention that a sentence may hold, and that look better as maths: `W_Q` with its Q below.
const SIGNS: [&str; 18] = [
    "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O", "W_1", "b_1", "W_2", "b_2", "√d_k", "d_k", "d_v",
    "d_model", "n_q", "n_kv",
];

/// A sentence for LaTeX: like [`text`], with the signs of attention set as maths.
pub fn prose(sentence: &str) -> String {
    let mut safe = String::with_capacity(sentence.len());
    let (mut plain, mut at) = (0, 0);
    let part_of_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    while let Some(c) = sentence[at..].chars().next() {
        let here = &sentence[at..];
        let sign = SIGNS.iter().find(|sign| {
            here.starts_with(**sign)
                && !part_of_a_word(here[sign.len()..].chars().next())
                && !part_of_a_word(sentence[..at].chars().next_back())
        });
        match sign {
            Some(sign) => {
                safe.push_str(&text(&sentence[plain..at]));
                safe.push_str(&format!(r"\({}\)", formula(sign)));
                at += sign.len();
                plain = at;
            }
            None => at += c.len_utf8(),
        }
    }
    safe.push_str(&text(&sentence[plain..]));
    safe
}

fn push(safe: &mut String, c: char) {
    let maths = match c {
        '\\' => return safe.push_str(r"\textbackslash{}"),
        '{' | '}' | '$' | '%' | '&' | '#' | '_' => {
            safe.push('\\');
            return safe.push(c);
        }
        '~' => return safe.push_str(r"\textasciitilde{}"),
        '^' => return safe.push_str(r"\textasciicircum{}"),
        '<' => return safe.push_str(r"\textless{}"),
        '>' => return safe.push_str(r"\textgreater{}"),
        '|' => return safe.push_str(r"\textbar{}"),
        '"' => return safe.push_str(r"\textquotedbl{}"),
        '`' => return safe.push_str(r"\textasciigrave{}"),
        '\u{a0}' => return safe.push('~'),
        // The mark of a blank in SentencePiece's tokens.
        '▁' => return safe.push_str(r"\textvisiblespace{}"),
        c if c.is_ascii() || has_a_letter(c) => return safe.push(c),
        '−' => "-",
        '∞' => r"\infty",
        '→' => r"\to",
        '←' => r"\leftarrow",
        '≤' => r"\le",
        '≥' => r"\ge",
        '≠' => r"\ne",
        '≈' => r"\approx",
        '⋮' => r"\vdots",
        'ℓ' => r"\ell",
        '∈' => r"\in",
        '⌊' => r"\lfloor",
        '⌋' => r"\rfloor",
        'ᵀ' => r"^{\top}",
        'ⁿ' => r"^{\mathrm{n}}",
        'ʳ' => r"^{\mathrm{r}}",
        'ᶜ' => r"^{\mathrm{c}}",
        'ᵇ' => r"^{\mathrm{b}}",
        'ᵐ' => r"^{\mathrm{m}}",
        '⁻' => "^{-}",
        '₀'..='₉' => return safe.push_str(&format!(r"\(_{}\)", c as u32 - '₀' as u32)),
        c => match greek(c) {
            Some(name) => name,
            None => return safe.push_str(&format!(r"\letter{{{:04X}}}{{{c}}}", c as u32)),
        },
    };
    match safe.strip_suffix(r"\)").map(str::len) {
        // −∞ is one formula, not two; scripts stay apart, since TeX refuses two above one another.
        Some(before) if maths.starts_with(r"\") => {
            safe.truncate(before);
            safe.push_str(&format!(r"{maths}\)"));
        }
        _ => safe.push_str(&format!(r"\({maths}\)")),
    }
}

/// Whether inputenc's UTF-8 and the T1 encoding have the letter (tried one by one with TeX Live 2022).
fn has_a_letter(c: char) -> bool {
    match c {
        '\u{ad}' | 'Ħ' | 'ħ' | 'ĸ' | 'Ŀ' | 'ŀ' | 'ŉ' | 'Ŧ' | 'ŧ' => false,
        '¡'..='ž' => true,
        '–' | '—' | '‘' | '’' | '‚' | '“' | '”' | '„' | '†' | '‡' | '•' | '…' | '‰' | '‹' | '›' | '€'
        | '™' => true,
        _ => false,
    }
}

fn greek(c: char) -> Option<&'static str> {
    const SMALL: [&str; 25] = [
        r"\alpha",
        r"\beta",
        r"\gamma",
        r"\delta",
        r"\varepsilon",
        r"\zeta",
        r"\eta",
        r"\theta",
        r"\iota",
        r"\kappa",
        r"\lambda",
        r"\mu",
        r"\nu",
        r"\xi",
        "o",
        r"\pi",
        r"\rho",
        r"\varsigma",
        r"\sigma",
        r"\tau",
        r"\upsilon",
        r"\varphi",
        r"\chi",
        r"\psi",
        r"\omega",
    ];
    Some(match c {
        'α'..='ω' => SMALL[c as usize - 'α' as usize],
        'Γ' => r"\Gamma",
        'Δ' => r"\Delta",
        'Θ' => r"\Theta",
        'Λ' => r"\Lambda",
        'Ξ' => r"\Xi",
        'Π' => r"\Pi",
        'Σ' => r"\Sigma",
        'Φ' => r"\Phi",
        'Ψ' => r"\Psi",
        'Ω' => r"\Omega",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::texts;

    #[test]
    fn special_characters_are_shown_and_not_obeyed() {
        assert_eq!(
            text(r"\input{x} 50% $1 & #2 a_b ~ ^ <b> | `"),
            r"\textbackslash{}input\{x\} 50\% \$1 \& \#2 a\_b \textasciitilde{} \textasciicircum{} \textless{}b\textgreater{} \textbar{} \textasciigrave{}"
        );
        assert_eq!(text("\u{7}\n"), r"\textbackslash{}u\{7\}\textbackslash{}n");
    }

    /// What TeX is told to do, in order, and whether its groups are closed: a reader that knows of TeX only that a backslash and
    /// letters are a command, that a backslash makes a sign of the next one, and which signs act by themselves.
    fn told(latex: &str) -> Vec<String> {
        let (mut commands, mut depth) = (Vec::new(), 0);
        let mut rest = latex.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\\' => {
                    let mut name = String::new();
                    while let Some(letter) = rest.next_if(char::is_ascii_alphabetic) {
                        name.push(letter);
                    }
                    if name.is_empty() {
                        name.extend(rest.next());
                    }
                    commands.push(name);
                }
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    assert!(depth >= 0, "a group ends that never began: {latex}");
                }
                '%' | '#' | '&' | '$' => panic!("{c} acts in {latex}"),
                '\r' | '\n' | '\0'..='\u{1f}' => panic!("a control character in {latex:?}"),
                _ => {}
            }
        }
        assert_eq!(depth, 0, "a group never ends: {latex}");
        commands
    }

    proptest! {
        #[test]
        fn no_text_is_a_command_of_its_own(words in texts()) {
            const OURS: [&str; 41] = [
                "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar",
                "textquotedbl", "textasciigrave", "textvisiblespace", "letter", "surd", "sqrt", "infty", "to",
                "leftarrow", "le", "ge", "ne", "approx", "vdots", "ell", "in", "lfloor", "rfloor", "top", "mathrm",
                "mathsf", "text", "(", ")", "{", "}", "$", "%", "&", "#", "_", "operatorname", "mathit", "times", "cdot",
            ];
            for latex in [text(&words), prose(&words)] {
                for command in told(&latex) {
                    let is_greek = words.chars().filter_map(greek).any(|name| name[1..] == command);
                    prop_assert!(is_greek || OURS.contains(&command.as_str()), "{} in {}", command, latex);
                }
            }
        }
    }

    #[test]
    fn two_hyphens_stay_two_hyphens() {
        assert_eq!(text("a--b ,,c''"), "a-{}-b ,{},c'{}'");
    }

    #[test]
    fn letters_that_t1_has_stay_and_others_are_numbered() {
        assert_eq!(text("Ġcafé “x”"), "Ġcafé “x”");
        assert_eq!(text("中👍ħ"), r"\letter{4E2D}{中}\letter{1F44D}{👍}\letter{0127}{ħ}");
        assert_eq!(text("−∞, α, √3, S₁"), r"\(-\infty\), \(\alpha\), \(\sqrt{3}\), S\(_1\)");
    }

    #[test]
    fn signs_in_a_sentence_are_maths_and_parts_of_words_are_not() {
        assert_eq!(prose("W_1 and W_10"), r"\(W_1\) and W\_10");
        assert_eq!(prose("W_O is d_k wide"), r"\(W_O\) is \(d_k\) wide");
        assert_eq!(prose("over √d_k, my_d_k"), r"over \(\sqrt{d_k}\), my\_d\_k");
    }
}
