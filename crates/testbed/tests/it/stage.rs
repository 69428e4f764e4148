//! A switch between namespaces of hosts, for tests that bring hosts of their own.
#![allow(clippy::disallowed_methods, reason = "processes and real time")]
#![allow(dead_code, unreachable_pub, reason = "tests are built with and without AF_XDP")]

use headway_switch::{Addresses, IoChoice};
use headway_testbed::namespaces::{self, in_namespace_of, in_new_namespace, switch_interface};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

/// The namespace of a switch, which outlives it, and those of the hosts around it.
pub struct Stage {
    scenario: tempfile::NamedTempFile,
    middle: Child,
    hosts: Vec<Child>,
}

impl Stage {
    /// Sets up so many hosts around one switch.
    pub fn set_up(hosts: u32, rate: &str, delay: &str, buffer: &str, mtu: u32) -> Stage {
        let mut scenario = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
        let text = format!(
            "stop = \"60 s\"\n[topology]\nkind = \"single-switch\"\nhosts = {hosts}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
             [fabric]\nbuffer = \"{buffer}\"\n[transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"flows\"\n\
             flows = [{{ src = 0, dst = 1, bytes = 1000, start = \"0 s\" }}]\n"
        );
        scenario.write_all(text.as_bytes()).expect("written");
        let stage =
            Stage { scenario, middle: spawn_anchor(), hosts: (0..hosts).map(|_| spawn_anchor()).collect() };
        let pids: Vec<(u32, u32)> = (0..).zip(stage.hosts.iter().map(Child::id)).collect();
        namespaces::join_hosts(stage.middle.id(), &pids, &Addresses::new(hosts), mtu).expect("namespaces");
        stage
    }

    /// Starts the switch and waits until it is ready; the line in which it says so.
    pub fn start_switch(&self, io: IoChoice, mtu: u32, more: &[&str]) -> (Switch, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-switch"));
        command.arg(self.scenario.path()).arg("--slowdown=1").arg(format!("--mtu={mtu}"));
        command.args((0..self.hosts.len() as u32).map(|h| format!("--port=h{h}={}", switch_interface(h))));
        command.args(more);
        command.arg(format!("--io={}", io.word())).stdout(Stdio::piped()).stderr(Stdio::piped());
        in_namespace_of(&mut command, self.middle.id()).expect("it is there");
        let mut process = command.spawn().expect("the switch starts");
        let mut said = String::new();
        BufReader::new(process.stderr.take().expect("piped")).read_line(&mut said).expect("it speaks");
        (Switch(process), said)
    }

    /// Result of `make`, called by a thread in a host's namespace: sockets stay where they were made.
    pub fn run_within<T: Send + 'static>(&self, host: u32, make: impl FnOnce() -> T + Send + 'static) -> T {
        let namespace =
            File::open(format!("/proc/{}/ns/net", self.hosts[host as usize].id())).expect("it is there");
        let made = std::thread::spawn(move || {
            // `setns` moves the calling thread only, so the test itself stays where it is.
            setns(&namespace, CloneFlags::CLONE_NEWNET).expect("it may be entered");
            make()
        });
        made.join().expect("made")
    }

    /// Output of `ip` about the switch's interfaces.
    pub fn links_output(&self) -> String {
        let mut command = Command::new("ip");
        command.args(["-details", "link", "show"]);
        in_namespace_of(&mut command, self.middle.id()).expect("it is there");
        String::from_utf8_lossy(&command.output().expect("it runs").stdout).into_owned()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in self.hosts.iter_mut().chain([&mut self.middle]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A running switch, killed when dropped.
pub struct Switch(Child);

impl Switch {
    /// Ends it as Ctrl-C does; its report.
    pub fn end_switch(mut self) -> Json {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGINT).expect("it is there");
        let mut report = String::new();
        self.0.stdout.take().expect("piped").read_to_string(&mut report).expect("a report");
        assert!(self.0.wait().expect("it ends").success());
        serde_json::from_str(&report).expect("JSON")
    }

    /// Kills it, and waits until it is gone.
    pub fn kill_switch(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("it is gone");
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that only holds a namespace.
fn spawn_anchor() -> Child {
    let mut command = Command::new("sleep");
    // Longer than any test. It ends by itself if the test was killed before it could.
    command.arg("900");
    in_new_namespace(&mut command);
    command.spawn().expect("it starts")
}
