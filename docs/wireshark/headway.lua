-- Headway for Wireshark: copy into the personal Lua plugins folder, or `tshark -X lua_script:headway.lua`.
-- Written from the tables of fields in crates/packet/src and what each transport declares of its packets, by
-- `cargo test -p headway-transport`; do not edit. How to use it: docs/wireshark.md.

local PORT = 18519

-- Datagrams by their first byte; offsets and sizes in bytes, numbers in network byte order.
local FORMS = {
    [1] = { name = "packet", parts = {
        { title = "Header", bytes = 60, fields = {
            { name = "version", filter = "headway.version", offset = 0, bytes = 1, doc = "Version of this layout: 1" },
            { name = "kind", filter = "headway.kind", offset = 1, bytes = 1, doc = "Kind of the packet",
              values = { [0] = "data", [1] = "grant", [2] = "rts", [3] = "token", [4] = "ack", [5] = "finished", [6] = "header", [7] = "nack", [8] = "pull", [9] = "resend", [10] = "busy", [11] = "credit", [12] = "credit-stop", [13] = "probe" } },
            { name = "flags", filter = "headway.flags", offset = 2, bytes = 1, doc = "Flags of one bit each",
              flags = { { mask = 1, name = "ece" }, { mask = 2, name = "again" }, { mask = 4, name = "unscheduled" }, { mask = 8, name = "pull" }, { mask = 16, name = "bounced" }, { mask = 32, name = "last-hop" }, { mask = 64, name = "rate" }, { mask = 128, name = "call" } } },
            { name = "ecn", filter = "headway.ecn", offset = 3, bytes = 1, doc = "ECN code point, in the two low bits",
              values = { [0] = "not-ect", [1] = "spare", [2] = "ect", [3] = "ce" } },
            { name = "priority", filter = "headway.priority", offset = 4, bytes = 1, doc = "Queue class at every port, 0 served first" },
            { name = "envelope", filter = "headway.envelope", offset = 5, bytes = 1, doc = "Fields between this header and the payload",
              values = { [0] = "bare", [1] = "session", [2] = "sealed", [3] = "stamped", [4] = "stamped-sealed" } },
            { name = "reserved", filter = "headway.reserved", offset = 6, bytes = 2, doc = "Zero", zero = true },
            { name = "wire", filter = "headway.wire", offset = 8, bytes = 2, doc = "Bytes on the wire, framing included" },
            { name = "payload", filter = "headway.payload", offset = 10, bytes = 2, doc = "Bytes of payload after the header" },
            { name = "src", filter = "headway.src", offset = 12, bytes = 4, doc = "Sending host" },
            { name = "dst", filter = "headway.dst", offset = 16, bytes = 4, doc = "Receiving host" },
            { name = "message", filter = "headway.message", offset = 20, bytes = 4, doc = "Number of the message among those of its sender to its receiver" },
            { name = "index", filter = "headway.index", offset = 24, bytes = 4, doc = "Position in the message, in packets" },
            { name = "count", filter = "headway.count", offset = 28, bytes = 4, doc = "Packets spoken of: granted, sent without permission, or acknowledged cumulatively" },
            { name = "token", filter = "headway.token", offset = 32, bytes = 4, doc = "By kind and transport: number of the authorisation used or given, a SACK block, packets permitted, a subflow; with the flag rate, kb/s" },
            { name = "remaining", filter = "headway.remaining", offset = 36, bytes = 4, doc = "By kind and transport: packets still to be received or sent, a window, a class, a subflow, a round trip in ns; in an answer of RCP, kb/s" },
            { name = "entropy", filter = "headway.entropy", offset = 40, bytes = 4, doc = "Number that multipath routing hashes together with the addresses" },
            { name = "message_bytes", filter = "headway.message_bytes", offset = 44, bytes = 8, doc = "Bytes of the whole message; in an ack, two SACK blocks: start above count and length, 16 bits each" },
            { name = "lifetime", filter = "headway.lifetime", offset = 52, bytes = 8, doc = "Time for which a permission is valid, or an echoed time, in picoseconds" },
        } },
        { title = "Session", bytes = 24, when = { { field = "envelope", values = { 1, 2, 3, 4 } } }, fields = {
            { name = "src_epoch", filter = "headway.session.src_epoch", offset = 0, bytes = 8, doc = "Incarnation of the sender, a random number" },
            { name = "cookie", filter = "headway.session.cookie", offset = 8, bytes = 8, doc = "Value that the receiver gave the sender to show" },
            { name = "counter", filter = "headway.session.counter", offset = 16, bytes = 8, doc = "Number of the datagram from this sender to this receiver; with a key, the upper half is the keys' generation" },
        } },
        { title = "Stamps", bytes = 2, when = { { field = "envelope", values = { 3, 4 } } }, fields = {
            { name = "crossed", filter = "headway.stamps.crossed", offset = 0, bytes = 2, doc = "Ports of switches that the packet has left, those beyond the fifth too" },
        } },
        { title = "Stamp", bytes = 24, when = { { field = "envelope", values = { 3, 4 } } }, filled = { field = "crossed", least = 1 }, fields = {
            { name = "at", filter = "headway.stamp.at", offset = 0, bytes = 8, doc = "Time at which the packet began to leave, in picoseconds of the switch's clock" },
            { name = "sent", filter = "headway.stamp.sent", offset = 8, bytes = 8, doc = "Bytes on the wire that the port had sent before it" },
            { name = "queue", filter = "headway.stamp.queue", offset = 16, bytes = 4, doc = "Bytes on the wire that waited at the port" },
            { name = "rate", filter = "headway.stamp.rate", offset = 20, bytes = 4, doc = "Rate of the port in kb/s, not 0" },
        } },
        { title = "Stamp", bytes = 24, when = { { field = "envelope", values = { 3, 4 } } }, filled = { field = "crossed", least = 2 }, fields = {
            { name = "at", filter = "headway.stamp.at", offset = 0, bytes = 8, doc = "Time at which the packet began to leave, in picoseconds of the switch's clock" },
            { name = "sent", filter = "headway.stamp.sent", offset = 8, bytes = 8, doc = "Bytes on the wire that the port had sent before it" },
            { name = "queue", filter = "headway.stamp.queue", offset = 16, bytes = 4, doc = "Bytes on the wire that waited at the port" },
            { name = "rate", filter = "headway.stamp.rate", offset = 20, bytes = 4, doc = "Rate of the port in kb/s, not 0" },
        } },
        { title = "Stamp", bytes = 24, when = { { field = "envelope", values = { 3, 4 } } }, filled = { field = "crossed", least = 3 }, fields = {
            { name = "at", filter = "headway.stamp.at", offset = 0, bytes = 8, doc = "Time at which the packet began to leave, in picoseconds of the switch's clock" },
            { name = "sent", filter = "headway.stamp.sent", offset = 8, bytes = 8, doc = "Bytes on the wire that the port had sent before it" },
            { name = "queue", filter = "headway.stamp.queue", offset = 16, bytes = 4, doc = "Bytes on the wire that waited at the port" },
            { name = "rate", filter = "headway.stamp.rate", offset = 20, bytes = 4, doc = "Rate of the port in kb/s, not 0" },
        } },
        { title = "Stamp", bytes = 24, when = { { field = "envelope", values = { 3, 4 } } }, filled = { field = "crossed", least = 4 }, fields = {
            { name = "at", filter = "headway.stamp.at", offset = 0, bytes = 8, doc = "Time at which the packet began to leave, in picoseconds of the switch's clock" },
            { name = "sent", filter = "headway.stamp.sent", offset = 8, bytes = 8, doc = "Bytes on the wire that the port had sent before it" },
            { name = "queue", filter = "headway.stamp.queue", offset = 16, bytes = 4, doc = "Bytes on the wire that waited at the port" },
            { name = "rate", filter = "headway.stamp.rate", offset = 20, bytes = 4, doc = "Rate of the port in kb/s, not 0" },
        } },
        { title = "Stamp", bytes = 24, when = { { field = "envelope", values = { 3, 4 } } }, filled = { field = "crossed", least = 5 }, fields = {
            { name = "at", filter = "headway.stamp.at", offset = 0, bytes = 8, doc = "Time at which the packet began to leave, in picoseconds of the switch's clock" },
            { name = "sent", filter = "headway.stamp.sent", offset = 8, bytes = 8, doc = "Bytes on the wire that the port had sent before it" },
            { name = "queue", filter = "headway.stamp.queue", offset = 16, bytes = 4, doc = "Bytes on the wire that waited at the port" },
            { name = "rate", filter = "headway.stamp.rate", offset = 20, bytes = 4, doc = "Rate of the port in kb/s, not 0" },
        } },
        { title = "Check", bytes = 8, when = { { field = "envelope", values = { 2, 4 } }, { field = "kind", values = { 0, 6 } } }, fields = {
            { name = "check", filter = "headway.check", offset = 0, bytes = 8, doc = "Authentication of the session and of the header's fields that no switch may change" },
        } },
    }, tail = { title = "Seal", filter = "headway.seal", bytes = 16,
        when = { { field = "envelope", values = { 2, 4 } }, { field = "kind", values = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13 } } } } },
    [128] = { name = "hello", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
    } },
    [129] = { name = "welcome", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
    } },
    [130] = { name = "confirm", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
        { title = "Share", bytes = 32, when = { { field = "session", values = { 3 } } }, fields = {
            { name = "share", filter = "headway.handshake.share", offset = 0, bytes = 32, doc = "Public half of the sender's key exchange (X25519), in `confirm` and `accept` with a key" },
        } },
    } },
    [131] = { name = "accept", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
        { title = "Share", bytes = 32, when = { { field = "session", values = { 3 } } }, fields = {
            { name = "share", filter = "headway.handshake.share", offset = 0, bytes = 32, doc = "Public half of the sender's key exchange (X25519), in `confirm` and `accept` with a key" },
        } },
    } },
    [132] = { name = "stale", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
    } },
    [133] = { name = "refuse", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
    } },
    [134] = { name = "addresses", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
        { title = "Path", bytes = 20, fields = {
            { name = "number", filter = "headway.path.number", offset = 0, bytes = 8, doc = "Of a list, its number, which grows; of a challenge and its answer, a random number" },
            { name = "heard", filter = "headway.path.heard", offset = 8, bytes = 8, doc = "Of a list, the number of the receiver's list that the sender has; of an answer, bytes of the challenge" },
            { name = "paths", filter = "headway.path.paths", offset = 16, bytes = 1, doc = "Version of datagrams about paths: 1" },
            { name = "count", filter = "headway.path.count", offset = 17, bytes = 1, doc = "Addresses that follow" },
            { name = "flags", filter = "headway.path.flags", offset = 18, bytes = 1, doc = "home: the address where the two met is still one of the sender's; asks: a list is wanted in return",
              flags = { { mask = 1, name = "home" }, { mask = 2, name = "asks" } } },
            { name = "reserved", filter = "headway.path.reserved", offset = 19, bytes = 1, doc = "Zero", zero = true },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 1, 2, 3, 4, 5, 6, 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 2, 3, 4, 5, 6, 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 3, 4, 5, 6, 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 4, 5, 6, 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 5, 6, 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 6, 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 7, 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
        { title = "Address", bytes = 18, when = { { field = "count", values = { 8 } } }, fields = {
            { name = "address", filter = "headway.path.address", offset = 0, bytes = 16, doc = "Address of the sender, IPv4 as ::ffff:a.b.c.d" },
            { name = "port", filter = "headway.path.port", offset = 16, bytes = 2, doc = "UDP port there" },
        } },
    } },
    [135] = { name = "challenge", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
        { title = "Path", bytes = 20, fields = {
            { name = "number", filter = "headway.path.number", offset = 0, bytes = 8, doc = "Of a list, its number, which grows; of a challenge and its answer, a random number" },
            { name = "heard", filter = "headway.path.heard", offset = 8, bytes = 8, doc = "Of a list, the number of the receiver's list that the sender has; of an answer, bytes of the challenge" },
            { name = "paths", filter = "headway.path.paths", offset = 16, bytes = 1, doc = "Version of datagrams about paths: 1" },
            { name = "count", filter = "headway.path.count", offset = 17, bytes = 1, doc = "Addresses that follow" },
            { name = "flags", filter = "headway.path.flags", offset = 18, bytes = 1, doc = "home: the address where the two met is still one of the sender's; asks: a list is wanted in return",
              flags = { { mask = 1, name = "home" }, { mask = 2, name = "asks" } } },
            { name = "reserved", filter = "headway.path.reserved", offset = 19, bytes = 1, doc = "Zero", zero = true },
        } },
    } },
    [136] = { name = "answer", parts = {
        { title = "Handshake", bytes = 80, fields = {
            { name = "handshake", filter = "headway.handshake", offset = 0, bytes = 1, doc = "Kind of the handshake datagram",
              values = { [128] = "hello", [129] = "welcome", [130] = "confirm", [131] = "accept", [132] = "stale", [133] = "refuse", [134] = "addresses", [135] = "challenge", [136] = "answer" } },
            { name = "version", filter = "headway.handshake.version", offset = 1, bytes = 1, doc = "Version of the packet's header that the sender runs" },
            { name = "session", filter = "headway.handshake.session", offset = 2, bytes = 1, doc = "Version of the handshake and of the seal: 2 without a key, 3 with one" },
            { name = "cipher", filter = "headway.handshake.cipher", offset = 3, bytes = 1, doc = "Cipher that the sender would rather seal with",
              values = { [0] = "none", [1] = "chacha20-poly1305", [2] = "aes-128-gcm" } },
            { name = "mtu", filter = "headway.handshake.mtu", offset = 4, bytes = 2, doc = "Bytes of the sender's largest IP packet" },
            { name = "transport", filter = "headway.handshake.transport", offset = 6, bytes = 26, doc = "Name of the sender's transport, zeros behind it" },
            { name = "epoch", filter = "headway.handshake.epoch", offset = 32, bytes = 8, doc = "Incarnation of the sender" },
            { name = "peer_epoch", filter = "headway.handshake.peer_epoch", offset = 40, bytes = 8, doc = "Incarnation of the receiver as the sender knows it, or 0" },
            { name = "shown", filter = "headway.handshake.shown", offset = 48, bytes = 8, doc = "Cookie of the receiver, shown back to it" },
            { name = "offered", filter = "headway.handshake.offered", offset = 56, bytes = 8, doc = "Cookie that the receiver is to show from now on" },
            { name = "mac", filter = "headway.handshake.mac", offset = 64, bytes = 16, doc = "Authentication of the other bytes, zero without a key" },
        } },
        { title = "Path", bytes = 20, fields = {
            { name = "number", filter = "headway.path.number", offset = 0, bytes = 8, doc = "Of a list, its number, which grows; of a challenge and its answer, a random number" },
            { name = "heard", filter = "headway.path.heard", offset = 8, bytes = 8, doc = "Of a list, the number of the receiver's list that the sender has; of an answer, bytes of the challenge" },
            { name = "paths", filter = "headway.path.paths", offset = 16, bytes = 1, doc = "Version of datagrams about paths: 1" },
            { name = "count", filter = "headway.path.count", offset = 17, bytes = 1, doc = "Addresses that follow" },
            { name = "flags", filter = "headway.path.flags", offset = 18, bytes = 1, doc = "home: the address where the two met is still one of the sender's; asks: a list is wanted in return",
              flags = { { mask = 1, name = "home" }, { mask = 2, name = "asks" } } },
            { name = "reserved", filter = "headway.path.reserved", offset = 19, bytes = 1, doc = "Zero", zero = true },
        } },
    } },
}

