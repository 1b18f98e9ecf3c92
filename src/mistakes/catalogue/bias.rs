//! Numbers added to the scores in the wrong place, or the wrong numbers.

use std::sync::Arc;

use super::super::{Draft, Form, Mistake};
use crate::ops::{Alibi, Bias, Op};
use crate::plan::spec::{Positions, alibi_slopes};
use crate::plan::{HeadStep, Name, Stack};

/// See [`super`].
pub(super) const ALL: &[Mistake] = &[
    Mistake {
        name: "bias-before-scale",
        summary: "what is added to the scores multiplied by the scale as well",
        right: "Sᵇ = Q Kᵀ / √d_k + bias",
        wrong: "Sᵇ = (Q Kᵀ + bias) / √d_k",
        cause: "The bias is added to Q Kᵀ and the sum is scaled, or a kernel applies its scale to the scores after the bias went in. In T5, whose scale is 1, both are the same.",
        symptom: "Scores are right, biased scores are not: whatever the bias adds is scale times what it should be, mostly far too little.",
        visible: "Where the lesson has ALiBi or adds finite numbers to the scores, and its scale is not 1.",
        fix: "Scale the product first, then add the bias; where a kernel can only do it the other way round, divide the bias by the scale.",
        code: "scores = q @ k.transpose(-2, -1) / math.sqrt(d_k) + bias",
        reports: (4, 0),
        forms: &[Form::new("", BIASED, |draft| {
            let scale = draft.attention.scale_value();
            if draft.attention.softcap.is_some() {
                return None; // the cap stands between the scale and the bias
            }
            biases(draft, |bias, _| {
                let alibi = bias.alibi.map(|alibi| Alibi { slope: alibi.slope * scale, ..alibi });
                let add = bias.add.as_ref().map(|add| Arc::new(add.as_ref() * scale));
                Some(Bias { alibi, add })
            })
        })],
    },
    Mistake {
        name: "alibi-slopes",
        summary: "ALiBi's exponent off by one head",
        right: "slope of head i = 2^(−8·i/h)",
        wrong: "slope of head i = 2^(−8·(i − 1)/h)",
        cause: "The exponent −8 i/h is meant for heads counted from 1, and the loop over heads counts from 0.",
        symptom: "The first head has slope 1, and every other one the slope of the head before it (where h is a power of two): distances weigh too much.",
        visible: "Where the lesson has ALiBi with the paper's slopes.",
        fix: "Add 1 to a head's number before it goes into the exponent.",
        code: "slopes = 2.0 ** (-8.0 * np.arange(1, h + 1) / h)",
        reports: (1, 1),
        forms: &[Form::new("", BIASED, |draft| {
            let h = draft.heads();
            match &draft.attention.positions {
                Positions::Alibi { slopes, .. } if *slopes == alibi_slopes(h) => {}
                _ => return None, // slopes of the lesson's own follow no exponent
            }
            // The heads beyond the last power of two have the slopes of twice as many heads, every other one: with an
            // exponent that is one head behind, those are the first ones again.
            let power = 1_usize << h.checked_ilog2()?;
            biases(draft, |bias, head| {
                let slope = libm::exp2(-8.0 * (head % power) as f64 / power as f64);
                let alibi = Alibi { slope, ..bias.alibi? };
                Some(Bias { alibi: Some(alibi), add: bias.add.clone() })
            })
        })],
    },
];

const BIASED: Name = Name::Stack(Stack::BiasedScores);

/// Changes what is added to the scores of every head, which is told its number from 0.
fn biases(draft: &mut Draft<'_>, change: impl Fn(&Bias, usize) -> Option<Bias>) -> Option<()> {
    draft.each_head(HeadStep::BiasedScores, |id, op, inputs| {
        let Op::Bias(bias) = op else { return None };
        Some((change(bias, id.head()?.0)?.into(), inputs.to_vec()))
    })
}
