//! Workloads of SimAI, as AICB writes them for its simulator (aliyun/SimAI, `Workload.cc`).
//!
//! The first line has the kind of parallelism and the sizes of its groups, the second a number of layers. A layer has a name, a number
//! that means nothing, what it computes in the forward pass, for the gradients of its inputs and for those of its weights, each in
//! nanoseconds and followed by a collective and its size in bytes, and a time that follows each of its collectives.
//!
//! Ranks are numbered as in Megatron-LM: those of a tensor-parallel group follow each other, then come data-parallel ones, and stages of
//! the pipeline last.

use super::trace::{Collective, Cost, MOST_OPERATIONS, Place, Trace, What, When};
use crate::text::error::counted;
use crate::text::{Origin, Problem, ScenarioError, Source, names};
use headway_units::Time;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Most ranks: a short file may name any number.
const MOST_RANKS: u32 = 1 << 17;

/// Policy by which the ranks divide the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// Only the gradients of weights are exchanged.
    Data,
    /// The forward pass and the gradients of inputs wait for their collectives; those of weights overlap with
    /// computation.
    Transformer,
    /// The collectives of weights, one after the other.
    Micro,
}

const POLICIES: [(&str, Policy); 4] = [
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::Transformer),
    ("HYBRID_TRANSFORMER", Policy::Transformer),
    ("DATA", Policy::Data),
    ("MICRO", Policy::Micro),
];
/// Policies of ASTRA-sim that are not read.
const OTHERS: [&str; 7] = [
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "HYBRID_CUSTOMIZED",
    "DISTRIBUTED_INFERENCE",
];

/// Group of ranks of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Tensor,
    Data,
    Expert,
    /// Ranks that hold the same expert for different data.
    ExpertData,
}

const COLLECTIVES: [(&str, Collective); 5] = [
    ("ALLREDUCE", Collective::AllReduce),
    ("ALLGATHER", Collective::AllGather),
    ("REDUCESCATTER", Collective::ReduceScatter),
    ("ALLTOALL", Collective::AllToAll),
    ("BROADCAST", Collective::Broadcast),
];
// The longer one first: the other is a suffix of it.
const SUFFIXES: [(&str, Group); 2] = [("_DP_EP", Group::ExpertData), ("_EP", Group::Expert)];

/// A computation and the collective that follows it.
#[derive(Clone, Copy, Debug)]
struct Pass {
    takes: Time,
    collective: Option<(Collective, Group, u64)>,
}

#[derive(Clone, Debug)]
struct Layer {
    /// Forward, gradients of inputs, gradients of weights.
    passes: [Pass; 3],
    update: Time,
    at: Range<usize>,
}

/// Sizes of groups.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    ranks: u32,
    tensor: u32,
    expert: u32,
    stages: u32,
}

impl Sizes {
    fn data(&self) -> u32 {
        self.ranks / self.tensor / self.stages
    }

    /// Ranks of a group of a kind.
    fn members(&self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Data => self.data(),
            Group::Expert => self.expert,
            Group::ExpertData => self.data() / self.expert.max(1),
        }
    }

    /// Number of a rank's group of this kind.
    fn group(&self, group: Group, rank: u32) -> u32 {
        // Ranks of a tensor group are neighbours; then come the data ranks, and last the stages.
        let (place, above) = (rank % self.tensor, rank / self.tensor);
        let (data, stage) = (above % self.data(), above / self.data());
        match group {
            Group::Tensor => above,
            Group::Data => stage * self.tensor + place,
            Group::Expert => (stage * (self.data() / self.expert) + data / self.expert) * self.tensor + place,
            Group::ExpertData => (stage * self.expert + data % self.expert) * self.tensor + place,
        }
    }
}

/// True if a workload may begin with this word.
pub fn is_policy(word: &str) -> bool {
    POLICIES.iter().any(|(known, _)| *known == word) || OTHERS.contains(&word)
}