-- The header does not say its transport: a preference does.
local FAMILIES = { "AMRT", "Homa", "ExpressPass", "NDP", "pHost", "ProactMP", "RCP", "RPO", "TCP", "MPTCP", "dcPIM", "SIRD", "UET", "RoCE", "template" }
-- What fields hold; of those that fit a packet the first counts.
local MEANINGS = {
    { field = "index", kinds = { [0] = true }, flags = 64,
      doc = "Position in the message, in packets" },
    { field = "count", kinds = { [0] = true }, flags = 64,
      doc = "Packets of the message that leave without permission" },
    { field = "token", kinds = { [0] = true, [2] = true }, flags = 64,
      doc = "Rate in kb/s, which ports may lower" },
    { field = "remaining", kinds = { [0] = true, [2] = true }, flags = 64,
      doc = "The sender's round trip in ns; 0 while it knows none" },
    { field = "message_bytes", kinds = { [0] = true, [2] = true }, flags = 64,
      doc = "Bytes of the whole message" },
    { field = "lifetime", kinds = { [0] = true, [2] = true }, flags = 64,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "index", kinds = { [0] = true, [6] = true }, flags = 0,
      doc = "Position in the message, in packets" },
    { field = "index", kinds = { [1] = true }, flags = 0, family = 1,
      doc = "First packet permitted" },
    { field = "index", kinds = { [1] = true }, flags = 0, family = 2,
      doc = "First packet that it adds" },
    { field = "index", kinds = { [9] = true }, flags = 0,
      doc = "First of them" },
    { field = "index", kinds = { [13] = true }, flags = 0, family = 2,
      doc = "Last packet of the first window" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 2,
      doc = "Index of the packet" },
    { field = "index", kinds = { [2] = true }, flags = 0, family = 3,
      doc = "Last packet of the first window, where there is one" },
    { field = "index", kinds = { [12] = true }, flags = 0,
      doc = "Number of packets sent" },
    { field = "index", kinds = { [13] = true }, flags = 0, family = 3,
      doc = "Last packet of the first window" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 3,
      doc = "Index of the packet" },
    { field = "index", kinds = { [4] = true, [7] = true }, flags = 0, family = 4,
      doc = "Index of the packet" },
    { field = "index", kinds = { [3] = true }, flags = 0,
      doc = "Index of the packet" },
    { field = "index", kinds = { [1] = true }, flags = 0, family = 6,
      doc = "The packet answered, where `answers` is 1" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 7,
      doc = "The packet answered" },
    { field = "index", kinds = { [1] = true }, flags = 0, family = 8,
      doc = "The packet that earned it, or that is missing" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 9,
      doc = "The packet answered" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 10,
      doc = "The packet answered, in the subflow" },
    { field = "index", kinds = { [11] = true }, flags = 0, family = 11,
      doc = "0 it asks, 1 it takes" },
    { field = "index", kinds = { [1] = true }, flags = 0, family = 12,
      doc = "The packet that it is for; 0 where a pair of hosts has one pool of credit" },
    { field = "index", kinds = { [2] = true }, flags = 0, family = 13,
      doc = "Packets to be sent again, but for the first of them" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 13,
      doc = "The packet that this answers; for a request, the last one before `arrived`, or 0" },
    { field = "index", kinds = { [7] = true }, flags = 0, family = 13,
      doc = "Index of the packet" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 14,
      doc = "The packet answered" },
    { field = "index", kinds = { [7] = true }, flags = 0, family = 14,
      doc = "The packet answered. It is kept where repetition is selective, and dropped otherwise" },
    { field = "index", kinds = { [4] = true }, flags = 0, family = 15,
      doc = "Index of the packet" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 1,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [1] = true }, flags = 0, family = 1,
      doc = "Packets permitted, 2 for a mark" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 2,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [1] = true }, flags = 0, family = 2,
      doc = "Packets that it adds" },
    { field = "count", kinds = { [9] = true }, flags = 0,
      doc = "Number of packets" },
    { field = "count", kinds = { [13] = true }, flags = 0,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 3,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [2] = true }, flags = 0, family = 3,
      doc = "The message is one of this many fair sharers" },
    { field = "count", kinds = { [11] = true }, flags = 0, family = 3,
      doc = "Number of the request that it answers" },
    { field = "count", kinds = { [0] = true, [6] = true }, flags = 0, family = 4,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [4] = true, [8] = true }, flags = 0, family = 4,
      doc = "First packet that has not arrived" },
    { field = "count", kinds = { [7] = true }, flags = 0,
      doc = "First packet that has not arrived" },
    { field = "count", kinds = { [0] = true, [2] = true }, flags = 0, family = 5,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [3] = true }, flags = 0, family = 5,
      doc = "Number of packets: always 1" },
    { field = "count", kinds = { [0] = true, [2] = true }, flags = 0, family = 6,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [1] = true }, flags = 0, family = 6,
      doc = "1 where it answers a packet" },
    { field = "count", kinds = { [8] = true }, flags = 0, family = 6,
      doc = "Packets that leave without permission; 0 where it asks for a subflow" },
    { field = "count", kinds = { [4] = true }, flags = 0, family = 7,
      doc = "First packet that has not arrived" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 8,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [1] = true }, flags = 0, family = 8,
      doc = "Packets permitted" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 9,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [4] = true }, flags = 0, family = 9,
      doc = "First packet that has not arrived" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 10,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [4] = true }, flags = 0, family = 10,
      doc = "First packet of the message that has not arrived" },
    { field = "count", kinds = { [0] = true, [2] = true }, flags = 0, family = 11,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [11] = true, [10] = true }, flags = 0, family = 11,
      doc = "Number of channels" },
    { field = "count", kinds = { [3] = true }, flags = 0, family = 11,
      doc = "Number of packets, which is 1" },
    { field = "count", kinds = { [0] = true, [2] = true }, flags = 0, family = 12,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [0] = true, [6] = true, [2] = true }, flags = 0, family = 13,
      doc = "Packets of the message that leave without permission" },
    { field = "count", kinds = { [4] = true }, flags = 0, family = 13,
      doc = "First packet that has not arrived" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 14,
      doc = "Packets of the message that may leave before anything is heard" },
    { field = "count", kinds = { [4] = true }, flags = 0, family = 14,
      doc = "First packet that has not arrived" },
    { field = "count", kinds = { [0] = true }, flags = 0, family = 15,
      doc = "Packets of the message that leave without permission" },
    { field = "token", kinds = { [1] = true }, flags = 0, family = 2,
      doc = "Packets permitted in all" },
    { field = "token", kinds = { [0] = true }, flags = 0, family = 3,
      doc = "Number of the credit used" },
    { field = "token", kinds = { [2] = true, [13] = true }, flags = 0, family = 3,
      doc = "Number of the request" },
    { field = "token", kinds = { [11] = true }, flags = 0, family = 3,
      doc = "Number of the credit" },
    { field = "token", kinds = { [12] = true }, flags = 0,
      doc = "Number of the request" },
    { field = "token", kinds = { [4] = true, [7] = true }, flags = 0, family = 4,
      doc = "Packets permitted in all; 0 says nothing" },
    { field = "token", kinds = { [8] = true }, flags = 0, family = 4,
      doc = "Packets permitted in all" },
    { field = "token", kinds = { [0] = true }, flags = 0, family = 5,
      doc = "Number of the token used" },
    { field = "token", kinds = { [3] = true }, flags = 0, family = 5,
      doc = "Number of the token" },
    { field = "token", kinds = { [0] = true, [2] = true, [13] = true }, flags = 0, family = 6,
      doc = "Subflow, and above 16 bits how many the host that sends it allows" },
    { field = "token", kinds = { [1] = true }, flags = 0, family = 6,
      doc = "Packets permitted in all" },
    { field = "token", kinds = { [4] = true }, flags = 0, family = 7,
      doc = "Third SACK block" },
    { field = "token", kinds = { [0] = true }, flags = 0, family = 8,
      doc = "Number of the departure; the lowest bit is its queue, 1 for opportunistic" },
    { field = "token", kinds = { [1] = true }, flags = 0, family = 8,
      doc = "Number of the departure that it answers" },
    { field = "token", kinds = { [4] = true }, flags = 0, family = 9,
      doc = "Third SACK block" },
    { field = "token", kinds = { [0] = true }, flags = 0, family = 10,
      doc = "Number in the subflow" },
    { field = "token", kinds = { [2] = true }, flags = 0, family = 10,
      doc = "1 in the third packet of a join" },
    { field = "token", kinds = { [4] = true }, flags = 0, family = 10,
      doc = "First packet of the subflow that has not arrived" },
    { field = "token", kinds = { [0] = true }, flags = 0, family = 11,
      doc = "Number of the token that it takes" },
    { field = "token", kinds = { [11] = true }, flags = 0, family = 11,
      doc = "Packets of the message that are still to come" },
    { field = "token", kinds = { [10] = true }, flags = 0, family = 11,
      doc = "As in the packet that it answers" },
    { field = "token", kinds = { [3] = true }, flags = 0, family = 11,
      doc = "Number among the tokens of the message" },
    { field = "token", kinds = { [1] = true }, flags = 0, family = 12,
      doc = "Packets of the message permitted in all, or credits that the pair of hosts has had in all" },
    { field = "token", kinds = { [0] = true, [6] = true }, flags = 0, family = 13,
      doc = "1 if an acknowledgement is wanted at once, else 0" },
    { field = "token", kinds = { [4] = true }, flags = 0, family = 13,
      doc = "Start of the bitmap, in packets from `arrived`" },
    { field = "remaining", kinds = { [1] = true }, flags = 0, family = 2,
      doc = "Class of the packets permitted" },
    { field = "remaining", kinds = { [9] = true }, flags = 0, family = 2,
      doc = "Class to send them in" },
    { field = "remaining", kinds = { [2] = true, [13] = true }, flags = 0, family = 3,
      doc = "Packets still to be sent" },
    { field = "remaining", kinds = { [12] = true }, flags = 0,
      doc = "Packets still to be sent" },
    { field = "remaining", kinds = { [0] = true, [6] = true }, flags = 0, family = 4,
      doc = "Class of the message" },
    { field = "remaining", kinds = { [2] = true }, flags = 0, family = 5,
      doc = "Packets of the message" },
    { field = "remaining", kinds = { [3] = true }, flags = 0, family = 5,
      doc = "Packets still to be received" },
    { field = "remaining", kinds = { [0] = true, [2] = true, [13] = true }, flags = 0, family = 6,
      doc = "The sender's longest smoothed round trip in ns" },
    { field = "remaining", kinds = { [1] = true, [8] = true, [9] = true }, flags = 0, family = 6,
      doc = "Subflow, and above 16 bits how many the host that sends it allows" },
    { field = "remaining", kinds = { [4] = true }, flags = 0, family = 7,
      doc = "Rate in kb/s that the packet answered brought" },
    { field = "remaining", kinds = { [1] = true }, flags = 0, family = 8,
      doc = "All packets below have arrived" },
    { field = "remaining", kinds = { [4] = true }, flags = 0, family = 9,
      doc = "Receive window in packets" },
    { field = "remaining", kinds = { [0] = true }, flags = 0, family = 10,
      doc = "Number of the subflow that it travels on" },
    { field = "remaining", kinds = { [2] = true }, flags = 0, family = 10,
      doc = "Number of the subflow that it opens" },
    { field = "remaining", kinds = { [4] = true }, flags = 0, family = 10,
      doc = "Subflow, in the highest 8 bits, and receive window in packets" },
    { field = "remaining", kinds = { [11] = true }, flags = 0, family = 11,
      doc = "Of these, channels wanted at once" },
    { field = "remaining", kinds = { [10] = true }, flags = 0, family = 11,
      doc = "Of these, channels that may be used at once" },
    { field = "remaining", kinds = { [3] = true }, flags = 0, family = 11,
      doc = "Its rank among the tokens of the sender: lower ones are used first, and leave first" },
    { field = "remaining", kinds = { [0] = true }, flags = 0, family = 12,
      doc = "1 if the sender holds more credit than it can use, else 0: the paper's bit csn" },
    { field = "remaining", kinds = { [0] = true, [6] = true }, flags = 0, family = 13,
      doc = "Credit wanted in all, in units of 256 bytes on the wire; 0 where nothing is pulled" },
    { field = "remaining", kinds = { [2] = true }, flags = 0, family = 13,
      doc = "Credit wanted in all, in units of 256 bytes on the wire" },
    { field = "remaining", kinds = { [4] = true }, flags = 0, family = 13,
      doc = "Packets that have arrived, in all" },
    { field = "message_bytes", kinds = { [0] = true, [13] = true, [2] = true, [12] = true, [6] = true }, flags = 0,
      doc = "Bytes of the whole message" },
    { field = "message_bytes", kinds = { [4] = true }, flags = 0, family = 7,
      doc = "Two SACK blocks: start above the cumulative acknowledgement and length, 16 bits each" },
    { field = "message_bytes", kinds = { [1] = true }, flags = 0, family = 8,
      doc = "All packets from this one on have arrived" },
    { field = "message_bytes", kinds = { [4] = true }, flags = 0, family = 9,
      doc = "Two SACK blocks: start above the cumulative acknowledgement and length, 16 bits each" },
    { field = "message_bytes", kinds = { [4] = true }, flags = 0, family = 10,
      doc = "Two SACK blocks: start above the cumulative acknowledgement and length, 16 bits each" },
    { field = "message_bytes", kinds = { [11] = true }, flags = 0, family = 11,
      doc = "Epoch of the matching and, below it in two decimal places, its round" },
    { field = "message_bytes", kinds = { [10] = true }, flags = 0, family = 11,
      doc = "As in the packet that it answers" },
    { field = "message_bytes", kinds = { [3] = true }, flags = 0, family = 11,
      doc = "Packets of the message that are still to come" },
    { field = "message_bytes", kinds = { [4] = true }, flags = 0, family = 13,
      doc = "Packets that have arrived, a bit each, the lowest for packet `arrived` + `from`" },
    { field = "message_bytes", kinds = { [8] = true }, flags = 0, family = 13,
      doc = "Bytes on the wire permitted in all, those of the first window not among them" },
    { field = "lifetime", kinds = { [0] = true }, flags = 0, family = 2,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [1] = true }, flags = 0, family = 2,
      doc = "Departure time of the packet that it answers, in picoseconds; 0 for none" },
    { field = "lifetime", kinds = { [0] = true }, flags = 0, family = 3,
      doc = "Departure time of the credit, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [11] = true }, flags = 0, family = 3,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [2] = true }, flags = 0, family = 5,
      doc = "Time until the last free packet leaves, in picoseconds" },
    { field = "lifetime", kinds = { [3] = true }, flags = 0, family = 5,
      doc = "Validity after its arrival, in picoseconds" },
    { field = "lifetime", kinds = { [0] = true, [2] = true, [13] = true }, flags = 0, family = 6,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [1] = true }, flags = 0, family = 6,
      doc = "Departure time of the packet that it answers, in picoseconds; 0 for none" },
    { field = "lifetime", kinds = { [4] = true }, flags = 0, family = 7,
      doc = "Departure time of the packet that it answers, in picoseconds; 0 for none" },
    { field = "lifetime", kinds = { [0] = true }, flags = 0, family = 8,
      doc = "The sender's smoothed round trip, in picoseconds; 0 before the first" },
    { field = "lifetime", kinds = { [0] = true, [2] = true }, flags = 0, family = 9,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [4] = true }, flags = 0, family = 9,
      doc = "Departure time of the packet that it answers, in picoseconds; 0 for none" },
    { field = "lifetime", kinds = { [0] = true, [2] = true }, flags = 0, family = 10,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [4] = true }, flags = 0, family = 10,
      doc = "Departure time of the packet that it answers, in picoseconds; 0 for none" },
    { field = "lifetime", kinds = { [3] = true }, flags = 0, family = 11,
      doc = "Time after its arrival for which it is valid" },
    { field = "lifetime", kinds = { [0] = true }, flags = 0, family = 14,
      doc = "Departure time, in picoseconds of its sender's clock" },
    { field = "lifetime", kinds = { [4] = true, [7] = true }, flags = 0, family = 14,
      doc = "Departure time of the packet that it answers, in picoseconds of its sender's clock" },
}

