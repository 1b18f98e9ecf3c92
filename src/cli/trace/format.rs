//! The formats of a trace, and what is peculiar to each.

use clap::ValueEnum;

use crate::cli::output::Content;

/// Formats of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum TraceFormat {
    /// Tables to read
    Table,
    /// Attention weights as shaded cells; with --steps, any matrix
    Heatmap,
    /// Every number in full, with names, formulas and shapes
    Json,
    /// NumPy arrays, heads stacked
    Npz,
    /// One number a line
    Csv,
    /// Tables and maths as GitHub shows them
    Markdown,
    /// A document for pdflatex
    Latex,
    /// One page for a browser: point at a number to see where it comes from
    Html,
    /// Which step is made from which, as a diagram for GitHub
    Mermaid,
    /// A script that recomputes every step and compares it
    Python,
    /// The same as a Jupyter notebook, in NumPy
    Ipynb,
    /// Heat maps as a figure that stays sharp, for papers and pages
    Svg,
    /// The same figure in pixels, for slides
    Png,
}

/// What a script computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum With {
    /// NumPy
    Numpy,
    /// PyTorch
    Pytorch,
}

impl TraceFormat {
    /// Whether it shades cells: without --steps it draws the attention weights only.
    pub(super) fn is_picture(self) -> bool {
        matches!(self, Self::Heatmap | Self::Svg | Self::Png)
    }

    /// Whether it is read by a program that knows English only: LaTeX among them, whose usual fonts have no Chinese.
    pub(super) fn is_for_programs(self) -> bool {
        matches!(self, Self::Json | Self::Npz | Self::Csv | Self::Latex | Self::Python | Self::Ipynb)
    }

    /// What a terminal is spared.
    pub(super) fn content(self) -> Content {
        match self {
            Self::Npz | Self::Png => Content::Bytes,
            _ => Content::Text,
        }
    }

    /// Whether it holds heads and sequences one above the other, in arrays.
    pub(super) fn is_stacked(self) -> bool {
        matches!(self, Self::Npz | Self::Python | Self::Ipynb)
    }
}
