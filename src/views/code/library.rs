//! How NumPy and PyTorch say the same things: words, not cases. A third library is a third constant.

/// The words of a library.
#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    /// Its name in prose.
    pub name: &'static str,
    /// What a script begins with; NumPy is always there, since it compares and saves.
    pub(super) imports: &'static str,
    /// What its functions stand behind: `np`.
    pub(super) module: &'static str,
    /// Makes an array of nested lists: `np.array`.
    pub(super) array: &'static str,
    /// The type of numbers, where a literal holds whole ones only.
    pub(super) float: &'static str,
    /// The type of flags.
    pub(super) flag: &'static str,
    /// Which argument names an axis.
    pub(super) axis: &'static str,
    /// Which argument keeps an axis that is summed over.
    pub(super) keep: &'static str,
    /// Which argument shifts the diagonal of a triangle.
    pub(super) diagonal: &'static str,
    /// Swaps two axes.
    pub(super) swap: &'static str,
    /// Repeats each item along an axis.
    pub(super) repeat: &'static str,
    /// Joins arrays along an axis.
    pub(super) join: &'static str,
    /// √d_k
    pub(super) root_of_dk: &'static str,
    /// The softmax of each row: what stands before and after the scores.
    pub(super) softmax: (&'static str, &'static str),
    /// Scores hidden where `mask` is false: before and after them.
    pub(super) hide: (&'static str, &'static str),
    /// What lays heads side by side, after the swap of axes.
    pub(super) flatten: &'static str,
    /// Before and after an array that was read from a file.
    pub(super) loaded: (&'static str, &'static str),
    /// What a row without anything to look at is computed under, where its 0/0 would be warned of.
    pub(super) quietly: Option<&'static str>,
    /// Reshapes: `reshape`, `view`.
    pub(super) reshape: &'static str,
    /// Defines the softmax, where the library has none.
    pub(super) softmax_definition: Option<&'static str>,
    /// Computes attention in one call, where the library can.
    pub(super) fused: Option<&'static str>,
}

/// NumPy.
pub const NUMPY: Library = Library {
    name: "NumPy",
    imports: "import numpy as np\n",
    module: "np",
    array: "np.array",
    float: "float",
    flag: "bool",
    axis: "axis",
    keep: "keepdims",
    diagonal: "k",
    swap: "swapaxes",
    repeat: "repeat",
    join: "np.concatenate",
    root_of_dk: "np.sqrt(d_k)",
    softmax: ("softmax(", ")"),
    hide: ("np.where(mask, ", ", -np.inf)"),
    flatten: ".reshape(*q.shape[:-1], -1)",
    loaded: ("", ""),
    quietly: Some("with np.errstate(invalid=\"ignore\"):"),
    reshape: "reshape",
    softmax_definition: Some(
        r#"def softmax(scores):
    """Each row's shares of one whole; less its largest score, so that exp cannot overflow."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"#,
    ),
    fused: None,
};

/// PyTorch, on the processor and in double precision.
pub const PYTORCH: Library = Library {
    name: "PyTorch",
    imports: "import numpy as np\nimport torch\nimport torch.nn.functional as F\n\n\
              torch.set_default_dtype(torch.float64)  # as the trace was computed\n",
    module: "torch",
    array: "torch.tensor",
    float: "torch.float64",
    flag: "torch.bool",
    axis: "dim",
    keep: "keepdim",
    diagonal: "diagonal",
    swap: "transpose",
    repeat: "repeat_interleave",
    join: "torch.cat",
    root_of_dk: "d_k**0.5",
    softmax: ("torch.softmax(", ", dim=-1)"),
    hide: ("", ".masked_fill(~mask, -torch.inf)"),
    flatten: ".flatten(-2)",
    loaded: ("torch.from_numpy(", ")"),
    quietly: None,
    reshape: "view",
    softmax_definition: None,
    fused: Some("F.scaled_dot_product_attention"),
};
