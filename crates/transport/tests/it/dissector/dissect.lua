
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
