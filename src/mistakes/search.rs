//! Trying mistakes, one by one and two by two.

use super::bench::Own;
use super::court::{Court, Leniency, order};
use super::diagnose::{Explanation, Tried};
use super::draft::{Draft, Seen, Wrong};
use super::fit::Fit;
use super::{Form, Mistake, Turn, catalogue};
use crate::plan::Plan;

/// A wrong plan that may be what a person computed.
#[derive(Debug, Clone)]
pub(super) struct Hypothesis {
    mistakes: Vec<(&'static Mistake, &'static Form)>,
    /// Other forms of the same mistakes that fit about as well.
    alike: Vec<(&'static Mistake, &'static Form)>,
    /// For each mistake, in how many forms the problem can be got wrong.
    ways: Vec<usize>,
    pub(super) wrong: Wrong,
    /// How well it fits, tensor by tensor, up to the first that it cannot give.
    fits: Vec<Fit>,
}

impl Hypothesis {
    /// The place of the first step that it gets wrong.
    pub(super) fn first(&self) -> usize {
        self.mistakes.iter().map(|(_, form)| order(form.first)).min().unwrap_or(0)
    }

    fn fit(&self) -> Fit {
        self.fits.iter().fold(Fit::PERFECT, |all, fit| all.and(*fit))
    }

    pub(super) fn explanation(self) -> Explanation {
        let worst = self.fit().worst;
        Explanation { mistakes: self.mistakes, alike: self.alike, ways: self.ways, worst }
    }

    fn is_read_off(&self) -> bool {
        self.mistakes.iter().any(|(_, form)| form.reads_off)
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.mistakes.iter().map(|(mistake, _)| mistake.name).collect();
        names.sort_unstable();
        names
    }
}

/// A search among the mistakes of the catalogue.
pub(super) struct Search<'s, 'a> {
    court: &'s mut Court<'a>,
    right: &'s Plan,
    seen: Option<&'s Seen>,
    /// How the tensors fit the right plan.
    base: Vec<Fit>,
    /// Which tensors fit the right plan only in another layout than their shape says.
    strained: Vec<bool>,
    /// Steps that are the person's own, and the place from which on mistakes are looked for.
    own: Own,
    from: usize,
    /// Whether so many pairs are too much to compute in full.
    is_large: bool,
    singles: Vec<Hypothesis>,
    pairs: Vec<Hypothesis>,
    pub(super) tried: Tried,
}

/// Hands on fits up to the first that is beyond.
fn until_beyond(over: &mut bool, fit: Fit) -> Option<Fit> {
    let before = std::mem::replace(over, *over || fit.beyond);
    (!before).then_some(fit)
}

/// From so many multiplications in the right plan on, pairs are tried only where a few rows can rule them out.
const MUCH_WORK: u128 = 60_000_000;

/// A fit that is this many times worse than the best one is no rival of it.
const RIVAL: f64 = 4.0;
/// Up to here fits are so good that none of them is better than another.
const AS_GOOD: f64 = 0.02;

impl<'s, 'a> Search<'s, 'a> {
    pub(super) fn new(
        court: &'s mut Court<'a>,
        right: &'s Plan,
        seen: Option<&'s Seen>,
        base: Vec<Fit>,
    ) -> Self {
        let (tried, own) = (Tried::default(), Own::new());
        let work: u128 = right.steps().iter().map(|step| right.cost_of(step).multiplications).sum();
        let is_large = work > MUCH_WORK;
        let (singles, pairs) = (Vec::new(), Vec::new());
        let strained = vec![false; base.len()];
        Self { court, right, seen, base, strained, own, from: 0, is_large, singles, pairs, tried }
    }

    /// The same, where some tensors fit the right plan only in another layout than their shape says.
    pub(super) fn straining(mut self, strained: Vec<bool>) -> Self {
        self.strained = strained;
        self
    }

    /// Whether a mistake takes a tensor before it for right that is so only in another layout.
    fn strains(&self, hypothesis: &Hypothesis) -> bool {
        let before = self.court.exhibits.iter().map(|exhibit| exhibit.order < hypothesis.first());
        before.zip(&self.strained).any(|(before, strained)| before && *strained)
    }

    /// The same, with some steps given, and mistakes only after a place in the order of the computation.
    pub(super) fn given(mut self, own: Own, from: usize) -> Self {
        (self.own, self.from) = (own, from + 1);
        self
    }

    /// Tries every form of every mistake.
    pub(super) fn singles(&mut self) {
        for mistake in catalogue::all() {
            for form in mistake.forms {
                if order(form.first) < self.from {
                    continue;
                }
                let Some(wrong) = self.wrong(&[form]) else { continue };
                self.tried.forms += 1;
                let base = self.base.clone();
                let fits = match self.may_start_at(order(form.first), &base) {
                    true => {
                        let mark = self.court.bench.mark();
                        let fits = self.fits(&wrong, order(form.first), &base);
                        self.court.bench.release(mark);
                        fits
                    }
                    // Something is wrong before this could be: alone it explains nothing.
                    false => base.into_iter().scan(false, until_beyond).collect(),
                };
                self.singles.push(Hypothesis {
                    mistakes: vec![(mistake, form)],
                    alike: Vec::new(),
                    ways: Vec::new(),
                    wrong,
                    fits,
                });
            }
        }
    }

    /// Tries every two mistakes together.
    pub(super) fn pairs(&mut self) {
        let singles = std::mem::take(&mut self.singles);
        for (at, one) in singles.iter().enumerate() {
            for other in &singles[at + 1..] {
                self.pair(one, other);
            }
        }
        self.singles = singles;
    }

