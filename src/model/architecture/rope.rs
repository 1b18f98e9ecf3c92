//! Rotary positions as configs describe them, in the old style (`rope_theta`, `rope_scaling`) and the new
//! (`rope_parameters`, for all layers or for each kind of them).

use serde_json::{Map, Value};

use super::super::blueprint::Stretch;
use super::keys::{Keys, Size, shown};
use crate::fault::{Faults, Outcome};
use crate::ops::{RopeLayout, RopeScaling};
use crate::plan::spec::RopeSpec;

/// The keys of a family, and what it means by leaving them out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotation {
    /// The base of the frequencies: its key, and its usual value.
    pub(super) theta: (&'static str, f64),
    /// The share of d_k that rotates: its key, and its usual value.
    pub(super) share: (&'static str, f64),
    /// The base in layers with a window, where they have one of their own.
    pub(super) in_windows: Option<(&'static str, f64)>,
}

/// Llama's, and almost everybody's.
pub(super) const USUAL: Rotation =
    Rotation { theta: ("rope_theta", 10_000.0), share: ("partial_rotary_factor", 1.0), in_windows: None };

/// Rotary positions of a layer, without places as yet, and what longer texts do to them.
#[derive(Debug, Clone)]
pub(super) struct Rotary {
    pub(super) spec: RopeSpec,
    pub(super) stretch: Option<Stretch>,
}

/// A map of parameters, and where it stands.
struct Parameters<'k> {
    keys: &'k Keys,
    given: Option<&'k Map<String, Value>>,
    path: String,
}

/// The rotary positions of the layers of a kind, `full_attention` or `sliding_attention`.
///
/// # Errors
/// A scaling that is not known or lacks a number; columns that do not pair.
pub(super) fn rotary(keys: &Keys, rotation: &Rotation, kind: &str, d_k: &Size) -> Outcome<Rotary> {
    let own_base = rotation.in_windows.filter(|_| kind == "sliding_attention");
    let parameters = Parameters::of(keys, kind, own_base.is_some())?;
    let (theta_key, usual) = own_base.unwrap_or(rotation.theta);
    let theta = match parameters.positive("rope_theta")? {
        Some(theta) => theta,
        None => keys.positive(theta_key, usual)?,
    };
    let (share_key, usual) = rotation.share;
    let share = match parameters.positive("partial_rotary_factor")? {
        Some(share) => share,
        None => keys.positive(share_key, usual)?,
    };
    let dims = (d_k.value as f64 * share) as usize;
    if dims < 2 || dims % 2 == 1 || dims > d_k.value {
        let what = format!("{dims} of {} columns of a head rotate ({})", d_k.value, d_k.keys);
        let why = "they rotate in pairs";
        return Err(keys.at(share_key, what, why, "take the config.json that belongs to the weights"));
    }
    let spec = RopeSpec {
        theta,
        layout: RopeLayout::HalfSplit,
        dims,
        scaling: None,
        q_positions: Vec::new(),
        k_positions: Vec::new(),
    };
    parameters.scaled(spec)
}

impl<'k> Parameters<'k> {
    /// The parameters that hold for layers of a kind; in layers with a base of their own only those named for them.
    fn of(keys: &'k Keys, kind: &str, named_only: bool) -> Outcome<Self> {
        for key in ["rope_scaling", "rope_parameters"] {
            match keys.known(key)? {
                None | Some(Value::Null) => {}
                Some(Value::Object(given)) => {
                    if let Some(Value::Object(own)) = given.get(kind) {
                        return Ok(Self { keys, given: Some(own), path: format!("{key}.{kind}") });
                    }
                    let is_nested = given.values().any(Value::is_object);
                    let given = Some(given).filter(|given| !is_nested && !named_only && !given.is_empty());
                    if given.is_some() {
                        return Ok(Self { keys, given, path: key.to_owned() });
                    }
                }
                Some(other) => {
                    let what = format!("{key} is {}", shown(other));
                    let remedy = "take the config.json that belongs to the weights";
                    return Err(keys.at(key, what, "it is an object of keys and numbers", remedy));
                }
            }
        }
        Ok(Self { keys, given: None, path: "rope_parameters".to_owned() })
    }

    fn get(&self, key: &str) -> Option<&'k Value> {
        self.given.and_then(|given| given.get(key)).filter(|value| !value.is_null())
    }

    fn refused(&self, key: &str, what: &str, why: &str) -> Faults {
        let path = format!("{}.{key}", self.path);
        let what = format!("{path} {what}");
        self.keys.at(&path, what, why, "take the config.json that belongs to the weights")
    }

    /// A number above 0; `None` where it is left out.
    fn positive(&self, key: &str) -> Outcome<Option<f64>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_f64().filter(|number| number.is_finite() && *number > 0.0) {
            Some(number) => Ok(Some(number)),
            None => Err(self.refused(key, &format!("is {}", shown(value)), "it is a number above 0")),
        }
    }

    fn needed(&self, key: &str) -> Outcome<f64> {
        let why = "this scaling of rotary positions is computed from it";
        self.positive(key)?.ok_or_else(|| self.refused(key, "is not there", why))
    }

    /// A factor a pair.
    fn factors(&self, key: &str, pairs: usize) -> Outcome<Vec<f64>> {
        let list = self.get(key).and_then(Value::as_array);
        let numbers: Option<Vec<f64>> = list
            .and_then(|list| list.iter().map(|v| v.as_f64().filter(|f| f.is_finite() && *f > 0.0)).collect());
        match numbers {
            Some(numbers) if numbers.len() == pairs => Ok(numbers),
            _ => Err(self.refused(
                key,
                &format!("is no list of {pairs} numbers above 0"),
                "it has one a pair of columns",
            )),
        }
    }

    /// The tokens of a text that the model read before it was stretched.
    fn original(&self) -> Outcome<f64> {
        const KEY: &str = "original_max_position_embeddings";
        if let Some(size) = self.keys.size_if_any(KEY)? {
            return Ok(size.value as f64);
        }
        match self.positive(KEY)? {
            Some(size) => Ok(size),
            None => Ok(self.keys.size("max_position_embeddings")?.value as f64),
        }
    }

    /// How often the model was stretched, where only its old and new lengths are told.
    fn stretched(&self) -> Outcome<f64> {
        match self.positive("factor")? {
            Some(factor) => Ok(factor),
            None => Ok(self.keys.size("max_position_embeddings")?.value as f64 / self.original()?),
        }
    }

    /// The rotation with its frequencies scaled as the parameters say.
    fn scaled(&self, mut spec: RopeSpec) -> Outcome<Rotary> {
        let plain: Vec<f64> = (0..spec.dims / 2)
            .map(|pair| libm::pow(spec.theta, -2.0 * pair as f64 / spec.dims as f64))
            .collect();
        let kind = self.get("rope_type").or_else(|| self.get("type"));
        let kind = kind.map_or(Ok("default"), |kind| kind.as_str().ok_or(kind));
        // An early Phi-3 calls its own scaling by YaRN's name.
        let has_factors = self.get("long_factor").is_some();
        let mut stretch = None;
        let (frequencies, factor) = match kind {
            Ok("default") => return Ok(Rotary { spec, stretch }),
            Ok("linear") => {
                let factor = self.needed("factor")?;
                (plain.iter().map(|frequency| frequency / factor).collect(), 1.0)
            }
            Ok("dynamic") => {
                if spec.dims == 2 {
                    return Err(self.refused(
                        "rope_type",
                        "is dynamic, and one pair rotates",
                        "then it has no base",
                    ));
                }
                let tokens = self.keys.size("max_position_embeddings")?.value;
                stretch = Some(Stretch::Growing { tokens, factor: self.needed("factor")? });
                return Ok(Rotary { spec, stretch });
            }
            Ok("llama3") => (self.llama3(&plain)?, 1.0),
            Ok("longrope" | "su" | "yarn") if has_factors => {
                let [short, long] = ["short_factor", "long_factor"].map(|key| self.factors(key, plain.len()));
                let divided =
                    |by: Vec<f64>| plain.iter().zip(by).map(|(frequency, by)| frequency / by).collect();
                let (short, long): (Vec<f64>, Vec<f64>) = (divided(short?), divided(long?));
                let (original, factor) = (self.original()?, self.stretched()?);
                let usual = match factor <= 1.0 || original <= 1.0 {
                    true => 1.0,
                    false => (1.0 + libm::log(factor) / libm::log(original)).sqrt(),
                };
                let factor = self.positive("attention_factor")?.unwrap_or(usual);
                let scaling = RopeScaling { frequencies: long.into(), factor };
                stretch = Some(Stretch::Beyond { tokens: original as usize, scaling });
                (short, factor)
            }
            Ok("yarn") => self.yarn(&spec, &plain)?,
            Ok(other) => return Err(self.unknown(other)),
            Err(other) => return Err(self.unknown(&shown(other))),
        };
        spec.scaling = Some(RopeScaling { frequencies: frequencies.into(), factor });
        Ok(Rotary { spec, stretch })
    }

    fn unknown(&self, kind: &str) -> Faults {
        let why = "known are default, linear, dynamic, llama3, yarn and longrope";
        self.refused("rope_type", &format!("is {kind}"), why)
    }

    /// Llama 3.1: pairs that turn slowly are slowed down, those that turn fast are not, and between there is a ramp.
    fn llama3(&self, plain: &[f64]) -> Outcome<Vec<f64>> {
        let factor = self.needed("factor")?;
        let [low, high] = [self.needed("low_freq_factor")?, self.needed("high_freq_factor")?];
        if low >= high {
            let what = format!("is {low}, and high_freq_factor is {high}");
            return Err(self.refused("low_freq_factor", &what, "it is the smaller of the two"));
        }
        let original = self.original()?;
        let scaled = |frequency: &f64| {
            // How often the pair comes round within the length that the model was first trained on.
            let rounds = original * frequency / std::f64::consts::TAU;
            let kept = ((rounds - low) / (high - low)).clamp(0.0, 1.0);
            (1.0 - kept) * frequency / factor + kept * frequency
        };
        Ok(plain.iter().map(scaled).collect())
    }

    /// YaRN (Peng et al. 2023, §3.2 to §3.4): a ramp over the pairs, and longer queries and keys.
    fn yarn(&self, spec: &RopeSpec, plain: &[f64]) -> Outcome<(Vec<f64>, f64)> {
        let factor = self.stretched()?;
        let [fast, slow] =
            [("beta_fast", 32.0), ("beta_slow", 1.0)].map(|(key, usual)| match self.get(key) {
                Some(zero) if zero.as_f64() == Some(0.0) => Ok(usual),
                _ => self.positive(key).map(|number| number.unwrap_or(usual)),
            });
        let (fast, slow, original) = (fast?, slow?, self.original()?);
        if spec.theta <= 1.0 {
            return Err(self.refused(
                "rope_theta",
                &format!("is {}", spec.theta),
                "with this scaling it is above 1",
            ));
        }
        let dims = spec.dims as f64;
        // The pair that comes round so many times within the original length.
        let pair_of = |rounds: f64| {
            dims * libm::log(original / (rounds * std::f64::consts::TAU)) / (2.0 * libm::log(spec.theta))
        };
        let [mut from, mut to] = [pair_of(fast), pair_of(slow)];
        if self.get("truncate").and_then(Value::as_bool).unwrap_or(true) {
            [from, to] = [from.floor(), to.ceil()];
        }
        [from, to] = [from.max(0.0), to.min(dims - 1.0)];
        if from == to {
            to += 0.001;
        }
        let scaled = |(pair, frequency): (usize, &f64)| {
            let slowed = ((pair as f64 - from) / (to - from)).clamp(0.0, 1.0);
            frequency / factor * slowed + frequency * (1.0 - slowed)
        };
        let longer = |weight: f64| if factor <= 1.0 { 1.0 } else { 0.1 * weight * libm::log(factor) + 1.0 };
        let usual = match [self.positive("mscale")?, self.positive("mscale_all_dim")?] {
            [Some(one), Some(all)] => longer(one) / longer(all),
            _ => longer(1.0),
        };
        let length = self.positive("attention_factor")?.unwrap_or(usual);
        Ok((plain.iter().enumerate().map(scaled).collect(), length))
    }
}
