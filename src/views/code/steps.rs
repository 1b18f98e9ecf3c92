//! One stacked step: its code, the comparison, and what is told of it.

use std::mem::discriminant;

use super::groups::Group;
use super::literal::{ROOM, exact, expected, nested};
use super::text::markdown;
use super::{Author, Block, uses};
use crate::ops::{Bias, FullyMaskedRows, Op, RmsNorm, Rope, RopeLayout, Scale, Softmax};
use crate::plan::{HeadStep, Name, names};
use crate::views::{table, tex};

/// Stops at the first step that is not as in the trace; the same for every library, since NumPy reads its arrays too.
const CHECK: &str = r#"def check(step, value, expected, atol=1e-6):
    """Stop at the first step that is not as in the trace; places count from 0."""
    value, expected = np.asarray(value), np.asarray(expected, dtype=float)
    assert value.shape == expected.shape, f"{step} is {value.shape}, expected {expected.shape}"
    wrong = ~np.isclose(value, expected, rtol=1e-6, atol=atol, equal_nan=True)
    off = np.abs(np.subtract(value, expected, out=np.zeros(value.shape), where=wrong))
    at = tuple(map(int, np.unravel_index(off.argmax(), off.shape)))
    worst = f"{step}{list(at)} is {value[at]}, expected {expected[at]}"
    assert not wrong.any(), f"{worst}; this step's largest difference is {off[at]:.3g}"
"#;

/// Heads of which a notebook tells one by one.
const HEADS_TOLD: usize = 4;