/// Reads a workload; `ranks` is their number where the file does not say it (`all_gpus:`).
///
/// `cost` says what collectives make, so that a workload which is too large is refused before it is made.
pub fn parse(
    source: &Arc<Source>,
    ranks: Option<u32>,
    cost: Option<(Cost, usize)>,
    is_shared: bool,
) -> Result<Trace, ScenarioError> {
    let mut parser = Parser { source, words: Vec::new(), at: 0 };
    let Some((first, rest)) = source.text.split_once('\n') else {
        return Err(parser
            .fail_end("the workload ends before its number of layers")
            .help("is the file cut off?"));
    };
    let (policy, sizes, mut notes) = parser.head(first, ranks)?;
    parser.words = rest.split_whitespace().collect();
    let count = parser.number("a number of layers")?;
    let mut layers = Vec::new();
    while (layers.len() as u64) < count {
        if parser.at == parser.words.len() {
            let text = format!("promises {}, the file holds {}", counted(count, "layer"), layers.len());
            return Err(parser.fail_end(&text).help("is the file cut off?"));
        }
        layers.push(parser.layer(policy)?);
    }
    if let Some(word) = parser.words.get(parser.at) {
        return Err(
            parser.fail_at(word, format!("`{word}` stands after the last of {}", counted(count, "layer")))
        );
    }
    let size = Size { policy, layers: &layers, cost, is_shared };
    if let Some(what) = size.of(&sizes).beyond() {
        return Err(parser.too_large(first, count, &sizes, &size, &what));
    }
    if sizes.stages > 1 {
        notes.push(format!(
            "{}: messages between the {} stages of the pipeline are not part of the file",
            source.name, sizes.stages
        ));
    }
    if is_shared {
        notes.push(format!(
            "{}: each collective is done by the group of rank 0 for all groups of its kind, which are taken to begin together and to take \
             as long: what they would do to each other in the network is left out",
            source.name
        ));
    }
    Ok(Writer::new(source, sizes, notes, is_shared).write(policy, &layers))
}

/// Size that a workload will have.
struct Size<'a> {
    policy: Policy,
    layers: &'a [Layer],
    cost: Option<(Cost, usize)>,
    is_shared: bool,
}

/// Counts of its parts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    operations: u64,
    messages: u64,
    waits: u64,
}

impl Counts {
    /// The part whose count exceeds the limit, in words.
    fn beyond(&self) -> Option<String> {
        let all = [(self.operations, "operation"), (self.messages, "message"), (self.waits, "wait")];
        let (count, noun) = all.into_iter().find(|(count, _)| *count > MOST_OPERATIONS)?;
        Some(counted(count, noun))
    }
}

impl Size<'_> {
    fn of(&self, sizes: &Sizes) -> Counts {
        let ranks = if self.is_shared { 1 } else { u64::from(sizes.ranks) };
        let mut known: BTreeMap<(Collective, u32), (u64, u64)> = BTreeMap::new();
        let mut counts = Counts::default();
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        for layer in self.layers {
            // `MICRO` has the collectives of weights alone, as `Writer::write` makes it.
            let passes = if self.policy == Policy::Micro { &layer.passes[2..] } else { &layer.passes[..] };
            for (place, pass) in passes.iter().enumerate() {
                let computes = self.policy != Policy::Micro && pass.takes > Time::ZERO;
                let (mut own, mut joins) = (u64::from(computes), 0);
                if let Some((collective, group, _)) = pass.collective {
                    own += 1 + u64::from(layer.update > Time::ZERO);
                    joins = u64::from(place == 1 && self.policy != Policy::Micro);
                    let members = sizes.members(group);
                    let groups = if self.is_shared { 1 } else { ranks / u64::from(members.max(1)) };
                    if let Some((cost, allreduce)) = self.cost.filter(|_| members > 1) {
                        let each = known
                            .entry((collective, members))
                            .or_insert_with(|| cost(collective, members, allreduce));
                        add(&mut counts.messages, each.0.saturating_mul(groups));
                        add(&mut counts.waits, each.1.saturating_mul(groups));
                    }
                }
                add(&mut counts.operations, (own + joins).saturating_mul(ranks));
                add(&mut counts.waits, (own + 2 * joins).saturating_mul(ranks));
            }
        }
        counts
    }

    /// The most ranks of one stage that can be made, and how many messages these send.
    fn fits(&self, sizes: &Sizes) -> Option<(u32, u64)> {
        let (stage, step) = (sizes.ranks / sizes.stages, sizes.tensor * sizes.expert);
        let of = |parts: u32| Sizes { ranks: parts * step, stages: 1, ..*sizes };
        let (mut low, mut high) = (0, stage / step.max(1));
        while low < high {
            // Rounded up, so that the range becomes smaller whichever half is taken.
            let middle = (low + high).div_ceil(2);
            if self.of(&of(middle)).beyond().is_none() { low = middle } else { high = middle - 1 }
        }
        (low > 0).then(|| (low * step, self.of(&of(low)).messages))
    }
}

