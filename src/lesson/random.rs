//! Seeded random arrays, the same on every machine and in every release.
//!
//! The generator is ChaCha8 (Bernstein 2008): the key is the seed as 8 little-endian bytes followed by 24 zeros, the
//! nonce is a number of the array's own ([`Stream`]), so that one seed used for two arrays gives two different ones.
//! Two of its 64-bit words a and b make u = ⌊a / 2¹¹⌋ · 2⁻⁵³ and v likewise, both in [0, 1), and these make two numbers of the
//! standard normal distribution (Box & Muller 1958): √(−2 ln(1 − u)) · cos(2πv) and √(−2 ln(1 − u)) · sin(2πv).
//! Arrays are filled row by row.
//!
//! In a stack every layer has numbers of its own: the nonce of an array in layer l (from 0) is its own plus l · 2³², so that
//! the first layer's are those of the same lesson without a stack.

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Which array the numbers are for; fixed for ever, since the numbers of published lessons depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream(pub(super) u64);

impl Stream {
    pub(super) const X: Self = Self(0);
    pub(super) const X_KV: Self = Self(1);
    /// `w_q`, `w_k`, `w_v`, `w_o` are 2 to 5.
    pub(super) const W: [Self; 4] = [Self(2), Self(3), Self(4), Self(5)];
    /// `b_q`, `b_k`, `b_v`, `b_o` are 6 to 9.
    pub(super) const B: [Self; 4] = [Self(6), Self(7), Self(8), Self(9)];
    pub(super) const Q: Self = Self(10);
    pub(super) const K: Self = Self(11);
    pub(super) const V: Self = Self(12);
    pub(super) const SINKS: Self = Self(13);
    pub(super) const Q_GAIN: Self = Self(14);
    pub(super) const K_GAIN: Self = Self(15);
    pub(super) const SLOPES: Self = Self(16);
    pub(super) const ADDED: Self = Self(17);
    /// Directions that slopes are taken along: no array of a lesson.
    const DIRECTIONS: Self = Self(u64::MAX);
    /// The gains of a layer's two norms; the first, of one layer more than there are, is that of the last norm.
    pub(super) const NORM_GAIN: [Self; 2] = [Self(18), Self(19)];
    /// The shifts of the same norms.
    pub(super) const NORM_SHIFT: [Self; 2] = [Self(20), Self(21)];
    /// `ffn.w_1`, `ffn.w_2`
    pub(super) const FFN_W: [Self; 2] = [Self(22), Self(23)];
    /// `ffn.b_1`, `ffn.b_2`
    pub(super) const FFN_B: [Self; 2] = [Self(24), Self(25)];

    /// The same array's in a layer of a stack, from 0; outside a stack 0.
    pub(super) fn in_layer(self, layer: usize) -> Self {
        Self(self.0.wrapping_add((layer as u64) << 32))
    }
}

/// `count` numbers of the standard normal distribution, the same for each `number`: a direction once they are made one
/// long.
pub(crate) fn direction(number: u64, count: usize) -> Vec<f64> {
    normals(number, Stream::DIRECTIONS, 1.0, count)
}

/// `count` numbers from the normal distribution with mean 0 and this standard deviation.
pub(super) fn normals(seed: u64, stream: Stream, std: f64, count: usize) -> Vec<f64> {
    let mut chacha = words(seed, stream);
    let mut uniform = || (chacha.next_u64() >> 11) as f64 * (0.5f64).powi(53);
    let mut numbers = Vec::with_capacity(count + 1);
    while numbers.len() < count {
        // 1 − u is never 0, so the logarithm is finite
        let radius = (-2.0 * libm::log(1.0 - uniform())).sqrt();
        let angle = TAU * uniform();
        numbers.extend([std * (radius * libm::cos(angle)), std * (radius * libm::sin(angle))]);
    }
    numbers.truncate(count);
    numbers
}

