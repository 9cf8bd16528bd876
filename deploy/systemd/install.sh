#!/bin/sh
# Installs a part of svc on a machine with systemd, from a repository in which `npm run build` has run:
#
#   sh deploy/systemd/install.sh coordinator   the coordinator and the command line
#   sh deploy/systemd/install.sh agent         agents of any region, and the command line
#   sh deploy/systemd/install.sh nats          the unit of a NATS server
#
# It can be called again: settings and keys stay as they are. DESTDIR names another root, for packages and tests.
set -eu

from=$(cd "$(dirname "$0")" && pwd)
dist=${SVC_DIST:-$from/../../dist}
root=${DESTDIR:-}
units=$root/etc/systemd/system

fail() {
  printf 'install: %s\n' "$1" >&2
  exit 1
}

# place MODE FILE TARGET
place() {
  [ -f "$2" ] || fail "there is no $2: run \"npm run build\" first"
  install -D -m "$1" "$2" "$root$3"
}

# example FILE TARGET: installs it only if there are no settings yet
example() {
  [ -e "$root$2" ] || install -D -m 0600 "$from/$1" "$root$2"
}

# The command svc, which needs Node.
command_line() {
  place 0755 "$dist/svc.mjs" /usr/lib/svc/svc.mjs
  mkdir -p "$root/usr/local/bin"
  ln -sf /usr/lib/svc/svc.mjs "$root/usr/local/bin/svc"
}

case ${1:-} in
coordinator)
  place 0755 "$dist/coordinator.mjs" /usr/lib/svc/coordinator.mjs
  command_line
  place 0644 "$from/svc.sysusers" /usr/lib/sysusers.d/svc.conf
  place 0644 "$from/svc-coordinator.service" /etc/systemd/system/svc-coordinator.service
  example coordinator.env.example /etc/svc/coordinator.env
  ;;
agent)
  place 0644 "$from/svc-agent@.service" '/etc/systemd/system/svc-agent@.service'
  if [ -f "$dist/svc-agent" ] && [ "$(uname -sm)" = 'Linux x86_64' ]; then
    place 0755 "$dist/svc-agent" /usr/lib/svc/svc-agent
    rm -f "$units/svc-agent@.service.d/node.conf"
  else
    place 0755 "$dist/agent.mjs" /usr/lib/svc/agent.mjs
    place 0644 "$from/svc-agent@.service.d/node.conf" '/etc/systemd/system/svc-agent@.service.d/node.conf'
  fi
  command_line
  install -d -m 0755 "$root/etc/svc"
  ;;
nats)
  place 0644 "$from/svc.sysusers" /usr/lib/sysusers.d/svc.conf
  place 0644 "$from/svc-nats.service" /etc/systemd/system/svc-nats.service
  install -d -m 0755 "$root/etc/svc"
  ;;
*)
  fail 'name one of coordinator, agent, nats'
  ;;
esac

if [ -z "$root" ]; then
  [ "$1" = agent ] || systemd-sysusers /usr/lib/sysusers.d/svc.conf
  # When a machine image is prepared, no service manager runs.
  [ ! -d /run/systemd/system ] || systemctl daemon-reload
fi
