#!/usr/bin/env bash
# A server of NATS that ran alone, with streams in its store, and becomes one of a cluster.
#
# nats-server 2.9.10 (Debian 12), 2.10.27 (Debian 13) and 2.15.1 (Debian testing), client nats 2.29.3 of npm, 2026-11-29.
#
# A server makes a stream and stores a message in it. It is stopped, and started again with the same store and two new servers in a
# cluster.
#
# Expected: the cluster has the stream, or the server says that it leaves it out.
# Seen with all three: the log says "Restored 1 messages for stream", but the cluster lists no stream. So a server that
# joins a cluster gets a new store in docs/deployment.md, after its results were read.
set -euo pipefail
folder=$(mktemp -d)
servers=()
end() {
  for server in "${servers[@]}"; do
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  done
  servers=()
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
  const [, , action, port] = process.argv;
  const connection = await connect({ port: Number(port), timeout: 5_000 });
  // Before the servers have chosen a leader, nobody answers.
  const manager = await connection.jetstreamManager({ checkAPI: false });
  if (action === 'make') {
    await manager.streams.add({ name: 's', subjects: ['s'] });
    await connection.jetstream().publish('s');
  }
  let listed;
  for (let tries = 0; listed === undefined; tries += 1) {
    try {
      listed = await manager.streams.list().next();
    } catch (error) {
      if (tries === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  console.log(listed.map(({ config }) => config.name).join(' ') || 'none');
  await connection.close();
})();
JS

# SUITE NUMBER OPTION...: starts a server with the store of this number.
start() {
  local number=$2
  "$folder/$1"/root/usr/*bin/nats-server -js -sd "$folder/$1/store-$number" -a 127.0.0.1 -p $((port + number)) "${@:3}" >"$folder/$1/log-$number" 2>&1 &
  servers+=($!)
  timeout 10 sh -c "until grep -q 'Server is ready' '$folder/$1/log-$number'; do sleep 0.1; done"
}

differs=0
for suite in bookworm trixie forky; do
  port=$((20000 + RANDOM % 20000))
  start "$suite" 1
  alone=$(timeout 20 node "$folder/seen.cjs" make $((port + 1)))
  end
  routes=nats://127.0.0.1:$((port + 11)),nats://127.0.0.1:$((port + 12)),nats://127.0.0.1:$((port + 13))
  for number in 1 2 3; do
    start "$suite" "$number" --name "n$number" --cluster_name c --cluster "nats://127.0.0.1:$((port + 10 + number))" --routes "$routes"
  done
  joined=$(timeout 40 node "$folder/seen.cjs" list $((port + 1)))
  restored=$(grep -c 'Restored 1 messages for stream' "$folder/$suite/log-1" || true)
  end
  echo "$suite: alone $alone, in a cluster $joined, restored in the log: $restored"
  [ "$alone $joined" = 's none' ] || differs=1
done
exit "$differs"
