#!/bin/sh
# Makes an authority and a certificate for NATS servers, with openssl:
#
#   sh deploy/nats/certificates.sh FOLDER NAME...
#
# FOLDER gets ca.pem (for agents, coordinator and servers), server.pem and server-key.pem (for the servers), and
# ca-key.pem (only for this script: keep it where no server is). NAME is a host name or an IP address that clients, or
# the other servers of a cluster, use. Called again, it makes a new certificate by the same authority: reload the
# servers then.
set -eu
umask 077

if [ $# -lt 2 ]; then
  printf 'certificates: name a folder, and the names of the servers\n' >&2
  exit 1
fi
folder=$1
shift

names=
for name in "$@"; do
  case $name in
  *[!A-Za-z0-9.:-]*)
    printf 'certificates: %s is neither a host name nor an IP address\n' "$name" >&2
    exit 1
    ;;
  *:* | *[0-9].*[0-9].*[0-9].*[0-9]) kind=IP ;;
  *) kind=DNS ;;
  esac
  names="${names:+$names,}$kind:$name"
done

mkdir -p "$folder"
cd "$folder"

if [ ! -f ca-key.pem ]; then
  openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ca-key.pem
  openssl req -x509 -new -key ca-key.pem -sha256 -days 3650 -subj '/CN=svc NATS authority' \
    -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' -out ca.pem
fi

# The pair is first made under other names, so that a failure half-way leaves the former pair.
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out server-key.pem.new
openssl req -new -key server-key.pem.new -subj "/CN=$1" -out server.csr
cat >server.ext <<END
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth,clientAuth
subjectAltName=$names
END
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -sha256 -days 397 -extfile server.ext -out server.pem.new 2>/dev/null
rm server.csr server.ext
chmod 0644 ca.pem server.pem.new
mv server-key.pem.new server-key.pem
mv server.pem.new server.pem
