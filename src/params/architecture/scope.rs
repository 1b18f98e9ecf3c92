//! Where names are looked up, and what formulas come to there.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value as Json;

use super::config::{Config, Source};
use super::family::Family;
use super::formula::{Formula, Sign};
use super::value::{Map, Value, Whole};
use crate::fault::{Fault, Faults, Outcome, Place};
use crate::limits::FORMULAS;

/// Deepest chain of names that stand for formulas.
const MOST_DEPTH: usize = 60;

/// Names that a formula has read: a key of the config among them is to blame where what it comes to cannot be.
pub(super) type Keys = Rc<[Rc<str>]>;

/// One family with one config: everything that formulas can name.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) config: Config,
    pub(super) family: Rc<Family>,
    /// `base`, `causal-lm`.
    pub(super) kind: String,
    pub(super) class_name: String,
    /// Names that hold for a while, with the keys that their values came from.
    locals: Vec<(Rc<str>, Value, Keys)>,
    memory: HashMap<Rc<str>, (Value, Vec<Rc<str>>)>,
    evaluating: Vec<Rc<str>>,
    /// Whether the formula being evaluated has used a local name, so that it may come out differently next time.
    uses_locals: bool,
    /// Names that the formula being evaluated has read: a key of the config among them is to blame if it fails.
    read: Vec<Rc<str>>,
    /// Every key that was read, with what it was and where that came from, in the order of reading.
    pub(super) facts: Vec<(Rc<str>, Value, Source)>,
    depth: usize,
    /// Whether `--as` was given: keys that its class does not know are left aside.
    pub(super) insisted: bool,
    /// Formulas evaluated so far.
    steps: u64,
}

impl Scope {
    pub(super) fn new(config: Config, family: Rc<Family>, kind: &str, class_name: &str) -> Self {
        Self {
            config,
            family,
            kind: kind.to_owned(),
            class_name: class_name.to_owned(),
            locals: Vec::new(),
            memory: HashMap::new(),
            evaluating: Vec::new(),
            uses_locals: false,
            read: Vec::new(),
            facts: Vec::new(),
            depth: 0,
            insisted: false,
            steps: 0,
        }
    }

    /// Makes a name known until [`Scope::forget`].
    pub(super) fn remember(&mut self, name: &str, value: Value) {
        self.remember_from(name, value, Rc::default());
    }

    /// The same of a value that came from keys of the config.
    pub(super) fn remember_from(&mut self, name: &str, value: Value, keys: Keys) {
        self.locals.push((name.into(), value, keys));
    }

    /// What the last formula has read.
    pub(super) fn keys(&self) -> Keys {
        self.read.as_slice().into()
    }

    pub(super) fn locals(&self) -> usize {
        self.locals.len()
    }

    /// Forgets every local name but the first so many.
    pub(super) fn forget(&mut self, length: usize) {
        self.locals.truncate(length);
    }

    /// What a formula comes to; a fault names the key of the config that is to blame.
    pub(super) fn value(&mut self, formula: &Formula) -> Outcome<Value> {
        self.read.clear();
        self.evaluating.clear();
        self.depth = 0;
        self.eval(formula).map_err(|faults| self.blamed(faults))
    }

    pub(super) fn is_true(&mut self, formula: &Formula) -> Outcome<bool> {
        Ok(self.value(formula)?.is_true())
    }

    /// A whole number, where there must be one.
    pub(super) fn whole(&mut self, formula: &Formula) -> Outcome<Whole> {
        let value = self.value(formula)?;
        self.as_whole(value).map_err(|faults| self.blamed(faults))
    }

    pub(super) fn as_whole(&self, value: Value) -> Outcome<Whole> {
        match value {
            Value::Whole(whole) => Ok(whole),
            Value::Bool(value) => Ok(Whole::itself(value.into())),
            other => Err(self.no_whole_number(&other)),
        }
    }

    /// The fault of a value that is no whole number: of the key that has it, where one of those that were read does.
    fn no_whole_number(&self, value: &Value) -> Faults {
        let has_it = |stated: &Json| match (stated, value) {
            (Json::Null, Value::Null)
            | (Json::Array(_), Value::List(_))
            | (Json::Object(_), Value::Map(_)) => true,
            (Json::Bool(stated), Value::Bool(value)) => stated == value,
            (Json::String(stated), Value::Text(value)) => **stated == **value,
            (Json::Number(stated), Value::Fraction(value)) => stated.as_f64() == Some(*value),
            _ => false,
        };
        let found = self
            .read
            .iter()
            .rev()
            .find_map(|key| Some((key, self.config.stated(key).filter(|v| has_it(v))?)));
        match found.and_then(|(key, stated)| Some((self.config.bare_name(key)?, stated))) {
            Some((name, stated)) => self.config.no_whole_number(name, stated).into(),
            None => {
                let what = format!("{value} stands where a whole number is needed");
                Fault::new(what, "sizes are counted", "give a whole number of at least 1").into()
            }
        }
    }

