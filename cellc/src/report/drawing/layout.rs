//! Places the boxes and edges of a layered graph, from top to bottom.
//!
//! The rank of a box is the length of the longest path to the box. An edge has a point on each rank
//! between its ends. Barycentres determine the order within a rank. The coordinates are least
//! squares fits to the coordinates of the neighbours, with gaps between boxes. Points have a higher
//! weight than boxes, so that edges stay straight.

/// Gap between ranks in pixels.
pub(super) const RANK_GAP: f64 = 40.0;

/// Gap between neighbours of a rank in pixels.
const BOX_GAP: f64 = 28.0;

/// Gap between neighbouring edges of a rank in pixels.
const EDGE_GAP: f64 = 8.0;

/// Width of an edge's point in pixels.
const POINT: f64 = 10.0;

/// Number of sweeps that order the ranks. Coordinates take four times as many.
const SWEEPS: usize = 12;

/// A graph to lay out. Edges lead from earlier boxes to later ones.
pub(super) struct Graph {
    /// Width and height of each box.
    pub(super) sizes: Vec<(f64, f64)>,
    /// Pairs of boxes: from, to.
    pub(super) edges: Vec<(usize, usize)>,
}

/// Weight of an edge's point relative to a box.
const STRAIGHT: f64 = 8.0;

/// Weight of an edge that is the only one below its upper end and the only one above its lower end.
const CHAIN: f64 = 30.0;

/// A finished layout, in pixels.
pub(super) struct Layout {
    /// By box: left edge and upper edge.
    pub(super) boxes: Vec<(f64, f64)>,
    /// By edge of the graph: points from the middle of the upper box's lower border to the middle
    /// of the lower box's upper border.
    pub(super) paths: Vec<Vec<(f64, f64)>>,
    /// Width of the whole.
    pub(super) width: f64,
    /// Height of the whole.
    pub(super) height: f64,
}

/// A box, or a point of an edge on a rank.
struct Item {
    width: f64,
    /// Weight in the least squares.
    weight: f64,
    rank: usize,
    above: Vec<usize>,
    below: Vec<usize>,
    /// Middle of the item.
    x: f64,
}

impl Graph {
    pub(super) fn layout(&self) -> Layout {
        let ranks = ranks(self.sizes.len(), &self.edges);
        let mut items: Vec<Item> = self
            .sizes
            .iter()
            .zip(&ranks)
            .map(|(size, &rank)| Item::new(size.0, 1.0, rank))
            .collect();
        let mut chains = Vec::new();
        for &(from, to) in &self.edges {
            let mut chain = vec![from];
            for rank in ranks[from] + 1..ranks[to] {
                items.push(Item::new(POINT, STRAIGHT, rank));
                chain.push(items.len() - 1);
            }
            chain.push(to);
            for pair in chain.windows(2) {
                items[pair[0]].below.push(pair[1]);
                items[pair[1]].above.push(pair[0]);
            }
            chains.push(chain);
        }
        let mut rows: Vec<Vec<usize>> =
            vec![Vec::new(); ranks.iter().max().map_or(0, |most| most + 1)];
        for (i, item) in items.iter().enumerate() {
            rows[item.rank].push(i);
        }
        order(&mut rows, &items);
        set_positions(&rows, &mut items);
        straighten(&rows, &mut items);

        let mut heights = vec![0.0f64; rows.len()];
        for (size, &rank) in self.sizes.iter().zip(&ranks) {
            heights[rank] = heights[rank].max(size.1);
        }
        let mut tops = Vec::new();
        let mut y = 0.0;
        for height in &heights {
            tops.push(y);
            y += height + RANK_GAP;
        }
        let left = items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
        let right =
            items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        let middle = |i: usize| items[i].x - left;
        let boxes = self.sizes.iter().zip(&ranks).enumerate();
        let boxes: Vec<(f64, f64)> = boxes
            .map(|(i, (size, &rank))| {
                (middle(i) - size.0 / 2.0, tops[rank] + (heights[rank] - size.1) / 2.0)
            })
            .collect();
        let path = |chain: &Vec<usize>| {
            let mut path = Vec::new();
            for &i in chain {
                let rank = items[i].rank;
                match self.sizes.get(i) {
                    Some(size) if path.is_empty() => path.push((middle(i), boxes[i].1 + size.1)),
                    Some(_) => path.push((middle(i), boxes[i].1)),
                    None => path
                        .extend([(middle(i), tops[rank]), (middle(i), tops[rank] + heights[rank])]),
                }
            }
            path
        };
        let paths = chains.iter().map(path).collect();
        let (width, height) =
            if rows.is_empty() { (0.0, 0.0) } else { (right - left, y - RANK_GAP) };
        Layout { boxes, paths, width, height }
    }
}

