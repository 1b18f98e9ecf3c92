//! What must hold whatever the numbers are.

use std::sync::Arc;

use mha::ablate::{Contributions, Study};
use mha::ops::Arithmetic;
use mha::plan::rewrites::Replacement;
use mha::plan::{Attention, Call, Inputs, Name, Projection, Shapes, StepId, attention};
use nalgebra::DMatrix;
use proptest::prelude::*;

/// A call with drawn numbers: three tokens, so many heads of width 2, with a bias b_O.
fn call(numbers: &[f64], num_heads: usize, silent: Option<usize>) -> Call {
    let width = 2 * num_heads;
    let mut drawn = numbers.iter().copied().cycle();
    let mut matrix = |rows, columns| DMatrix::from_fn(rows, columns, |_, _| drawn.next().unwrap());
    let mut inputs = Inputs::new();
    inputs.insert(Name::X.into(), Arc::new(matrix(3, width)));
    for projection in Projection::ALL {
        inputs.insert(Name::W(projection).into(), Arc::new(matrix(width, width)));
    }
    inputs.insert(Name::B(Projection::O).into(), Arc::new(matrix(1, width)));
    if let Some(head) = silent {
        let w_o = inputs.get_mut(&StepId::from(Name::W(Projection::O))).unwrap();
        Arc::make_mut(w_o).rows_mut(2 * head, 2).fill(0.0);
    }
    let attention = Attention::multi_head(width, num_heads);
    Call { attention, layers: None, batch: None, inputs, elsewhere: Shapes::new() }
}

fn study(call: &Call) -> Study<'_, f64> {
    let plan = Arc::new(attention::plan(call).unwrap());
    Study::new(plan, &call.inputs, None, Arithmetic::Ordered).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Without any head only the bias is left, in every row, bit for bit.
    #[test]
    fn without_heads_the_output_is_the_bias(
        numbers in proptest::collection::vec(-3.0..3.0f64, 97), num_heads in 1usize..5
    ) {
        let call = call(&numbers, num_heads, None);
        let study = study(&call);
        let heads = study.layers()[0].heads();
        let ablated = study.ablate(&heads, Replacement::Zero).unwrap();
        let bias = &call.inputs[&StepId::from(Name::B(Projection::O))];
        for row in ablated.last.row_iter() {
            prop_assert_eq!(row, bias.row(0));
        }
    }

    /// The heads' parts and the bias add up to the output.
    #[test]
    fn parts_add_up(numbers in proptest::collection::vec(-3.0..3.0f64, 97), num_heads in 1usize..5) {
        let call = call(&numbers, num_heads, None);
        let mut study = study(&call);
        let layer = study.layers()[0].clone();
        let parts = Contributions::of(&mut study, &layer).unwrap().unwrap();
        prop_assert!(parts.add_up(), "{:?}", parts);
        prop_assert_eq!(parts.heads.len(), num_heads);
    }

    /// A head whose rows of W_O are zero adds nothing, and nothing changes without it, whatever stands in its place; nor does
    /// it matter whether the rest is computed again or taken over.
    #[test]
    fn a_silent_head_is_not_missed(numbers in proptest::collection::vec(-3.0..3.0f64, 97)) {
        let call = call(&numbers, 3, Some(1));
        let mut study = study(&call);
        let before = study.value(study.last()).unwrap();
        let layer = study.layers()[0].clone();
        for with in [Replacement::Zero, Replacement::Mean, Replacement::Uniform] {
            let fresh = study.ablate(&[layer.head(1)], with).unwrap();
            prop_assert!((&fresh.last - &*before).amax() < 1e-12);
            study.learn_layers(std::slice::from_ref(&layer), with).unwrap();
            let taken_over = study.ablate(&[layer.head(1)], with).unwrap();
            prop_assert_eq!(&fresh.last, &taken_over.last);
            study.forget(&layer);
        }
        let parts = Contributions::of(&mut study, &layer).unwrap().unwrap();
        prop_assert_eq!(parts.heads[1], 0.0);
    }
}