    /// A size of a tensor: at least 1.
    pub(super) fn as_size(&self, value: Value) -> Outcome<Whole> {
        // in a sum a switch counts as 1 or 0; alone it is a slip
        let whole = match value {
            Value::Bool(_) => Err(self.no_whole_number(&value)),
            other => self.as_whole(other),
        };
        let whole = whole.map_err(|faults| self.blamed(faults))?;
        if whole.value < 1 {
            let stated = |key: &&Rc<str>| {
                self.config.stated(key).and_then(Json::as_i64) == i64::try_from(whole.value).ok()
            };
            let what = match self.read.iter().rev().find(stated).and_then(|key| self.config.bare_name(key)) {
                Some(key) => format!("{key} is {}", whole.value),
                None => format!("{} would be {}", whole.formula(), whole.value),
            };
            return Err(self.blamed(Fault::new(what, "it is the size of a tensor", "give at least 1").into()));
        }
        Ok(whole)
    }

    /// The local or global value of a name, where there is one.
    pub(super) fn named(&mut self, name: &str) -> Outcome<Option<Value>> {
        self.evaluating.clear();
        if self.is_known(name)? { self.value(&Formula::Name(name.into())).map(Some) } else { Ok(None) }
    }

    /// Adds to faults without a place the key of the config that led to them.
    fn blamed(&self, Faults(faults): Faults) -> Faults {
        let suspicious = |key: &&Rc<str>| self.config.stated(key).is_some_and(is_suspicious);
        let stated = |key: &&Rc<str>| self.config.states(key);
        let key = self.read.iter().find(suspicious).or_else(|| self.read.iter().rev().find(stated));
        let Some(path) = key.and_then(|key| self.config.stated_name(key)) else { return Faults(faults) };
        Faults(
            faults
                .into_iter()
                .map(|fault| match fault.place {
                    None => fault.at(Place { path: path.clone(), ..Place::default() }),
                    Some(_) => fault,
                })
                .collect(),
        )
    }

    /// Every key of the config that was read so far, from maps inside it too.
    pub(super) fn read_keys(&self) -> impl Iterator<Item = &str> {
        self.facts.iter().map(|(key, ..)| key.split('.').next().unwrap_or(key))
    }

    /// A config inside the config; an empty one where it is null.
    pub(super) fn map(&mut self, formula: &Formula) -> Outcome<Map> {
        let value = self.value(formula)?;
        as_map(&value).map_err(|faults| self.blamed(faults))
    }

    /// A fault of what was last evaluated.
    pub(super) fn blame(&self, fault: Fault) -> Faults {
        self.blamed(fault.into())
    }

    /// The same of what several formulas have read.
    pub(super) fn blame_one_of(&mut self, read: &[Rc<str>], faults: Faults) -> Faults {
        self.read = read.to_vec();
        self.blamed(faults)
    }

    /// A size of a tensor: at least 1, or 0 where the class may allocate a tensor of no numbers.
    pub(super) fn size(&mut self, formula: &Formula, may_be_nothing: bool) -> Outcome<Whole> {
        match self.value(formula)? {
            Value::Whole(whole) if may_be_nothing && whole.value == 0 => Ok(whole),
            other => self.as_size(other),
        }
    }

    fn eval(&mut self, formula: &Formula) -> Outcome<Value> {
        self.steps += 1;
        if self.steps > FORMULAS {
            let why = "its lists are so long, and its layers so many, that counting them would take minutes";
            return Err(Fault::new(
                "the config is too large to count",
                why,
                "give fewer layers, groups or experts",
            )
            .into());
        }
        Ok(match formula {
            Formula::Null => Value::Null,
            Formula::Bool(value) => Value::Bool(*value),
            Formula::Whole(value) => Value::whole(*value),
            Formula::Fraction(value) => Value::Fraction(*value),
            Formula::Text(text) => Value::Text(text.clone()),
            Formula::Name(name) => self.name(name)?,
            Formula::List(items) => {
                Value::List(items.iter().map(|item| self.eval(item)).collect::<Outcome<Vec<_>>>()?.into())
            }
            Formula::Each { body, name, list, condition } => {
                self.each(body, name, list, condition.as_deref())?
            }
            Formula::Member(map, key) => {
                let map = self.eval(map)?;
                self.member(&map, key)?
            }
            Formula::Index(list, index) => {
                let (list, index) = (self.eval(list)?, self.eval(index)?);
                self.item(&list, &index)?
            }
            Formula::Not(inner) => Value::Bool(!self.eval(inner)?.is_true()),
            Formula::Minus(inner) => match self.eval(inner)? {
                Value::Fraction(value) => Value::Fraction(-value),
                other => Value::whole(-self.as_whole(other)?.value),
            },
            Formula::Two(Sign::And, left, right) => {
                let left = self.eval(left)?;
                if left.is_true() { self.eval(right)? } else { left }
            }
            Formula::Two(Sign::Or, left, right) => {
                let left = self.eval(left)?;
                if left.is_true() { left } else { self.eval(right)? }
            }
            Formula::Two(Sign::Else, left, right) => match self.eval_known(left)? {
                None | Some(Value::Null) => self.eval(right)?,
                Some(left) => left,
            },
            Formula::Two(sign, left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                self.two(*sign, left, right)?
            }
            Formula::If { condition, then, otherwise } => {
                let branch = if self.eval(condition)?.is_true() { then } else { otherwise };
                self.eval(branch)?
            }
            Formula::Call { name, arguments } => {
                let values =
                    arguments.iter().map(|(_, formula)| self.eval(formula)).collect::<Outcome<Vec<_>>>()?;
                self.function(name, values)?
            }
        })
    }

