//! Dependencies of flows.
//!
//! A *node* is a flow or a step. A *step* is time that passes at a host, such as a computation, or none at all: then it
//! only joins its causes. A node begins when everything that it waits for is over, and a flow then begins its own
//! `start` later. Nodes that wait for nothing begin at their start, or with the run.
//!
//! Edges are stored by what is over, in a list of numbers: a graph takes 4 bytes for each edge, 12 for each node, and 48 for each step.

use crate::flow::{FlowSpec, Until};
use headway_units::Time;

/// Time that passes between flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Host of the step. `None` for one without a host, as a barrier between hosts: a run that has one uses one
    /// thread, since hosts hear of it without a packet.
    pub host: Option<u32>,
    /// Duration of the step.
    pub takes: Time,
    /// The processor of its host that it needs. Steps of one processor take turns, in the order in which they could begin;
    /// a step without a processor waits for none.
    pub processor: Option<u16>,
    /// Number of the things that it waits for that have to be over; `None` is all of them.
    pub needs: Option<u32>,
    /// Time from its beginning during which no other step of its host begins that has a gap in the same direction: the
    /// time that an interface needs between two messages.
    pub gap: Option<Gap>,
}

/// Time that an interface needs between two messages, g of LogGP (Alexandrov et al., SPAA 1995 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// True for messages that the host sends, false for those that it receives.
    pub sends: bool,
    /// Duration of the gap.
    pub lasts: Time,
}

/// Event that a node may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The flow at this position of the run's flows: its last byte is at its receiver, or its sender knows that. A flow
    /// that its `stop` ended is over as well.
    Flow(u32, Until),
    /// The step at this position of the graph's steps.
    Step(u32),
}

/// A flow or a step, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A flow of the run.
    Flow(u32),
    /// A step of the graph.
    Step(u32),
}

/// Why flows cannot wait in this way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Each of these waits for the one before it, and the first for the last.
    #[error("{} nodes wait for each other", .0.len())]
    Cycle(Vec<Node>),
    /// An edge names a flow or a step that does not exist.
    #[error("{0:?} is not there")]
    NoSuchNode(Node),
    /// A step needs more, or fewer, things to be over than it can.
    #[error("step {step} needs {needs} of {edges} that it waits for")]
    Needs {
        /// Position of the step.
        step: u32,
        /// Number of causes that have to be over.
        needs: u32,
        /// Number of causes that there are.
        edges: u32,
    },
    /// More nodes than can be numbered.
    #[error("{0} flows and steps are more than can be numbered")]
    TooMany(u64),
}

/// Dependencies between flows and steps. See the module.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Graph {
    flows: u32,
    steps: Vec<Step>,
    /// Number of edges that lead to each node: flows first, then steps.
    waits: Vec<u32>,
    /// Start of the successors of each cause in `next`; two causes a flow, then one a step, then the end.
    first: Vec<u32>,
    /// Numbers of nodes.
    next: Vec<u32>,
    local: bool,
}

/// Causes that each node of a graph waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Causes {
    first: Vec<u32>,
    causes: Vec<Cause>,
}

