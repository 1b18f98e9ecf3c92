//! Step ids as text: how they are written, and how they are read.

use std::fmt;
use std::str::FromStr;

use super::{EmbedStep, FfnStep, Head, HeadStep, Name, Projection, Stack, StepId, TileStep};

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X => f.write_str("x"),
            Self::XKv => f.write_str("x_kv"),
            Self::W(p) => write!(f, "w_{}", p.letter()),
            Self::B(p) => write!(f, "b_{}", p.letter()),
            Self::WQkv => f.write_str("w_qkv"),
            Self::BQkv => f.write_str("b_qkv"),
            Self::Qkv => f.write_str("qkv"),
            Self::Q => f.write_str("q"),
            Self::K => f.write_str("k"),
            Self::V => f.write_str("v"),
            Self::QNorm => f.write_str("q_norm"),
            Self::KNorm => f.write_str("k_norm"),
            Self::Head(head, step) => write!(f, "head.{}.{}", head.0 + 1, step.word()),
            Self::Tile(head, tile, step) => {
                write!(f, "head.{}.tile.{}.{}", head.0 + 1, tile + 1, step.word())
            }
            Self::Stack(stack) => f.write_str(stack.word()),
            Self::Concat => f.write_str("concat"),
            Self::Average => f.write_str("average"),
            Self::Output => f.write_str("output"),
            Self::Embed(step) => write!(f, "embedding.{}", step.word()),
            Self::OutputNorm => f.write_str("output_norm"),
            Self::Embedding => f.write_str("embedding"),
            Self::AttentionResidual => f.write_str("attention_residual"),
            Self::AttentionNorm => f.write_str("attention_norm"),
            Self::Ffn(step) => write!(f, "ffn.{}", step.word()),
            Self::Hidden => f.write_str("hidden"),
            Self::Final => f.write_str("final"),
        }
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sequence) = self.sequence {
            write!(f, "batch.{}.", sequence + 1)?;
        }
        if let Some(layer) = self.layer {
            write!(f, "layer.{}.", layer + 1)?;
        }
        self.name.fmt(f)
    }
}

/// Text that names no step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAStep(pub String);

impl fmt::Display for NotAStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not the name of a step", self.0)
    }
}

impl FromStr for StepId {
    type Err = NotAStep;

    fn from_str(text: &str) -> Result<Self, NotAStep> {
        let wrong = || NotAStep(text.to_owned());
        let counted = |word: &str| match word.parse::<usize>() {
            Ok(number) if number >= 1 && !word.starts_with('+') => Ok(number - 1),
            _ => Err(wrong()),
        };
        let parts: Vec<&str> = text.split('.').collect();
        let mut rest = parts.as_slice();
        let mut place = |word: &str| match rest {
            [first, number, after @ ..] if *first == word => {
                rest = after;
                counted(number).map(Some)
            }
            _ => Ok(None),
        };
        let (sequence, layer) = (place("batch")?, place("layer")?);
        let name = match rest {
            ["head", head, word] => {
                let step = HeadStep::ALL.iter().find(|step| step.word() == *word).ok_or_else(wrong)?;
                Name::Head(Head(counted(head)?), *step)
            }
            ["head", head, "tile", tile, word] => {
                let step = TileStep::ALL.iter().find(|step| step.word() == *word).ok_or_else(wrong)?;
                Name::Tile(Head(counted(head)?), counted(tile)?, *step)
            }
            ["ffn", word] => {
                Name::Ffn(*FfnStep::ALL.iter().find(|step| step.word() == *word).ok_or_else(wrong)?)
            }
            ["embedding", word] => {
                Name::Embed(*EmbedStep::ALL.iter().find(|step| step.word() == *word).ok_or_else(wrong)?)
            }
            [word] => plain(word).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        Ok(Self { sequence, layer, name })
    }
}

fn plain(word: &str) -> Option<Name> {
    let plain = [
        Name::X,
        Name::XKv,
        Name::WQkv,
        Name::BQkv,
        Name::Qkv,
        Name::Q,
        Name::K,
        Name::V,
        Name::QNorm,
        Name::KNorm,
        Name::Concat,
        Name::Average,
        Name::Output,
        Name::Embedding,
        Name::OutputNorm,
        Name::AttentionResidual,
        Name::AttentionNorm,
        Name::Hidden,
        Name::Final,
    ];
    let projections = Projection::ALL.iter().flat_map(|p| [Name::W(*p), Name::B(*p)]);
    let stacks = Stack::ALL.iter().map(|stack| Name::Stack(*stack));
    plain.into_iter().chain(projections).chain(stacks).find(|name| name.to_string() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back_as_itself() {
        let head = HeadStep::ALL.iter().map(|step| Name::Head(Head(2), *step));
        let tile = TileStep::ALL.iter().map(|step| Name::Tile(Head(0), 4, *step));
        let stack = Stack::ALL.iter().map(|stack| Name::Stack(*stack));
        let ffn = FfnStep::ALL.iter().map(|step| Name::Ffn(*step));
        let plain =
            [Name::X, Name::W(Projection::O), Name::Concat, Name::Embedding, Name::Hidden, Name::Final];
        let around = [Name::AttentionResidual, Name::AttentionNorm, Name::OutputNorm];
        let embed = EmbedStep::ALL.iter().map(|step| Name::Embed(*step));
        for name in head.chain(tile).chain(stack).chain(ffn).chain(embed).chain(plain).chain(around) {
            for (sequence, layer) in [(None, None), (Some(3), None), (None, Some(0)), (Some(3), Some(11))] {
                let id = StepId { sequence, layer, name };
                assert_eq!(id.to_string().parse(), Ok(id), "{id}");
            }
        }
    }

    #[test]
    fn people_count_heads_layers_and_sequences_from_one() {
        let id = Head(1).step(HeadStep::Scores).in_sequence(Some(0));
        assert_eq!(id.to_string(), "batch.1.head.2.scores");
        assert_eq!(id.in_layer(Some(2)).to_string(), "batch.1.layer.3.head.2.scores");
        assert_eq!(StepId::from(Name::Ffn(FfnStep::W1)).in_layer(Some(0)).to_string(), "layer.1.ffn.w_1");
        for wrong in ["layer.0.x", "layer.1", "layer.1.batch.1.x", "ffn", "ffn.x.1", "layer.+1.x"] {
            assert!(wrong.parse::<StepId>().is_err(), "{wrong}");
        }
        for wrong in ["head.0.scores", "head.1.score", "head.+1.q", "batch.0.x", "scores.1", ""] {
            assert!(wrong.parse::<StepId>().is_err(), "{wrong}");
        }
    }
}
