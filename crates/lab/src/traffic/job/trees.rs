//! Trees over the ranks of a job.

/// The parent of each rank in an in-order binary tree, whose interior ranks have even numbers and whose root is rank 0 (P. Sanders, J. Speck,
/// J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009).
pub(crate) fn in_order(ranks: u32) -> Vec<Option<u32>> {
    let parent = |rank: u32| {
        // The lowest bit that is set.
        let bit = rank & rank.wrapping_neg();
        let above = (rank ^ bit) | (bit << 1);
        if above < ranks { above } else { rank ^ bit }
    };
    (0..ranks).map(|rank| (rank > 0).then(|| parent(rank))).collect()
}

/// The second tree: the first one mirrored if the number of ranks is even, and shifted by one if it is odd, so that what
/// is a leaf in one has children in the other.
pub(crate) fn beside(first: &[Option<u32>]) -> Vec<Option<u32>> {
    let ranks = first.len() as u32;
    let moved = |rank: u32| if ranks.is_multiple_of(2) { ranks - 1 - rank } else { (rank + 1) % ranks };
    let mut second = vec![None; first.len()];
    for (rank, parent) in (0..).zip(first) {
        second[moved(rank) as usize] = parent.map(moved);
    }
    second
}

/// Ranks with each parent before its children.
pub(crate) fn downwards(parents: &[Option<u32>]) -> Vec<u32> {
    let depth = |mut rank: u32| {
        let mut depth = 0;
        while let Some(parent) = parents[rank as usize] {
            (rank, depth) = (parent, depth + 1);
        }
        depth
    };
    let mut order: Vec<u32> = (0..parents.len() as u32).collect();
    order.sort_by_cached_key(|rank| depth(*rank));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_trees_reach_every_rank_within_a_logarithm_and_share_few_inner_ranks() {
        for ranks in 2..200u32 {
            let first = in_order(ranks);
            let second = beside(&first);
            for tree in [&first, &second] {
                assert_eq!(tree.iter().filter(|parent| parent.is_none()).count(), 1);
                let children = |rank: u32| tree.iter().filter(|parent| **parent == Some(rank)).count();
                assert!((0..ranks).all(|rank| children(rank) <= 2), "{ranks}");
                let mut deepest = 0;
                for rank in 0..ranks {
                    let (mut at, mut depth) = (rank, 0);
                    while let Some(parent) = tree[at as usize] {
                        (at, depth) = (parent, depth + 1);
                        assert!(depth <= ranks);
                    }
                    deepest = deepest.max(depth);
                }
                assert!(deepest <= ranks.ilog2() + 1, "{ranks}: {deepest}");
            }
            let inner = |tree: &[Option<u32>], rank: u32| tree.contains(&Some(rank));
            let both = (0..ranks).filter(|rank| inner(&first, *rank) && inner(&second, *rank)).count();
            assert!(both <= 2, "{ranks}: {both} ranks have children in both trees");
        }
    }
}