impl Causes {
    /// Causes that a node waits for, by its number.
    pub fn of(&self, node: u32) -> &[Cause] {
        &self.causes[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

impl Graph {
    /// The graph over these flows. Each edge names the node that waits and its cause; the same edge may stand in the
    /// list twice, and counts twice.
    pub fn new(flows: &[FlowSpec], steps: Vec<Step>, edges: &[(Node, Cause)]) -> Result<Graph, GraphError> {
        let all = flows.len() as u64 + steps.len() as u64;
        // Each flow has two causes, and causes are numbered by 32 bits.
        if all.max(edges.len() as u64) >= u64::from(u32::MAX) / 2 {
            return Err(GraphError::TooMany(all));
        }
        let mut graph = Graph {
            flows: flows.len() as u32,
            waits: vec![0; all as usize],
            first: vec![0; 2 * flows.len() + steps.len() + 1],
            next: vec![0; edges.len()],
            steps,
            local: true,
        };
        // Edges are sorted by their causes in two passes: counts first, then places.
        for &(node, cause) in edges {
            let (to, from) = (graph.number(node)?, graph.cause(cause)?);
            graph.waits[to as usize] += 1;
            graph.first[from as usize + 1] += 1;
        }
        for at in 1..graph.first.len() {
            graph.first[at] += graph.first[at - 1];
        }
        let mut filled: Vec<u32> = graph.first.clone();
        for &(node, cause) in edges {
            let from = graph.cause(cause)? as usize;
            graph.next[filled[from] as usize] = graph.number(node)?;
            filled[from] += 1;
        }
        graph.local = edges.iter().all(|(node, cause)| graph.is_local(flows, *node, *cause));
        // Steps that wait for nothing begin in the shard of their host.
        graph.local &= graph.steps.iter().all(|step| step.host.is_some());
        for (step, one) in (0..).zip(&graph.steps) {
            let edges = graph.waits[graph.of_step(step) as usize];
            if let Some(needs) = one.needs.filter(|needs| !(1..=edges).contains(needs)) {
                return Err(GraphError::Needs { step, needs, edges });
            }
        }
        graph.check_order()?;
        Ok(graph)
    }

    fn number(&self, node: Node) -> Result<u32, GraphError> {
        match node {
            Node::Flow(flow) if flow < self.flows => Ok(flow),
            Node::Step(step) if (step as usize) < self.steps.len() => Ok(self.flows + step),
            Node::Flow(_) | Node::Step(_) => Err(GraphError::NoSuchNode(node)),
        }
    }

    /// The flow or step of a number.
    pub fn node(&self, number: u32) -> Node {
        match number.checked_sub(self.flows) {
            Some(step) => Node::Step(step),
            None => Node::Flow(number),
        }
    }

    /// The number of a step's node.
    pub fn of_step(&self, step: u32) -> u32 {
        self.flows + step
    }

    fn cause(&self, cause: Cause) -> Result<u32, GraphError> {
        match cause {
            Cause::Flow(flow, until) => {
                self.number(Node::Flow(flow)).map(|flow| 2 * flow + u32::from(until == Until::Known))
            }
            Cause::Step(step) => self.number(Node::Step(step)).map(|node| self.flows + node),
        }
    }

    /// Numbers of the nodes that wait for this.
    pub fn after(&self, cause: Cause) -> &[u32] {
        let at = match cause {
            Cause::Flow(flow, until) => 2 * flow + u32::from(until == Until::Known),
            Cause::Step(step) => 2 * self.flows + step,
        } as usize;
        &self.next[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Number of edges that lead to a node of this number.
    pub fn waits(&self, number: u32) -> u32 {
        self.waits[number as usize]
    }

    /// Number of these edges whose cause has to be over before the node begins.
    pub fn needs(&self, number: u32) -> u32 {
        let step = number.checked_sub(self.flows).map(|step| self.steps[step as usize]);
        step.and_then(|step| step.needs).unwrap_or_else(|| self.waits(number))
    }

    /// A copy of the graph with other numbers in place of those of hosts.
    pub(crate) fn at_interfaces(&self, of: impl Fn(u32) -> u32) -> Graph {
        let at = |step: &Step| Step { host: step.host.map(&of), ..*step };
        Graph { steps: self.steps.iter().map(at).collect(), ..self.clone() }
    }

    /// All steps of the graph.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Number of flows and steps.
    pub fn nodes(&self) -> u32 {
        self.waits.len() as u32
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.next.len()
    }

    /// Every edge, in order of causes.
    pub fn all_edges(&self) -> impl Iterator<Item = (Cause, Node)> + '_ {
        let flows = (0..self.flows)
            .flat_map(|flow| [Cause::Flow(flow, Until::Received), Cause::Flow(flow, Until::Known)]);
        let causes = flows.chain((0..self.steps.len() as u32).map(Cause::Step));
        causes.flat_map(move |cause| self.after(cause).iter().map(move |node| (cause, self.node(*node))))
    }

    /// True if every node waits only for events at its own host: such a run may use several threads.
    pub fn is_local(&self, flows: &[FlowSpec], node: Node, cause: Cause) -> bool {
        let at = match cause {
            Cause::Flow(flow, Until::Received) => Some(flows[flow as usize].dst),
            Cause::Flow(flow, Until::Known) => Some(flows[flow as usize].src),
            Cause::Step(step) => self.steps[step as usize].host,
        };
        let waiting = match node {
            Node::Flow(flow) => {
                let flow = &flows[flow as usize];
                // The host that used a connection last knows whether it is open.
                let used =
                    flow.connection.is_none_or(|carrier| matches!(cause, Cause::Flow(f, _) if f == carrier));
                used.then_some(flow.src)
            }
            Node::Step(step) => self.steps[step as usize].host,
        };
        at.is_some() && at == waiting
    }

    /// True if that holds for all edges.
    pub fn local(&self) -> bool {
        self.local
    }

    /// Calls with each node after all that it waits for, and returns the number of edges that lead to each from nodes
    /// that were never reached, as those of a cycle.
    pub fn in_order(&self, mut each: impl FnMut(u32)) -> Vec<u32> {
        let mut left = self.waits.clone();
        let mut free: Vec<u32> = (0..left.len() as u32).filter(|node| left[*node as usize] == 0).collect();
        while let Some(node) = free.pop() {
            each(node);
            for &next in self.successors(node) {
                left[next as usize] -= 1;
                if left[next as usize] == 0 {
                    free.push(next);
                }
            }
        }
        left
    }

    /// Causes that each node waits for.
    pub fn causes(&self) -> Causes {
        let mut first: Vec<u32> = std::iter::once(0).chain(self.waits.iter().copied()).collect();
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut filled = first.clone();
        let mut causes = vec![Cause::Step(0); self.next.len()];
        let all = (0..self.flows)
            .flat_map(|flow| [Cause::Flow(flow, Until::Received), Cause::Flow(flow, Until::Known)]);
        for cause in all.chain((0..self.steps.len() as u32).map(Cause::Step)) {
            for &node in self.after(cause) {
                let place = &mut filled[node as usize];
                causes[*place as usize] = cause;
                *place += 1;
            }
        }
        Causes { first, causes }
    }

    /// An error that names a cycle, if there is one.
    fn check_order(&self) -> Result<(), GraphError> {
        let mut done = 0;
        let left = self.in_order(|_| done += 1);
        if done == left.len() {
            return Ok(());
        }
        // Whatever is left waits for something that is left: going back from one, a node comes again.
        let mut before: Vec<Option<u32>> = vec![None; left.len()];
        for node in (0..left.len() as u32).filter(|node| left[*node as usize] > 0) {
            for &next in self.successors(node).iter().filter(|next| left[**next as usize] > 0) {
                before[next as usize].get_or_insert(node);
            }
        }
        let mut place: Vec<Option<usize>> = vec![None; left.len()];
        let mut way: Vec<u32> = Vec::new();
        let mut at = (0..left.len() as u32).find(|node| left[*node as usize] > 0);
        while let Some(node) = at {
            if let Some(first) = place[node as usize] {
                // The way goes against the edges, so that the cycle is its reverse.
                let cycle = way[first..].iter().rev().map(|node| self.node(*node)).collect();
                return Err(GraphError::Cycle(cycle));
            }
            place[node as usize] = Some(way.len());
            way.push(node);
            at = before[node as usize];
        }
        Ok(())
    }

    /// Nodes that wait for a node in any way.
    pub fn successors(&self, node: u32) -> &[u32] {
        let (from, to) = match node.checked_sub(self.flows) {
            Some(step) => (2 * self.flows + step, 2 * self.flows + step + 1),
            None => (2 * node, 2 * node + 2),
        };
        &self.next[self.first[from as usize] as usize..self.first[to as usize] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_transport::InitialWindow;

    fn flow(src: u32, dst: u32) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            bytes: 1,
            start: Time::ZERO,
            class: 0,
            deadline: None,
            initial_window: InitialWindow::default(),
            responsive: true,
            transport: 0,
            path: None,
            connection: None,
            stop: None,
        }
    }

    #[test]
    fn successors_are_found_by_what_is_over() {
        let flows = [flow(0, 1), flow(1, 2), flow(0, 2)];
        let steps = vec![Step { host: Some(1), takes: Time::us(3), ..Step::default() }];
        let edges = [
            (Node::Step(0), Cause::Flow(0, Until::Received)),
            (Node::Flow(1), Cause::Step(0)),
            (Node::Flow(2), Cause::Flow(0, Until::Known)),
        ];
        let graph = Graph::new(&flows, steps, &edges).expect("a graph");
        assert_eq!(graph.after(Cause::Flow(0, Until::Received)), [3]);
        assert_eq!(graph.after(Cause::Flow(0, Until::Known)), [2]);
        assert_eq!(graph.after(Cause::Step(0)), [1]);
        assert_eq!((0..4).map(|node| graph.waits(node)).collect::<Vec<_>>(), [0, 1, 1, 1]);
        assert!(graph.local());
        let mut found: Vec<_> = graph.all_edges().map(|(cause, node)| (node, cause)).collect();
        found.sort_unstable();
        let mut given = edges.to_vec();
        given.sort_unstable();
        assert_eq!(found, given);
    }

    #[test]
    fn a_node_that_waits_for_another_host_is_not_local() {
        let flows = [flow(0, 1), flow(2, 3)];
        let of = |edge| Graph::new(&flows, Vec::new(), &[edge]).expect("a graph").local();
        assert!(!of((Node::Flow(1), Cause::Flow(0, Until::Received))));
        let flows = [flow(0, 1), flow(1, 3)];
        let of = |edge| Graph::new(&flows, Vec::new(), &[edge]).expect("a graph").local();
        assert!(of((Node::Flow(1), Cause::Flow(0, Until::Received))));
        assert!(!of((Node::Flow(1), Cause::Flow(0, Until::Known))));
        let nowhere = vec![Step::default()];
        assert!(!Graph::new(&flows, nowhere, &[]).expect("a graph").local());
    }

    #[test]
    fn a_cycle_is_named_in_its_order() {
        let flows = [flow(0, 1), flow(1, 0), flow(0, 1), flow(1, 0)];
        let edges = [
            (Node::Flow(1), Cause::Flow(0, Until::Received)),
            (Node::Flow(2), Cause::Flow(1, Until::Received)),
            (Node::Flow(0), Cause::Flow(2, Until::Known)),
            (Node::Flow(3), Cause::Flow(2, Until::Received)),
        ];
        let Err(GraphError::Cycle(cycle)) = Graph::new(&flows, Vec::new(), &edges) else {
            panic!("there is a cycle")
        };
        assert_eq!(cycle.len(), 3, "{cycle:?}");
        for (place, node) in cycle.iter().enumerate() {
            let Node::Flow(before) = cycle[(place + cycle.len() - 1) % cycle.len()] else { panic!("flows") };
            assert!(
                edges
                    .iter()
                    .any(|(n, cause)| n == node && matches!(cause, Cause::Flow(f, _) if *f == before))
            );
        }
    }

    #[test]
    fn a_step_needs_no_more_than_it_waits_for() {
        let flows = [flow(0, 1), flow(2, 1)];
        let of = |needs| {
            let steps = vec![Step { host: Some(1), needs: Some(needs), ..Step::default() }];
            let edges = [0, 1].map(|flow| (Node::Step(0), Cause::Flow(flow, Until::Received)));
            Graph::new(&flows, steps, &edges)
        };
        let graph = of(1).expect("the first of two");
        assert_eq!((graph.waits(2), graph.needs(2), graph.needs(0)), (2, 1, 0));
        for needs in [0, 3] {
            assert_eq!(of(needs), Err(GraphError::Needs { step: 0, needs, edges: 2 }));
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let flows = [flow(0, 1)];
        let edges = [(Node::Flow(0), Cause::Step(0))];
        assert_eq!(Graph::new(&flows, Vec::new(), &edges), Err(GraphError::NoSuchNode(Node::Step(0))));
    }
}
