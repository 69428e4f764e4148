//! One server of rate 1 that jobs share as a fluid: processor sharing, shortest remaining processing time,
//! least attained service.
//!
//! Source: L2DCT, INFOCOM 2013, §I and Fig. 1, which names the three disciplines and draws them for three
//! jobs. Jobs that a discipline cannot tell apart share evenly: under least attained service those that have
//! had the least, under shortest remaining processing time those of equal remainder are served in the order
//! of arrival instead, since sharing would only make the first of them later.

use super::path::{list, number};
use super::{
    Arguments, Axis, Curve, Declared, Function, Info, Model, ModelError, Panel, Picture, Range, Value, check,
};
use crate::text::key::{Takes, needed};
use crate::text::{Item, Reader, ScenarioError};
use serde_json::{Map, Value as Json, json};

/// Rule by which the server is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Evenly among all that are there.
    Ps,
    /// All to the one with the least left.
    Srpt,
    /// Evenly among those that have had the least.
    Las,
}

impl Discipline {
    /// Names, in the order of the variants.
    pub const NAMES: &[&str] = &["ps", "srpt", "las"];
    /// All, in the same order.
    pub const ALL: [Discipline; 3] = [Discipline::Ps, Discipline::Srpt, Discipline::Las];

    /// The one called `name`.
    pub fn find(name: &str) -> Option<Discipline> {
        Self::NAMES.iter().position(|n| *n == name).map(|at| Self::ALL[at])
    }
}

/// Work that comes at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Arrival time.
    pub arrival: f64,
    /// Service that it needs, in units of the server's rate.
    pub size: f64,
}

/// A stretch of time in which nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Start of the interval.
    pub from: f64,
    /// End of the interval.
    pub to: f64,
    /// Share of the server of each job.
    pub rates: Vec<f64>,
}

/// Outcome of the jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Time at which each job is done.
    pub finish: Vec<f64>,
    /// All time up to the last finish, without gaps.
    pub phases: Vec<Phase>,
}

/// Work that is less than this share of all work is none: rounding of times leaves as much behind.
const NOTHING: f64 = 1e-12;

/// Serves the jobs; at most a thousand of them.
pub fn serve(discipline: Discipline, jobs: &[Job]) -> Result<Schedule, ModelError> {
    check("the number of jobs", "from 1 to 1000", jobs.len() as f64, (1..=1000).contains(&jobs.len()))?;
    for job in jobs {
        let (arrival, size) = (job.arrival, job.size);
        check("an arrival", "at least 0", arrival, arrival >= 0.0 && arrival.is_finite())?;
        check("a size", "more than 0", size, size > 0.0 && size.is_finite())?;
    }
    // In proportion to the jobs, since rounding errors are.
    let tiny = NOTHING * jobs.iter().map(|job| job.arrival + job.size).sum::<f64>();
    let mut left: Vec<f64> = jobs.iter().map(|job| job.size).collect();
    let mut finish = vec![f64::NAN; jobs.len()];
    let (mut now, mut phases) = (0.0, Vec::new());
    while finish.iter().any(|f| f.is_nan()) {
        let rates = share(discipline, jobs, &left, now);
        let next = next_change(discipline, jobs, &left, &rates, now, tiny);
        for (left, rate) in left.iter_mut().zip(&rates) {
            *left -= rate * (next - now);
        }
        phases.push(Phase { from: now, to: next, rates });
        now = next;
        // Several jobs may end at once, of which rounding leaves a little to some.
        for (job, left) in left.iter_mut().enumerate() {
            if *left <= tiny && finish[job].is_nan() {
                (*left, finish[job]) = (0.0, now);
            }
        }
    }
    Ok(Schedule { finish, phases })
}

/// Quantity by which the discipline ranks a job: less is first, equal is shared.
fn rank(discipline: Discipline, job: &Job, left: f64) -> f64 {
    match discipline {
        Discipline::Ps => 0.0,
        Discipline::Srpt => left,
        Discipline::Las => job.size - left,
    }
}

/// True if ranks are equal but for rounding.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// Share of the server of each job at `now`.
fn share(discipline: Discipline, jobs: &[Job], left: &[f64], now: f64) -> Vec<f64> {
    let present = |i: &usize| left[*i] > 0.0 && jobs[*i].arrival <= now;
    let rank = |i: usize| rank(discipline, &jobs[i], left[i]);
    let first = (0..jobs.len()).filter(present).map(rank).fold(f64::INFINITY, f64::min);
    let mut served: Vec<usize> = (0..jobs.len()).filter(present).filter(|i| same(rank(*i), first)).collect();
    if discipline == Discipline::Srpt {
        served.sort_by(|a, b| jobs[*a].arrival.total_cmp(&jobs[*b].arrival));
        served.truncate(1);
    }
    // All zero while no job is there: the server rests until the next arrival.
    let mut rates = vec![0.0; jobs.len()];
    served.iter().for_each(|i| rates[*i] = 1.0 / served.len() as f64);
    rates
}

