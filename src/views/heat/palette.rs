//! Colours that stand for numbers, and what stands for them where there is no colour.
//!
//! The colours are viridis (Stéfan van der Walt and Nathaniel Smith for matplotlib, 2015, given to the public domain
//! under CC0): from dark blue-violet to light yellow in even steps of lightness, so that equal differences look equal,
//! grey prints keep the order, and so do eyes that miss a kind of cone.

use std::sync::LazyLock;

/// A colour of the screen: red, green, blue in sRGB.
pub type Rgb = (u8, u8, u8);

/// Every fifteenth of matplotlib's 256 colours; between two of them a straight line stays within 5 of 255.
pub const ANCHORS: [u32; 18] = [
    0x44_01_54, 0x48_17_69, 0x47_2a_7a, 0x43_3d_84, 0x3d_4e_8a, 0x35_5e_8d, 0x2e_6d_8e, 0x29_7b_8e,
    0x23_89_8e, 0x1f_97_8b, 0x21_a5_85, 0x2e_b3_7c, 0x46_c0_6f, 0x65_cb_5e, 0x89_d5_48, 0xb0_dd_2f,
    0xd8_e2_19, 0xfd_e7_25,
];

/// The colour of `t`, from 0 (dark, least) to 1 (light, most); what lies outside is taken for the nearer end.
pub fn rgb(t: f64) -> Rgb {
    let along = unit(t) * (ANCHORS.len() - 1) as f64;
    let before = (along as usize).min(ANCHORS.len() - 2);
    let (from, to) = (channels(ANCHORS[before]), channels(ANCHORS[before + 1]));
    let between = |from: u8, to: u8| {
        let (from, to) = (f64::from(from), f64::from(to));
        (from + (to - from) * (along - before as f64)).round() as u8
    };
    (between(from.0, to.0), between(from.1, to.1), between(from.2, to.2))
}

/// A colour as CSS, SVG and HTML write it: `#440154`.
pub fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A number between 0 and 1, both included; what is not a number is 0.
fn unit(t: f64) -> f64 {
    if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) }
}

fn channels(hex: u32) -> Rgb {
    let [_, red, green, blue] = hex.to_be_bytes();
    (red, green, blue)
}

/// Ink that can be read on a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// 0, 0, 0
    Black,
    /// 255, 255, 255
    White,
}

impl Ink {
    /// The ink as a colour.
    pub fn rgb(self) -> Rgb {
        match self {
            Self::Black => (0, 0, 0),
            Self::White => (255, 255, 255),
        }
    }
}

/// Black or white, whichever stands out more; one of the two always reaches 4.5 : 1, WCAG's level AA.
pub fn ink(ground: Rgb) -> Ink {
    let against = |ink: Ink| contrast(ink.rgb(), ground);
    if against(Ink::Black) >= against(Ink::White) { Ink::Black } else { Ink::White }
}