struct Parser<'a> {
    source: &'a Arc<Source>,
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn fail_at(&self, part: &str, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::part(self.source, part))
    }

    fn fail_end(&self, text: &str) -> ScenarioError {
        let end = self.source.text.trim_end().len();
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::new(self.source, end..end))
    }

    fn too_large(
        &self,
        first: &str,
        count: u64,
        sizes: &Sizes,
        size: &Size<'_>,
        what: &str,
    ) -> ScenarioError {
        // The number of ranks, where the file has it.
        let words: Vec<&str> = first.split_whitespace().collect();
        let place = words.iter().position(|word| word.trim_end_matches(':') == "all_gpus");
        let part = place.and_then(|place| words.get(place + 1)).copied().unwrap_or(first);
        let text = format!(
            "{} of {} make {what}, more than {MOST_OPERATIONS}",
            counted(count, "layer"),
            counted(sizes.ranks.into(), "rank")
        );
        let stage = sizes.ranks / sizes.stages;
        let whole = match sizes.stages {
            1 => String::new(),
            stages => {
                format!("each of its {stages} stages has {stage} ranks, and no message goes between them; ")
            }
        };
        let help = match size.fits(sizes) {
            Some((ranks, messages)) if ranks < sizes.ranks => {
                format!(
                    "{whole}`all_gpus: {ranks}` with `pp: 1` fits, and makes {}",
                    counted(messages, "message")
                )
            }
            _ => format!(
                "{whole}even the smallest number of ranks has too many layers: cut the file into parts"
            ),
        };
        self.fail_at(part, text).help(help)
    }

    fn head(
        &self,
        line: &'a str,
        unsaid: Option<u32>,
    ) -> Result<(Policy, Sizes, Vec<String>), ScenarioError> {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            let problem = Problem::Syntax("the workload does not say how it is parallel".into());
            return Err(ScenarioError::new(problem, &Origin::line(self.source, 1)));
        };
        let Some((_, policy)) = POLICIES.iter().find(|(known, _)| *known == name) else {
            let known = POLICIES.iter().map(|(known, _)| *known);
            let text = if OTHERS.contains(&name) { "is not supported" } else { "is no kind of parallelism" };
            return Err(self
                .fail_at(name, format!("`{name}` {text}"))
                .maybe_help(names::name_suggestion(name, known)));
        };
        let [mut tensor, mut expert, mut stages, mut ranks] = [None; 4];
        while let Some(key) = words.next() {
            let value = words.next().ok_or_else(|| self.fail_at(key, format!("`{key}` has no value")))?;
            let number: u32 =
                value.parse().map_err(|_| self.fail_at(value, format!("`{value}` is not a count")))?;
            let place = match key.trim_end_matches(':') {
                "model_parallel_NPU_group" => &mut tensor,
                "ep" => &mut expert,
                "pp" => &mut stages,
                "all_gpus" => &mut ranks,
                // Counts of a schedule that the file does not hold.
                "vpp" | "ga" | "pp_comm" => continue,
                "checkpoints" | "checkpoint_initiates" if number == 0 => continue,
                "checkpoints" | "checkpoint_initiates" => {
                    return Err(self.fail_at(
                        key,
                        "layers that are computed again in the backward pass are not supported",
                    ));
                }
                other => {
                    let error = self.fail_at(key, format!("`{key}` is not part of the first line"));
                    let known = [
                        "model_parallel_NPU_group",
                        "ep",
                        "pp",
                        "vpp",
                        "ga",
                        "all_gpus",
                        "checkpoints",
                        "checkpoint_initiates",
                        "pp_comm",
                    ];
                    return Err(error.maybe_help(names::name_suggestion(other, known)));
                }
            };
            if number == 0 {
                return Err(self.fail_at(value, format!("`{key}` is 0")));
            }
            if place.replace((number, value)).is_some() {
                return Err(self.fail_at(key, format!("`{key}` is there twice")));
            }
        }
        let Some(all) = ranks.map(|(ranks, _)| ranks).or(unsaid) else {
            let error = self.fail_at(line, "the workload does not say of how many ranks it is");
            return Err(error.help("it has no `all_gpus:`; `ranks` of the entry says it"));
        };
        if all > MOST_RANKS {
            let part = ranks.map_or(line, |(_, part)| part);
            return Err(self.fail_at(part, format!("{all} ranks are more than {MOST_RANKS}")));
        }
        let of = |found: Option<(u32, &'a str)>| found.map_or(1, |(number, _)| number);
        let sizes = Sizes { ranks: all, tensor: of(tensor), expert: of(expert), stages: of(stages) };
        let whole = |product: u64, found: Option<(u32, &'a str)>, what: &str, of: u64| {
            if product > 0 && of.is_multiple_of(product) {
                return Ok(());
            }
            let part = found.map_or(name, |(_, part)| part);
            Err(self.fail_at(part, format!("{of} {what} do not divide into groups of {product}")))
        };
        let product = u64::from(sizes.tensor) * u64::from(sizes.stages);
        whole(product, tensor.or(stages), "ranks", u64::from(all))?;
        // DeepSpeed's workloads have groups larger than the data-parallel one where there is one expert.
        whole(u64::from(sizes.expert), expert, "data-parallel ranks", u64::from(sizes.data()))?;
        Ok((*policy, sizes, Vec::new()))
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ScenarioError> {
        let Some(word) = self.words.get(self.at).copied() else {
            return Err(self
                .fail_end(&format!("the file ends where {what} should stand"))
                .help("is the file cut off?"));
        };
        self.at += 1;
        Ok(word)
    }

    fn number(&mut self, what: &str) -> Result<u64, ScenarioError> {
        let word = self.word(what)?;
        word.parse().map_err(|_| self.fail_at(word, format!("`{word}` is not {what}")))
    }

    fn time(&mut self) -> Result<Time, ScenarioError> {
        let at = self.at;
        let number = self.number("a number of nanoseconds")?;
        number
            .checked_mul(1000)
            .map(Time)
            .ok_or_else(|| self.fail_at(self.words[at], format!("{number} ns are too long")))
    }

    fn layer(&mut self, policy: Policy) -> Result<Layer, ScenarioError> {
        let name = self.word("the name of a layer")?;
        let number = self.word("a number that means nothing")?;
        if number.parse::<i64>().is_err() {
            return Err(self.fail_at(number, format!("`{number}` stands where a number such as -1 should")));
        }
        let passes = [self.pass(Group::Tensor)?, self.pass(Group::Tensor)?, self.pass(Group::Data)?];
        let update = self.time()?;
        let last = self.words[self.at - 1];
        let at = Origin::part(self.source, name).span.start..Origin::part(self.source, last).span.end;
        if policy == Policy::Data && passes[..2].iter().any(|pass| pass.collective.is_some()) {
            return Err(self.fail_at(name, "a `DATA` workload exchanges only the gradients of weights"));
        }
        Ok(Layer { passes, update, at })
    }

    fn pass(&mut self, own: Group) -> Result<Pass, ScenarioError> {
        let takes = self.time()?;
        let word = self.word("a collective")?;
        let bytes = self.number("a size in bytes")?;
        if word == "NONE" || bytes == 0 {
            return Ok(Pass { takes, collective: None });
        }
        let suffix = SUFFIXES.iter().find_map(|(suffix, group)| Some((word.strip_suffix(suffix)?, *group)));
        let (kind, group) = suffix.unwrap_or((word, own));
        let Some((_, collective)) = COLLECTIVES.iter().find(|(known, _)| *known == kind) else {
            let known = COLLECTIVES.iter().map(|(known, _)| *known).chain(["NONE"]);
            return Err(self
                .fail_at(word, format!("there is no collective `{word}`"))
                .maybe_help(names::name_suggestion(kind, known)));
        };
        Ok(Pass { takes, collective: Some((*collective, group, bytes)) })
    }
}

