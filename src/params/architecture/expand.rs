//! From a family and a config to every tensor: the tree is walked, lists are written out, conditions are decided.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::built_in::said;
use super::formula::Formula;
use super::model::{Attention, Cache, Positions, Product, Routed, Side, Size, Tensor};
use super::scope::Scope;
use super::spot::{Spot, group_of, side_of};
use super::tree::{Body, Child, Module, Over};
use super::value::{Value, Whole};
use crate::fault::{Fault, Faults, Outcome};
use crate::limits::COUNTED_LAYERS;

/// Deepest nesting of modules.
pub(super) const MOST_DEPTH: usize = 100;

/// Classes whose head reads one vector of a sequence: a token that stands for all, or their mean.
const READ_ONE_POSITION: [&str; 6] = [
    "sequence-classification",
    "image-classification",
    "image-classification-with-teacher",
    "multiple-choice",
    "next-sentence",
    "audio-classification",
];

/// Everything that the walk has found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) tensors: Vec<Tensor>,
    pub(super) attention: Vec<Attention>,
    /// The outermost lists: their path and how many modules they have.
    pub(super) lists: Vec<(String, u64)>,
    /// The list and index that each tensor stands in.
    pub(super) tensor_lists: Vec<Option<(usize, u64)>>,
    /// The same of each attention module.
    pub(super) attention_lists: Vec<Option<(usize, u64)>>,
    pub(super) tied: Vec<(String, String)>,
    pub(super) by_name: HashMap<String, usize>,
    /// Modules that are shared: the path's pattern and key, and the path of the first.
    pub(super) shared: HashMap<(String, String), String>,
    pub(super) depth: usize,
}

/// Walks a class: the base model at its prefix, then what the class adds.
pub(super) fn class(scope: &mut Scope, found: &mut Found) -> Outcome<()> {
    let start = Spot {
        path: String::new(),
        pattern: String::new(),
        list: None,
        group: None,
        attention: None,
        experts: None,
        positions: Positions::of(Side::Target),
        applied: 1,
        frozen: false,
        in_class: false,
        shared: None,
    };
    found.class(scope, &start)
}

impl Found {
    pub(super) fn class(&mut self, scope: &mut Scope, root: &Spot) -> Outcome<()> {
        let family = scope.family.clone();
        let prefix = family.prefix(&scope.kind, &scope.config.model_type);
        let mut base = root.clone();
        for part in prefix.split('.').filter(|part| !part.is_empty()) {
            base = base.inside(part, part);
        }
        self.module(scope, &base, &family.tree)?;
        if let Some(added) = family.class(&scope.kind) {
            let mut spot = root.clone();
            spot.in_class = true;
            if READ_ONE_POSITION.contains(&scope.kind.as_str()) {
                spot.positions = Positions { side: Side::Target, times: 0, plus: 1 };
            }
            self.module(scope, &spot, &added)?;
        }
        self.tie(scope, &root.path, &base.path)
    }

