//! How much of anything is taken at most: one table, so that what is hostile or mistyped meets a sentence, and never the
//! machine's memory or a person's patience.
//!
//! Every limit is looked at before memory is taken or time is spent, and is far above what real files and people need.
//! `tests/limits.rs` goes just over each of them, in an address space of 256 MiB (768 MiB where two hundred thousand tensors
//! are counted); the most that is held of files, [`NUMBERS`], fits into 768 MiB too. Peaks are the largest resident memory of
//! those requests in a build without optimisation, of which the program itself takes 30 MiB.
//!
//! | limit | at most | real files and people need | peak, MiB |
//! |---|---|---|---|
//! | [`SHOWN`] | 10 names or faults | a person mends a few at a time | 31 |
//! | [`FAULTS`] | 100 faults | as above, of one lesson | 29 |
//! | [`TEXT_BYTES`] | 64 MiB | 1 MiB: 50,000 numbers in full | 94 |
//! | [`DOCUMENT_BYTES`] | 2 MiB | 1 MB with 20,000 labels | 25 |
//! | [`NPY_BYTES`] | 256 MiB | 147 MiB: the embedding of GPT-2 | 31 |
//! | [`NUMBERS`] | 67,108,864 (512 MiB) | 39 million: the same | 543 |
//! | [`NPY_HEADER_BYTES`] | 65,535 | 118 | 30 |
//! | [`ARRAYS`] | 4,096 | a dozen; some hundreds, a head each | 32 |
//! | [`NPZ_CONTENTS_BYTES`] | 16 MiB | 100 bytes an array | 46 |
//! | [`SAFETENSORS_HEADER_BYTES`] | 8 MiB | 2 MB with 20,000 tensors | 30 |
//! | [`TENSORS`] | 20,000 | 105: MiniLM; 18,000 with each expert apart | 34 |
//! | [`AXES`] | 8 | 4 | 30 |
//! | [`EXACT_INTEGER`] | 2⁵³ | what an f64 holds | 30 |
//! | [`CSV_CELLS`] | 4,194,304 | 65,536: weights of 256 tokens | 38 |
//! | [`SHEET_SIDE`] | 4,096 | 16 | 31 |
//! | [`SHEET_CELLS`] | 1,048,576 | 256 | 30 |
//! | [`ANSWER_MATRICES`] | 65,536 | sequences · heads: 1,000 | 32 |
//! | [`GGUF_HEADER_BYTES`] | 64 MiB | 14 MB with 262,144 tokens | 24 |
//! | [`GGUF_ENTRIES`] | 4,096 | 20 to 60 | 24 |
//! | [`GGUF_KEY_BYTES`] | 1,024 | 40 | 25 |
//! | [`GGUF_NAME_BYTES`] | 127 | 63; 127 in image models | 25 |
//! | [`GGUF_ARRAY`] | 256 numbers | one a layer: up to 126 | 28 |
//! | [`GGUF_LIST`] | 2,097,152 | 515,000 merges | 24 |
//! | [`METADATA_BYTES`] | 1 MiB | 10 kB | 26 |
//! | [`VALUE_CHARACTERS`] | 200 | a line of a page | 28 |
//! | [`INDEX_BYTES`] | 64 MiB | 16 MB with 140,000 tensors | 25 |
//! | [`INDEX_TENSORS`] | 500,000 | 140,000 | 61 |
//! | [`INDEX_NAME_BYTES`] | 1,024 | 60 | 26 |
//! | [`FOLDER_ENTRIES`] | 10,000 | 1,000 shards | 25 |
//! | [`COUNTED_SIZE`] | 10⁹ | 10 million positions, 262,144 tokens | 24 |
//! | [`COUNTED_LAYERS`] | 10,000 | 126; 1,000 in research | 29 |
//! | [`COUNTED_TENSORS`] | 200,000 | 18,000 | 138 |
//! | [`FORMULAS`] | 2 million | 100,000 | 40 |
//! | [`FORMULA_ITEMS`] | 20,000 | one a layer | 30 |
//! | [`FORMULA_NUMBER`] | 2⁶² | 10¹⁴ multiplications | 29 |
//! | [`SWEEP_VALUES`] | 1,000 | 5 to 20 | 25 |
//! | [`SWEEP_TENSORS`] | 2,097,152 | 6,000: 20 values of Llama 3 8B | 32 |
//! | [`DEVICES`] | 1,048,576 | 8 to 64 | 30 |
//! | [`DIVISORS_OF`] | 2⁴⁰ | 16,384 | 30 |
//! | [`TOKENIZER_BYTES`] | 64 MiB | 33 MB: Gemma | 29 |
//! | [`TOKENIZER_STEPS`] | 256 | 20 | 30 |
//! | [`TOKENIZER_VALUES`] | 65,536 | some hundreds | 34 |
//! | [`TOKENIZER_STRING_BYTES`] | 4 KiB | 1 kB: a regular expression | 30 |
//! | [`CHARACTERS_MAP_BYTES`] | 4 MiB | 316,720 | 38 |
//! | [`LENGTHENED_BYTES`] | 4 MiB | three times the text | 31 |
//! | [`WORD_CHARACTERS`] | 1,000 | 100 | 30 |
//! | [`PROMPT_BYTES`] | 256 KiB | 16 KiB: 4,096 tokens of English | 32 |
//! | [`TOKENS`] | 4,096 | 512: BERT | 32 |
//! | [`LAYERS`] | 1,000 | 126: Llama 3.1 405B | 28 |
//! | [`READ_NUMBERS`] | 268,435,456 (1 GiB) | 235 million: Llama 3 70B | 33 |
//! | [`SURVEYED_WEIGHTS`] | 2³² | 38 million: MiniLM on 512 tokens | 32 |
//! | [`TEXTS_BYTES`] | 64 MiB | a few MB of lines | 95 |
//! | [`KEPT_NUMBERS`] | 268,435,456 (2 GiB) | as many as are asked for; 50 million of a lesson | 55 |
//! | [`EXACT_WORK`] | 300,000 | some thousands | 35 |
//! | [`STEPPER_NUMBERS`] | 4,194,304 | some hundreds | – |
//! | [`PRECISION`] | 17 | 2 to 6 | 20 |
//! | [`WIDTH`] | 10,000 | 80 to 300 | 20 |
//! | [`SCREEN_CELLS`] | 1,000,000 | 30,000 | – |
//! | [`EXPLAINED_NUMBERS`] | 400 | 1 to 20 | 29 |
//! | [`TREE_DERIVATIONS`] | 5,000 | 40 are readable | 91 |
//! | [`FIGURE_PIXELS`] | 12 million | 1 million | 38 |
//! | [`LESSON_BYTES`] | 4 MiB | 25 kB: the longest that comes with mha | 27 |
//! | [`LESSON_VALUES`] | 500,000 | 262,144: a matrix of 512 × 512 | 24 |
//! | [`LESSON_DEPTH`] | 32 | 6 | 25 |
//! | [`LESSON_SIZE`] | 1,000,000 | 512 | 27 |
//! | [`MATRIX_NUMBERS`] | 4,194,304 (2048 × 2048) | 262,144 | 30 |
//! | [`LESSON_HEADS`] | 16,384 | 16 | 27 |
//! | [`LESSON_LAYERS`] | 512 | 2 to 6 | 27 |
//! | [`MASK_REACH`] | 10⁹ | the length of a sequence | 29 |
//! | [`EXPRESSION_CHARACTERS`] | 2,000 | 60 | 29 |
//! | [`EXPRESSION_DEPTH`] | 64 | 5 | 29 |
//! | [`RANK_SIDE`] | 128 | 8 | 31 |
//! | [`PLOT_VALUES`] | 200 | 20 | 29 |
//! | [`DRAFT_SIZE`] | 64 | 3 to 8 | 21 |
//! | [`DRAFT_ANSWER_BYTES`] | 10,000 | 20 | – |
//! | [`LESSON_ENTRIES`] | 20 to 2,000 | a tenth | 27 |
//! | [`COURSE_PARTS`] | 10 to 50 | 5 | 27 |
//! | [`COURSE_WORK`] | 2³¹ operations | two thirds: stability | 71 |
//! | [`COURSE_MODELS`] | 100 | 27 in all lessons that come with mha | 36 |
//! | [`COMMAND_BYTES`] | 4 MiB | 20 kB | 38 |
//! | [`COMMAND_SECONDS`] | 10 | 0.1 | – |
//! | [`ANSWER_CHARACTERS`] | 500 | 20 | – |
//! | [`ANSWER_DEPTH`] | 32 | 2 | – |
//! | [`PROGRESS_BYTES`] | 16 MiB | 50 kB | 38 |
//! | [`PAPER_SIDE`] | 16 | 8 | 29 |
//! | [`PAPER_STEPS`] | 200 | 30 | 31 |
//! | [`DRAWN_TOKENS`] | 8 | 3 | 22 |
//! | [`DRAWN_D_MODEL`] | 16 | 4 | 22 |
//! | [`EXERCISES`] | 1,000 | 30 | 23 |
//! | [`EXERCISES_A_FILE`] | 100 | 30: a class | 22 |

