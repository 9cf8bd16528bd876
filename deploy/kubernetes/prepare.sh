#!/bin/sh
# Makes the folders secrets/, from which the kustomizations make secrets.
#
#   sh deploy/kubernetes/prepare.sh [--large] NAME [REGION...]
#
# NAME is the host name under which agents of other clusters reach the NATS
# server. With --large it makes those of large/ too, except for
# large/service/secrets/database-url. A second call keeps keys and settings.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nats=$here/service/secrets/nats
prepare() {
  sh "$here/../nats/prepare.sh" --nats "$nats" --settings "$here/service/secrets" --agents "$here/agents/secrets" "$@"
}
if [ "${1:-}" != --large ]; then
  prepare --inside svc-nats "$@"
  exit
fi
shift
servers='svc-nats-0.svc-nats svc-nats-1.svc-nats svc-nats-2.svc-nats'
prepare --inside "svc-nats $servers" --cluster "$servers" "$@"
umask 077
mkdir -p "$here/large/service/secrets"
cd "$here/large/service/secrets"
for server in $servers; do cp "$nats/nats-${server%%.*}.conf" .; done
[ -s secret-key ] || openssl rand -base64 32 >secret-key
[ -s api-token ] || openssl rand -hex 32 >api-token