/// Time at which a job next comes, ends, or (under least attained service) has had as much as one that waits.
fn next_change(
    discipline: Discipline,
    jobs: &[Job],
    left: &[f64],
    rates: &[f64],
    now: f64,
    tiny: f64,
) -> f64 {
    let arrivals = jobs.iter().map(|job| job.arrival).filter(|at| *at > now);
    let served = (0..jobs.len()).filter(|i| rates[*i] > 0.0);
    let ends = served.clone().map(|i| now + left[i] / rates[i]);
    let mut next = arrivals.chain(ends).fold(f64::INFINITY, f64::min);
    if let (Discipline::Las, Some(one)) = (discipline, served.clone().next()) {
        let had = |i: usize| jobs[i].size - left[i];
        let waiting =
            (0..jobs.len()).filter(|i| left[*i] > 0.0 && jobs[*i].arrival <= now && rates[*i] == 0.0);
        // A gap within rounding would make a phase without any length, again and again.
        let ahead =
            waiting.map(|i| had(i) - had(one)).filter(|gap| *gap > tiny).fold(f64::INFINITY, f64::min);
        next = next.min(now + ahead / rates[one]);
    }
    next
}

/// Jobs with their names, which one server of rate 1 serves under each discipline.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduling {
    names: Vec<String>,
    jobs: Vec<Job>,
}

impl Declared for Scheduling {
    const INFO: Info = Info {
        name: "scheduling",
        summary: "jobs on one server of rate 1 under three disciplines",
        paper: "L2DCT, INFOCOM 2013, §I",
        keys: &[needed("jobs", Takes::Tables, "the jobs, each `{ name, arrival, size }`")],
        example: "jobs = [{ name = \"A\", arrival = 1, size = 1 }, { name = \"B\", arrival = 0, size = 2 }]",
        functions: &[Function {
            name: "fluid",
            doc: "Completion less arrival of each job on a server of rate 1 under `ps`, `srpt` or `las` (L2DCT §I).",
            arguments: &["discipline", "arrivals", "sizes"],
            call: fluid,
        }],
    };

    fn read(table: &Reader<'_>) -> Result<Scheduling, ScenarioError> {
        let (names, jobs) = list(&table.need("jobs")?, job)?.into_iter().unzip();
        Ok(Scheduling { names, jobs })
    }
}

fn job(item: &Item<'_>) -> Result<(String, Job), ScenarioError> {
    let table = item.table()?;
    let name = table.need("name")?.text()?.to_string();
    let job = Job {
        arrival: number(&table.need("arrival")?, "at least 0", |n| n >= 0.0)?,
        size: number(&table.need("size")?, "more than 0", |n| n > 0.0)?,
    };
    table.finish(&[], None)?;
    Ok((name, job))
}

impl Model for Scheduling {
    fn table(&self) -> Map<String, Json> {
        let row =
            |(name, job): (&String, &Job)| json!({ "name": name, "arrival": job.arrival, "size": job.size });
        Map::from_iter([("jobs".to_string(), self.names.iter().zip(&self.jobs).map(row).collect())])
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        let titles = Discipline::ALL.into_iter().zip(["PS", "SRPT", "LAS"]);
        let panels = titles.map(|(discipline, title)| {
            let schedule = serve(discipline, &self.jobs)?;
            let times = times(&schedule, &self.jobs);
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            Ok(Panel {
                title: format!("{title}: mean time {mean:.2}"),
                x: Axis { label: "time", quantity: "count", range: Range::Tight },
                y: Axis { label: "share of the server", quantity: "ratio", range: Range::Fixed(0.0, 1.05) },
                curves: self.names.iter().enumerate().map(|(at, name)| served(&schedule, name, at)).collect(),
                reference: None,
            })
        });
        Ok(Picture {
            title: "Three disciplines on one server",
            caption: "Each job's share of one server of rate 1 under processor sharing, shortest remaining processing time \
                and least attained service; the mean is of completion less arrival."
                .into(),
            columns: 3,
            panels: panels.collect::<Result<_, ModelError>>()?,
        })
    }
}

/// Completion less arrival of each job.
fn times(schedule: &Schedule, jobs: &[Job]) -> Vec<f64> {
    schedule.finish.iter().zip(jobs).map(|(finish, job)| finish - job.arrival).collect()
}