// What messages list.

/// Names or faults of one kind that a message lists before it says how many more there are.
pub const SHOWN: usize = 10;

/// Faults of one lesson that are told; the rest of a hopeless file is only counted.
pub const FAULTS: usize = 100;

// Files of numbers.

/// Bytes of a CSV or JSON file: about three million numbers as people and Python write them.
pub const TEXT_BYTES: u64 = 64 << 20;

/// Bytes of a `config.json` or another JSON document; the largest with 20,000 labels take one million.
pub const DOCUMENT_BYTES: u64 = 2 << 20;

/// Bytes of one `.npy` array, unpacked: GPT-2's embedding table in single precision takes 147 MiB.
pub const NPY_BYTES: u64 = 256 << 20;

/// Numbers held at once from one file (512 MiB as f64); GPT-2's embedding table has 39 million.
pub const NUMBERS: usize = 1 << 26;

/// Bytes of an `.npy` header: what version 1.0 of the format can say; real ones take 118.
pub const NPY_HEADER_BYTES: u64 = 65_535;

/// Arrays in an `.npz` or JSON file, and steps in a sheet of answers.
pub const ARRAYS: usize = 4_096;

/// Bytes read to find and understand the table of contents of an `.npz`.
pub const NPZ_CONTENTS_BYTES: u64 = 16 << 20;

