//! Every section of a lesson with an unknown key in it, by where the schema describes it.

/// The place in the schema, and a lesson with a key `zzz` there.
pub const SECTIONS: &[(&str, &str)] = &[
    ("/properties", "zzz: 1"),
    ("/properties/attention/properties", "attention: {zzz: 1}"),
    ("/properties/inputs/properties", "inputs: {zzz: 1}"),
    ("/properties/projections/properties", "projections: {zzz: 1}"),
    ("/$defs/text/anyOf/1/properties", "title: {zzz: 1}"),
    ("/$defs/array/anyOf/2/properties", "inputs: {x: {random: {seed: 1}, zzz: 1}}"),
    ("/$defs/array/anyOf/2/properties/random/properties", "inputs: {x: {random: {zzz: 1}}}"),
    ("/$defs/file/properties", "inputs: {x: {zzz: 1}}"),
    ("/$defs/packed/properties", "projections: {in_proj: {zzz: 1}}"),
    ("/$defs/mask/anyOf/1/properties/causal/anyOf/1/properties", "attention: {mask: {causal: {zzz: 1}}}"),
    ("/$defs/mask/anyOf/2/properties/window/anyOf/1/properties", "attention: {mask: {window: {zzz: 1}}}"),
    ("/$defs/positions/anyOf/1/properties/rope/properties", "attention: {positions: {rope: {zzz: 1}}}"),
    ("/$defs/positions/anyOf/2/properties/alibi/properties", "attention: {positions: {alibi: {zzz: 1}}}"),
    ("/$defs/qk_norm/properties", "attention: {qk_norm: {zzz: 1}}"),
    ("/$defs/saying/properties", "story: [{zzz: 1}]"),
    ("/$defs/question/properties", "quiz: [{zzz: 1}]"),
];
