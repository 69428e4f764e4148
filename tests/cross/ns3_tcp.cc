// TCP flows over a network of hosts and switches in ns-3, from a description on standard input.
//
//   tcp NAME                          ns3::TcpLinuxReno, TcpCubic, TcpDctcp, TcpVegas, TcpBbr
//   set ATTRIBUTE VALUE               ns-3 attribute defaults
//   nodes COUNT HOSTS                 hosts are numbered first
//   link A B BPS DELAY_NS             both ways
//   port BUFFER K                     packets that wait; marking threshold, 0 for none
//   turns                             before links: connections of a host take turns, a packet each
//   route NODE DESTINATION NEXT       at NODE, packets to host DESTINATION go to NEXT
//   flow SOURCE DESTINATION BYTES START_NS
//   watch A B                         queue of A's port to B
//   time SKIP_NS STOP_NS
//
// Prints one line a flow (bytes received after SKIP, finish in ns or -1), the mean of the watched queue over the whole
// run in packets, the packet on the wire not counted, and packets sent on links, events and wall-clock seconds.
//
// A device takes one packet out of the queue discipline ahead of its time, so that discipline and device together hold
// what a port here holds: the discipline gets one packet less of buffer, and K counts that packet and the one on the
// wire, as Headway's ecn-threshold does.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <iostream>
#include <map>
#include <sstream>

using namespace ns3;

struct Flow
{
    uint32_t source, destination;
    uint64_t bytes, start;
    uint64_t received = 0, counted = 0;
    int64_t finish = -1;
};

// A full packet on the wire.
static const uint32_t FRAME = 1502;

static std::vector<Flow> flows;
static uint64_t skip = 0;
static uint64_t sent = 0;

static void
Received(uint32_t index, Ptr<const Packet> packet, const Address&)
{
    Flow& flow = flows[index];
    flow.received += packet->GetSize();
    if (static_cast<uint64_t>(Simulator::Now().GetNanoSeconds()) >= skip)
    {
        flow.counted += packet->GetSize();
    }
    if (flow.finish < 0 && flow.received >= flow.bytes)
    {
        flow.finish = Simulator::Now().GetNanoSeconds();
    }
}

// Time average of what waits in the discipline and in the device's own queue.
struct Average
{
    double discipline = 0, device = 0, area = 0;
    int64_t since = 0;

    void Advance()
    {
        int64_t now = Simulator::Now().GetNanoSeconds();
        area += (discipline + device) * static_cast<double>(now - since);
        since = now;
    }
};

static Average average;

static void
DisciplineHas(uint32_t, uint32_t now)
{
    average.Advance();
    average.discipline = now;
}

static void
DeviceHas(uint32_t, uint32_t now)
{
    average.Advance();
    average.device = now;
}

static void
Sent(Ptr<const Packet>)
{
    ++sent;
}

