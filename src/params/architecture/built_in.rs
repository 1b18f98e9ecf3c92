//! The modules that are not blocks of a family: linear layers, tables, norms, convolutions, other families' models.

use std::rc::Rc;

use super::expand::{Found, MOST_DEPTH};
use super::formula::Formula;
use super::model::{Positions, Product, Side, Size, Tensor};
use super::scope::Scope;
use super::spot::Spot;
use super::value::{Joint, Value, Whole};
use crate::fault::{Fault, Faults, Outcome};
use crate::limits::COUNTED_TENSORS;

/// What a tensor holds, as far as its group and its work depend on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Matrix,
    Table,
    Norm,
    ResidualNorm,
    Other,
}

impl Found {
    pub(super) fn built_in(
        &mut self,
        scope: &mut Scope,
        spot: &Spot,
        name: &str,
        arguments: &[(Option<Rc<str>>, Formula)],
    ) -> Outcome<()> {
        if name == "family" {
            return self.family(scope, spot, arguments);
        }
        let named = |key: &str| Some(&arguments.iter().find(|(name, _)| name.as_deref() == Some(key))?.1);
        let plain: Vec<&Formula> =
            arguments.iter().filter(|(name, _)| name.is_none()).map(|(_, formula)| formula).collect();
        let option = |scope: &mut Scope, key: &str, position: usize, default: bool| {
            named(key).or(plain.get(position).copied()).map_or(Ok(default), |formula| scope.is_true(formula))
        };
        // every size is looked at before the next is, so that a fault names its own key; if all together are too much, the
        // largest is to blame
        let mut read = Vec::new();
        let mut size = |scope: &mut Scope, formula: &Formula, may_be_nothing: bool| {
            let size = scope.size(formula, may_be_nothing);
            read.extend(scope.keys().iter().cloned());
            size
        };
        let lacking = || {
            Faults::from(Fault::new(format!("{name} is not given what it needs at {}", spot.path), "", ""))
        };
        match name {
            "linear" | "transposed_linear" | "embedding" | "layer_norm" | "residual_norm" | "rms_norm" => {
                let wide = matches!(name, "linear" | "transposed_linear" | "embedding");
                let bias = match name {
                    "linear" => option(scope, "bias", 2, false)?,
                    "transposed_linear" => option(scope, "bias", 2, true)?,
                    "layer_norm" | "residual_norm" => option(scope, "bias", 1, true)?,
                    _ => false,
                };
                let mut sizes = Vec::new();
                for (at, formula) in plain.iter().take(if wide { 2 } else { 1 }).enumerate() {
                    let may_be_nothing = wide && (name != "embedding" || at == 0);
                    sizes.push(size(scope, formula, may_be_nothing)?);
                }
                let (first, second) = match (&sizes[..], wide) {
                    ([first, second], true) => (first.clone(), Some(second.clone())),
                    ([first], false) => (first.clone(), None),
                    _ => return Err(lacking()),
                };
                let kind = match name {
                    "linear" | "transposed_linear" => Holds::Matrix,
                    "embedding" => Holds::Table,
                    "residual_norm" => Holds::ResidualNorm,
                    _ => Holds::Norm,
                };
                let out = second.clone().unwrap_or_else(|| first.clone());
                let shape = match (name, second) {
                    ("linear", Some(out)) => vec![out, first],
                    (_, Some(second)) => vec![first, second],
                    (_, None) => vec![first],
                };
                self.tensor(spot, ".weight", shape, kind)
                    .map_err(|faults| scope.blame_one_of(&read, faults))?;
                if bias {
                    self.tensor(spot, ".bias", vec![out], if wide { Holds::Other } else { kind })?;
                }
                Ok(())
            }
            "conv" => {
                let bias = option(scope, "bias", 4, true)?;
                let [inward, out, kernel, ..] = plain[..] else { return Err(lacking()) };
                let groups = match named("groups").or(plain.get(3).copied()) {
                    Some(formula) => size(scope, formula, false)?,
                    None => Whole::itself(1),
                };
                let (inward, out) = (size(scope, inward, false)?, size(scope, out, false)?);
                if inward.value % groups.value != 0 {
                    let what =
                        format!("{} groups cannot share {} channels equally", groups.value, inward.value);
                    return Err(scope.blame(Fault::new(
                        what,
                        "each group takes equally many",
                        "give a number of groups that divides them",
                    )));
                }
                let share = Whole::joined(Joint::Over, &inward, &groups, inward.value / groups.value);
                let mut shape = vec![out.clone(), share];
                match scope.value(kernel)? {
                    Value::List(sizes) => {
                        for size in sizes.iter() {
                            shape.push(scope.as_size(size.clone())?);
                        }
                    }
                    one => shape.push(scope.as_size(one)?),
                }
                read.extend(scope.keys().iter().cloned());
                self.tensor(spot, ".weight", shape, Holds::Other)
                    .map_err(|faults| scope.blame_one_of(&read, faults))?;
                if bias {
                    self.tensor(spot, ".bias", vec![out], Holds::Other)?;
                }
                Ok(())
            }
            "tensor" | "matrix" => {
                let mut shape = Vec::new();
                for formula in plain {
                    shape.push(size(scope, formula, true)?);
                }
                let kind = if name == "matrix" { Holds::Matrix } else { Holds::Other };
                self.tensor(spot, "", shape, kind).map_err(|faults| scope.blame_one_of(&read, faults))
            }
            _ => {
                Err(Fault::new(format!("there is no module {name}"), format!("at {}", spot.path), "").into())
            }
        }
    }