/// Processor of a rank that computes.
const PROCESSOR: Option<u16> = Some(0);

/// Writes the operations of each rank.
struct Writer {
    sizes: Sizes,
    trace: Trace,
    /// Position among the groups of the trace at which those of each kind begin.
    first: [u32; 4],
}

impl Writer {
    fn new(source: &Arc<Source>, sizes: Sizes, notes: Vec<String>, is_shared: bool) -> Writer {
        let mut trace = Trace { ranks: sizes.ranks, notes, is_shared, ..Trace::of_text(source) };
        let mut first = [0; 4];
        for (place, group) in
            [Group::Tensor, Group::Data, Group::Expert, Group::ExpertData].into_iter().enumerate()
        {
            first[place] = trace.groups.len() as u32;
            let of = |rank| sizes.group(group, rank);
            let count = (0..sizes.ranks).map(of).max().map_or(0, |last| last + 1);
            trace.groups.resize(trace.groups.len() + count as usize, Vec::new());
            // If groups are shared, only those of rank 0 get members; the numbers of groups stay.
            for rank in (0..sizes.ranks).filter(|rank| !is_shared || of(*rank) == of(0)) {
                trace.groups[(first[place] + of(rank)) as usize].push(rank);
            }
        }
        Writer { sizes, trace, first }
    }

