#!/bin/sh
# Makes what a NATS server in a container and its clients need. compose/prepare.sh and kubernetes/prepare.sh call it.
#
#   --nats DIR      folder of its configuration, certificates and keys
#   --settings DIR  folder of coordinator.env
#   --agents DIR    folder of agent-<region>.env
#   --inside NAMES  names of the server, or of the servers of a cluster, for the containers beside it
#   --owner UID     user of the containers, who must be able to read the server's key: needs root
#   --cluster NAMES hosts of the servers of a cluster, which are among those inside: each gets nats-<name>.conf
#   --ports PORTS   ports of the servers for agents elsewhere (default: 4222)
#
# then the name of the server for agents elsewhere, and the regions.
set -eu
owner=
cluster=
ports=4222
while [ $# -gt 0 ]; do
  case $1 in
  --nats) nats=$2 ;;
  --settings) settings=$2 ;;
  --agents) agents=$2 ;;
  --inside) inside=$2 ;;
  --owner) owner=$2 ;;
  --cluster) cluster=$2 ;;
  --ports) ports=$2 ;;
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
# A certificate of a single server lacks the names of a cluster.
for host in $inside; do
  if ! openssl x509 -in "$nats/server.pem" -noout -checkhost "$host" 2>/dev/null | grep -q 'does match'; then
    # shellcheck disable=SC2086
    sh "$here/certificates.sh" "$nats" "$name" $inside localhost
    break
  fi
done

urls=
for port in $ports; do urls="${urls:+$urls,}tls://$name:$port"; done
# init FOLDER OPTION...: FOLDER of the streams; all paths are those of the containers.
init() {
  store=$1
  shift
  svc region init --listen 0.0.0.0:4222 --url "$urls" \
    --cert /etc/nats/server.pem --key /etc/nats/server-key.pem --ca /etc/svc/ca.pem \
    --store "/data/$store" --pid-file /tmp/nats-server.pid --env-file "$settings/coordinator.env" --force "$@"
}
init jetstream
routes=
for host in $cluster; do routes="${routes:+$routes,}$host:6222"; done
for host in $cluster; do
  init cluster --cluster svc --server-name "${host%%.*}" --cluster-listen 0.0.0.0:6222 --cluster-routes "$routes" \
    --cluster-ca /etc/nats/ca.pem
done
for region in "$@"; do
  svc region add "$region" --env-file "$agents/agent-$region.env" --force
done

if [ -n "$owner" ]; then
  chown "$owner:$owner" "$nats/server-key.pem"
fi