/// Ranks by longest paths from the top. A box without predecessors is moved down, directly above
/// its highest successor.
pub(super) fn ranks(boxes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut ranks = vec![0; boxes];
    let mut edges = edges.to_vec();
    edges.sort_unstable();
    for &(from, to) in &edges {
        assert!(from < to, "edges lead from earlier boxes to later ones");
        ranks[to] = ranks[to].max(ranks[from] + 1);
    }
    let mut has_above = vec![false; boxes];
    let mut below = vec![None; boxes];
    for &(from, to) in &edges {
        has_above[to] = true;
        below[from] = Some(below[from].unwrap_or(usize::MAX).min(ranks[to]));
    }
    for i in (0..boxes).filter(|&i| !has_above[i]) {
        ranks[i] = below[i].map_or(ranks[i], |below| below - 1);
    }
    ranks
}

impl Item {
    fn new(width: f64, weight: f64, rank: usize) -> Self {
        Self { width, weight, rank, above: Vec::new(), below: Vec::new(), x: 0.0 }
    }
}

/// Sorts every rank by the positions of its neighbours, repeatedly, and keeps the order with the
/// fewest crossings.
fn order(rows: &mut Vec<Vec<usize>>, items: &[Item]) {
    let mut best = rows.clone();
    let mut fewest = crossings(&best, items);
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let numbers: Vec<usize> = if down {
            (1..rows.len()).collect()
        } else {
            (0..rows.len().max(1) - 1).rev().collect()
        };
        for r in numbers {
            let at = positions(rows, items.len());
            let wanted = |i: usize| {
                let neighbours = if down { &items[i].above } else { &items[i].below };
                match neighbours.len() {
                    0 => at[i] as f64,
                    n => neighbours.iter().map(|&j| at[j] as f64).sum::<f64>() / n as f64,
                }
            };
            rows[r].sort_by(|&a, &b| wanted(a).total_cmp(&wanted(b)));
        }
        let now = crossings(rows, items);
        if now < fewest {
            fewest = now;
            best.clone_from(rows);
        }
    }
    *rows = best;
}

/// By item: its position in its rank.
fn positions(rows: &[Vec<usize>], items: usize) -> Vec<usize> {
    let mut at = vec![0; items];
    for row in rows {
        for (position, &i) in row.iter().enumerate() {
            at[i] = position;
        }
    }
    at
}

fn crossings(rows: &[Vec<usize>], items: &[Item]) -> usize {
    let at = positions(rows, items.len());
    let mut count = 0;
    for row in rows {
        let mut edges: Vec<(usize, usize)> = row
            .iter()
            .flat_map(|&i| items[i].below.iter().map(|&j| (at[i], at[j])).collect::<Vec<_>>())
            .collect();
        edges.sort_unstable();
        for (k, a) in edges.iter().enumerate() {
            count += edges[k + 1..].iter().filter(|b| a.0 < b.0 && b.1 < a.1).count();
        }
    }
    count
}