    fn write(mut self, policy: Policy, layers: &[Layer]) -> Trace {
        let ranks = if self.trace.is_shared { 1 } else { self.sizes.ranks };
        for rank in 0..ranks {
            let mut last = None;
            match policy {
                Policy::Micro => {
                    for layer in layers {
                        let [.., weights] = layer.passes;
                        self.collective(rank, layer, weights, &mut last);
                    }
                }
                Policy::Data | Policy::Transformer => self.iteration(rank, layers, &mut last),
            }
        }
        self.trace
    }

    /// Forward through all layers, and back.
    fn iteration(&mut self, rank: u32, layers: &[Layer], last: &mut Option<u32>) {
        for layer in layers {
            let [forward, ..] = layer.passes;
            self.compute(rank, layer, forward.takes, last);
            self.collective(rank, layer, forward, last);
        }
        // The backward pass takes the layers in reverse.
        for layer in layers.iter().rev() {
            let [_, inputs, weights] = layer.passes;
            self.compute(rank, layer, inputs.takes, last);
            // The gradients of weights are computed while those of inputs are exchanged, and exchanged while it goes on.
            let mut exchanged = *last;
            self.collective(rank, layer, inputs, &mut exchanged);
            self.compute(rank, layer, weights.takes, last);
            // A copy of `last`: nothing in this pass waits for the gradients of weights.
            self.collective(rank, layer, weights, &mut last.clone());
            if exchanged != *last
                && let (Some(exchanged), Some(computed)) = (exchanged, *last)
                && inputs.collective.is_some()
            {
                let join = self.push(rank, layer, What::Join { needs: None, nowhere: false });
                self.trace.wait(join, exchanged, When::Over);
                self.trace.wait(join, computed, When::Over);
                *last = Some(join);
            } else if last.is_none() {
                *last = exchanged;
            }
        }
    }

    fn push(&mut self, rank: u32, layer: &Layer, what: What) -> u32 {
        self.trace.push(rank, what, None, Place { file: 0, span: layer.at.clone() })
    }

    /// An operation after the last one.
    fn then(&mut self, rank: u32, layer: &Layer, what: What, last: &mut Option<u32>) {
        let number = self.push(rank, layer, what);
        if let Some(before) = last.replace(number) {
            self.trace.wait(number, before, When::Over);
        }
    }

    fn compute(&mut self, rank: u32, layer: &Layer, takes: Time, last: &mut Option<u32>) {
        if takes > Time::ZERO {
            self.then(rank, layer, What::Compute { takes, processor: PROCESSOR }, last);
        }
    }