/// `count` whole numbers from −`most` to `most`, each as likely as the others: the remainder of a 64-bit word.
pub(super) fn integers(seed: u64, stream: Stream, most: u8, count: usize) -> Vec<i16> {
    let mut chacha = words(seed, stream);
    let most = i16::from(most);
    let many = 2 * most as u64 + 1;
    (0..count).map(|_| (chacha.next_u64() % many) as i16 - most).collect()
}

/// The 64-bit words of an array.
fn words(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut chacha = ChaCha8Rng::from_seed(key);
    chacha.set_stream(stream.0);
    chacha
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    /// The first words of key 7, nonce 2 are those of the test below. In Python, 0x02cbd593b9e2935b % 5 and
    /// 0x31c3ac8ddf9d3d29 % 5 are both 4, which is the fifth of −2 … 2; modulo
    /// 7 both are 0, the first of −3 … 3.
    #[test]
    fn small_integers_are_remainders_of_the_same_words() {
        assert_eq!(integers(7, Stream::W[0], 2, 2), [2, 2]);
        assert_eq!(integers(7, Stream::W[0], 3, 2), [-3, -3]);
    }

    /// From ChaCha8 written anew in Python after Bernstein's paper (and checked there against the published first words
    /// of the key stream of zeros, 3e00ef2f with 8 rounds and 76b8e0ad with 20): key 7, nonce 2 gives the 64-bit words
    /// 0x02cbd593b9e2935b, 0x31c3ac8ddf9d3d29, …, so u = 0.010922…, v = 0.194392…, and math.log, cos and sin give these.
    #[test]
    fn seed_7_gives_the_numbers_of_an_independent_chacha() {
        let expected = [
            0.05073612731458718,
            0.13925357032374683,
            -1.637057557309254,
            -1.3878446047804167,
            0.32530366477115374,
            1.7622071591710873,
        ];
        for (got, expected) in normals(7, Stream::W[0], 1.0, 6).iter().zip(expected) {
            assert_abs_diff_eq!(*got, expected, epsilon = 1e-15);
        }
        // the 9th to 11th number need a second block of the key stream; the 12th is dropped
        let eleven = normals(7, Stream::W[0], 1.0, 11);
        for (got, expected) in
            eleven[8..].iter().zip([-0.7095620385949917, 1.5246051382749055, -1.1997612650875678])
        {
            assert_abs_diff_eq!(*got, expected, epsilon = 1e-15);
        }
        assert_eq!(eleven.len(), 11);
    }

    #[test]
    fn one_seed_gives_each_array_numbers_of_its_own() {
        // The same Python, nonce 3
        assert_abs_diff_eq!(normals(7, Stream::W[1], 1.0, 2)[0], -1.4741580376301366, epsilon = 1e-15);
        assert_ne!(normals(7, Stream::X, 1.0, 4), normals(7, Stream::X_KV, 1.0, 4));
        assert_ne!(normals(7, Stream::X, 1.0, 4), normals(8, Stream::X, 1.0, 4));
    }

    /// The same Python, nonces 2 + 2³² and 2 + 2 · 2³².
    #[test]
    fn every_layer_has_numbers_of_its_own_and_the_first_those_without_layers() {
        assert_eq!(Stream::W[0].in_layer(0), Stream::W[0]);
        let first = |layer| normals(7, Stream::W[0].in_layer(layer), 1.0, 2)[0];
        assert_abs_diff_eq!(first(1), -0.5485326166635908, epsilon = 1e-15);
        assert_abs_diff_eq!(first(2), -1.9709833211980419, epsilon = 1e-15);
    }

    #[test]
    fn the_standard_deviation_scales_and_many_numbers_show_it() {
        let halves = normals(1, Stream::X, 0.5, 10_000);
        let mean = halves.iter().sum::<f64>() / 10_000.0;
        let variance = halves.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 10_000.0;
        // standard errors: 0.005 for the mean, 0.0035 for the variance 0.25
        assert_abs_diff_eq!(mean, 0.0, epsilon = 0.02);
        assert_abs_diff_eq!(variance, 0.25, epsilon = 0.014);
    }
}