impl Author<'_> {
    /// A computed step.
    pub(super) fn block(&self, group: &Group<'_>) -> Block {
        let head = group.first().id.head();
        let title = match (group.first().id.name, head) {
            (Name::Head(..), Some(head)) => names::title(group.first().id.name)
                .replace(&format!(" of head {}", head.0 + 1), ", head by head"),
            (name, _) => names::title(name),
        };
        Block {
            name: group.name.clone(),
            title,
            formula: self.formula(group),
            words: self.words(group),
            code: self.code(group),
            check: self.check(group),
            kind: discriminant(&group.first().op),
        }
    }

    /// The plan's own formula, of one head where each has its own.
    fn formula(&self, group: &Group<'_>) -> String {
        let scene = self.source.scene;
        let shown = group.fullest();
        let formula = scene.trace.plan().formula(shown, scene.page.layout);
        let one_of = if group.is_shared() { scene.attention.num_kv_heads } else { self.num_heads() };
        let likewise = match (group.only_heads(self.num_heads()), shown.id.head()) {
            (_, None) => "",
            _ if one_of == 1 => "",
            (Some(_), _) if group.is_shared() => "\n\nAnd likewise for every key/value head.",
            (Some(heads), _) if heads.len() == 1 => "\n\nThe other heads have no such step.",
            (Some(_), _) => "\n\nAnd likewise for every head that has this step.",
            (None, head) if head != group.first().id.head() => {
                "\n\nAnd likewise for every head, from the latest step before this one that it has."
            }
            (None, _) => "\n\nAnd likewise for every head.",
        };
        format!("$$\n{}\n$${likewise}", tex::formula(&formula.equation))
    }

    fn code(&self, group: &Group<'_>) -> String {
        let name = &group.name;
        let input = |place| group.input(place);
        let library = self.library;
        let (before, right) = match &group.first().op {
            Op::Project(_) => {
                let bias = if group.inputs() > 2 { format!(" + {}", input(2)) } else { String::new() };
                (String::new(), format!("{} @ {}{bias}", input(0), input(1)))
            }
            Op::ProjectTransposed(_) => {
                let bias = if group.inputs() > 2 { format!(" + {}", input(2)) } else { String::new() };
                (String::new(), format!("{} @ {}.{}(-1, -2){bias}", input(0), input(1), library.swap))
            }
            Op::ProjectMean(mean) => {
                let bias = if group.inputs() > 2 { format!(" + {}", input(2)) } else { String::new() };
                (String::new(), format!("{} @ {} / {}{bias}", input(0), input(1), mean.heads))
            }
            Op::Columns(_) => (String::new(), format!("split_heads({}, {})", input(0), self.heads_of(group))),
            Op::RmsNorm(norm) => self.norm(name, &input(0), norm),
            Op::Rope(rope) => (String::new(), format!("rope({}, {})", input(0), self.positions(rope, name))),
            Op::Scores(scores) => {
                let (shared, keys) = self.repeated("keys", input(1), "key/value head");
                let scale = match scores.scale {
                    Scale::RootOfDk => format!(" / {}", library.root_of_dk),
                    Scale::Given(1.0) => String::new(),
                    Scale::Given(scale) => format!(" * {}", exact(scale)),
                };
                (shared, format!("{} @ {keys}.{}(-1, -2){scale}", input(0), library.swap))
            }
            Op::Times(times) => {
                let factor = match times.factor {
                    Scale::RootOfDk => format!(" / {}", library.root_of_dk),
                    Scale::Given(factor) => format!(" * {}", exact(factor)),
                };
                (String::new(), format!("{}{factor}", input(0)))
            }
            Op::Softcap(cap) => {
                let cap = exact(cap.cap);
                (String::new(), format!("{cap} * {}.tanh({} / {cap})", library.module, input(0)))
            }
            Op::Bias(bias) => (self.bias(group, bias), format!("{} + bias", input(0))),
            Op::Mask(_) => {
                let (open, close) = library.hide;
                (self.mask(), format!("{open}{}{close}", input(0)))
            }
            Op::Softmax(softmax) => self.softmax(&input(0), softmax),
            Op::SinkWeight(_) => (String::new(), "shares[..., -1:]".to_owned()),
            Op::Mix(_) => {
                let (shared, values) = self.repeated("values", input(1), "key/value head");
                (shared, format!("{} @ {values}", input(0)))
            }
            Op::Concat(_) => (String::new(), format!("heads.{}(-3, -2){}", library.swap, library.flatten)),
            // The plan of one attention call has no others: they belong to variants, to stacks of layers, to rewrites and to
            // wrong computations. What they would hold is taken as it is, so that what follows can be computed.
            _ => (String::new(), self.loaded_or_typed(group)),
        };
        match before.strip_suffix(':') {
            Some(_) => {
                let line = self.line(&format!("    {name} = {right}"), group);
                format!("{before}  # 0/0 in rows that see nothing\n{line}")
            }
            None => before + &self.line(&format!("{name} = {right}"), group),
        }
    }

    /// A line of code with the shape of its result at the end, or above it where the line is long.
    pub(super) fn line(&self, code: &str, group: &Group<'_>) -> String {
        let shape = self.source.scene.page.letters(&group.shape(self.num_heads()));
        let last = code.lines().last().map_or(0, str::len);
        if last + shape.chars().count() + 4 > ROOM && !code.contains('\n') {
            let margin = &code[..code.len() - code.trim_start().len()];
            return format!("{margin}# {shape}\n{code}\n");
        }
        format!("{code}  # {shape}\n")
    }

    fn heads_of(&self, group: &Group<'_>) -> &'static str {
        let attention = self.source.scene.attention;
        let of_keys = matches!(group.first().id.name, Name::Head(_, HeadStep::K | HeadStep::V));
        if of_keys && attention.num_kv_heads != attention.num_heads { "num_kv_heads" } else { "num_heads" }
    }

    /// Keys or values once for each query head that reads them, under a name of their own.
    fn repeated(&self, name: &str, of: String, what: &str) -> (String, String) {
        let attention = self.source.scene.attention;
        if attention.num_kv_heads == attention.num_heads {
            return (String::new(), of);
        }
        let line = format!(
            "{name} = {of}.{}(group, {}=-3)  # each {what} for {} query heads\n",
            self.library.repeat,
            self.library.axis,
            attention.num_heads / attention.num_kv_heads.max(1),
        );
        (line, name.to_owned())
    }

    fn norm(&self, name: &str, input: &str, norm: &RmsNorm) -> (String, String) {
        let eps = exact(norm.eps);
        if norm.gain.iter().all(|gain| *gain == 1.0) {
            return (String::new(), format!("rms_norm({input}, eps={eps})"));
        }
        let gain = name.replace("norm", "gain");
        let array = self.array(&norm.gain, &[norm.gain.len()], gain.len() + 3);
        (format!("{gain} = {array}\n"), format!("rms_norm({input}, eps={eps}) * {gain}"))
    }

    fn positions(&self, rope: &Rope, name: &str) -> String {
        let module = self.library.module;
        let first = rope.positions.first().copied().unwrap_or(0.0);
        let counts = rope.positions.iter().enumerate().all(|(at, place)| *place == first + at as f64);
        match first {
            0.0 if counts => format!("{module}.arange({})", rope.positions.len()),
            _ if counts && first.fract() == 0.0 && first.abs() < 1e15 => {
                format!("{module}.arange({}, {})", exact(first), exact(first + rope.positions.len() as f64))
            }
            _ => self.array(&rope.positions, &[rope.positions.len()], name.len() + 24),
        }
    }

    /// What is added to the scores.
    fn bias(&self, group: &Group<'_>, bias: &Bias) -> String {
        let module = self.library.module;
        if self.reads_bias(group) {
            let (open, close) = self.library.loaded;
            let difference = format!("trace[\"{}\"] - trace[\"{}\"]", group.name, group.input(0));
            return format!("bias = {open}{difference}{close}  # too large to type\n");
        }
        let (mut lines, added) = self.added();
        if let Some(alibi) = bias.alibi {
            let offset = match (alibi.offset, self.lengths()) {
                (0, _) => String::new(),
                (offset, (n_q, n_kv)) if offset == n_kv as i64 - n_q as i64 => " + n_kv - n_q".to_owned(),
                (offset, _) => format!(" + {offset}"),
            };
            let (n_q, n_kv) = self.names_of_lengths();
            lines += &self.slopes();
            lines += &format!(
                "distance = {module}.abs({module}.arange({n_q})[:, None]{offset} - {module}.arange({n_kv}))\n"
            );
            let add = if added { "add - " } else { "-" };
            lines += &format!("bias = {add}slopes[:, None, None] * distance  # a slope a head\n");
        }
        lines
    }

    fn softmax(&self, input: &str, softmax: &Softmax) -> (String, String) {
        let library = self.library;
        let (module, (open, close)) = (library.module, library.softmax);
        let shares = |of: &str| format!("{open}{of}{close}");
        if let Some(sinks) = self.source.scene.attention.sinks.as_ref() {
            let sinks = self.array(sinks, &[sinks.len()], 8);
            let lines = format!(
                "sinks = {sinks}  # one more logit a head\n\
                 sink_logits = {module}.broadcast_to(sinks[:, None, None], (*scores.shape[:-1], 1))\n\
                 shares = {}\n",
                shares(&format!("{}([{input}, sink_logits], {}=-1)", library.join, library.axis)),
            );
            return (lines, "shares[..., :-1]".to_owned());
        }
        if !self.has_blind_rows() {
            return (String::new(), shares(input));
        }
        let nothing = format!(
            "nothing = ~mask.any({}=-1, {}=True)  # queries that may look nowhere\n",
            library.axis, library.keep
        );
        let even = shares(&format!("{module}.where(nothing, 0.0, {input})"));
        match softmax.empty_rows {
            FullyMaskedRows::Zeros => {
                (format!("{nothing}shares = {even}\n"), format!("{module}.where(nothing, 0.0, shares)"))
            }
            FullyMaskedRows::Uniform => (nothing, even),
            FullyMaskedRows::Nan | FullyMaskedRows::Error => {
                (library.quietly.unwrap_or_default().to_owned(), shares(input))
            }
        }
    }

    /// Compares a step with what the trace holds.
    fn check(&self, group: &Group<'_>) -> String {
        let (name, array) = (&group.name, &group.array);
        let note = match group.only_heads(self.num_heads()) {
            Some(heads) => {
                let heads: Vec<String> = heads.iter().map(|head| (head + 1).to_string()).collect();
                format!("# The trace has this step in some heads only: {}.\n", heads.join(", "))
            }
            None => String::new(),
        };
        let open = format!("check(\"{name}\", {}, ", self.checked(group));
        let (cells, tolerance) = expected(&array.data);
        let close = tolerance.map_or(")".to_owned(), |atol| format!(", atol={atol})"));
        if self.reads_file {
            return format!("{note}{open}trace[\"{name}\"]{close}\n");
        }
        format!("{note}{open}{}{close}\n", nested(&cells, &array.shape, 0, open.len(), close.len()))
    }

    /// The variable of a step; of some heads only, where the trace has it for those only.
    pub(super) fn checked(&self, group: &Group<'_>) -> String {
        match group.only_heads(self.num_heads()) {
            Some(heads) => format!("{}[..., {heads:?}, :, :]", group.name),
            _ => group.name.clone(),
        }
    }

    pub(super) fn num_heads(&self) -> usize {
        self.source.scene.attention.num_heads
    }

    /// What happened, head by head, and what the lesson tells; of the first sequence where there are several.
    pub(super) fn words(&self, group: &Group<'_>) -> Vec<String> {
        if !self.are_told {
            return Vec::new();
        }
        let page = &self.source.scene.page;
        let sequence = group.first().id.sequence;
        let steps = group.steps.iter().filter(|step| step.id.sequence == sequence);
        let mut told = Vec::new();
        let mut more = 0;
        for step in steps {
            let who = match step.id.head() {
                Some(head) => format!("Head {}: ", head.0 + 1),
                None if group.is_given() => format!("`{}`: ", group.name),
                None => String::new(),
            };
            let head = step.id.head().is_some();
            let tells = step.id.head().is_none_or(|head| head.0 < HEADS_TOLD);
            more += usize::from(!tells);
            let has_story =
                self.source.scene.story.iter().any(|saying| saying.at.within() == step.id.within());
            let words = if tells || has_story { table::words(self.source.scene, step) } else { Vec::new() };
            for line in words {
                match line.strip_prefix("» ") {
                    Some(story) => told.push(format!("> {}", markdown(story, page))),
                    // Some operations name the head themselves.
                    None if tells && line.starts_with(who.trim_end_matches(": ")) && head => {
                        told.push(markdown(&line, page));
                    }
                    None if tells && !line.is_empty() => told.push(format!("{who}{}", markdown(&line, page))),
                    None => {}
                }
            }
        }
        if more > 0 {
            told.push(format!("({more} more heads.)"));
        }
        told
    }

    /// The functions that the code calls, in the order in which they are first needed.
    pub(super) fn functions(&self, code: &str) -> Vec<String> {
        let library = self.library;
        let mut functions = vec![CHECK.to_owned()];
        if uses(code, "split_heads") {
            functions.push(format!(
                "def split_heads(x, num_heads):\n    \
                 \"\"\"(..., tokens, heads * width) -> (..., heads, tokens, width)\"\"\"\n    \
                 return x.{}(*x.shape[:-1], num_heads, -1).{}(-3, -2)\n",
                library.reshape, library.swap
            ));
        }
        if uses(code, "rms_norm") {
            functions.push(format!(
                "def rms_norm(x, eps):\n    \
                 \"\"\"Each row over its root mean square.\"\"\"\n    \
                 return x / {}.sqrt((x**2).mean({}=-1, {}=True) + eps)\n",
                library.module, library.axis, library.keep
            ));
        }
        let rope = self.groups.iter().find_map(|group| match &group.first().op {
            Op::Rope(rope) => Some((rope, group.array.shape.last().copied().unwrap_or(0))),
            _ => None,
        });
        functions.extend(rope.map(|(rope, width)| self.rope(rope, width)));
        functions.extend(library.softmax_definition.filter(|_| uses(code, "softmax")).map(str::to_owned));
        functions
    }

    fn rope(&self, rope: &Rope, width: usize) -> String {
        let (module, join, axis) = (self.library.module, self.library.join, self.library.axis);
        let (dims, half) = (rope.dims, rope.dims / 2);
        let rest = if dims < width { format!(", x[..., {dims}:]") } else { String::new() };
        let (pairs, first, second, back) = match rope.layout {
            RopeLayout::HalfSplit => {
                let back = format!(
                    "{join}([first * cos - second * sin, second * cos + first * sin{rest}], {axis}=-1)"
                );
                let end = if dims < width { dims.to_string() } else { String::new() };
                (format!("t and t + {half}"), format!(":{half}"), format!("{half}:{end}"), back)
            }
            RopeLayout::Interleaved => {
                let turned = format!("turned.reshape(*x.shape[:-1], {dims})");
                let back = match rest.as_str() {
                    "" => turned,
                    rest => format!("{join}([{turned}{rest}], {axis}=-1)"),
                };
                ("2t and 2t + 1".to_owned(), format!("0:{dims}:2"), format!("1:{dims}:2"), back)
            }
        };
        let turned = match rope.layout {
            RopeLayout::HalfSplit => String::new(),
            RopeLayout::Interleaved => format!(
                "turned = {module}.stack([first * cos - second * sin, second * cos + first * sin], {axis}=-1)\n    "
            ),
        };
        let mut signature = String::new();
        let (angle, angles, times) = match &rope.scaling {
            None => {
                signature = format!(", theta={}", exact(rope.theta));
                let angles = format!("theta ** (-{module}.arange(0, {dims}, 2) / {dims})");
                (format!("p * theta**(-2t / {dims})"), angles, String::new())
            }
            Some(scaling) => {
                let angles = self.array(&scaling.frequencies, &[half], 36);
                let times = match scaling.factor {
                    1.0 => String::new(),
                    factor => format!("cos, sin = {0} * cos, {0} * sin\n    ", exact(factor)),
                };
                ("p * frequency t".to_owned(), angles, times)
            }
        };
        format!(
            "def rope(x, positions{signature}):\n    \
             \"\"\"Turn columns {pairs} of the row at position p by the angle {angle}.\"\"\"\n    \
             angles = positions[:, None] * {angles}\n    \
             cos, sin = {module}.cos(angles), {module}.sin(angles)\n    \
             {times}first, second = x[..., {first}], x[..., {second}]\n    \
             {turned}return {back}\n",
        )
    }
}
