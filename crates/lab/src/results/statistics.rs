//! Quantiles, means, fairness: each defined once.

/// Definition of quantiles, for the manifest and for readers of the summary.
pub const QUANTILE_DEFINITION: &str =
    "nearest rank: the smallest value such that at least the share q of all values is not above it";

/// The quantile `q` of values in ascending order, by nearest rank; `None` of nothing.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = libm::ceil(q * sorted.len() as f64) as usize;
    // The quantile 0 is the first value.
    sorted.get(rank.max(1) - 1).copied()
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Jain's index of fairness, (sum x)^2 / (n sum x^2); `None` of nothing.
pub fn jain(values: &[f64]) -> Option<f64> {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Splits `n` sorted things into at most `bins` runs of nearly equal length; bounds, first 0 and last `n`.
///
/// A bound moves right past things that `same` says belong to the one before, so that equal sizes share a bin.
pub fn equal_count(n: usize, bins: usize, same: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut bounds = vec![0];
    for bin in 1..=bins {
        let mut bound = n * bin / bins;
        // Equal sizes in two bins would make their difference one of chance.
        while bound > 0 && bound < n && same(bound) {
            bound += 1;
        }
        if bound > *bounds.last().unwrap_or(&0) {
            bounds.push(bound);
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            [0.0, 0.25, 0.26, 0.5, 0.99, 1.0].map(|q| quantile(&values, q)),
            [Some(1.0), Some(1.0), Some(2.0), Some(2.0), Some(4.0), Some(4.0)]
        );
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn fairness_of_the_papers_examples() {
        let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 5e-4);
        assert!(close(jain(&[10.0 / 3.0, 20.0 / 3.0]), 0.900));
        assert!(close(jain(&[10.0 / 3.0, 5.0]), 0.962));
        assert_eq!(jain(&[2.0, 2.0, 2.0]), Some(1.0));
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn bins_are_even_and_do_not_split_equal_sizes() {
        assert_eq!(equal_count(10, 5, |_| false), [0, 2, 4, 6, 8, 10]);
        assert_eq!(equal_count(3, 5, |_| false), [0, 1, 2, 3]);
        let sizes = [1, 1, 1, 1, 1, 1, 2, 3];
        assert_eq!(equal_count(8, 4, |i| sizes[i] == sizes[i - 1]), [0, 6, 8]);
        assert_eq!(equal_count(0, 4, |_| false), [0]);
    }
}