/// Determines the coordinates of all items, without changing the order in a rank.
fn set_positions(rows: &[Vec<usize>], items: &mut [Item]) {
    for row in rows {
        let wanted = vec![0.0; row.len()];
        settle(row, &wanted, items);
    }
    for sweep in 0..4 * SWEEPS {
        let down = sweep % 2 == 0;
        let numbers: Vec<usize> =
            if down { (0..rows.len()).collect() } else { (0..rows.len()).rev().collect() };
        for r in numbers {
            let middle = |i: usize| {
                let item = &items[i];
                // both directions in later sweeps, so that no side has a preference
                let neighbours: Vec<usize> = match (down, sweep >= 2 * SWEEPS) {
                    (_, true) => item.above.iter().chain(&item.below).copied().collect(),
                    (true, _) => item.above.clone(),
                    (false, _) => item.below.clone(),
                };
                // a point follows the points of its edge, and a box of a chain its neighbours in
                // the chain
                let weight = |j: &usize| {
                    let (upper, lower) = if items[*j].rank < item.rank { (*j, i) } else { (i, *j) };
                    match (&items[upper].below[..], &items[lower].above[..]) {
                        ([_], [_]) => CHAIN,
                        _ => items[*j].weight.min(item.weight),
                    }
                };
                let weights: f64 = neighbours.iter().map(weight).sum();
                match neighbours.len() {
                    0 => item.x,
                    _ => neighbours.iter().map(|j| items[*j].x * weight(j)).sum::<f64>() / weights,
                }
            };
            let wanted: Vec<f64> = rows[r].iter().map(|&i| middle(i)).collect();
            settle(&rows[r], &wanted, items);
        }
    }
}

/// Places the items of a rank nearest to their wanted places, by least squares with gaps between
/// neighbours. With the minimum distances subtracted, the task is isotonic regression, solved by
/// pooling adjacent violators.
fn settle(row: &[usize], wanted: &[f64], items: &mut [Item]) {
    let mut offsets = Vec::new();
    let mut at = 0.0;
    for (k, &i) in row.iter().enumerate() {
        if k > 0 {
            at += distance(&items[row[k - 1]], &items[i]);
        }
        offsets.push(at);
    }
    // mean, weight and number of items of each pool
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for ((&i, wanted), offset) in row.iter().zip(wanted).zip(&offsets) {
        let mut pool = (wanted - offset, items[i].weight, 1);
        while let Some(&(mean, weight, n)) = pools.last().filter(|(mean, ..)| *mean > pool.0) {
            pools.pop();
            let pooled_weight = weight + pool.1;
            pool = ((mean * weight + pool.0 * pool.1) / pooled_weight, pooled_weight, n + pool.2);
        }
        pools.push(pool);
    }
    let means = pools.into_iter().flat_map(|(mean, _, n)| std::iter::repeat_n(mean, n));
    for ((&i, offset), mean) in row.iter().zip(&offsets).zip(means) {
        items[i].x = mean + offset;
    }
}

/// Minimum distance between the middles of neighbours in a rank.
fn distance(left: &Item, right: &Item) -> f64 {
    let is_point = |item: &Item| item.weight > 1.0;
    let gap = if is_point(left) && is_point(right) { EDGE_GAP } else { BOX_GAP };
    (left.width + right.width) / 2.0 + gap
}

/// Moves the items of each chain to a common x, as far as the neighbours in their ranks leave
/// space. Edges become vertical lines with few bends.
fn straighten(rows: &[Vec<usize>], items: &mut [Item]) {
    let chains = chains(items);
    let at = positions(rows, items.len());
    for _ in 0..SWEEPS {
        for chain in &chains {
            let mut start = 0;
            while start < chain.len() {
                // the longest part of the chain from `start` whose items can have a common x
                let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
                let mut end = start;
                while end < chain.len() {
                    let (left, right) = space(chain[end], rows, &at, items);
                    let (new_least, new_most) = (least.max(left), most.min(right));
                    if new_least > new_most && end > start {
                        break;
                    }
                    (least, most) = (new_least, new_most);
                    end += 1;
                }
                let part = &chain[start..end];
                let ends = [&items[part[0]].above, &items[part[part.len() - 1]].below];
                let outside: Vec<f64> = ends.into_iter().flatten().map(|&j| items[j].x).collect();
                let wanted = match outside.len() {
                    0 => items[part[0]].x,
                    n => outside.iter().sum::<f64>() / n as f64,
                };
                if least <= most {
                    for &i in part {
                        items[i].x = wanted.clamp(least, most);
                    }
                }
                start = end;
            }
        }
    }
}