    fn module(&mut self, scope: &mut Scope, spot: &Spot, module: &Module) -> Outcome<()> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Fault::new("modules are nested too deeply", format!("at {}", spot.path), "").into());
        }
        let locals = scope.locals();
        let inside = self.annotated(scope, spot, module)?;
        if let Some(call) = &module.call {
            self.call(scope, &inside, call, None)?;
        }
        for child in &module.children {
            self.child(scope, &inside, child)?;
        }
        scope.forget(locals);
        self.depth -= 1;
        Ok(())
    }

    /// What the `$` keys of a module say, laid over what held before.
    fn annotated(&mut self, scope: &mut Scope, spot: &Spot, module: &Module) -> Outcome<Spot> {
        let mut inside = spot.clone();
        for (name, formula) in &module.locals {
            let value = scope.value(formula)?.named(name);
            let keys = scope.keys();
            scope.remember_from(name, value, keys);
        }
        if let Some(side) = &module.side {
            inside.positions = Positions::of(side_of(side));
        }
        if let Some(formula) = &module.positions {
            self.positioned(scope, &mut inside, formula)?;
        }
        if let Some(formula) = &module.applied {
            let times = u64::try_from(scope.whole(formula)?.value).unwrap_or(1);
            inside.applied = inside.applied.saturating_mul(times);
        }
        if let Some(group) = &module.group {
            inside.group = Some(group_of(group)?);
        }
        inside.frozen |= module.frozen;
        if let Some((of, active)) = &module.experts {
            let (of, active) = (scope.size(of, false)?, scope.size(active, false)?);
            let [of, active] = [of, active].map(|whole| u64::try_from(whole.value).unwrap_or_default());
            inside.experts = Some(Routed { of, active });
        }
        if let Some(formula) = &module.shared {
            let key = (spot.pattern.clone(), scope.value(formula)?.to_string());
            match self.shared.get(&key) {
                Some(first) => inside.shared = Some((first.clone(), spot.path.len())),
                None => _ = self.shared.insert(key, spot.path.clone()),
            }
        }
        if let Some(given) = &module.attention {
            self.attends(scope, &mut inside, given)?;
        }
        Ok(inside)
    }

    /// `$positions`: how many positions, as a formula that may name the sequence's own (`tokens`).
    fn positioned(&mut self, scope: &mut Scope, spot: &mut Spot, formula: &Formula) -> Outcome<()> {
        let mut with = |tokens: i128| {
            let locals = scope.locals();
            scope.remember("tokens", Value::Whole(Whole::named("n", tokens)));
            let value = scope.value(formula);
            scope.forget(locals);
            Ok::<_, Faults>(match value? {
                Value::Whole(whole) => u64::try_from(whole.value).ok(),
                _ => None,
            })
        };
        if let (Some(plus), Some(one)) = (with(0)?, with(1)?) {
            spot.positions = Positions { times: one.saturating_sub(plus), plus, ..spot.positions };
        }
        Ok(())
    }

    fn attends(&mut self, scope: &mut Scope, spot: &mut Spot, given: &Annotations) -> Outcome<()> {
        let (num_heads, num_kv_heads, d_k, d_v) = widths(scope, given)?;
        let window = match looked(scope, given, "window", "")? {
            None | Some(Value::Null | Value::Bool(false)) => None,
            Some(value) => u64::try_from(scope.as_whole(value)?.value).ok().filter(|window| *window > 0),
        };
        let mut look = |key: &str, name: &str| looked(scope, given, key, name);
        let cache = look("cache", "cached")?.unwrap_or(Value::Bool(false));
        let cross = look("cross", "")?.is_some_and(|value| value.is_true());
        let side = look("side", "")?;
        let mut width = |key: &str| match look(key, "")? {
            Some(Value::Whole(whole)) => Ok::<_, Faults>(u64::try_from(whole.value).unwrap_or_default()),
            _ => Ok(0),
        };
        let (scores, extra) = (width("scores")?, width("extra")?);
        let cache = match &cache {
            Value::Null => Cache::Unknown,
            Value::Text(text) if &**text == "latent" => {
                Cache::Latent { rank: width("rank")?, rope: width("rope")?, nope: width("nope")? }
            }
            other if other.is_true() => Cache::Full,
            _ => Cache::None,
        };
        if let Some(Value::Text(side)) = side {
            spot.positions = Positions::of(side_of(&side));
        }
        let looks_back = cache != Cache::None || scope.named("cached")?.is_some_and(|value| value.is_true());
        spot.attention = Some(self.attention.len());
        self.attention.push(Attention {
            path: spot.path.clone(),
            pattern: spot.pattern.clone(),
            layer: None,
            num_heads: Size(num_heads),
            num_kv_heads: Size(num_kv_heads),
            d_k: Size(d_k),
            d_v: Size(d_v),
            window,
            cache,
            cross,
            causal: looks_back && !cross && spot.positions.side == Side::Target,
            scores,
            extra,
            product: Product { positions: spot.positions, applied: spot.applied },
        });
        self.attention_lists.push(spot.list);
        Ok(())
    }

    fn child(&mut self, scope: &mut Scope, spot: &Spot, child: &Child) -> Outcome<()> {
        if matches!(child.body, Body::Nothing) {
            return Ok(());
        }
        if let Some(condition) = &child.condition
            && !scope.is_true(condition)?
        {
            return Ok(());
        }
        let Some(repeat) = &child.repeat else {
            let name = named(scope, &child.name)?;
            let mut inside = if name.is_empty() { spot.clone() } else { spot.inside(&name, &name) };
            inside.marked(child)?;
            return self.body(scope, &inside, &child.body);
        };
        let indices: Vec<Value> = match &repeat.over {
            Over::Range(from, to) => {
                let from = from.as_ref().map_or(Ok(0), |from| Ok::<_, Faults>(scope.whole(from)?.value))?;
                let to = scope.whole(to)?;
                if to.value - from > COUNTED_LAYERS.into() {
                    let what = format!(
                        "{} modules are asked for, and lists of at most {COUNTED_LAYERS} are counted",
                        said(&to)
                    );
                    return Err(scope.blame(Fault::new(what, "every layer is listed", "give fewer")));
                }
                if to.value < 0 {
                    let what = format!("{} modules are asked for", said(&to));
                    return Err(scope.blame(Fault::new(what, "it counts modules", "give at least 1")));
                }
                (from..to.value).map(|index| Value::Whole(Whole::named(&repeat.name, index))).collect()
            }
            Over::Items(list) => match scope.value(list)? {
                Value::List(items) if items.len() as u64 <= COUNTED_LAYERS => items.to_vec(),
                Value::Null => Vec::new(),
                other => return Err(Fault::new(format!("{other} is no list of modules"), "", "").into()),
            },
        };
        let is_list = matches!(repeat.over, Over::Range(..)) && !child.name.contains('{');
        let count = indices.len() as u64;
        let outermost = spot.list.is_none() && is_list;
        let list = self.lists.len();
        for (position, index) in indices.into_iter().enumerate() {
            let locals = scope.locals();
            let number = index.to_string();
            scope.remember(&repeat.name, index);
            let mut inside = spot.clone();
            let name = named(scope, &child.name)?;
            if !name.is_empty() {
                inside = inside.inside(&name, &child.name);
            }
            if outermost && position == 0 {
                self.lists.push((inside.path.clone(), count));
            }
            if is_list {
                inside = inside.inside(&number, "*");
            }
            if outermost {
                inside.list = Some((list, position as u64));
            }
            inside.marked(child)?;
            self.body(scope, &inside, &child.body)?;
            scope.forget(locals);
        }
        Ok(())
    }

    fn body(&mut self, scope: &mut Scope, spot: &Spot, body: &Body) -> Outcome<()> {
        match body {
            Body::Nothing => Ok(()),
            Body::Inside(module) => self.module(scope, spot, module),
            Body::Call(formula) => self.call(scope, spot, formula, None),
            Body::Over(formula, over) => self.call(scope, spot, formula, Some(over)),
        }
    }

    fn call(
        &mut self,
        scope: &mut Scope,
        spot: &Spot,
        formula: &Formula,
        over: Option<&Rc<Module>>,
    ) -> Outcome<()> {
        let (name, arguments) = match formula {
            Formula::Null => return Ok(()),
            Formula::If { condition, then, otherwise } => {
                let branch = if scope.is_true(condition)? { then } else { otherwise };
                return self.call(scope, spot, branch, over);
            }
            Formula::Call { name, arguments } => (name, arguments),
            _ => return Err(Fault::new(format!("{} is no module", spot.path), "a call is needed", "").into()),
        };
        let family = scope.family.clone();
        let Some(block) = family.blocks.get(&**name).cloned() else {
            self.built_in(scope, spot, name, arguments)?;
            // more beside a built-in's own tensors: laid over it as a module at the same place
            return match over {
                Some(over) => self.module(scope, spot, over),
                None => Ok(()),
            };
        };
        let mut bound = Vec::new();
        for (position, (parameter, default)) in block.parameters.iter().enumerate() {
            let by_name = arguments.iter().find(|(name, _)| name.as_ref() == Some(parameter));
            let by_position = arguments.get(position).filter(|(name, _)| name.is_none());
            let value = match (by_name.or(by_position), default) {
                (Some((_, formula)), _) => scope.value(formula)?,
                (None, Some(default)) => scope.value(default)?,
                (None, None) => return Err(Fault::new(format!("{name} needs {parameter}"), "", "").into()),
            };
            bound.push((parameter.clone(), value, scope.keys()));
        }
        let locals = scope.locals();
        for (parameter, value, keys) in bound {
            scope.remember_from(&parameter, value, keys);
        }
        match (&block.body, over) {
            (Body::Inside(module), Some(over)) => {
                let mut whole = (**module).clone();
                whole.lay_over((**over).clone());
                self.module(scope, spot, &whole)?;
            }
            (Body::Call(formula), over) => self.call(scope, spot, formula, over)?,
            (body, _) => self.body(scope, spot, body)?,
        }
        scope.forget(locals);
        Ok(())
    }

    /// Applies what the family says of tensors that are one under two names.
    fn tie(&mut self, scope: &mut Scope, root: &str, base: &str) -> Outcome<()> {
        let family = scope.family.clone();
        let heads = family.head_modules();
        let mut holding = Vec::new();
        for tie in &family.tied {
            let holds = tie.condition.as_ref().map_or(Ok(true), |condition| scope.is_true(condition))?;
            holding.extend(holds.then_some(tie));
        }
        for tie in &holding {
            let find = |name: &str| {
                [joined(root, name), joined(base, name)]
                    .into_iter()
                    .find_map(|path| self.by_name.get(&path).copied())
            };
            // a tensor may itself be known by another name only: `lm_head` is `decoder.embed_tokens` is `shared`
            let mut name = tie.tensor.as_str();
            for _ in 0..holding.len() {
                match holding.iter().find(|next| next.alias == name) {
                    Some(next) if next.alias != tie.alias && find(&next.tensor).is_some() => {
                        name = &next.tensor
                    }
                    _ => break,
                }
            }
            let Some(tensor) = find(name) else { continue };
            let target = self.tensors[tensor].name.clone();
            match find(&tie.alias) {
                Some(alias) if alias != tensor => {
                    self.tensors[alias].same_as = Some(target.clone());
                    self.tied.push((self.tensors[alias].name.clone(), target));
                }
                Some(_) => {}
                None => {
                    let first = tie.alias.split('.').next().unwrap_or_default();
                    if !heads.contains(first) {
                        self.tied.push((joined(base, &tie.alias), target));
                    }
                }
            }
        }
        Ok(())
    }
}