    /// Another family's model, with a config that stands inside this one.
    fn family(
        &mut self,
        scope: &mut Scope,
        spot: &Spot,
        arguments: &[(Option<Rc<str>>, Formula)],
    ) -> Outcome<()> {
        let lacking = || Faults::from(Fault::new(format!("no config for {}", spot.path), "", ""));
        let Some(((_, config), others)) = arguments.split_first() else { return Err(lacking()) };
        let map = scope.map(config)?;
        let mut values = Vec::new();
        for (_, formula) in others {
            values.push(scope.value(formula)?);
        }
        let mut values = values.into_iter();
        let Some(Value::Text(model_type)) = values.next() else { return Err(lacking()) };
        let kind = match values.next() {
            Some(Value::Text(kind)) => kind.to_string(),
            _ => "base".to_owned(),
        };
        let path = map.path.clone();
        let whole = path.is_empty();
        let mut inner = scope.inner(map, &model_type, &kind)?;
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(lacking());
        }
        self.class(&mut inner, spot)?;
        self.depth -= 1;
        // where the config itself is read again as its part, its keys are the whole's
        if !scope.insisted && !whole {
            super::understood(&inner)?;
        }
        let facts = inner.facts.into_iter().map(|(key, value, source)| {
            let inside = path.is_empty() || key.starts_with(path.as_str());
            let key = if inside { key } else { format!("{path}.{key}").into() };
            (key, value, source)
        });
        scope.facts.extend(facts);
        Ok(())
    }

    fn tensor(&mut self, spot: &Spot, suffix: &str, shape: Vec<Whole>, holds: Holds) -> Outcome<()> {
        if self.tensors.len() >= COUNTED_TENSORS {
            let what = format!("more than {COUNTED_TENSORS} tensors");
            return Err(Fault::new(what, "every tensor is listed", "give fewer layers or experts").into());
        }
        let name = format!("{}{suffix}", spot.path);
        let mut count: u64 = 1;
        for size in &shape {
            let size = u64::try_from(size.value).unwrap_or(u64::MAX);
            count = count.checked_mul(size).ok_or_else(|| {
                let sizes: Vec<String> = shape.iter().map(|size| size.value.to_string()).collect();
                Fault::new(
                    format!("{name} is too large to count: {}", sizes.join(" × ")),
                    "counts are kept in 64 bits",
                    "give smaller sizes",
                )
            })?;
        }
        let same_as = spot.shared.as_ref().map(|(first, length)| format!("{first}{}", &name[*length..]));
        let product = matches!(holds, Holds::Matrix).then(|| {
            let reads_source =
                spot.attention.is_some_and(|at| self.attention[at].cross) && makes_keys_or_values(&spot.path);
            let positions = if reads_source && !spot.positions.never() {
                Positions::of(Side::Source)
            } else {
                spot.positions
            };
            Product { positions, applied: spot.applied }
        });
        self.tied.extend(same_as.clone().map(|tensor| (name.clone(), tensor)));
        self.by_name.insert(name.clone(), self.tensors.len());
        self.tensors.push(Tensor {
            name,
            count,
            group: spot.group_of(holds),
            layer: None,
            attention: spot.attention,
            experts: spot.experts,
            same_as,
            product,
            frozen: spot.frozen,
            shape: shape.into_iter().map(Size).collect(),
        });
        self.tensor_lists.push(spot.list);
        Ok(())
    }
}

/// Whether a projection of cross-attention reads the other sequence.
fn makes_keys_or_values(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    last.starts_with(['k', 'v', 'K', 'V']) || last == "c_attn"
}

/// A number with its formula, where it has one: `num_hidden_layers = 12`.
pub(super) fn said(whole: &Whole) -> String {
    let (formula, value) = (whole.formula(), whole.value.to_string());
    if formula == value { value } else { format!("{formula} = {value}") }
}