local headway = Proto("headway", "Headway")

local cut = ProtoExpert.new("headway.cut", "Cut short by the capture", expert.group.PROTOCOL, expert.severity.NOTE)
local short = ProtoExpert.new("headway.short", "Fewer bytes than its fields need", expert.group.MALFORMED,
    expert.severity.ERROR)
local missing = ProtoExpert.new("headway.missing", "Fewer bytes of payload than the header says",
    expert.group.MALFORMED, expert.severity.ERROR)
local beyond = ProtoExpert.new("headway.beyond", "Bytes after the payload", expert.group.PROTOCOL,
    expert.severity.NOTE)
local unknown = ProtoExpert.new("headway.unknown", "Not a datagram of this version", expert.group.PROTOCOL,
    expert.severity.WARN)
local unnamed = ProtoExpert.new("headway.unnamed", "A value that this version does not use", expert.group.PROTOCOL,
    expert.severity.WARN)
headway.experts = { cut, short, missing, beyond, unknown, unnamed }

local INTEGERS = {
    [1] = ProtoField.uint8, [2] = ProtoField.uint16, [3] = ProtoField.uint24, [4] = ProtoField.uint32,
    [8] = ProtoField.uint64,
}

-- One ProtoField for each field and each flag, by its filter name.
local protofields = { ["headway.data"] = ProtoField.bytes("headway.data", "data") }
for _, form in pairs(FORMS) do
    if form.tail then
        protofields[form.tail.filter] = ProtoField.bytes(form.tail.filter, form.tail.title:lower())
    end
    for _, part in ipairs(form.parts) do
        for _, field in ipairs(part.fields) do
            local make = INTEGERS[field.bytes]
            local label = field.name:gsub("_", " ")
            if not make then
                protofields[field.filter] = ProtoField.bytes(field.filter, label, base.NONE, field.doc)
            else
                local shown = field.flags and base.HEX or base.DEC
                protofields[field.filter] = make(field.filter, label, shown, field.values, nil, field.doc)
            end
            for _, flag in ipairs(field.flags or {}) do
                local filter = field.filter .. "." .. flag.name
                protofields[filter] = ProtoField.bool(filter, flag.name, field.bytes * 8, nil, flag.mask)
            end
        end
    end