/// How far two colours stand out from each other, from 1 to 21 (WCAG 2.2, “contrast ratio”).
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Relative luminance, from 0 (black) to 1 (white).
fn luminance((red, green, blue): Rgb) -> f64 {
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// Light of a channel, from 0 to 1 (IEC 61966-2-1).
fn linear(channel: u8) -> f64 {
    let channel = f64::from(channel) / 255.0;
    if channel <= 0.040_45 { channel / 12.92 } else { libm::pow((channel + 0.055) / 1.055, 2.4) }
}

/// How light a colour looks: CIE L*, from 0 (black) to 100 (white).
fn lightness(colour: Rgb) -> f64 {
    match luminance(colour) {
        dark if dark <= 216.0 / 24389.0 => dark * 24389.0 / 27.0,
        light => 116.0 * libm::cbrt(light) - 16.0,
    }
}

/// Viridis among the colours that most terminals know: the cube has little between them that keeps hue and order.
/// The first sixteen colours are left out: every theme paints those as it likes.
const AMONG_256: [u8; 8] = [53, 54, 24, 30, 36, 78, 148, 220];

/// The colour of `t` on a terminal of 256 colours: its number, and what it looks like. The one as light as viridis
/// there, as nearly as eight colours can be.
pub fn of_256(t: f64) -> (u8, Rgb) {
    static LIGHTNESS: LazyLock<[f64; 8]> =
        LazyLock::new(|| AMONG_256.map(|number| lightness(terminal_rgb(number))));
    let wanted = lightness(rgb(t));
    let apart = |lightness: f64| (lightness - wanted).abs();
    let nearest = LIGHTNESS.iter().zip(AMONG_256).min_by(|(a, _), (b, _)| apart(**a).total_cmp(&apart(**b)));
    let number = nearest.map_or(AMONG_256[0], |(_, number)| number);
    (number, terminal_rgb(number))
}

/// What colour `number` of a 256-colour terminal looks like, from 16 on: a cube of 6 × 6 × 6, then 24 greys (xterm).
fn terminal_rgb(number: u8) -> Rgb {
    if number >= 232 {
        let grey = 8 + 10 * (number - 232);
        return (grey, grey, grey);
    }
    let level = |at: u8| if at == 0 { 0 } else { 55 + 40 * at };
    let cube = number.saturating_sub(16);
    (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
}

/// Characters that grow darker on paper and lighter on a dark screen: more ink for more, and some for the least, which
/// is not hidden.
pub const BLOCKS: &[char] = &['░', '▒', '▓', '█'];

/// The same with ASCII characters.
pub const ASCII: &[char] = &['-', '=', '+', '*', '%', '#', '@'];

/// The rung of a ladder that `t` stands on; each takes an equal share from 0 to 1.
pub fn rung(t: f64, ladder: &[char]) -> char {
    let at = (unit(t) * ladder.len() as f64) as usize;
    ladder.get(at.min(ladder.len().saturating_sub(1))).copied().unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// matplotlib's own table (3.11, `colormaps["viridis"]`), at steps that are no anchors.
    #[test]
    fn between_the_anchors_it_is_still_viridis() {
        for (step, expected) in [(64, 0x3b_52_8b), (96, 0x2c_72_8e), (128, 0x21_91_8c), (192, 0x5e_c9_62)] {
            let (is, expected) = (rgb(f64::from(step) / 255.0), channels(expected));
            let near = |a: u8, b: u8| a.abs_diff(b) <= 5;
            assert!(
                near(is.0, expected.0) && near(is.1, expected.1) && near(is.2, expected.2),
                "{step}: {is:?}"
            );
        }
        assert_eq!(rgb(0.0), (68, 1, 84));
        assert_eq!(rgb(1.0), (253, 231, 37));
        assert_eq!((rgb(-3.0), rgb(7.0), rgb(f64::NAN)), (rgb(0.0), rgb(1.0), rgb(0.0)));
    }

    /// W3C: black on white is 21 : 1; #767676 is the lightest grey that passes on white, with 4.54 : 1.
    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-9);
        assert!((contrast((0x76, 0x76, 0x76), (255, 255, 255)) - 4.54).abs() < 0.005);
    }

    #[test]
    fn numbers_can_be_read_on_every_colour() {
        for step in 0..=255 {
            let t = f64::from(step) / 255.0;
            for ground in [rgb(t), of_256(t).1] {
                assert!(contrast(ink(ground).rgb(), ground) >= 4.5, "{step}: {ground:?}");
            }
        }
        assert_eq!((ink(rgb(0.0)), ink(rgb(1.0))), (Ink::White, Ink::Black));
    }

    /// From L* 15 to 91: 76 over 255 steps are 0.30 each. Rounding to whole channels moves a step by at most ½ · 2 of
    /// 255, which is 0.4 in L*; over ten steps that no longer shows.
    #[test]
    fn equal_steps_look_equal() {
        let light: Vec<f64> = (0..=255).map(|step| lightness(rgb(f64::from(step) / 255.0))).collect();
        let even = (light[255] - light[0]) / 255.0;
        assert!(light[0] < 20.0 && light[255] > 88.0);
        for (at, pair) in light.windows(11).enumerate() {
            let step = (pair[10] - pair[0]) / 10.0;
            assert!((step / even - 1.0).abs() < 0.25, "from {at}: {step} where {even} is even");
        }
    }

    /// Machado, Oliveira and Fernandes 2009, table 1, severity 1.0: what is left of linear red, green and blue.
    const EYES: [(&str, [[f64; 3]; 3]); 3] = [
        (
            "protan",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deutan",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritan",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// The light that such eyes see of a colour.
    fn seen([r, g, b]: [[f64; 3]; 3], (red, green, blue): Rgb) -> f64 {
        let mixed = |row: [f64; 3]| {
            (row[0] * linear(red) + row[1] * linear(green) + row[2] * linear(blue)).clamp(0.0, 1.0)
        };
        0.2126 * mixed(r) + 0.7152 * mixed(g) + 0.0722 * mixed(b)
    }

    #[test]
    fn the_order_survives_without_one_kind_of_cone() {
        for (eye, cones) in EYES {
            // Four steps at a time: rounding to whole channels may move a single one.
            for step in 4..=255 {
                let at = |step: i32| seen(cones, rgb(f64::from(step) / 255.0));
                assert!(at(step) > at(step - 4), "{eye} at {step}");
            }
            for pair in AMONG_256.windows(2) {
                assert!(
                    seen(cones, terminal_rgb(pair[1])) > seen(cones, terminal_rgb(pair[0])),
                    "{eye}: {pair:?}"
                );
            }
        }
    }

    #[test]
    fn the_256_colours_are_about_as_light_and_keep_the_order() {
        let mut darkest = 0.0;
        let mut used = std::collections::BTreeSet::new();
        for step in 0..=255 {
            let t = f64::from(step) / 255.0;
            let (number, colour) = of_256(t);
            let light = lightness(colour);
            assert!(light >= darkest, "{step}");
            assert!((light - lightness(rgb(t))).abs() < 8.0, "{step}: {light}");
            darkest = light;
            used.insert(number);
        }
        assert_eq!(used.len(), AMONG_256.len());
    }

    /// xterm's table: 16 is black, 231 white, 46 pure green, 102 (135, 135, 135), 244 the grey 128.
    #[test]
    fn a_terminals_colours_are_counted_as_xterm_does() {
        assert_eq!(terminal_rgb(16), (0, 0, 0));
        assert_eq!(terminal_rgb(231), (255, 255, 255));
        assert_eq!(terminal_rgb(46), (0, 255, 0));
        assert_eq!(terminal_rgb(102), (135, 135, 135));
        assert_eq!(terminal_rgb(244), (128, 128, 128));
    }

    /// Four rungs: a quarter each, from three quarters on everything.
    #[test]
    fn each_rung_takes_an_equal_share() {
        let drawn: String = [0.0, 0.24, 0.25, 0.5, 0.74, 0.75, 1.0].map(|t| rung(t, BLOCKS)).iter().collect();
        assert_eq!(drawn, "░░▒▓▓██");
        assert_eq!((rung(0.0, ASCII), rung(0.5, ASCII), rung(1.0, ASCII)), ('-', '*', '@'));
    }
}
