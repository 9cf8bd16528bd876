#!/usr/bin/env bash
# Caddy passes on a truncated chunked answer as a complete one, and HAProxy takes 3 s to report a refused connection.
#
# caddy 2.6.2 and haproxy 2.6.12 of Debian 12, as reverse proxies without settings about either, 2026-11-29. The server behind them
# sends a head and five bytes of an answer and closes the connection, once with `Transfer-Encoding: chunked` and once with a
# `Content-Length` of 1,000.
#
# Expected: a proxy truncates its own answer too, so that curl exits with 18 (a partial file). It answers 503 at once when a
# connection is refused.
# Seen: Caddy ends the chunked answer properly, with 200 and five bytes, so no client can notice. curl notices the truncation of the
# answer with a length. With HAProxy it notices both. HAProxy tries a refused connection three more times, a second apart, and
# answers 503 after 3 s.
# Thus docs/http-and-tcp-monitors.md advises to assert the end of a body, and to set time-outs above 3 s.
set -euo pipefail
folder=$(mktemp -d)
pids=()
trap '[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
for package in caddy haproxy liblua5.3-0; do
  timeout 60 apt-get -qq -o APT::Sandbox::User=root download "$package" >&2 && dpkg-deb -x "$package"_*.deb root || {
    echo "no $package" >&2
    exit 2
  }
done
library=$(dirname "$(find "$folder/root" -name 'liblua5.3.so.0' | head -n 1)")
haproxy() { LD_LIBRARY_PATH=$library exec "$folder/root/usr/sbin/haproxy" "$@"; }
[[ $(root/usr/bin/caddy version) == 2.6.2* ]] && [[ $(haproxy -v) == *' 2.6.12'* ]] || {
  echo 'other versions than 2.6.2 and 2.6.12, or they do not start here' >&2
  exit 2
}

# Free ports: the server, Caddy, HAProxy before the server, HAProxy before nobody, nobody.
read -r -a port < <(node -e '
  const { createServer } = require("node:net");
  const all = Array.from({ length: 5 }, () => createServer().listen(0, "127.0.0.1"));
  setTimeout(() => { console.log(all.map((one) => one.address().port).join(" ")); all.forEach((one) => one.close()); }, 200);')
node -e '
  require("node:net").createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      const isChunked = String(data).startsWith("GET /chunked");
      const framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 1000";
      const body = isChunked ? "5\r\nhello\r\n" : "hello";
      socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${body}`, () => setTimeout(() => socket.destroy(), 200));
    });
  }).listen(Number(process.argv[1]), "127.0.0.1");' "${port[0]}" &
pids+=($!)
cat >Caddyfile <<END
{
  admin off
  auto_https off
}
http://127.0.0.1:${port[1]} {
  reverse_proxy 127.0.0.1:${port[0]}
}
END
XDG_DATA_HOME=$folder/data XDG_CONFIG_HOME=$folder/config root/usr/bin/caddy run --config Caddyfile --adapter caddyfile 2>caddy.log &
pids+=($!)
cat >haproxy.cfg <<END
defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
listen answering
  bind 127.0.0.1:${port[2]}
  server one 127.0.0.1:${port[0]}
listen refused
  bind 127.0.0.1:${port[3]}
  server one 127.0.0.1:${port[4]}
END
haproxy -db -f haproxy.cfg 2>haproxy.log &
pids+=($!)
for each in 0 1 2 3; do
  for _ in $(seq 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/${port[$each]}") 2>/dev/null && break
    sleep 0.2
  done
done

differs=0
# CODE NAME URL: asks, and expects this exit code of curl.
see() {
  local code=0
  curl -s -o body --max-time 10 "$3" || code=$?
  echo "$2: curl says $code, $(wc -c <body) bytes"
  [ "$code" = "$1" ] || differs=1
}
see 18 'the server itself, chunked' "http://127.0.0.1:${port[0]}/chunked"
see 0 'Caddy, chunked' "http://127.0.0.1:${port[1]}/chunked"
see 18 'Caddy, with a length' "http://127.0.0.1:${port[1]}/length"
see 18 'HAProxy, chunked' "http://127.0.0.1:${port[2]}/chunked"
see 18 'HAProxy, with a length' "http://127.0.0.1:${port[2]}/length"
refused=$(curl -s -o body -w '%{http_code} %{time_total}' --max-time 10 "http://127.0.0.1:${port[3]}/")
echo "HAProxy before nobody: $refused s"
[[ $refused =~ ^503\ [34]\. ]] || differs=1
exit "$differs"
