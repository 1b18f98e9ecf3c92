//! What NumPy, PyTorch and Python wrote must be read as what they meant (`tests/reference/arrays/README.md`).

use std::path::PathBuf;

use super::{Array, Kind, list, read, read_all};

const A: [f64; 6] = [1.5, -2.0, 0.25, 3.0, 0.0, -0.5];
const I: [f64; 6] = [1.0, 2.0, 3.0, 100.0, 0.0, 127.0];

fn witness(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/reference/arrays", file].iter().collect()
}

fn array(shape: &[usize], data: &[f64], kind: Kind) -> Array {
    Array::new(shape.to_vec(), data.to_vec(), kind).unwrap()
}

fn counting() -> Vec<f64> {
    (0..24).map(f64::from).collect()
}

#[track_caller]
fn case(file: &str, name: &str, expected: &Array) {
    assert_eq!(read(&witness(file), Some(name)).as_ref(), Ok(expected), "{file} {name}");
}

#[test]
fn numpy_writes_every_type_in_both_byte_orders() {
    for (name, kind) in [("f2", Kind::F16), ("f4", Kind::F32), ("f8", Kind::F64)] {
        for order in ["little", "big"] {
            case("numpy.npz", &format!("f_{order}_{name}"), &array(&[2, 3], &A, kind));
        }
    }
    for name in ["i1", "i2", "big_i4", "little_i8", "u1", "big_u2", "u4", "big_u8"] {
        case("numpy.npz", &format!("i_{name}"), &array(&[2, 3], &I, Kind::Integer));
    }
    case("numpy.npz", "bool", &array(&[1, 3], &[1.0, 0.0, 1.0], Kind::Bool));
    case("numpy.npz", "fortran", &array(&[2, 3, 4], &counting(), Kind::F64));
    case("numpy.npz", "scalar", &array(&[], &[2.5], Kind::F32));
    case("numpy.npz", "empty", &array(&[0, 4], &[], Kind::F64));
    let special = read(&witness("numpy.npz"), Some("special")).unwrap().data;
    assert!(special[0].is_nan() && special[3].is_sign_negative());
    assert_eq!(special[1..], [f64::INFINITY, f64::NEG_INFINITY, 0.0, 5e-324]);
}

#[test]
fn pytorch_writes_every_type_and_one_that_is_refused() {
    for (name, kind) in [("f64", Kind::F64), ("f32", Kind::F32), ("f16", Kind::F16), ("bf16", Kind::Bf16)] {
        case("torch.safetensors", name, &array(&[2, 3], &A, kind));
    }
    for name in ["i64", "i8", "u8"] {
        case("torch.safetensors", name, &array(&[2, 3], &I, Kind::Integer));
    }
    case("torch.safetensors", "bool", &array(&[1, 3], &[1.0, 0.0, 1.0], Kind::Bool));
    case("torch.safetensors", "scalar", &array(&[], &[2.5], Kind::F32));
    case("torch.safetensors", "empty", &array(&[0, 4], &[], Kind::F32));
    case("torch.safetensors", "model.layers.0.w", &array(&[2, 3, 4], &counting(), Kind::F32));
    let faults = read(&witness("torch.safetensors"), Some("f8")).unwrap_err().to_string();
    assert!(faults.contains("type F8_E4M3") && faults.contains("(array f8)"), "{faults}");
}

#[test]
fn names_and_shapes_are_listed_without_the_numbers() {
    let npz = list(&witness("numpy.npz")).unwrap();
    assert_eq!(npz[0], ("f_little_f2".to_owned(), vec![2, 3]));
    assert_eq!((npz.len(), npz.last().unwrap()), (19, &("special".to_owned(), vec![5])));
    let tensors = list(&witness("torch.safetensors")).unwrap();
    assert_eq!(tensors.len(), 12);
    assert!(tensors.contains(&("f8".to_owned(), vec![2, 3])), "listed, though its type is not read");
    assert_eq!(list(&witness("fortran.npy")).unwrap(), [("fortran".to_owned(), vec![2, 3])]);
    assert_eq!(list(&witness("structured.npy")).unwrap(), [("structured".to_owned(), vec![1])]);
    assert_eq!(list(&witness("python.json")).unwrap()[2], ("mask".to_owned(), vec![2]));
}

#[test]
fn one_array_needs_no_name_and_has_the_stem_of_its_file() {
    let a = array(&[2, 3], &A, Kind::F32);
    assert_eq!(read(&witness("fortran.npy"), None), Ok(a.clone()));
    assert_eq!(read(&witness("fortran.npy"), Some("fortran")), Ok(a.clone()));
    assert_eq!(read_all(&witness("fortran.npy")), Ok(vec![("fortran".to_owned(), a)]));
    let faults = read(&witness("fortran.npy"), Some("w_q")).unwrap_err().to_string();
    assert!(faults.contains("no array w_q") && faults.contains("it holds fortran"), "{faults}");
}

#[test]
fn python_text_is_read_with_its_bare_words_and_its_header() {
    let json = read_all(&witness("python.json")).unwrap();
    assert_eq!(
        json[0],
        ("scores".into(), array(&[2, 2], &[0.5, f64::NEG_INFINITY, 1e-7, f64::INFINITY], Kind::F64))
    );
    assert!(json[1].1.data[2].is_nan());
    assert_eq!(json[2], ("mask".into(), array(&[2], &[1.0, 0.0], Kind::Bool)));
    assert_eq!(read(&witness("savetxt.csv"), None), Ok(array(&[2, 3], &A, Kind::F64)));
}

#[test]
fn what_numpy_pickles_or_structures_is_refused_with_advice() {
    for (file, what) in [("objects.npy", "pickle"), ("structured.npy", "named fields")] {
        let faults = read(&witness(file), None).unwrap_err().to_string();
        assert!(faults.contains(what) && faults.contains("numpy.save"), "{faults}");
    }
}