end
headway.fields = protofields

local choices = { { "0", "What kind and flags tell", 0 } }
for number, name in ipairs(FAMILIES) do table.insert(choices, { tostring(number), name, number }) end
headway.prefs.transport = Pref.enum("Transport", 0, "Whose packets these are: what the fields hold", choices)

-- Most payload of a packet in this capture: that of a full one, from which follow the packets of a message.
local full_payload = 0

function headway.init()
    full_payload = 0
end

-- A field's value as a Lua number (exact up to 2^53); nil for what is no integer, the sum of its bytes where
-- they are to be zero.
local function value(range, field)
    if not INTEGERS[field.bytes] then
        if not field.zero then return nil end
        local sum, bytes = 0, range:bytes()
        for i = 0, bytes:len() - 1 do sum = sum + bytes:get_index(i) end
        return sum
    end
    if field.bytes == 8 then return range:uint64():tonumber() end
    return range:uint()
end

-- Whether a field holds something that this version writes.
local function is_used(field, number)
    if field.zero then return number == 0 end
    if field.values then return field.values[number] ~= nil end
    if field.flags then
        local rest = number
        for _, flag in ipairs(field.flags) do rest = rest - bit.band(rest, flag.mask) end
        return rest == 0
    end
    return true
end

-- Whether a part or a tail is there, by what the parts before it hold.
local function is_present(part, values)
    for _, condition in ipairs(part.when or {}) do
        local held = false
        for _, wanted in ipairs(condition.values) do
            if values[condition.field] == wanted then held = true end
        end
        if not held then return false end
    end
    return true
