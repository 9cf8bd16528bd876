#!/usr/bin/env bash
# Debian's Prometheus has no receiver of OTLP.
#
# prometheus 2.53.3 of Debian 13 and 3.5.3 of Debian testing, 2026-11-29.
#
# Expected: the receiver that Prometheus documents: `--enable-feature=otlp-write-receiver` turns it on in 2.x,
# `--web.enable-otlp-receiver` in 3.x.
# Seen: both are built without it. With `--web.enable-otlp-receiver` neither starts ("unknown long flag"). With the feature both
# start, log "Unknown option for --enable-feature", and answer 404 to a request. Thus docs/metrics.md asks for a build of the project.
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
mirror=$(sed -nE 's#^(URIs:|deb( +\[[^]]*\])?) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
[ -n "$mirror" ] || not_fetched 'this machine names no archive of Debian'

# SUITE VERSION: unpacks the Prometheus of a suite of Debian, which must have this version.
fetch() {
  local at=$folder/$1
  mkdir -p "$at"/{lists/partial,cache/archives/partial}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$at/sources.list"
  local options=(-qq -o Dir::Etc::sourcelist="$at/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$at/lists"
    -o Dir::Cache="$at/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
  timeout 20 apt-get "${options[@]}" update >&2 || not_fetched "no list of $1"
  (cd "$at" && timeout 20 apt-get "${options[@]}" download prometheus >&2 && dpkg-deb -x prometheus_*.deb root) || not_fetched "no prometheus of $1"
  [[ $(dpkg-deb -f "$at"/prometheus_*.deb Version) == "$2"* ]] || not_fetched "$1 has another version than $2"
}

echo 'global: {}' >"$folder/prometheus.yml"
differs=0
# SUITE
see() {
  local port code=0 status log=$folder/$1/log
  port=$(node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
  local start=("$folder/$1/root/usr/bin/prometheus" --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/$1/data"
    --web.listen-address="127.0.0.1:$port")
  timeout 5 "${start[@]}" --web.enable-otlp-receiver >"$log" 2>&1 || code=$?
  echo "$1, --web.enable-otlp-receiver: exit code $code, $(head -n 1 "$log")"
  [ "$code" = 1 ] && grep -q 'unknown long flag' "$log" || differs=1
  "${start[@]}" --enable-feature=otlp-write-receiver >"$log" 2>&1 &
  server=$!
  for _ in $(seq 100); do
    curl -sf --max-time 2 -o "$folder/ready" "http://127.0.0.1:$port/-/ready" && break
    sleep 0.1
  done
  # A request without metrics is valid.
  status=$(curl -s -o "$folder/answer" -w '%{http_code}' --max-time 5 -H 'content-type: application/x-protobuf' --data-binary '' \
    "http://127.0.0.1:$port/api/v1/otlp/v1/metrics" || true)
  end
  echo "$1, --enable-feature=otlp-write-receiver: $status, $(grep -o -m 1 'Unknown option[^"]*' "$log" || echo 'no warning')"
  [ "$status" = 404 ] && grep -q 'Unknown option for --enable-feature' "$log" || differs=1
}
fetch trixie 2.53.3
fetch forky 3.5.3
see trixie
see forky
exit "$differs"
