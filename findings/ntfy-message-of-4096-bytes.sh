#!/usr/bin/env bash
# ntfy accepts messages of at most 4,095 bytes, and any token if it has no file of users.
#
# ntfy 2.11.0 (Debian 13) and 2.27.0 (Debian unstable), with their defaults on loopback, 2026-11-29.
#
# Expected: a message of 4,096 bytes is accepted, because the documentation gives that as the limit (docs.ntfy.sh/publish). A token
# that was never created is refused with 401.
# Seen: a message of 4,095 bytes is accepted. One of 4,096 is treated as an attachment, and refused with code 40014 if attachments
# are off. Without `auth-file` the server ignores tokens and answers 200. Thus svc sends at most 4,095 bytes (`MESSAGE_BYTES` in
# packages/coordinator/src/alerts/channels/push-a.ts), and docs/channels/push_a.md says what a test message does not show.
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
  (cd "$at" && timeout 30 apt-get "${options[@]}" download ntfy >&2 && dpkg-deb -x ntfy_*.deb root) || not_fetched "no ntfy of $1"
  "$at/root/usr/bin/ntfy" --help | grep -qF "ntfy $2" || not_fetched "$1 has another version than $2"
}

differs=0
# SUITE
see() {
  local port=$((20000 + RANDOM % 20000)) seen='' size
  # It asks no other server, and keeps everything in memory.
  "$folder/$1/root/usr/bin/ntfy" serve --listen-http "127.0.0.1:$port" --base-url "http://127.0.0.1:$port" >/dev/null 2>&1 &
  server=$!
  curl -s -o /dev/null --retry 50 --retry-connrefused --retry-delay 0 --retry-max-time 10 "http://127.0.0.1:$port/v1/health" || true
  for size in 4095 4096; do
    printf '{"topic":"a","message":"%s"}' "$(head -c "$size" /dev/zero | tr '\0' x)" >"$folder/body"
    seen+=$(curl -s -m 10 -o "$folder/answer" -w "$size bytes: %{http_code}" -H 'Authorization: Bearer tk_nobody_made_this_one_at_all_000' \
      --data-binary "@$folder/body" "http://127.0.0.1:$port/" || true)
    seen+=$(grep -oE '"code":[0-9]+' "$folder/answer" | sed 's/.*:/ with /' || true)'; '
  done
  end
  echo "$1: with a token that nobody made, $seen"
  [ "$seen" = '4095 bytes: 200; 4096 bytes: 400 with 40014; ' ] || differs=1
}

fetch trixie 2.11.0
fetch sid 2.27.0
see trixie
see sid
exit "$differs"