/// One job's share as steps that begin with its first service and end with its last.
fn served(schedule: &Schedule, name: &str, at: usize) -> Curve {
    let is_served = |phase: &Phase| phase.rates[at] > 0.0;
    let first = schedule.phases.iter().position(is_served).unwrap_or(0);
    let last = schedule.phases.iter().rposition(is_served).unwrap_or(0);
    let phases = &schedule.phases[first..=last];
    let (mut x, mut y) = (vec![phases[0].from], vec![0.0]);
    for phase in phases {
        x.extend([phase.from, phase.to]);
        y.extend([phase.rates[at]; 2]);
    }
    x.push(schedule.phases[last].to);
    y.push(0.0);
    Curve { name: format!("job {name}"), x, y }
}

fn fluid(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let word = arguments.word(0)?;
    let discipline = Discipline::find(word)
        .ok_or_else(|| ModelError::Word { found: word.into(), known: Discipline::NAMES.join(", ") })?;
    let (arrivals, sizes) = (arguments.numbers(1)?, arguments.numbers(2)?);
    if arrivals.len() != sizes.len() {
        return Err(ModelError::Lengths("each job has an arrival and a size"));
    }
    let jobs: Vec<Job> = arrivals.iter().zip(sizes).map(|(&arrival, &size)| Job { arrival, size }).collect();
    Ok(Value::Numbers(times(&serve(discipline, &jobs)?, &jobs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals and sizes under which the paper's completion times come out.
    const FIGURE: [Job; 3] =
        [Job { arrival: 1.0, size: 1.0 }, Job { arrival: 2.0, size: 2.0 }, Job { arrival: 0.0, size: 4.0 }];

    fn times(discipline: Discipline) -> Vec<f64> {
        let schedule = serve(discipline, &FIGURE).expect("jobs");
        schedule.finish.iter().zip(FIGURE).map(|(finish, job)| finish - job.arrival).collect()
    }

    #[track_caller]
    fn close(found: &[f64], expected: &[f64]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}, not {expected:?}");
    }

    #[test]
    fn the_three_disciplines_of_figure_1() {
        close(&times(Discipline::Ps), &[2.5, 4.5, 7.0]);
        close(&times(Discipline::Srpt), &[1.0, 2.0, 7.0]);
        close(&times(Discipline::Las), &[1.0, 3.0, 7.0]);
        close(&serve(Discipline::Ps, &FIGURE).expect("jobs").finish, &[3.5, 6.5, 7.0]);
    }

    #[test]
    fn the_server_never_rests_while_there_is_work_and_gives_each_job_its_size() {
        // Sizes are quarters, which floating point holds exactly, and several jobs arrive at once.
        let jobs: Vec<Job> = (0..40)
            .map(|i| Job { arrival: f64::from(i * 7 % 11), size: 0.25 + f64::from(i * 13 % 17) / 4.0 })
            .collect();
        for discipline in Discipline::ALL {
            let schedule = serve(discipline, &jobs).expect("jobs");
            let mut had = vec![0.0; jobs.len()];
            let mut at = 0.0;
            for phase in &schedule.phases {
                assert!(phase.from == at && phase.to > at, "{discipline:?}");
                assert!((phase.rates.iter().sum::<f64>() - 1.0).abs() < 1e-9, "work is always there");
                for (had, rate) in had.iter_mut().zip(&phase.rates) {
                    *had += rate * (phase.to - phase.from);
                }
                at = phase.to;
            }
            close(&had, &jobs.iter().map(|j| j.size).collect::<Vec<_>>());
            let work: f64 = jobs.iter().map(|j| j.size).sum();
            close(&[schedule.finish.iter().copied().fold(0.0, f64::max)], &[work]);
        }
        let mean = |d| serve(d, &jobs).expect("jobs").finish.iter().sum::<f64>();
        assert!(mean(Discipline::Srpt) < mean(Discipline::Las), "nothing beats the shortest remainder");
        assert!(mean(Discipline::Srpt) < mean(Discipline::Ps));
    }

    #[test]
    fn jobs_alike_share_and_a_server_waits_for_the_first() {
        let twins = [Job { arrival: 3.0, size: 1.0 }; 2];
        close(&serve(Discipline::Las, &twins).expect("jobs").finish, &[5.0, 5.0]);
        close(&serve(Discipline::Ps, &twins).expect("jobs").finish, &[5.0, 5.0]);
        close(&serve(Discipline::Srpt, &twins).expect("jobs").finish, &[4.0, 5.0]);
    }

    #[test]
    fn what_is_no_job_is_refused() {
        let job = |arrival, size| [Job { arrival, size }];
        for jobs in [job(-1.0, 1.0), job(0.0, 0.0), job(f64::NAN, 1.0), job(0.0, f64::INFINITY)] {
            assert!(serve(Discipline::Ps, &jobs).is_err(), "{jobs:?}");
        }
        assert!(serve(Discipline::Las, &[]).is_err());
        assert_eq!(Discipline::find("las"), Some(Discipline::Las));
        assert_eq!(Discipline::find("fifo"), None);
    }
}
