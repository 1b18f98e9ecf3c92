//! Trees of modules as family files write them: what is in them, and how one is laid over another.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_yaml::{Mapping, Value as Yaml};

use super::family::{as_formula, malformed, map, text_of};
use super::formula::{self, Formula};
use crate::fault::Outcome;

/// A module with parameters.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) parameters: Vec<(Rc<str>, Option<Formula>)>,
    pub(super) body: Body,
}

/// The inside of a module.
#[derive(Debug, Clone, Default)]
pub(super) struct Module {
    /// What the `$` keys say.
    pub(super) locals: Vec<(Rc<str>, Formula)>,
    pub(super) attention: Option<BTreeMap<String, Formula>>,
    pub(super) experts: Option<(Formula, Formula)>,
    pub(super) group: Option<Rc<str>>,
    pub(super) side: Option<Rc<str>>,
    pub(super) positions: Option<Formula>,
    pub(super) applied: Option<Formula>,
    pub(super) shared: Option<Formula>,
    pub(super) frozen: bool,
    /// A call whose tensors stand here, before the children.
    pub(super) call: Option<Formula>,
    pub(super) children: Vec<Child>,
}

/// A module inside a module.
#[derive(Debug, Clone)]
pub(super) struct Child {
    /// Its name, one part of a path; may contain `{local}`.
    pub(super) name: Rc<str>,
    pub(super) repeat: Option<Repeat>,
    pub(super) condition: Option<Formula>,
    /// What stands behind its `@`s: a group, `frozen`.
    pub(super) group: Option<Rc<str>>,
    pub(super) body: Body,
}

/// How often a module stands in its list.
#[derive(Debug, Clone)]
pub(super) struct Repeat {
    pub(super) name: Rc<str>,
    pub(super) over: Over,
}

/// What a list of modules runs over.
#[derive(Debug, Clone)]
pub(super) enum Over {
    Range(Option<Formula>, Formula),
    Items(Formula),
}

/// What a module is.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// Taken away by a child.
    Nothing,
    Inside(Rc<Module>),
    /// A call of a block or a built-in, or a choice of those.
    Call(Formula),
    /// A block's module with more laid over it.
    Over(Formula, Rc<Module>),
}

impl Block {
    /// Reads `name(a, b=1)` and its body.
    pub(super) fn read(head: &str, value: &Yaml) -> Outcome<(String, Self)> {
        let (name, rest) =
            head.split_once('(').ok_or_else(|| malformed(&format!("{head} needs parentheses")))?;
        let inside =
            rest.trim().strip_suffix(')').ok_or_else(|| malformed(&format!("{head} is not closed")))?;
        let parameters = if inside.trim().is_empty() {
            Vec::new()
        } else {
            let read = |one: &str| match one.split_once('=') {
                Some((name, default)) => Ok((Rc::from(name.trim()), Some(formula::parse(default)?))),
                None => Ok((Rc::from(one.trim()), None)),
            };
            inside.split(',').map(read).collect::<Outcome<_>>()?
        };
        Ok((name.trim().to_owned(), Self { parameters, body: Body::read(value)? }))
    }
}

impl Body {
    fn read(value: &Yaml) -> Outcome<Self> {
        Ok(match value {
            Yaml::Null => Self::Nothing,
            Yaml::Mapping(inside) => Self::Inside(Module::read(inside)?.into()),
            other => Self::Call(formula::parse(&text_of(other)?)?),
        })
    }

    fn laid_over(self, over: Self) -> Self {
        match (self, over) {
            (Self::Inside(below), Self::Inside(over)) => {
                let mut whole = (*below).clone();
                whole.lay_over((*over).clone());
                Self::Inside(whole.into())
            }
            (Self::Call(call), Self::Inside(over)) => Self::Over(call, over),
            (Self::Over(call, below), Self::Inside(over)) => {
                let mut whole = (*below).clone();
                whole.lay_over((*over).clone());
                Self::Over(call, whole.into())
            }
            (_, over) => over,
        }
    }
}

impl Module {
    pub(super) fn read(inside: &Mapping) -> Outcome<Self> {
        let mut module = Self::default();
        for (key, value) in inside {
            let key = text_of(key)?;
            match key.strip_prefix('$') {
                Some(word) => module.annotate(word, value)?,
                None => module.add(Head::read(&key)?, Body::read(value)?),
            }
        }
        Ok(module)
    }