/// Bytes of a safetensors header; that of a model with 20,000 tensors takes two million.
pub const SAFETENSORS_HEADER_BYTES: u64 = 8 << 20;

/// Tensors of a safetensors file, or of a GGUF file with all its parts; a mixture with each expert apart has about a
/// thousand in GGUF, and up to twenty thousand in safetensors.
pub const TENSORS: usize = 20_000;

/// Axes of an array: attention needs four (batch × head × query × key).
pub const AXES: usize = 8;

/// Whole numbers up to here are the same number as an f64 (2⁵³).
pub const EXACT_INTEGER: u64 = 1 << 53;

/// Cells of a CSV file, and of all steps of a sheet of answers together: a matrix of 2048 × 2048.
pub const CSV_CELLS: usize = 1 << 22;

// A person's answers.

/// Rows, and columns, of a step in a sheet of answers (a CSV file with a cell in each line).
pub const SHEET_SIDE: usize = 4_096;

/// Cells of a step in such a sheet: blanks cost a person nothing to promise.
pub const SHEET_CELLS: usize = 1 << 20;

/// Matrices in one tensor of answers; more are no heads of a batch.
pub const ANSWER_MATRICES: usize = 1 << 16;

// Files of weights.

/// Bytes of a GGUF header: that of a model with 262,144 tokens and their merges takes 14 million.
pub const GGUF_HEADER_BYTES: u64 = 64 << 20;

/// Metadata entries of a GGUF file; real ones have 20 to 60.
pub const GGUF_ENTRIES: u64 = 4_096;

/// Bytes of a metadata key.
pub const GGUF_KEY_BYTES: u64 = 1_024;

/// Bytes of a tensor's name; ggml itself stops at 63, builds of it for image models at 127.
pub const GGUF_NAME_BYTES: u64 = 127;

/// Numbers of a metadata array that are held (one a layer is usual); longer arrays are only counted.
pub const GGUF_ARRAY: u64 = 256;

/// Tokens or merges of a vocabulary that is held; the largest have 262,144 tokens and 515,000 merges.
pub const GGUF_LIST: u64 = 1 << 21;

/// Bytes of metadata values held from one file, all together.
pub const METADATA_BYTES: usize = 1 << 20;

/// Characters of one metadata value that are kept.
pub const VALUE_CHARACTERS: usize = 200;

/// Bytes of an index of shards; one of 140,000 tensors takes 16 million.
pub const INDEX_BYTES: u64 = 64 << 20;

/// Tensors that an index names.
pub const INDEX_TENSORS: usize = 500_000;

/// Bytes of a name in an index.
pub const INDEX_NAME_BYTES: usize = 1_024;

/// Entries of a folder of weights; models in a thousand shards have about a thousand.
pub const FOLDER_ENTRIES: usize = 10_000;

// Counting without weights.

/// Any size of a model: no config that anybody trained has more of anything that is counted.
pub const COUNTED_SIZE: u64 = 1_000_000_000;