    /// A formula's value; none where it is a key that the config lacks and that has no default.
    fn eval_known(&mut self, formula: &Formula) -> Outcome<Option<Value>> {
        if let Formula::Name(name) = formula
            && !self.is_known(name)?
        {
            return Ok(None);
        }
        self.eval(formula).map(Some)
    }

    fn is_known(&self, name: &str) -> Outcome<bool> {
        let stands_for =
            self.family.names.contains_key(name) && !self.evaluating.iter().any(|one| &**one == name);
        let local = self.locals.iter().any(|(local, ..)| &**local == name);
        Ok(local
            || stands_for
            || matches!(name, "class" | "class_name" | "model_type" | "config")
            || self.memory.contains_key(name)
            || self.config.get(name)?.is_some())
    }

    fn name(&mut self, name: &Rc<str>) -> Outcome<Value> {
        if let Some((_, value, keys)) = self.locals.iter().rev().find(|(local, ..)| local == name) {
            self.uses_locals = true;
            self.read.extend(keys.iter().cloned());
            return Ok(value.clone());
        }
        if let Some((value, names)) = self.memory.get(name)
            && !names.iter().any(|name| self.locals.iter().any(|(local, ..)| local == name))
        {
            self.read.extend(names.iter().cloned());
            return Ok(value.clone());
        }
        let family = self.family.clone();
        if let Some(formula) = family.names.get(name)
            && !self.evaluating.contains(name)
        {
            return self.stands_for(name, formula);
        }
        self.read.push(name.clone());
        match &**name {
            "class" => return Ok(Value::Text(self.kind.as_str().into())),
            "class_name" => return Ok(Value::Text(self.class_name.as_str().into())),
            "model_type" => return Ok(Value::Text(self.config.model_type.as_str().into())),
            "latent" => return Ok(Value::Text("latent".into())),
            "config" => return Ok(Value::Map(self.config.map.clone().into())),
            _ => {}
        }
        let Some((value, source)) = self.config.get(name)? else {
            let what = format!("the config has no {name}");
            let why = format!("a model of type {} cannot be built without it", self.config.model_type);
            return Err(Fault::new(what, why, format!("add {name} to the config")).into());
        };
        if !self.facts.iter().any(|(known, ..)| known == name) {
            self.facts.push((name.clone(), value.clone(), source));
        }
        // read once: lists of one entry a layer would otherwise be made anew for every layer
        if !self.family.names.contains_key(name) {
            self.memory.insert(name.clone(), (value.clone(), vec![name.clone()]));
        }
        Ok(value)
    }