    fn annotate(&mut self, word: &str, value: &Yaml) -> Outcome<()> {
        let formulas = |value: &Yaml| -> Outcome<BTreeMap<String, Formula>> {
            map(value)?.iter().map(|(key, value)| Ok((text_of(key)?, as_formula(value)?))).collect()
        };
        match word {
            "let" => {
                for (name, value) in map(value)? {
                    self.locals.push((text_of(name)?.into(), as_formula(value)?));
                }
            }
            "attention" => self.attention = Some(formulas(value)?),
            "experts" => {
                let mut given = formulas(value)?;
                let mut part =
                    |key: &str| given.remove(key).ok_or_else(|| malformed(&format!("$experts needs {key}")));
                self.experts = Some((part("of")?, part("active")?));
            }
            "group" => self.group = Some(text_of(value)?.into()),
            "side" => self.side = Some(text_of(value)?.into()),
            "positions" => self.positions = Some(as_formula(value)?),
            "applied" => self.applied = Some(as_formula(value)?),
            "shared" => self.shared = Some(as_formula(value)?),
            "module" => self.call = Some(as_formula(value)?),
            "frozen" => self.frozen = value.as_bool().unwrap_or(true),
            other => return Err(malformed(&format!("${other} means nothing"))),
        }
        Ok(())
    }

    /// Puts a body at a dotted path, inside the modules on the way.
    fn add(&mut self, head: Head, body: Body) {
        let Head { mut path, repeat, condition, group } = head;
        let name = path.remove(0);
        if path.is_empty() {
            self.put(Child { name, repeat, condition, group, body });
            return;
        }
        let mut inner = Self::default();
        inner.add(Head { path, repeat, condition, group }, body);
        self.put(Child {
            name,
            repeat: None,
            condition: None,
            group: None,
            body: Body::Inside(inner.into()),
        });
    }

    fn put(&mut self, over: Child) {
        let Some(there) = self.children.iter_mut().find(|child| child.name == over.name) else {
            self.children.push(over);
            return;
        };
        there.repeat = over.repeat.or(there.repeat.take());
        there.condition = over.condition.or(there.condition.take());
        there.group = over.group.or(there.group.take());
        let below = std::mem::replace(&mut there.body, Body::Nothing);
        there.body = below.laid_over(over.body);
    }

    pub(super) fn lay_over(&mut self, over: Self) {
        for (name, formula) in over.locals {
            self.locals.retain(|(known, _)| *known != name);
            self.locals.push((name, formula));
        }
        if let Some(over) = over.attention {
            self.attention.get_or_insert_default().extend(over);
        }
        self.experts = over.experts.or(self.experts.take());
        self.group = over.group.or(self.group.take());
        self.side = over.side.or(self.side.take());
        self.positions = over.positions.or(self.positions.take());
        self.applied = over.applied.or(self.applied.take());
        self.shared = over.shared.or(self.shared.take());
        self.frozen |= over.frozen;
        self.call = over.call.or(self.call.take());
        for child in over.children {
            self.put(child);
        }
    }
}

/// A key of a tree, taken apart.
struct Head {
    path: Vec<Rc<str>>,
    repeat: Option<Repeat>,
    condition: Option<Formula>,
    group: Option<Rc<str>>,
}

impl Head {
    fn read(key: &str) -> Outcome<Self> {
        let (rest, condition) = match key.split_once(" if ") {
            Some((rest, condition)) => (rest, Some(formula::parse(condition)?)),
            None => (key, None),
        };
        let (rest, group) = match rest.split_once('@') {
            Some((rest, marks)) => (rest, Some(Rc::from(marks))),
            None => (rest, None),
        };
        let rest = rest.trim();
        let (path, repeat) = match rest.split_once('[') {
            Some((path, repeat)) => {
                let inside =
                    repeat.strip_suffix(']').ok_or_else(|| malformed(&format!("{key} is not closed")))?;
                (path, Some(Repeat::read(inside)?))
            }
            None => (rest, None),
        };
        Ok(Self { path: path.split('.').map(Rc::from).collect(), repeat, condition, group })
    }
}

impl Repeat {
    /// Reads `count`, `j < count`, `i = from .. to` or `x in list`.
    fn read(text: &str) -> Outcome<Self> {
        let name = |word: &str| {
            let word = word.trim();
            let is_name = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_name.then(|| Rc::from(word))
        };
        if let Some((word, range)) = text.split_once('=')
            && let (Some(name), Some((from, to))) = (name(word), range.split_once(".."))
        {
            return Ok(Self { name, over: Over::Range(Some(formula::parse(from)?), formula::parse(to)?) });
        }
        if let Some((word, count)) = text.split_once('<')
            && let Some(name) = name(word)
        {
            return Ok(Self { name, over: Over::Range(None, formula::parse(count)?) });
        }
        if let Some((word, list)) = text.split_once(" in ")
            && let Some(name) = name(word)
        {
            return Ok(Self { name, over: Over::Items(formula::parse(list)?) });
        }
        Ok(Self { name: "i".into(), over: Over::Range(None, formula::parse(text)?) })
    }
}