/// Layers, and modules of one list, that are counted one by one; the deepest models have about a thousand.
pub const COUNTED_LAYERS: u64 = 10_000;

/// Tensors of a model that is counted from its config.
pub const COUNTED_TENSORS: usize = 200_000;

/// Formulas that one config may take; the largest real ones take a hundred thousand.
pub const FORMULAS: u64 = 2_000_000;

/// Entries of a list that a formula makes.
pub const FORMULA_ITEMS: i128 = 20_000;

/// The largest whole number that a formula may come to.
pub const FORMULA_NUMBER: i128 = 1 << 62;

/// Values of one sweep: one table holds them all.
pub const SWEEP_VALUES: usize = 1_000;

/// Tensors that the values of one sweep count together, each value all of its model; GPT-3 has 1,200.
pub const SWEEP_TENSORS: usize = 1 << 21;

/// Devices that share a layer's heads.
pub const DEVICES: u64 = 1 << 20;

/// Counts beyond this are not searched for divisors: nobody has so many heads, and it would take seconds.
pub const DIVISORS_OF: u64 = 1 << 40;

// Models and texts.

/// Bytes of a `tokenizer.json` or another file of a vocabulary: Gemma's, with 262,144 tokens, takes 33 million.
pub const TOKENIZER_BYTES: u64 = 64 << 20;

/// Steps of a tokenizer before and after its vocabulary (normalizer, pre-tokenizer, post-processor); real ones have
/// up to about twenty.
pub const TOKENIZER_STEPS: usize = 256;

/// JSON values in these steps: what they may take in memory, whatever the file's length.
pub const TOKENIZER_VALUES: usize = 1 << 16;

/// Bytes of a string in such a step; regular expressions take up to a thousand.
pub const TOKENIZER_STRING_BYTES: usize = 4 << 10;

/// Bytes of a table of characters (`precompiled_charsmap`) in base 64; T5's and XLM-R's take 316,720.
pub const CHARACTERS_MAP_BYTES: usize = 4 << 20;

/// Bytes that a tokenizer's replacements may make of a text; a blank that becomes `▁` makes three.
pub const LENGTHENED_BYTES: f64 = 4_194_304.0;

/// Characters of a word that WordPiece looks up in its vocabulary; usual are 100.
pub const WORD_CHARACTERS: usize = 1_000;

/// Bytes of a text: sixteen times what [`TOKENS`] tokens of English take.
pub const PROMPT_BYTES: usize = 256 << 10;

/// Tokens of a text. One matrix of attention weights of so many takes 64 MiB.
pub const TOKENS: usize = 4_096;

/// Layers of a model whose weights are read; the deepest published ones have 126.
pub const LAYERS: u64 = 1_000;

/// Numbers read at once from a tensor (1 GiB as f32); the largest matrix of a layer of Llama 3 70B has 235 million, and
/// of an embedding only the rows of the text are read.
pub const READ_NUMBERS: usize = 1 << 28;

/// Attention weights that the heads of a model have on a text, all layers together, where each is looked at once.
pub const SURVEYED_WEIGHTS: u128 = 1 << 32;

/// Bytes of a file of texts, one a line.
pub const TEXTS_BYTES: u64 = 1 << 26;

// Computing.

/// Numbers that the steps of a run keep: 2 GiB of f64.
pub const KEPT_NUMBERS: u128 = 1 << 28;

/// Sums and products of single roots that exact numbers of one trace may take: small problems need thousands.
pub const EXACT_WORK: usize = 300_000;

/// Numbers that a trace may hold to be computed again after every edit of the stepper, while a person waits.
pub const STEPPER_NUMBERS: u128 = 1 << 22;

// What is asked for on a page.

/// Digits after the point: a double in full has no more.
pub const PRECISION: u8 = 17;

/// Columns of a page.
pub const WIDTH: u16 = 10_000;

/// Cells of a terminal in which one steps: it may claim any size, up to 65,535 × 65,535, and all of it would be kept
/// twice.
pub const SCREEN_CELLS: usize = 1_000_000;

/// Numbers that one page explains.
pub const EXPLAINED_NUMBERS: usize = 400;

/// Derivations in the tree behind one number; deeper trees end there and say so.
pub const TREE_DERIVATIONS: usize = 5_000;

/// Pixels of a figure; four times as many have to be held for a PNG.
pub const FIGURE_PIXELS: usize = 12_000_000;

// Lessons.

/// Bytes of a lesson: they hold a 512 × 512 matrix with room to spare.
pub const LESSON_BYTES: usize = 4 << 20;