    fn pair(&mut self, one: &Hypothesis, other: &Hypothesis) {
        let (a, b) = (one.mistakes[0], other.mistakes[0]);
        if a.0.name == b.0.name || (a.1.turn == b.1.turn && a.1.turn != Turn::Usual) {
            return;
        }
        // Up to where the later one sets in, the earlier one has to give the tensors alone.
        let (earlier, later) = if order(a.1.first) <= order(b.1.first) { (one, other) } else { (other, one) };
        let from = later.first();
        if !self.may_start_at(from, &earlier.fits) {
            return;
        }
        let forms = if b.1.turn < a.1.turn { [b.1, a.1] } else { [a.1, b.1] };
        let Some(wrong) = self.wrong(&forms) else { return };
        if wrong.plan == one.wrong.plan || wrong.plan == other.wrong.plan {
            return;
        }
        if self.is_large && !self.court.has_short_cut(&wrong, from, &self.own) {
            self.tried.left_out += 1;
            return;
        }
        self.tried.pairs += 1;
        let mark = self.court.bench.mark();
        let fits = self.fits(&wrong, from, &earlier.fits);
        self.court.bench.release(mark);
        if fits.len() == self.base.len() && fits.iter().all(|fit| !fit.beyond) {
            let mistakes = vec![earlier.mistakes[0], later.mistakes[0]];
            self.pairs.push(Hypothesis { mistakes, alike: Vec::new(), ways: Vec::new(), wrong, fits });
        }
    }

    /// Whether all tensors before a place in the order of the computation fit.
    fn may_start_at(&self, place: usize, fits: &[Fit]) -> bool {
        let before = self.court.exhibits.iter().take_while(|exhibit| exhibit.order < place).count();
        fits.len() >= before && fits[..before].iter().all(|fit| !fit.beyond)
    }

    fn wrong(&self, forms: &[&'static Form]) -> Option<Wrong> {
        if self.seen.is_none() && forms.iter().any(|form| form.reads_off) {
            return None; // there is nothing to read it off
        }
        let mut draft = Draft::new(self.court.call, self.right, self.seen);
        for form in forms {
            (form.change)(&mut draft)?;
        }
        draft.finish().filter(|wrong| wrong.plan != *self.right)
    }

    /// How the tensors fit a wrong plan whose steps from a place on are wrong; up to the first that does not fit.
    fn fits(&mut self, wrong: &Wrong, from: usize, before: &[Fit]) -> Vec<Fit> {
        let mut fits = Vec::with_capacity(self.base.len());
        for exhibit in 0..self.court.exhibits.len() {
            let fit = match self.court.exhibits[exhibit].order < from {
                true => before[exhibit],
                false if self.court.is_ruled_out(exhibit, wrong, &self.own) => Fit::NONE,
                false => self.court.judge(exhibit, wrong, &self.own, Leniency::Plain).fit,
            };
            fits.push(fit);
            if fit.beyond {
                break;
            }
        }
        fits
    }

    /// What gives all tensors: only within strict tolerances, or also within loose ones. Each set of names once; only
    /// those that fit about as well as the best.
    pub(super) fn explanations(&self, strictly: bool) -> Vec<Hypothesis> {
        let complete = |hypothesis: &&Hypothesis| {
            let fit = hypothesis.fit();
            hypothesis.fits.len() == self.base.len() && !fit.beyond && (!strictly || fit.is_strict())
        };
        let mut found: Vec<&Hypothesis> = self.singles.iter().chain(&self.pairs).filter(complete).collect();
        found.sort_by(|a, b| a.fit().worst.total_cmp(&b.fit().worst));
        let best = found.first().map_or(0.0, |best| best.fit().worst);
        let mut kept: Vec<Hypothesis> = Vec::new();
        for hypothesis in found {
            let rival = hypothesis.fit().worst <= (best * RIVAL).max(AS_GOOD);
            if !rival {
                continue;
            }
            match kept.iter_mut().find(|kept| kept.names() == hypothesis.names()) {
                Some(kept) => kept.alike.extend(&hypothesis.mistakes),
                None => kept.push(hypothesis.clone()),
            }
        }
        let ways = |mistake: &Mistake| {
            self.singles.iter().filter(|single| single.mistakes[0].0.name == mistake.name).count()
        };
        for hypothesis in &mut kept {
            hypothesis.ways = hypothesis.mistakes.iter().map(|(mistake, _)| ways(mistake)).collect();
        }
        // Who explains a tensor as it stands needs no other layout for it.
        if kept.iter().any(|kept| !self.strains(kept)) {
            kept.retain(|kept| !self.strains(kept));
        }
        // What is read off the person's own weights fits too easily to stand beside what is not.
        if kept.iter().any(|kept| !kept.is_read_off()) {
            kept.retain(|kept| !kept.is_read_off());
        }
        kept
    }

    /// What gives the first wrong tensors but not all, and the tensor where it stops.
    pub(super) fn partly(&self) -> Option<(Vec<Hypothesis>, usize)> {
        let wrong = self.base.iter().position(|fit| fit.beyond)?;
        let reach = |hypothesis: &Hypothesis| hypothesis.fits.iter().take_while(|fit| !fit.beyond).count();
        let furthest = self.singles.iter().map(reach).max()?;
        if furthest <= wrong || furthest >= self.base.len() {
            return None;
        }
        let mut kept: Vec<Hypothesis> = Vec::new();
        for hypothesis in self.singles.iter().filter(|hypothesis| reach(hypothesis) == furthest) {
            if kept.iter().all(|kept| kept.names() != hypothesis.names()) {
                kept.push(hypothesis.clone());
            }
        }
        Some((kept, furthest))
    }
}