end

-- Whether a part that is there holds something; otherwise it is room.
local function is_filled(part, values)
    return not part.filled or (values[part.filled.field] or 0) >= part.filled.least
end

-- What a field holds in this packet, where its kind, its flags and the chosen transport decide.
local function meaning(name, values)
    for _, one in ipairs(MEANINGS) do
        local fits = one.field == name and one.kinds[values.kind] and bit.band(values.flags, one.flags) == one.flags
        if fits and (not one.family or one.family == headway.prefs.transport) then return one.doc end
    end
end

local function add_part(part, tvb, at, tree, values)
    for _, field in ipairs(part.fields) do
        local range = tvb(at + field.offset, field.bytes)
        local number = value(range, field)
        values[field.name] = number
        local item = tree:add(protofields[field.filter], range)
        if number and not is_used(field, number) then item:add_proto_expert_info(unnamed) end
        local held = values.kind and values.flags and meaning(field.name, values)
        if held then item:append_text(" (" .. held .. ")") end
        for _, flag in ipairs(field.flags or {}) do
            item:add(protofields[field.filter .. "." .. flag.name], range)
        end
    end
end

-- Names of what is set: the mark, then the flags.
local function words(fields, values)
    local found = {}
    for _, field in ipairs(fields) do
        if field.name == "ecn" and values.ecn ~= 0 then
            table.insert(found, field.values[values.ecn] or ("ecn " .. values.ecn))
        end
    end
    for _, field in ipairs(fields) do
        for _, flag in ipairs(field.flags or {}) do
            if bit.band(values[field.name], flag.mask) ~= 0 then table.insert(found, flag.name) end
        end
    end
    return found
