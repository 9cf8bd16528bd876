#!/usr/bin/env bash
# Exim refuses a client that greets with the name of a machine with an underscore.
#
# exim4-daemon-light 4.96 of Debian 12, without settings about the greeting, 2026-11-29. With `-bh` Exim plays a session with a
# client at 192.0.2.7. It does not listen then, and delivers nothing.
#
# Expected: without settings about the greeting Exim accepts any name, or it also refuses names without a dot.
# Seen: `svc_1.example.test` is refused with 501, so such a machine cannot send mail. A single label (`svc`), a domain, and address
# literals are accepted. Thus svc greets with an address when the machine's name is not a valid domain: `greetingOf` in
# packages/coordinator/src/outgoing/smtp/session.ts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in exim4-daemon-light libidn12 libnss-wrapper; do
  timeout 30 apt-get -qq -o APT::Sandbox::User=root download "$package" >&2 && dpkg-deb -x "$package"_*.deb root || {
    echo "no $package" >&2
    exit 2
  }
done
libraries=$(dirname "$(find "$folder/root" -name 'libidn.so.12' | head -n 1)")
wrapper=$(find "$folder/root" -name 'libnss_wrapper.so*' | head -n 1)

# Exim asks for a user of its own, and not root. The wrapper makes one known to this process only.
user=$(id -u) group=$(id -g)
if [ "$user" = 0 ]; then
  user=65534 group=65534
  chmod 755 "$folder"
fi
(cat /etc/passwd && echo "Debian-exim:x:$user:$group::/nonexistent:/bin/false") >passwd
(cat /etc/group && echo "Debian-exim:x:$group:") >group
mkdir spool
[ "$(id -u)" != 0 ] || chown "$user:$group" spool
cat >exim.conf <<END
primary_hostname = relay.example.test
spool_directory = $folder/spool
log_file_path = $folder/spool/%slog
host_lookup =
rfc1413_query_timeout = 0s
END
chmod 644 exim.conf

exim() {
  LD_LIBRARY_PATH=$libraries LD_PRELOAD=$wrapper NSS_WRAPPER_PASSWD=$folder/passwd NSS_WRAPPER_GROUP=$folder/group \
    timeout 20 "$folder/root/usr/sbin/exim4" -C "$folder/exim.conf" "$@"
}
version=$(exim -bV 2>/dev/null | head -n 1 || true)
echo "$version"
[[ $version == *' 4.96 '* ]] || {
  echo 'another version than 4.96, or Exim does not start here' >&2
  exit 2
}

differs=0
# CODE NAME: greets with the name, and expects this code.
see() {
  local code
  code=$(printf 'EHLO %s\r\nQUIT\r\n' "$2" | exim -bh 192.0.2.7 2>/dev/null | tr -d '\r' |
    sed -nE '/^220 /d; s/^([0-9]{3})[ -].*/\1/p' | sed -n 1p || true)
  echo "EHLO $2: ${code:-no answer}"
  [ "$code" = "$1" ] || differs=1
}
see 501 svc_1.example.test
see 250 svc-1.example.test
see 250 svc
see 250 '[192.0.2.7]'
see 250 '[IPv6:2001:db8::7]'
exit "$differs"
