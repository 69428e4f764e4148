// ASTRA-sim with Headway as its network: docs/c-interface.md says how to build and run it.
//
// ASTRA-sim's system layer asks an AstraNetworkAPI for messages and times, one object for each rank. Here each call is one
// call of headway_sim.h. Its unit of time is the nanosecond; Headway's picoseconds are not rounded but where it asks.

#include "headway_sim.h"

#include <astra-sim/common/AstraNetworkAPI.hh>
#include <astra-sim/common/Logging.hh>
#include <astra-sim/system/Sys.hh>
#include <extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace AstraSim;

void check(headway_status status) {
    if (status != HEADWAY_OK) {
        std::cerr << headway_error() << std::endl;
        std::exit(1);
    }
}

class HeadwayNetwork : public AstraNetworkAPI {
  public:
    HeadwayNetwork(int rank, headway* run, const std::vector<double>& bandwidths, int& unfinished)
        : AstraNetworkAPI(rank), run(run), bandwidths(bandwidths), unfinished(unfinished) {}

    // The analytical back end calls both handlers when the last byte has arrived, and so does this one.
    int sim_send(void*, uint64_t count, int, int dst, int tag, sim_request*, void (*handler)(void*), void* arg) override {
        check(headway_send(run, rank, dst, count, tag, HEADWAY_RECEIVED, handler, arg));
        return 0;
    }

    int sim_recv(void*, uint64_t count, int, int src, int tag, sim_request*, void (*handler)(void*), void* arg) override {
        check(headway_receive(run, rank, src, count, tag, handler, arg));
        return 0;
    }

    void sim_schedule(timespec_t delta, void (*function)(void*), void* arg) override {
        if (delta.time_res != NS || delta.time_val < 0) {
            std::cerr << "a time that ASTRA-sim schedules is not in nanoseconds, or is past" << std::endl;
            std::exit(1);
        }
        check(headway_schedule(run, std::llroundl(delta.time_val * 1000), function, arg));
    }

    timespec_t sim_get_time() override {
        return {NS, headway_now(run) / 1000.0L};
    }

    double get_BW_at_dimension(int dimension) override {
        return bandwidths.at(dimension);
    }

    void sim_notify_finished() override {
        unfinished -= 1;
    }

  private:
    headway* run;
    const std::vector<double>& bandwidths;
    int& unfinished;
};

// "8x4" and "50,25".
template <typename Number>
std::vector<Number> numbers(const std::string& text, char between) {
    std::vector<Number> found;
    std::istringstream stream(text);
    for (std::string one; std::getline(stream, one, between);) {
        std::istringstream value(one);
        Number number;
        if (!(value >> number) || !value.eof() || number <= 0) {
            std::cerr << "\"" << one << "\" in \"" << text << "\" is no positive number" << std::endl;
            std::exit(2);
        }
        found.push_back(number);
    }
    return found;
}

const char* usage =
    "headway_astra --scenario=FILE --npus=8x4 --workload-configuration=... --system-configuration=...\n"
    "    --remote-memory-configuration=... [--comm-group-configuration=...] [--logging-configuration=...]\n"
    "    [--logging-folder=log] [--bandwidth=50,25] [--num-queues-per-dim=1] [--comm-scale=1] [--injection-scale=1]\n"
    "    [--rendezvous-protocol=false] [--out=DIRECTORY] [--set=KEY=VALUE ...]\n"
    "\n"
    "The scenario is the network; --npus says how ASTRA-sim divides its ranks into dimensions, and rank r is at host r.\n"
    "--bandwidth is what ASTRA-sim's scheduler takes a dimension for, in GB/s. --out writes Headway's results.\n";

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, std::string> options = {
        {"scenario", ""}, {"npus", ""}, {"workload-configuration", ""}, {"system-configuration", ""},
        {"remote-memory-configuration", ""}, {"comm-group-configuration", "empty"}, {"logging-configuration", "empty"},
        {"logging-folder", "log"}, {"bandwidth", ""}, {"num-queues-per-dim", "1"}, {"comm-scale", "1"},
        {"injection-scale", "1"}, {"rendezvous-protocol", "false"}, {"out", ""},
    };
    std::vector<std::string> settings;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const auto equals = word.find('=');
        const auto key = word.substr(0, equals);
        if (equals != std::string::npos && key == "--set") {
            settings.push_back(word.substr(equals + 1));
        } else if (equals != std::string::npos && key.rfind("--", 0) == 0 && options.count(key.substr(2))) {
            options[key.substr(2)] = word.substr(equals + 1);
        } else {
            std::cerr << "\"" << word << "\" is no option\n\n" << usage;
            return 2;
        }
    }
    for (const char* needed : {"scenario", "npus", "workload-configuration", "system-configuration", "remote-memory-configuration"}) {
        if (options[needed].empty()) {
            std::cerr << "--" << needed << " is missing\n\n" << usage;
            return 2;
        }
    }

    std::vector<const char*> sets;
    for (const auto& setting : settings) {
        sets.push_back(setting.c_str());
    }
    headway* run = nullptr;
    check(headway_open(options["scenario"].c_str(), sets.data(), sets.size(), &run));

    const auto dimensions = numbers<int>(options["npus"], 'x');
    auto bandwidths = numbers<double>(options["bandwidth"], ',');
    bandwidths.resize(dimensions.size(), -1);
    long npus = 1;
    for (const int size : dimensions) {
        npus *= size;
    }
    if (npus > static_cast<long>(headway_hosts(run))) {
        std::cerr << options["npus"] << " are " << npus << " NPUs, and the scenario has " << headway_hosts(run) << " hosts"
                  << std::endl;
        return 2;
    }

    LoggerFactory::init(options["logging-configuration"], options["logging-folder"]);
    const auto memory = std::make_unique<Analytical::AnalyticalRemoteMemory>(options["remote-memory-configuration"]);
    const std::vector<int> queues(dimensions.size(), std::stoi(options["num-queues-per-dim"]));
    int unfinished = static_cast<int>(npus);
    std::vector<std::unique_ptr<HeadwayNetwork>> networks;
    std::vector<Sys*> systems;
    for (int rank = 0; rank < npus; rank++) {
        networks.push_back(std::make_unique<HeadwayNetwork>(rank, run, bandwidths, unfinished));
        systems.push_back(new Sys(rank, options["workload-configuration"], options["comm-group-configuration"],
                                  options["system-configuration"], memory.get(), networks.back().get(), dimensions, queues,
                                  std::stod(options["injection-scale"]), std::stod(options["comm-scale"]),
                                  options["rendezvous-protocol"] == "true"));
    }
    for (auto* system : systems) {
        system->workload->fire();
    }
    check(headway_run(run));
    for (auto* system : systems) {
        delete system;
    }
    LoggerFactory::shutdown();
    headway_reached reached;
    check(headway_progress(run, &reached));
    std::cout << "headway: " << reached.messages_arrived << " messages, " << reached.events << " events, " << reached.now_ps
              << " ps, digest " << std::hex << reached.digest << std::dec << std::endl;
    if (!options["out"].empty()) {
        check(headway_finish(run, options["out"].c_str()));
    }
    check(headway_close(run));
    if (unfinished > 0) {
        std::cerr << unfinished << " of " << npus << " NPUs have not finished, and nothing else is to come" << std::endl;
        return 1;
    }
    return 0;
}
