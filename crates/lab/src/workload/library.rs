//! The distributions that come with Headway; provenance is in `workloads/README.md`.

use super::cdf::{Cdf, Interpolation};
use crate::text::{ScenarioError, Source};

/// One row of the index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for listings and the documentation.
    pub summary: &'static str,
    /// Source of the distribution.
    pub paper: &'static str,
    /// Interpolation between its rows.
    pub interpolation: Interpolation,
    /// Mean that the source's own scripts divide the load by, in bytes, where they state one.
    pub published_mean: Option<f64>,
    text: &'static str,
}

macro_rules! library {
    ($($name:literal $rule:ident $mean:expr, $paper:literal, $summary:literal;)+) => {
        /// Every distribution of the library.
        pub const WORKLOADS: &[Workload] = &[$(Workload {
            name: $name,
            summary: $summary,
            paper: $paper,
            interpolation: Interpolation::$rule,
            published_mean: $mean,
            text: include_str!(concat!("../../../../workloads/", $name, ".csv")),
        }),+];
    };
}

library! {
    "xpass_webserver" Linear Some(63_735.0), "ExpressPass, SIGCOMM 2017; Facebook, Roy et al. 2015", "web server (AMRT, RPO: WSv)";
    "xpass_cachefollower" Linear Some(701_490.0), "ExpressPass, SIGCOMM 2017; Facebook, Roy et al. 2015", "cache follower (AMRT, RPO: CF)";
    "xpass_websearch" Linear Some(1_654_275.0), "ExpressPass, SIGCOMM 2017; DCTCP 2010", "web search (AMRT, RPO: WSc)";
    "xpass_datamining" Linear Some(7_410_212.0), "ExpressPass, SIGCOMM 2017; VL2 2009", "data mining (AMRT, RPO: DM)";
    "amrt_hadoop_reconstructed" Linear None, "AMRT, TNSM 2022, table I", "Hadoop cluster (AMRT: HC), reconstructed from the table, not measured";
    "yaps_websearch" Linear Some(1_661_480.0), "pHost simulator; DCTCP 2010", "web search in packets of 1460 B";
    "yaps_datamining" Linear Some(7_470_820.0), "pHost simulator; VL2 2009", "data mining in packets of 1460 B";
    "yaps_imc10" Linear None, "pHost simulator; Benson et al. 2010", "enterprise data center";
    "mqecn_cache" Linear Some(913_703.0), "MQ-ECN, NSDI 2016", "cache";
    "mqecn_hadoop" Linear Some(4_149_016.0), "MQ-ECN, NSDI 2016", "Hadoop";
    "dctcp_websearch" Linear None, "DCTCP 2010, HPCC 2019", "web search, 15 % uniform below 10 kB";
    "vl2_datamining" Linear None, "VL2 2009", "data mining with a heavier tail";
    "trafficgen_fb" Linear None, "HKUST traffic generator", "Facebook key-value sizes";
    "hpcc_fbhadoop" Linear None, "HPCC, SIGCOMM 2019; Roy et al. 2015", "Facebook Hadoop";
    "hpcc_alistorage2019" Linear None, "HPCC, SIGCOMM 2019", "Alibaba storage";
    "opera_fbhadoop_interrack" Linear None, "Opera, NSDI 2020; Roy et al. 2015", "Facebook Hadoop between racks";
    "homa_w1_fb_memcached" Step None, "Homa, SIGCOMM 2018; Atikoglu et al. 2012", "W1: Facebook memcached (ProactMP: W4)";
    "homa_w2_google_search" Step None, "Homa, SIGCOMM 2018", "W2: Google search RPCs (ProactMP: W2)";
    "homa_w3_google_all" Step None, "Homa, SIGCOMM 2018", "W3: all Google RPCs (ProactMP: W3)";
    "homa_w4_fb_hadoop" Step None, "Homa, SIGCOMM 2018; Roy et al. 2015", "W4: Facebook Hadoop (ProactMP: W5)";
    "homa_w5_dctcp_websearch" Step None, "Homa, SIGCOMM 2018; DCTCP 2010", "W5: web search (ProactMP: W1)";
    "homa_fb_webserver" Step None, "Homa authors; Roy et al. 2015", "Facebook web server, finer";
    "homa_fb_cachefollower" Step None, "Homa authors; Roy et al. 2015", "Facebook cache follower, finer";
    "l2dct_uniform" Linear None, "L2DCT, INFOCOM 2013", "uniform from 2 kB to 98 kB";
    "l2dct_pareto" Linear None, "L2DCT, INFOCOM 2013", "Pareto, shape 1.2, cut at 833 MB";
    "l2dct_pareto_10mb" Linear None, "L2DCT, INFOCOM 2013", "Pareto, shape 1.2, of at most 10 MB";
}

/// The distribution called `name`.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

impl Workload {
    /// The distribution itself.
    pub fn cdf(&self) -> Result<Cdf, ScenarioError> {
        Cdf::parse(&Source::new(format!("workloads/{}.csv", self.name), self.text), self.interpolation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = include_str!("../../../../workloads/index.tsv");

    #[test]
    fn every_distribution_has_the_mean_range_and_shares_of_the_index() {
        let mut seen = Vec::new();
        for line in INDEX.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let name = fields[0].trim_end_matches(".csv");
            let workload = find(name).unwrap_or_else(|| panic!("{name} is not in the library"));
            let cdf = workload.cdf().unwrap_or_else(|e| panic!("{}", e.render()));
            assert_eq!(workload.interpolation.name(), fields[1], "{name}");
            assert_eq!(cdf.rows().len().to_string(), fields[2], "{name}");
            assert_eq!(cdf.range(), (number(fields[3]) as u64, number(fields[4]) as u64), "{name}");
            let mean = number(fields[5]);
            // The index has means to a tenth of a byte.
            assert!((cdf.mean() - mean).abs() <= 0.06_f64.max(mean * 1e-9), "{name}: {} {mean}", cdf.mean());
            let up_to = [10_000, 100_000, 1_000_000].map(|b| cdf.share_up_to(b));
            let bands = [up_to[0], up_to[1] - up_to[0], up_to[2] - up_to[1], 1.0 - up_to[2]];
            for (band, field) in bands.iter().zip(&fields[6..]) {
                assert!((band - number(field)).abs() < 1e-4, "{name}: {band} {field}");
            }
            seen.push(name);
        }
        assert_eq!(seen.len(), WORKLOADS.len());
    }

    fn number(text: &str) -> f64 {
        text.parse().expect("a number")
    }
}