end

-- What there is to say about a kind beyond its message.
local ABOUT = {
    data = function(v)
        if v.payload == 0 or full_payload == 0 then return "idx " .. v.index end
        return string.format("idx %d/%d", v.index, math.ceil(v.message_bytes / full_payload))
    end,
    grant = function(v) return string.format("idx %d count %d", v.index, v.count) end,
    rts = function(v) return string.format("bytes %.0f count %d", v.message_bytes, v.count) end,
    token = function(v) return string.format("idx %d token %d", v.index, v.token) end,
    ack = function(v) return "idx " .. v.index end,
}

-- A host: its number in a simulation, its IPv4 address on real hosts.
local function host(number)
    if number < 2 ^ 24 then return tostring(number) end
    return string.format("%d.%d.%d.%d", math.floor(number / 2 ^ 24), math.floor(number / 2 ^ 16) % 256,
        math.floor(number / 2 ^ 8) % 256, number % 256)
end

local function summary(fields, values)
    local kind
    for _, field in ipairs(fields) do
        if field.name == "kind" then kind = field.values[values.kind] end
    end
    local text = { kind or ("kind " .. values.kind), host(values.src) .. "->" .. host(values.dst), "msg " .. values.message }
    if ABOUT[kind] then table.insert(text, ABOUT[kind](values)) end
    for _, word in ipairs(words(fields, values)) do table.insert(text, word) end
    return table.concat(text, " ")
