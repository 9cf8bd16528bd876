#!/usr/bin/env bash
# A consumer that starts at a sequence beyond the end of its stream.
#
# nats-server 2.9.10 (Debian 12), 2.10.27 (Debian 13) and 2.15.1 (Debian testing), client nats 2.29.3 of npm, 2026-11-28.
#
# A reader has seen messages 1 to 6 of a stream. The stream is deleted and created again, and holds two messages. The reader does
# not know that, and creates a consumer with `opt_start_seq: 7`. Then two more messages are published: 3 and 4.
#
# Expected: an error, because sequence 7 does not exist, or the same behaviour in all versions.
# Seen: each server accepts the consumer without an error. 2.9.10 and 2.10.27 move the start to the end of the stream, and deliver 3
# and 4. 2.15.1 delivers nothing until the stream reaches sequence 7. No version delivers messages 1 and 2. Thus a reader must look
# at the stream again after it has created its consumer: `readStream` in packages/shared/src/nats/stream-reading.ts.
set -euo pipefail
folder=$(mktemp -d)
server=
end() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  server=
}
trap 'end; rm -rf "$folder"' EXIT
not_fetched() {
  echo "$1" >&2
  exit 2
}

# SUITE VERSION: unpacks the server of a suite of Debian, which must have this version.
fetch() {
  local at=$folder/$1 mirror
  mkdir -p "$at"/{lists/partial,cache/archives/partial}
  mirror=$(sed -nE 's#^(URIs:|deb( +\[[^]]*\])?) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
  [ -n "$mirror" ] || not_fetched 'this machine names no archive of Debian'
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$at/sources.list"
  local options=(-qq -o Dir::Etc::sourcelist="$at/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$at/lists"
    -o Dir::Cache="$at/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
  timeout 30 apt-get "${options[@]}" update >&2 || not_fetched "no list of $1"
  (cd "$at" && timeout 30 apt-get "${options[@]}" download nats-server >&2 && dpkg-deb -x nats-server_*.deb root) || not_fetched "no nats-server of $1"
  "$at"/root/usr/*bin/nats-server --version | grep -qF "v$2" || not_fetched "$1 has another version than $2"
}

for pair in bookworm:2.9.10 trixie:2.10.27 forky:2.15.1; do fetch "${pair%:*}" "${pair#*:}"; done
timeout 60 npm install --silent --no-audit --no-fund --prefix "$folder" nats@2.29.3 >&2 || not_fetched 'no nats of npm'

cat >"$folder/seen.cjs" <<'JS'
const { connect } = require('nats');
(async () => {
  const connection = await connect({ port: Number(process.argv[2]), timeout: 5_000 });
  const manager = await connection.jetstreamManager();
  const streams = connection.jetstream();
  const make = () => manager.streams.add({ name: 's', subjects: ['s'] });
  const publish = async (count) => {
    for (let n = 0; n < count; n += 1) await streams.publish('s');
  };
  await make();
  await publish(6);
  await manager.streams.delete('s');
  await make();
  await publish(2);
  const settings = { ack_policy: 'none', deliver_policy: 'by_start_sequence', opt_start_seq: 7 };
  const { name } = await manager.consumers.add('s', settings);
  const delivered = async () => {
    const consumer = await streams.consumers.get('s', name);
    const found = [];
    for await (const message of await consumer.fetch({ max_messages: 20, expires: 2_000 })) found.push(message.seq);
    return found.join(' ') || 'nothing';
  };
  await publish(2);
  const before = await delivered();
  await publish(4);
  console.log(`${before}, then ${await delivered()}`);
  await connection.close();
})();
JS

differs=0
# SUITE EXPECTED
see() {
  local port=$((20000 + RANDOM % 20000)) seen
  "$folder/$1"/root/usr/*bin/nats-server -js -sd "$folder/$1/store" -a 127.0.0.1 -p "$port" >"$folder/$1/log" 2>&1 &
  server=$!
  timeout 10 sh -c "until grep -q 'Server is ready' '$folder/$1/log'; do sleep 0.1; done"
  seen=$(timeout 20 node "$folder/seen.cjs" "$port")
  end
  echo "$1: delivered $seen"
  [ "$seen" = "$2" ] || differs=1
}
see bookworm '3 4, then 5 6 7 8'
see trixie '3 4, then 5 6 7 8'
see forky 'nothing, then 7 8'
exit "$differs"
