//! Work shared between threads.
//!
//! The threads are rayon's: they wait where they are between two steps, so that sharing a step out takes microseconds
//! where starting threads for it takes a tenth of a millisecond.

/// Cuts `whole` into as many parts of whole `unit`s as there are threads, and gives each to one of them with the number of its
/// first unit.
pub(super) fn each_part<T: Send>(
    whole: &mut [T],
    unit: usize,
    threads: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let unit = unit.max(1);
    let units = whole.len().div_ceil(unit);
    let each = units.div_ceil(threads.max(1)).max(1);
    if each >= units {
        return work(0, whole);
    }
    rayon::scope(|scope| {
        for (part, numbers) in whole.chunks_mut(each * unit).enumerate() {
            let work = &work;
            scope.spawn(move |_| work(part * each, numbers));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::each_part;

    /// 7 units of 3, the last one short: 20 numbers.
    #[test]
    fn every_unit_is_worked_on_once_and_knows_its_number() {
        for threads in [1, 2, 3, 50] {
            let mut numbers = vec![0; 20];
            each_part(&mut numbers, 3, threads, |first, part| {
                for (at, number) in part.iter_mut().enumerate() {
                    *number += 100 + first + at / 3;
                }
            });
            let expected: Vec<usize> = (0..20).map(|at| 100 + at / 3).collect();
            assert_eq!(numbers, expected, "{threads} threads");
        }
        each_part(&mut [0; 0], 0, 2, |first, part| assert_eq!((first, part.len()), (0, 0)));
    }
}