    fn collective(&mut self, rank: u32, layer: &Layer, pass: Pass, last: &mut Option<u32>) {
        let Some((collective, kind, bytes)) = pass.collective else { return };
        let group = self.first[kind as usize] + self.sizes.group(kind, rank);
        self.then(rank, layer, What::Collective { collective, bytes, group, root: 0 }, last);
        if layer.update > Time::ZERO {
            self.then(rank, layer, What::Compute { takes: layer.update, processor: None }, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, ranks: Option<u32>) -> Result<Trace, ScenarioError> {
        parse(&Source::new("x.txt", text), ranks, None, false)
    }

    /// Kinds of the operations of a rank, in order.
    fn shown(trace: &Trace, rank: u32) -> Vec<String> {
        let own = trace.operations.iter().filter(|one| one.rank == rank);
        let one = |what: &What| match what {
            What::Compute { takes, processor } => {
                format!("{takes}{}", if processor.is_some() { "" } else { " update" })
            }
            What::Collective { collective, bytes, group, .. } => {
                format!("{collective:?} {bytes} {:?}", trace.groups[*group as usize])
            }
            What::Join { .. } => "join".into(),
            other => format!("{other:?}"),
        };
        own.map(|own| one(&own.what)).collect()
    }

    const HEAD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 \
        checkpoints: 0 checkpoint_initiates: 0";

    #[test]
    fn a_layer_goes_forward_and_back_over_the_groups_of_its_collectives() {
        let layer = "mlp -1 10 ALLREDUCE 64 20 ALLTOALL_EP 32 30 REDUCESCATTER 16 5\n";
        let trace = read(&format!("{HEAD}\n1\n{layer}"), None).expect("a workload");
        assert_eq!(trace.ranks, 8);
        assert_eq!(
            shown(&trace, 3),
            [
                "10 ns",
                "AllReduce 64 [2, 3]",
                "5 ns update",
                "20 ns",
                "AllToAll 32 [1, 3]",
                "5 ns update",
                "30 ns",
                "ReduceScatter 16 [1, 3, 5, 7]",
                "5 ns update",
                "join",
            ]
        );
        let data = read(&format!("{HEAD}\n1\nmlp -1 1 NONE 0 1 NONE 0 1 ALLGATHER_DP_EP 16 0\n"), None)
            .expect("a workload");
        assert_eq!(shown(&data, 3)[3], "AllGather 16 [3, 7]");
        let micro = read(
            "MICRO\n2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 16 1\nb -1 1 NONE 0 1 NONE 0 1 ALLTOALL 8 0",
            Some(3),
        );
        assert_eq!(
            shown(&micro.expect("a workload"), 2),
            ["AllReduce 16 [0, 1, 2]", "1 ns update", "AllToAll 8 [0, 1, 2]"]
        );
    }

    #[test]
    fn what_is_too_large_says_what_fits() {
        // Ring: 2 n (n - 1) messages, and twice as many waits.
        let cost: Cost = |_, ranks, _| {
            let messages = 2 * u64::from(ranks) * u64::from(ranks - 1);
            (messages, 2 * messages)
        };
        let large = |head: &str, layers: usize, layer: &str| {
            let text = format!("{head}\n{layers}\n{}", layer.repeat(layers));
            parse(&Source::new("x.txt", text), None, Some((cost, 0)), false)
        };
        let computes = "l -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 100\n";
        let head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 all_gpus: 131072";
        // Three computations of each rank, and not more.
        assert!(large(head, 22, computes).is_ok(), "8.7 million operations");
        let error = large(head, 60, computes).expect_err("23.6 million operations");
        assert_eq!(
            error.to_string(),
            "60 layers of 131072 ranks make 23592960 operations, more than 20000000"
        );
        let rendered = error.render();
        assert!(
            rendered.contains("`all_gpus: 111104` with `pp: 1` fits, and makes 0 messages"),
            "{rendered}"
        );
        assert!(rendered.contains("x.txt:1:58"), "{rendered}");
        let head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 12 all_gpus: 9216";
        let layer = "l -1 1000 ALLREDUCE 800 1000 ALLREDUCE 800 1000 ALLREDUCE 800 100\n";
        let error = large(head, 1789, layer).expect_err("too many messages");
        let text = error.to_string();
        assert!(
            text.starts_with("1789 layers of 9216 ranks make ") && text.contains("more than 20000000"),
            "{text}"
        );
        let rendered = error.render();
        assert!(
            rendered.contains("each of its 12 stages has 768 ranks, and no message goes between them"),
            "{rendered}"
        );
        let fits =
            rendered.split("`all_gpus: ").nth(1).and_then(|rest| rest.split('`').next()).expect("a number");
        let smaller = head.replace("pp: 12", "pp: 1").replace("9216", fits);
        assert!(large(&smaller, 1789, layer).is_ok(), "{fits} ranks fit");
        let text = format!("{head}\n40\n{}", layer.repeat(40));
        let shared =
            parse(&Source::new("x.txt", text), None, Some((cost, 0)), true).expect("one of each kind");
        assert_eq!((shared.ranks, shared.operations.iter().map(|one| one.rank).max()), (9216, Some(0)));
        let sizes: Vec<usize> = shared.groups.iter().map(Vec::len).filter(|size| *size > 0).collect();
        assert_eq!(sizes, [8, 96, 1, 96], "tensor, data, expert and the same expert of all data");
    }

    #[test]
    fn what_is_wrong_is_refused_by_name_and_line() {
        let layer = "mlp -1 10 ALLREDUCE 64 20 NONE 0 30 NONE 0 5";
        let with = |head: &str| format!("{head}\n1\n{layer}\n");
        let cases = [
            (String::new(), 1, "the workload ends before its number of layers"),
            (with("HYBRID_DLRM"), 1, "`HYBRID_DLRM` is not supported"),
            (with("MIKRO"), 1, "`MIKRO` is no kind of parallelism"),
            (with("MICRO"), 1, "the workload does not say of how many ranks it is"),
            (with("MICRO all_gpus: 0"), 1, "`all_gpus:` is 0"),
            (with("MICRO all_gpus: x"), 1, "`x` is not a count"),
            (with("MICRO all_gpus:"), 1, "`all_gpus:` has no value"),
            (with("MICRO all_gpu: 4"), 1, "`all_gpu:` is not part of the first line"),
            (
                with("MICRO model_parallel_NPU_group: 3 all_gpus: 8"),
                1,
                "8 ranks do not divide into groups of 3",
            ),
            (with("MICRO ep: 3 all_gpus: 8"), 1, "8 data-parallel ranks do not divide into groups of 3"),
            (
                with("MICRO checkpoints: 1 5 all_gpus: 8"),
                1,
                "layers that are computed again in the backward pass are not supported",
            ),
            (with("DATA all_gpus: 8"), 3, "a `DATA` workload exchanges only the gradients of weights"),
            (format!("{HEAD}\n2\n{layer}\n"), 3, "promises 2 layers, the file holds 1"),
            (format!("{HEAD}\n1\n{layer} 7\n"), 3, "`7` stands after the last of 1 layer"),
            (
                format!("{HEAD}\n1\nmlp -1 10 ALLREDUCE\n"),
                3,
                "the file ends where a size in bytes should stand",
            ),
            (
                format!("{HEAD}\n1\nmlp -1 10 ALREDUCE 64 20 NONE 0 30 NONE 0 5"),
                3,
                "there is no collective `ALREDUCE`",
            ),
            (format!("{HEAD}\n1\nmlp -1 ten ALLREDUCE 64"), 3, "`ten` is not a number of nanoseconds"),
            (
                format!("{HEAD}\n1\nmlp -1 99999999999999999 ALLREDUCE 64"),
                3,
                "99999999999999999 ns are too long",
            ),
            (format!("{HEAD}\n1\nmlp one 1"), 3, "`one` stands where a number such as -1 should"),
            (format!("{HEAD}\nmany\n"), 2, "`many` is not a number of layers"),
            (
                with("DATA all_gpus: 4000000000").replace("ALLREDUCE", "NONE"),
                1,
                "4000000000 ranks are more than 131072",
            ),
        ];
        for (text, line, message) in cases {
            let error = read(&text, None).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }
}