int
main()
{
    std::string line, word;
    uint32_t hosts = 0, buffer = 250, threshold = 0, watchA = 0, watchB = 0;
    uint64_t stop = 0;
    NodeContainer nodes;
    std::map<std::pair<uint32_t, uint32_t>, Ptr<NetDevice>> devices;
    std::map<std::pair<uint32_t, uint32_t>, Ipv4Address> gateways;
    std::map<uint32_t, Ipv4Address> addresses;
    std::vector<std::array<uint32_t, 3>> routes;
    bool built = false, turns = false;
    Ipv4AddressHelper numbers("10.0.0.0", "255.255.255.252");
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    auto build = [&]() {
        if (!built)
        {
            InternetStackHelper stack;
            Ipv4StaticRoutingHelper routing;
            stack.SetRoutingHelper(routing);
            stack.SetIpv6StackInstall(false);
            stack.Install(nodes);
            built = true;
        }
    };
    while (std::getline(std::cin, line))
    {
        std::istringstream in(line);
        in >> word;
        if (word == "tcp")
        {
            in >> word;
            Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(word)));
        }
        else if (word == "set")
        {
            std::string value;
            in >> word >> value;
            Config::SetDefault(word, StringValue(value));
        }
        else if (word == "nodes")
        {
            uint32_t count;
            in >> count >> hosts;
            nodes.Create(count);
        }
        else if (word == "port")
        {
            in >> buffer >> threshold;
        }
        else if (word == "turns")
        {
            turns = true;
        }
        else if (word == "link")
        {
            uint32_t a, b;
            uint64_t rate, delay;
            in >> a >> b >> rate >> delay;
            build();
            PointToPointHelper wire;
            wire.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
            wire.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
            wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
            auto pair = wire.Install(nodes.Get(a), nodes.Get(b));
            for (uint32_t end = 0; end < 2; ++end)
            {
                uint32_t node = end == 0 ? a : b;
                TrafficControlHelper helper;
                // A host's own queue never drops: it holds back the sockets.
                uint32_t room = node < hosts ? 1000000 : buffer - 1;
                std::string size = std::to_string(room) + "p";
                if (threshold > 0 && node >= hosts)
                {
                    // In bytes: in packets it would count acknowledgements, those of handshakes among them.
                    double k = (threshold - 2.0) * FRAME;
                    size = std::to_string(room * FRAME) + "B";
                    helper.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(k), "MaxTh", DoubleValue(k),
                                            "QW", DoubleValue(1), "UseEcn", BooleanValue(true), "UseHardDrop",
                                            BooleanValue(false), "MaxSize", StringValue(size), "Gentle",
                                            BooleanValue(false), "LinkBandwidth", DataRateValue(DataRate(rate)),
                                            "LinkDelay", TimeValue(NanoSeconds(delay)), "MeanPktSize",
                                            UintegerValue(1500));
                }
                else if (turns && node < hosts)
                {
                    // Fair queueing; its controlled delay is put out of reach.
                    helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", StringValue(size), "Flows",
                                            UintegerValue(65536), "Interval", StringValue("100s"), "Target",
                                            StringValue("100s"), "UseEcn", BooleanValue(false));
                }
                else
                {
                    helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(size));
                }
                helper.Install(pair.Get(end));
                pair.Get(end)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));
            }
            auto interfaces = numbers.Assign(pair);
            numbers.NewNetwork();
            devices[{a, b}] = pair.Get(0);
            devices[{b, a}] = pair.Get(1);
            gateways[{a, b}] = interfaces.GetAddress(1);
            gateways[{b, a}] = interfaces.GetAddress(0);
            if (a < hosts)
            {
                addresses[a] = interfaces.GetAddress(0);
            }
            if (b < hosts)
            {
                addresses[b] = interfaces.GetAddress(1);
            }
        }
        else if (word == "route")
        {
            uint32_t node, destination, next;
            in >> node >> destination >> next;
            routes.push_back({node, destination, next});
        }
        else if (word == "flow")
        {
            Flow flow;
            in >> flow.source >> flow.destination >> flow.bytes >> flow.start;
            flows.push_back(flow);
        }
        else if (word == "watch")
        {
            in >> watchA >> watchB;
        }
        else if (word == "time")
        {
            in >> skip >> stop;
        }
        else
        {
            std::cerr << "unknown line: " << line << std::endl;
            return 2;
        }
    }
    Ipv4StaticRoutingHelper routing;
    for (auto [node, destination, next] : routes)
    {
        auto ip = nodes.Get(node)->GetObject<Ipv4>();
        uint32_t interface = ip->GetInterfaceForDevice(devices.at({node, next}));
        routing.GetStaticRouting(ip)->AddHostRouteTo(addresses.at(destination), gateways.at({node, next}), interface);
    }
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        const Flow& flow = flows[i];
        uint16_t port = 1000 + i % 60000;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        auto receiver = sink.Install(nodes.Get(flow.destination));
        receiver.Start(Seconds(0));
        receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, i));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(addresses.at(flow.destination), port));
        source.SetAttribute("MaxBytes", UintegerValue(flow.bytes));
        source.SetAttribute("SendSize", UintegerValue(14600));
        auto sender = source.Install(nodes.Get(flow.source));
        sender.Start(NanoSeconds(flow.start));
    }
    auto watched = DynamicCast<PointToPointNetDevice>(devices.at({watchA, watchB}));
    watched->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DeviceHas));
    auto control = nodes.Get(watchA)->GetObject<TrafficControlLayer>();
    control->GetRootQueueDiscOnDevice(watched)->TraceConnectWithoutContext("PacketsInQueue",
                                                                         MakeCallback(&DisciplineHas));
    auto begin = std::chrono::steady_clock::now();
    Simulator::Stop(NanoSeconds(stop));
    Simulator::Run();
    std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    average.Advance();
    for (const Flow& flow : flows)
    {
        std::cout << "flow " << flow.counted << ' ' << flow.finish << '\n';
    }
    std::cout << "queue " << average.area / static_cast<double>(stop) << '\n';
    std::cout << "work " << sent << ' ' << Simulator::GetEventCount() << ' ' << wall.count() << std::endl;
    return 0;
}
