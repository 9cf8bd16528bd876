#!/bin/sh
# Makes what a NATS server in a container and its clients need. compose/prepare.sh and kubernetes/prepare.sh call it.
#
#   --nats DIR      folder of its configuration, certificates and keys
#   --settings DIR  folder of coordinator.env
#   --agents DIR    folder of agent-<region>.env
#   --inside NAME   name of the server for the containers beside it
#   --owner UID     user of the containers, who must be able to read the server's key: needs root
#
# then the name of the server for agents elsewhere, and the regions.
set -eu
owner=
while [ $# -gt 0 ]; do
  case $1 in
  --nats) nats=$2 ;;
  --settings) settings=$2 ;;
  --agents) agents=$2 ;;
  --inside) inside=$2 ;;
  --owner) owner=$2 ;;
  *) break ;;
  esac
  shift 2
done
if [ $# -eq 0 ]; then
  printf 'prepare: give the name by which agents on other machines reach the NATS server\n' >&2
  exit 1
fi
name=$1
shift
[ $# -gt 0 ] || set -- hosta-fra hostb-par hostc-us-east4

if [ -n "$owner" ] && [ "$(id -u)" != 0 ]; then
  printf 'prepare: call it as root, which can give the key of the server to the user %s of the containers\n' "$owner" >&2
  exit 1
fi

here=$(cd "$(dirname "$0")" && pwd)
# The machine's own Node may be older than svc needs.
node=$here/../../node_modules/node/bin/node
[ -x "$node" ] || node=node
svc() {
  # The paths are those of the container, so a server of this machine could not check them.
  SVC_NATS_SERVER=/nonexistent "$node" -- "${SVC_DIST:-$here/../../dist}/svc.mjs" "$@" --nats-dir "$nats"
}

mkdir -p "$nats" "$settings" "$agents"
[ -f "$nats/server.pem" ] || sh "$here/certificates.sh" "$nats" "$name" "$inside" localhost

# Paths in the containers.
svc region init --listen 0.0.0.0:4222 --url "tls://$name:4222" \
  --cert /etc/nats/server.pem --key /etc/nats/server-key.pem --ca /etc/svc/ca.pem \
  --store /data/jetstream --pid-file /tmp/nats-server.pid --env-file "$settings/coordinator.env" --force
for region in "$@"; do
  svc region add "$region" --env-file "$agents/agent-$region.env" --force
done

if [ -n "$owner" ]; then
  chown "$owner:$owner" "$nats/server-key.pem"
fi