/// The least and the largest x of an item between its neighbours in its rank.
fn space(i: usize, rows: &[Vec<usize>], at: &[usize], items: &[Item]) -> (f64, f64) {
    let (row, item) = (&rows[items[i].rank], &items[i]);
    let left = at[i].checked_sub(1).map(|k| &items[row[k]]);
    let right = row.get(at[i] + 1).map(|&j| &items[j]);
    (
        left.map_or(f64::NEG_INFINITY, |left| left.x + distance(left, item)),
        right.map_or(f64::INFINITY, |right| right.x - distance(item, right)),
    )
}

/// The items as chains, each from top to bottom. Successive items of a chain are the only
/// neighbours of each other. Every item is in one chain.
fn chains(items: &[Item]) -> Vec<Vec<usize>> {
    let next = |i: usize| match items[i].below[..] {
        [below] if items[below].above.len() == 1 => Some(below),
        _ => None,
    };
    let is_first = |i: &usize| match items[*i].above[..] {
        [above] => next(above).is_none(),
        _ => true,
    };
    (0..items.len())
        .filter(is_first)
        .map(|first| std::iter::successors(Some(first), |&i| next(i)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph from a list of edges, boxes of different sizes.
    fn graph(boxes: usize, edges: &[(usize, usize)]) -> Graph {
        let sizes = (0..boxes)
            .map(|i| (60.0 + 13.0 * (i % 4) as f64, 20.0 + 7.0 * (i % 3) as f64))
            .collect();
        Graph { sizes, edges: edges.to_vec() }
    }

    #[test]
    fn boxes_stay_apart_and_edges_lead_down() {
        let edges = [
            (0, 2),
            (1, 2),
            (2, 3),
            (2, 4),
            (0, 5),
            (3, 5),
            (4, 5),
            (4, 6),
            (2, 7),
            (5, 7),
            (1, 7),
        ];
        let graph = graph(8, &edges);
        let layout = graph.layout();
        for (i, (a, size_a)) in layout.boxes.iter().zip(&graph.sizes).enumerate() {
            assert!(a.0 >= -1e-6 && a.0 + size_a.0 <= layout.width + 1e-6, "box {i} lies outside");
            assert!(a.1 >= -1e-6 && a.1 + size_a.1 <= layout.height + 1e-6, "box {i} lies outside");
            for (b, size_b) in layout.boxes.iter().zip(&graph.sizes).skip(i + 1) {
                let apart =
                    |a: f64, a_size: f64, b: f64, b_size: f64| a + a_size <= b || b + b_size <= a;
                assert!(
                    apart(a.0, size_a.0, b.0, size_b.0) || apart(a.1, size_a.1, b.1, size_b.1),
                    "boxes overlap"
                );
            }
        }
        for (path, (from, to)) in layout.paths.iter().zip(edges) {
            assert!(path.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{path:?}");
            let (first, last) = (path[0], path[path.len() - 1]);
            let middle = |i: usize| layout.boxes[i].0 + graph.sizes[i].0 / 2.0;
            assert_eq!((first.0, last.0), (middle(from), middle(to)));
            assert_eq!(first.1, layout.boxes[from].1 + graph.sizes[from].1);
            assert_eq!(last.1, layout.boxes[to].1);
        }
    }

    #[test]
    fn a_crossing_that_need_not_be_is_taken_out() {
        let graph = graph(6, &[(0, 2), (1, 2), (2, 4), (2, 3), (3, 5), (0, 5)]);
        let (a, b) = (&graph.layout().paths, graph.layout().paths);
        assert_eq!(*a, b, "the same graph gives the same picture");
        let crossed = graph_of_pairs();
        let layout = crossed.layout();
        assert!((layout.boxes[0].0 < layout.boxes[1].0) == (layout.boxes[3].0 < layout.boxes[2].0));
    }

    /// Two edges, which cross if the boxes keep the order of their numbers.
    fn graph_of_pairs() -> Graph {
        graph(4, &[(0, 3), (1, 2)])
    }

    #[test]
    fn nothing_and_one_box_have_their_places() {
        let nothing = graph(0, &[]).layout();
        assert_eq!((nothing.width, nothing.height), (0.0, 0.0));
        assert_eq!(graph(1, &[]).layout().boxes, [(0.0, 0.0)]);
    }
}
