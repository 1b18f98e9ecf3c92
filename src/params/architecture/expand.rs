//! From a family and a config to every tensor: the tree is walked, lists are written out, conditions are decided.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::family::{Body, Child, Module, Over};
use super::formula::Formula;
use super::model::{Attention, Cache, Group, Positions, Product, Routed, Side, Size, Tensor};
use super::scope::Scope;
use super::value::{Joint, Value, Whole};
use crate::fault::{Fault, Faults, Outcome};

/// Most modules in one list.
const MOST_REPEATS: i128 = 10_000;
/// Most tensors of a model.
const MOST_TENSORS: usize = 300_000;
/// Deepest nesting of modules.
const MOST_DEPTH: usize = 100;

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
    by_name: HashMap<String, usize>,
    /// Modules that are shared: the path's pattern and key, and the path of the first.
    shared: HashMap<(String, String), String>,
    depth: usize,
}

/// Where the walk stands, and what holds there.
#[derive(Debug, Clone)]
struct Spot {
    path: String,
    pattern: String,
    list: Option<(usize, u64)>,
    group: Option<Group>,
    attention: Option<usize>,
    experts: Option<Routed>,
    positions: Positions,
    applied: u64,
    frozen: bool,
    /// Inside what a class adds to the base model.
    in_class: bool,
    /// The path that this module shares its tensors with, and how long its own path was there.
    shared: Option<(String, usize)>,
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
    fn class(&mut self, scope: &mut Scope, root: &Spot) -> Outcome<()> {
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
                if to.value - from > MOST_REPEATS {
                    let what = format!(
                        "{} modules are asked for, and lists of at most {MOST_REPEATS} are counted",
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
                Value::List(items) if items.len() as i128 <= MOST_REPEATS => items.to_vec(),
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

    fn built_in(
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
                    return Err(scope.blame(Fault::new(what, "each group takes equally many", "")));
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
        if self.tensors.len() >= MOST_TENSORS {
            let what = format!("more than {MOST_TENSORS} tensors");
            return Err(
                Fault::new(what, "every tensor is listed", "smaller counts of layers and experts").into()
            );
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

/// What a tensor holds, as far as its group and its work depend on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Matrix,
    Table,
    Norm,
    ResidualNorm,
    Other,
}

impl Spot {
    fn inside(&self, name: &str, pattern: &str) -> Self {
        let mut inside = self.clone();
        for (path, part) in [(&mut inside.path, name), (&mut inside.pattern, pattern)] {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(part);
        }
        inside
    }

    fn marked(&mut self, child: &Child) -> Outcome<()> {
        for mark in child
            .group
            .as_deref()
            .unwrap_or_default()
            .split('@')
            .map(str::trim)
            .filter(|mark| !mark.is_empty())
        {
            match mark {
                "frozen" => self.frozen = true,
                group => self.group = Some(group_of(group)?),
            }
        }
        Ok(())
    }

    fn group_of(&self, holds: Holds) -> Group {
        let is_norm = matches!(holds, Holds::Norm | Holds::ResidualNorm);
        if holds == Holds::ResidualNorm {
            return Group::Norm;
        }
        if self.attention.is_some() {
            return Group::Attention;
        }
        match self.group {
            Some(Group::Embedding | Group::FeedForward | Group::Experts | Group::SharedExperts)
                if is_norm =>
            {
                Group::Norm
            }
            Some(group) => group,
            None if is_norm => Group::Norm,
            None if holds == Holds::Table => Group::Embedding,
            None if self.in_class => Group::Head,
            None if self.list.is_some() => Group::FeedForward,
            None => Group::Other,
        }
    }
}

/// A number with its formula, where it has one: `num_hidden_layers = 12`.
fn said(whole: &Whole) -> String {
    let (formula, value) = (whole.formula(), whole.value.to_string());
    if formula == value { value } else { format!("{formula} = {value}") }
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
        return Err(scope.blame(Fault::new(what, why, format!("num_kv_heads {near}"))));
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

fn side_of(side: &str) -> Side {
    if side == "encoder" { Side::Source } else { Side::Target }
}

fn group_of(word: &str) -> Outcome<Group> {
    let found = Group::ALL.into_iter().find(|group| group.name() == word);
    found.ok_or_else(|| Fault::new(format!("there is no group {word}"), "", "").into())
}

/// Whether a projection of cross-attention reads the other sequence.
fn makes_keys_or_values(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    last.starts_with(['k', 'v', 'K', 'V']) || last == "c_attn"
}
