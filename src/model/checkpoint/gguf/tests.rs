//! Blocks of every type, beside what the `gguf` package unpacks of them (`tests/gguf/generate.py`).

use std::path::Path;

use super::blocks::{Buffer, Storage};
use super::metadata::Metadata;
use super::names::Family;
use super::{Checkpoint, Gguf, open_holding};

/// Three rows of 256 numbers in each type, a layer each; the K types hold random bits.
#[test]
fn blocks_of_every_type_are_unpacked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/gguf");
    let contents = open_holding(&folder.join("blocks.gguf"), &[]).unwrap();
    let metadata = Metadata::of(&contents.file).unwrap();
    let file = Gguf::new(&contents, Family::named("qwen2").unwrap(), &metadata).unwrap();
    let types = [
        "F32", "F16", "BF16", "F64", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K",
        "Q6_K",
    ];
    assert_eq!(file.tensors().len(), types.len());
    for (layer, ggml) in types.iter().enumerate() {
        let name = format!("model.layers.{layer}.mlp.up_proj.weight");
        assert_eq!(
            (file.shape(&name).unwrap(), file.stored_as(&name).unwrap()),
            ([3, 256].as_slice(), (*ggml).to_owned())
        );
        let expected = crate::arrays::read(&folder.join("blocks.npz"), Some(ggml)).unwrap().data;
        let all = file.rows(&name, 0..3).unwrap();
        assert_eq!(all.len(), 768);
        for (at, (is, want)) in all.iter().zip(&expected).enumerate() {
            let off = (f64::from(*is) - want).abs();
            assert!(off <= 1e-6 * want.abs().max(1e-3), "{ggml} at {at}: {is} {want}");
        }
        assert_eq!(file.rows(&name, 1..2).unwrap(), all[256..512], "{ggml}: one row alone");
        assert!(file.rows(&name, 2..4).is_err());
    }
}

/// A block of Q8_K: the scale 0.5, 256 signed bytes, and 16 sums that are only for products: −128 · 0.5 = −64, …
#[test]
fn a_block_of_q8_k_is_a_scale_and_signed_bytes() {
    let mut buffer = Buffer::new(292);
    let bytes = buffer.first(292);
    bytes[..4].copy_from_slice(&0.5_f32.to_le_bytes());
    for (at, byte) in bytes[4..260].iter_mut().enumerate() {
        *byte = (at as u8).wrapping_sub(128);
    }
    let mut numbers = vec![7.0];
    let storage = Storage::named("Q8_K").unwrap();
    storage.unpack(bytes, 256, &mut numbers).unwrap();
    let expected: Vec<f32> = (0..256_u16).map(|at| (f32::from(at) - 128.0) * 0.5).collect();
    assert_eq!(numbers[1..], expected);
    assert_eq!(storage.unpack(buffer.first(291), 256, &mut numbers), None, "no whole block");
    assert_eq!(storage.unpack(buffer.first(292), 512, &mut numbers), None, "two blocks are asked for");
    assert!(Storage::named("IQ4_NL").is_none());
}