    /// A name of the family's `let`: its formula is evaluated once, or again where it depends on the layer.
    fn stands_for(&mut self, name: &Rc<str>, formula: &Formula) -> Outcome<Value> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Fault::new(format!("{name} stands for itself"), "its formula never ends", "").into());
        }
        let outer = std::mem::replace(&mut self.uses_locals, false);
        let before = self.read.len();
        self.read.push(name.clone());
        self.evaluating.push(name.clone());
        let value = self.eval(formula);
        self.evaluating.pop();
        self.depth -= 1;
        let value = value?.named(name);
        if !self.uses_locals && self.evaluating.is_empty() {
            self.memory.insert(name.clone(), (value.clone(), self.read[before..].to_vec()));
        }
        self.uses_locals |= outer;
        Ok(value)
    }

    fn each(
        &mut self,
        body: &Formula,
        name: &Rc<str>,
        list: &Formula,
        condition: Option<&Formula>,
    ) -> Outcome<Value> {
        let Value::List(items) = self.eval(list)? else {
            return Err(Fault::new(format!("{name} needs a list to come from"), "", "").into());
        };
        let (locals, outer) = (self.locals.len(), self.uses_locals);
        let mut all = Vec::new();
        for item in items.iter() {
            self.locals.push((name.clone(), item.clone(), Rc::default()));
            let wanted =
                condition.map_or(Ok(true), |condition| Ok::<_, Faults>(self.eval(condition)?.is_true()));
            let value = wanted.and_then(|wanted| if wanted { self.eval(body).map(Some) } else { Ok(None) });
            self.locals.truncate(locals);
            all.extend(value?);
        }
        // the list's own name is gone again; a loop's index outside may have been used, which only costs time
        self.uses_locals = outer || !self.locals.is_empty();
        Ok(Value::List(all.into()))
    }

    /// `text_config.hidden_size`: stated there, or the default of a config inside this type.
    pub(super) fn member(&mut self, map: &Value, key: &str) -> Outcome<Value> {
        match map {
            Value::Map(map) => match Config::new((**map).clone(), "", &map.defaults).get(key)? {
                Some((value, source)) => {
                    let path: Rc<str> = format!("{}.{key}", map.path).into();
                    if !self.facts.iter().any(|(known, ..)| *known == path) {
                        self.facts.push((path, value.clone(), source));
                    }
                    Ok(value)
                }
                None => Ok(Value::Null),
            },
            Value::Null => Ok(Value::Null),
            other => Err(Fault::new(
                format!("{other} has no {key}"),
                "a config inside the config belongs there",
                "give an object of keys and values",
            )
            .into()),
        }
    }

    pub(super) fn item(&mut self, list: &Value, index: &Value) -> Outcome<Value> {
        if let (Value::Map(_), Value::Text(key)) = (list, index) {
            return self.member(list, key);
        }
        if let Value::Text(text) = list {
            let letters: Vec<Value> =
                text.chars().map(|letter| Value::Text(letter.to_string().into())).collect();
            return self.item(&Value::List(letters.into()), index);
        }
        let Value::List(items) = list else {
            return Err(Fault::new(
                format!("{list} stands where a list is needed"),
                "one value a layer is read from it",
                "give a list with one value a layer",
            )
            .into());
        };
        let at = self.as_whole(index.clone())?.value;
        let from_start = if at < 0 { at + items.len() as i128 } else { at };
        let found = usize::try_from(from_start).ok().and_then(|at| items.get(at));
        found.cloned().ok_or_else(|| {
            let what = format!("a list has {} items, and item {} is needed", items.len(), at + 1);
            Fault::new(what, "one value a layer is read from it", "give as many as there are layers").into()
        })
    }

    /// The scope of a config inside this one. Its type is the one it states, unless it states none or repeats ours.
    pub(super) fn inner(&self, map: Map, model_type: &str, kind: &str) -> Outcome<Self> {
        let stated = map.given.get("model_type");
        let at_type =
            |fault: Fault| fault.at(Place { path: format!("{}.model_type", map.path), ..Place::default() });
        if let Some(other) = stated.filter(|stated| !stated.is_string() && !stated.is_null()) {
            let fault = Fault::new(
                format!("model_type is {other}, but it is a text"),
                "it names the architecture",
                model_type,
            );
            return Err(at_type(fault).into());
        }
        let stated = stated.and_then(Json::as_str).filter(|stated| *stated != self.config.model_type);
        let model_type = stated.unwrap_or(model_type).to_owned();
        let family = Family::of_type(&model_type).unwrap_or_else(|| {
            let Faults(faults) = super::unknown_type(&model_type);
            let near =
                super::config::nearest_type(&model_type, Family::known_types()).unwrap_or("a known type");
            let here = |fault: Fault| at_type(Fault { remedy: near.to_owned(), place: None, ..fault });
            Err(Faults(faults.into_iter().map(here).collect()))
        })?;
        let names = family.class_names(kind, &model_type);
        let config = Config::new(Map { defaults: Default::default(), ..map }, &model_type, &family.defaults);
        Ok(Self::new(config, family, kind, names.first().map_or("", String::as_str)))
    }
}

/// Whether a value is hardly ever meant: a number that is no count, or a list that holds one.
fn is_suspicious(value: &Json) -> bool {
    match value {
        Json::Number(number) => number.as_u64().is_none_or(|count| count == 0 || count > 1 << 32),
        Json::Array(items) => items.iter().any(is_suspicious),
        _ => false,
    }
}

/// The value as a map, for a config inside the config; an empty one where it is null.
pub(super) fn as_map(value: &Value) -> Outcome<Map> {
    match value {
        Value::Map(map) => Ok((**map).clone()),
        Value::Null => Ok(Map::default()),
        other => {
            Err(misplaced(other, "a config inside the config", "{…}, or leave it out for the type's default"))
        }
    }
}

pub(super) fn misplaced(value: &Value, needed: &str, remedy: &str) -> Faults {
    Fault::new(format!("{value} stands where {needed} is needed"), "its parts are counted", remedy).into()
}