end

-- Payload, and what follows it; `declared` bytes of payload, as the header says.
local function add_payload(tvb, at, root, declared, tail)
    local left, behind = tvb:captured_len() - at, tail and tail.bytes or 0
    local here = math.min(left, math.max(tvb:reported_len() - at - behind, 0))
    if here > 0 then root:add(protofields["headway.data"], tvb(at, here)) end
    if tvb:captured_len() < tvb:reported_len() then
        root:add_proto_expert_info(cut)
        return
    end
    if behind > 0 and left >= behind then root:add(protofields[tail.filter], tvb(at + here, behind)) end
    if left < declared + behind then
        root:add_proto_expert_info(missing)
    elseif left > declared + behind then
        root:add_proto_expert_info(beyond)
    end
end

function headway.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "Headway"
    local root = tree:add(headway, tvb())
    local form = tvb:captured_len() > 0 and FORMS[tvb(0, 1):uint()]
    if not form then
        root:add_proto_expert_info(unknown)
        pinfo.cols.info = "not a datagram of this version"
        return tvb:captured_len()
    end
    local at, values = 0, {}
    for _, part in ipairs(form.parts) do
        if is_present(part, values) then
            if at + part.bytes > tvb:captured_len() then
                root:add_proto_expert_info(at + part.bytes > tvb:reported_len() and short or cut)
                pinfo.cols.info = form.name .. ", cut short"
                return tvb:captured_len()
            end
            if is_filled(part, values) then
                add_part(part, tvb, at, root:add(tvb(at, part.bytes), part.title), values)
            end
            at = at + part.bytes
        end
    end
    full_payload = math.max(full_payload, values.payload or 0)
    local text = values.kind and summary(form.parts[1].fields, values) or form.name
    pinfo.cols.info = text
    root:append_text(", " .. text)
    local tail = form.tail and is_present(form.tail, values) and form.tail or nil
    add_payload(tvb, at, root, values.payload or 0, tail)
    return tvb:captured_len()
end

-- On other ports: only what could not well be anything else.
local function heuristic(tvb, pinfo, tree)
    local form = tvb:captured_len() > 0 and FORMS[tvb(0, 1):uint()]
    if not form then return false end
    local at, values = 0, {}
    for _, part in ipairs(form.parts) do
        if is_present(part, values) then
            if at + part.bytes > tvb:captured_len() then return false end
            for _, field in ipairs(is_filled(part, values) and part.fields or {}) do
                local number = value(tvb(at + field.offset, field.bytes), field)
                values[field.name] = number
                if number and not is_used(field, number) then return false end
            end
            at = at + part.bytes
        end
    end
    if values.payload and values.wire and values.payload > values.wire then return false end
    if not values.payload and tvb:reported_len() ~= at then return false end
    headway.dissector(tvb, pinfo, tree)
    pinfo.conversation = headway
    return true
end

DissectorTable.get("udp.port"):add(PORT, headway)
headway:register_heuristic("udp", heuristic)