/// Commas, opening brackets and lines of a lesson: as many as it has values, each of which takes some hundred bytes while
/// YAML is read. Nearly twice as many as a matrix of 512 × 512 has.
pub const LESSON_VALUES: usize = 500_000;

/// Lists in lists of a lesson; it needs 6.
pub const LESSON_DEPTH: usize = 32;

/// The largest size that is accepted anywhere in a lesson (tokens, columns, heads).
pub const LESSON_SIZE: usize = 1_000_000;

/// Numbers of one matrix: 2048 × 2048.
pub const MATRIX_NUMBERS: usize = 1 << 22;

/// Heads that a lesson computes, over all its sequences and layers: each has about ten steps of its own.
pub const LESSON_HEADS: usize = 1 << 14;

/// Layers of a lesson.
pub const LESSON_LAYERS: usize = 512;

/// The furthest that a diagonal may be shifted or a window reach.
pub const MASK_REACH: i128 = 1_000_000_000;

/// Characters of an expression.
pub const EXPRESSION_CHARACTERS: usize = 2_000;

/// Parentheses, functions, signs and powers of an expression that stand in one another.
pub const EXPRESSION_DEPTH: usize = 64;

/// Rows, and columns, of a matrix whose rank is asked for: its time grows with the third power.
pub const RANK_SIDE: usize = 128;

/// Values that `$` takes in a plot: each is a lesson to be computed.
pub const PLOT_VALUES: usize = 200;

/// Tokens, and columns, of a lesson that `mha lessons new` drafts: it is read by people, number by number.
pub const DRAFT_SIZE: usize = 64;

/// Bytes of a line that is typed at a question of `mha lessons new`.
pub const DRAFT_ANSWER_BYTES: u64 = 10_000;

/// Lists and sections of a lesson by their paths (`*` is any item or name), and the most that they may hold: a small file
/// can ask for a great deal. The largest lesson that comes with mha has a tenth of it.
pub const LESSON_ENTRIES: &[(&str, usize)] = &[
    ("story", 1_000),
    ("claims", 2_000),
    ("quiz", 500),
    ("course", 500),
    ("runs", 100),
    ("runs.*.rewrites", 20),
    ("quiz.*.choices", 50),
    ("quiz.*.wrong", 50),
    ("course.*.choices", 50),
    ("course.*.wrong", 50),
    ("course.*.show", 20),
    ("course.*.watch", 20),
    ("course.*.change", 50),
    ("course.*.checks", 50),
    ("course.*.hints", 20),
    ("course.*.table.columns", 20),
    ("course.*.table.rows", 100),
    ("course.*.plot.lines", 20),
    ("course.*.time.runs", 20),
];

/// Parts of a course that take time to compute, and how many of each it may have.
pub const COURSE_PARTS: &[(&str, usize)] =
    &[("table", 50), ("plot", 20), ("command", 20), ("time", 10), ("task", 20)];

// The course.

/// Operations that all runs, plots, tasks and expressions of a lesson may take together. The lesson that asks for most of
/// those that come with mha, stability, takes less than two thirds.
pub const COURSE_WORK: u128 = 1 << 31;

/// Different models that a lesson may count.
pub const COURSE_MODELS: usize = 100;

/// Bytes that are read of what a command of a course prints: nobody reads on, and a lesson could ask for gigabytes.
pub const COMMAND_BYTES: u64 = 4 << 20;

/// Seconds after which a command of a course is ended: a lesson could name a pipe that nobody writes to.
pub const COMMAND_SECONDS: u64 = 10;

/// Characters of a typed answer.
pub const ANSWER_CHARACTERS: usize = 500;

/// Brackets of a typed answer that stand in one another.
pub const ANSWER_DEPTH: usize = 32;

/// Bytes of the file of progress; a longer one is none of ours.
pub const PROGRESS_BYTES: u64 = 16 << 20;

// Worksheets.

/// Rows, and columns, of a table on paper that a person can fill in.
pub const PAPER_SIDE: usize = 16;

/// Steps of an exercise on paper.
pub const PAPER_STEPS: usize = 200;

/// Tokens of a drawn exercise.
pub const DRAWN_TOKENS: usize = 8;

/// The widest d_model of a drawn exercise.
pub const DRAWN_D_MODEL: usize = 16;

/// Exercises of one seed.
pub const EXERCISES: u32 = 1_000;

/// Exercises of one file: each takes a page or more.
pub const EXERCISES_A_FILE: u32 = 100;
