//! Names of the columns of flow logs. Python reads such logs, by the same names.

/// Names of the time of a record, without a unit.
pub const TIMES: &[&str] = &[
    "ts",
    "time",
    "timestamp",
    "start",
    "starttime",
    "flowstart",
    "firstseen",
    "datefirstseen",
    "stime",
    "first",
    "begin",
    "epoch",
];
/// Names of the address that sends.
pub const SOURCES: &[&str] = &[
    "src",
    "sa",
    "srcip",
    "source",
    "sourceip",
    "srcaddr",
    "sourceaddress",
    "saddr",
    "ipsrc",
    "srchost",
    "sip",
    "from",
    "client",
];
/// Names of the address that receives.
pub const TARGETS: &[&str] = &[
    "dst",
    "da",
    "dstip",
    "dest",
    "destination",
    "destinationip",
    "destip",
    "dstaddr",
    "destinationaddress",
    "daddr",
    "ipdst",
    "dsthost",
    "dip",
    "to",
    "server",
];
/// Names of the bytes of a record, without a unit.
pub const SIZES: &[&str] = &[
    "bytes",
    "ibyt",
    "inbytes",
    "size",
    "octets",
    "byte",
    "length",
    "totalbytes",
    "bytessent",
    "len",
    "volume",
];
/// Units at the end of a name.
const UNITS: &[&str] =
    &["us", "ms", "ns", "ps", "s", "sec", "kb", "mb", "gb", "kib", "mib", "gib", "b", "bits", "packets"];

/// The names of a header, in small letters, without what is between words; a unit stays behind a dash.
pub fn heads(words: &[&str]) -> Vec<String> {
    let text = words.join(" ");
    let separator = [',', ';', '\t'].into_iter().find(|one| text.contains(*one)).unwrap_or(' ');
    text.split(separator).map(head).collect()
}

/// The name of one column.
fn head(name: &str) -> String {
    let name = name.trim().trim_matches('"').to_lowercase();
    let parts: Vec<&str> =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()).collect();
    match parts.split_last() {
        Some((unit, before)) if !before.is_empty() && UNITS.contains(unit) => {
            format!("{}-{unit}", before.concat())
        }
        _ => parts.concat(),
    }
}

/// A name without its unit.
pub fn bare(name: &str) -> &str {
    name.split_once('-').map_or(name, |(bare, _)| bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_units() {
        assert_eq!(
            heads(&["ts_us,Src IP,", "dst-ip;x,\"Bytes (kB)\""]),
            ["ts-us", "srcip", "dstipx", "bytes-kb"]
        );
        assert_eq!(heads(&["start", "srcaddr"]), ["start", "srcaddr"]);
        assert_eq!(heads(&["start_time;da"]), ["starttime", "da"]);
        assert_eq!(bare("ts-us"), "ts");
    }
}