impl super::family::Family {
    /// The first names of all modules that classes add.
    fn head_modules(&self) -> HashSet<String> {
        let kinds: Vec<&str> = self.kinds().collect();
        let modules = kinds.into_iter().filter_map(|kind| self.class(kind));
        modules
            .flat_map(|module| module.children.iter().map(|c| c.name.to_string()).collect::<Vec<_>>())
            .collect()
    }
}

/// What `$attention` says.
type Annotations = std::collections::BTreeMap<String, Formula>;

/// An entry of `$attention`, or the name that stands for it in the surroundings.
fn looked(scope: &mut Scope, given: &Annotations, key: &str, name: &str) -> Outcome<Option<Value>> {
    match given.get(key) {
        Some(formula) => scope.value(formula).map(Some),
        None if name.is_empty() => Ok(None),
        None => scope.named(name),
    }
}

/// h, g, d_k and d_v of an attention module. Each is looked at before the next is, so that a fault names its own key.
fn widths(scope: &mut Scope, given: &Annotations) -> Outcome<(Whole, Whole, Whole, Whole)> {
    let heads = width(scope, given, "heads", "h", None)?;
    let kv_heads = width(scope, given, "kv_heads", "g", Some(&heads))?;
    let (h, g) = (heads.value, kv_heads.value);
    if h % g != 0 {
        let what = format!("{h} query heads cannot share {g} key/value heads equally");
        let why = "each key/value head serves equally many query heads, so num_kv_heads divides num_heads";
        let near = u64::try_from(h).ok().zip(u64::try_from(g).ok());
        let near = near.map_or_else(String::new, |(h, g)| crate::params::neighbours(h, g));
        return Err(scope.blame(Fault::new(what, why, format!("set num_kv_heads to {near}"))));
    }
    let d_k = width(scope, given, "d_k", "d_k", None)?;
    let d_v = width(scope, given, "d_v", "d_v", Some(&d_k))?;
    Ok((heads, kv_heads, d_k, d_v))
}

fn width(
    scope: &mut Scope,
    given: &Annotations,
    key: &str,
    name: &str,
    otherwise: Option<&Whole>,
) -> Outcome<Whole> {
    match (looked(scope, given, key, name)?, otherwise) {
        (Some(value), _) => scope.as_size(value),
        (None, Some(whole)) => Ok(whole.clone()),
        (None, None) => {
            Err(Fault::new(format!("attention has no {name}"), "it is a matter of the family's file", "")
                .into())
        }
    }
}

/// A module's name with the values of local names put in.
fn named(scope: &mut Scope, name: &str) -> Outcome<String> {
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}').unwrap_or((after, ""));
        text.push_str(before);
        match scope.value(&super::formula::parse(inside)?)? {
            Value::Text(word) => text.push_str(&word),
            other => text.push_str(&other.to_string()),
        }
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

fn joined(root: &str, name: &str) -> String {
    if root.is_empty() { name.to_owned() } else { format!("{root}.{name}") }
}
