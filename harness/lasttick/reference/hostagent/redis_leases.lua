-- One atomic step on a table of leases; the rule is lasttick/model/shared_lease.py, and one contract test binds both.
--
-- KEYS: the leases (hash, device -> record), the ended holders (sorted set, holder -> when it may be forgotten), and
-- the largest fencing token with the format's version (hash). ARGV: step, TTL in us, time in us or '' for the server's
-- own clock, format version, then what the step takes. Ids are any bytes. Numbers stay below 2^53, where Lua's are exact.

local leases, ended, meta = KEYS[1], KEYS[2], KEYS[3]
local step, ttl_us, version = ARGV[1], tonumber(ARGV[2]), ARGV[4]
local KEPT_US = 24 * 3600 * 1000000

local now_us = tonumber(ARGV[3])
if not now_us then
  local time = redis.call('TIME')
  now_us = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local found = redis.call('HGET', meta, 'version')
if found and found ~= version then
  return redis.error_reply('LEASEVERSION the leases here are of version ' .. found .. '; expected ' .. version)
end

local function whole(number)
  return string.format('%.0f', number)
end

local function read(device)
  local packed = redis.call('HGET', leases, device)
  return packed and cmsgpack.unpack(packed) or nil
end

local function write(device, record)
  redis.call('HSET', leases, device, cmsgpack.pack(record))
end

local function drop(device)
  redis.call('HDEL', leases, device)
end

local function held(record)
  if record.ended and #record.pins == 0 then
    return false
  end
  return now_us < record.last_used_us + ttl_us
end

local function next_fence(last)
  return math.max(last + 1, now_us)
end

local function last_fence()
  return tonumber(redis.call('HGET', meta, 'fence') or '0')
end

local function put_fence(fence)
  redis.call('HSET', meta, 'fence', whole(fence), 'version', version)
end

local function has_pin(record, pin)
  for _, other in ipairs(record.pins) do
    if other == pin then
      return true
    end
  end
  return false
end

local function is_of(record, kind, id)
  return record and record.kind == kind and record.id == id
end

local function has_ended(kind, id)
  return redis.call('ZSCORE', ended, kind .. ':' .. id)
end

local function take(name, device, kind, id, host, pin)
  if has_ended(kind, id) then
    return {'refused', 'ended', '', ''}
  end
  local record = read(device)
  if not record or not held(record) then
    if name == 'begin_own_use' then
      return {'refused', 'not_held', '', ''}
    end
    local fence = next_fence(last_fence())
    put_fence(fence)
    write(device, {
      kind = kind, id = id, host = host, acquired_us = now_us, last_used_us = now_us, fence = fence,
      pins = name == 'begin_use' and {pin} or {}, taken_by = pin, ended = false,
    })
    return {'granted', 1, fence}
  end
  if not is_of(record, kind, id) then
    return {'refused', 'held', record.kind, record.id}
  end
  if name == 'begin_own_use' and record.ended then
    return {'refused', 'not_held', '', ''}
  end
  if #record.pins > 0 and record.host ~= host then
    return {'refused', 'held', kind, id}
  end
  if name ~= 'acquire' and not has_pin(record, pin) then
    table.insert(record.pins, pin)
  end
  record.host, record.last_used_us, record.ended = host, now_us, false
  write(device, record)
  return {'granted', record.taken_by == pin and 1 or 0, record.fence}
end

local function end_use(device, kind, id, pin)
  local record = read(device)
  if not is_of(record, kind, id) or not has_pin(record, pin) then
    return 0
  end
  if not held(record) then
    drop(device)
    return 0
  end
  local left = {}
  for _, other in ipairs(record.pins) do
    if other ~= pin then
      table.insert(left, other)
    end
  end
  if record.ended and #left == 0 then
    drop(device)
    return 1
  end
  record.pins, record.last_used_us = left, now_us
  write(device, record)
  return 1
end

local function keep(device, kind, id, host)
  local record = read(device)
  if not is_of(record, kind, id) or record.host ~= host or not held(record) then
    return 0
  end
  record.last_used_us = now_us
  write(device, record)
  return 1
end

local function give_back(device, kind, id)
  local record = read(device)
  if not is_of(record, kind, id) or record.ended or not held(record) then
    return 0
  end
  if #record.pins > 0 then
    record.ended = true
    write(device, record)
  else
    drop(device)
  end
  return 1
end

local function all_leases()
  -- What is held; what is not any more is removed on the way, so that the table does not grow.
  local rows = {}
  local flat = redis.call('HGETALL', leases)
  for i = 1, #flat, 2 do
    local record = cmsgpack.unpack(flat[i + 1])
    if held(record) then
      table.insert(rows, {flat[i], record})
    else
      drop(flat[i])
    end
  end
  return rows
end

local function end_holder(kind, id)
  redis.call('ZREMRANGEBYSCORE', ended, '-inf', '(' .. whole(now_us))
  if has_ended(kind, id) then
    return {}
  end
  redis.call('ZADD', ended, whole(now_us + KEPT_US), kind .. ':' .. id)
  local had = {}
  for _, row in ipairs(all_leases()) do
    if is_of(row[2], kind, id) then
      -- Held, though it may have been given back while a call runs.
      table.insert(had, row[1])
      give_back(row[1], kind, id)
    end
  end
  return had
end

local function records()
  local answer = {now_us}
  for _, row in ipairs(all_leases()) do
    local r = row[2]
    table.insert(answer, {
      row[1], r.kind, r.id, r.host, r.acquired_us, r.last_used_us, r.fence, r.pins, r.taken_by, r.ended and 1 or 0,
    })
  end
  return answer
end

if step == 'now' then
  return now_us
elseif step == 'take' then
  return take(ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10])
elseif step == 'end_use' then
  return end_use(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
elseif step == 'keep' then
  return keep(ARGV[5], ARGV[6], ARGV[7], ARGV[8])
elseif step == 'release' then
  return give_back(ARGV[5], ARGV[6], ARGV[7])
elseif step == 'end_holder' then
  return end_holder(ARGV[5], ARGV[6])
elseif step == 'fence_above' then
  put_fence(math.max(last_fence(), tonumber(ARGV[5])))
  return 1
elseif step == 'records' then
  return records()
end
return redis.error_reply('LEASESTEP no such step')
