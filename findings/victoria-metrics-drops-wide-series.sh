#!/usr/bin/env bash
# VictoriaMetrics confirms series with many labels or a long value, but does not store them.
#
# victoria-metrics 1.112.0 of Debian 13 without settings, 2026-11-29, over its import of Prometheus' text format.
#
# Expected: a refusal (400), as for a line that is not a series, or the series is stored without some of its labels.
# Seen: with 41 labels, the name included, and with a value of 4,097 bytes, the answer is 204, as for the other series, but neither
# series is stored. Only its log and one of its own counters show that. Thus a start and `svc otlp-test` warn if
# OTEL_RESOURCE_ATTRIBUTES would make such series.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; [ -z "$server" ] || wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
not_fetched() {
  echo "$1" >&2
  exit 2
}
cd "$folder"
mkdir -p lists/partial cache/archives/partial
mirror=$(sed -nE 's#^(URIs:|deb( +\[[^]]*\])?) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
[ -n "$mirror" ] || not_fetched 'this machine names no archive of Debian'
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >sources.list
options=(-qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$folder/lists"
  -o Dir::Cache="$folder/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
timeout 30 apt-get "${options[@]}" update >&2 || not_fetched 'no list of trixie'
timeout 40 apt-get "${options[@]}" download victoria-metrics >&2 && dpkg-deb -x victoria-metrics_*.deb root || not_fetched 'no victoria-metrics'
program=$folder/root/usr/bin/victoria-metrics
version=$(dpkg-deb -f victoria-metrics_*.deb Version)
echo "victoria-metrics $version"
[[ $version == 1.112.* ]] || not_fetched 'another version than 1.112'

port=$(node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
"$program" -storageDataPath="$folder/data" -httpListenAddr="127.0.0.1:$port" -memory.allowedBytes=64MB 2>server.log &
server=$!
for _ in $(seq 100); do
  curl -sf --max-time 2 "http://127.0.0.1:$port/health" >health && break
  sleep 0.1
done

labels=$(seq -f 'l%g="v"' -s, 40)
value=$(printf 'v%.0s' $(seq 4097))
code=$(printf 'narrow{l="v"} 1\nwide{%s} 1\nlong{l="%s"} 1\n' "$labels" "$value" |
  curl -s -o answer -w '%{http_code}' --max-time 10 --data-binary @- "http://127.0.0.1:$port/api/v1/import/prometheus")
curl -s --max-time 10 "http://127.0.0.1:$port/internal/force_flush" >flushed
names=$(curl -s --max-time 10 "http://127.0.0.1:$port/api/v1/label/__name__/values" | tr -d ' ')
echo "answer $code, kept $names"
[ "$code" = 204 ] && [[ $names == *'"data":["narrow"]'* ]]
