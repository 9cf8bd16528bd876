import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const CHAIN_KINDS = ['ECDSA', 'RSA'] as const;
export type ChainKind = (typeof CHAIN_KINDS)[number];

/** Paths of PEM files: leaf and intermediate together, the key of the leaf, and the root. */
export type CertificateChain = { chain: string; key: string; root: string };

const NEW_KEY: Readonly<Record<ChainKind, readonly string[]>> = {
  ECDSA: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  RSA: ['-newkey', 'rsa:2048'],
};

/** A certificate with the extensions that public authorities use. */
const EXTENSIONS = `
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
authorityInfoAccess = OCSP;URI:http://ocsp.bench.test/, caIssuers;URI:http://bench.test/authority.der
subjectAltName = DNS:bench.test, DNS:www.bench.test, IP:127.0.0.1
`;

/**
 * Makes a leaf for 127.0.0.1 and bench.test, an intermediate
 * authority and a root, by `openssl` in a new folder.
 */
export async function makeChain(kind: ChainKind): Promise<CertificateChain> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-chain-'));
  const path = (name: string) => join(folder, name);
  await writeFile(path('extensions'), EXTENSIONS);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  for (const name of ['root', 'intermediate', 'leaf']) {
    openssl(
      'req',
      '-new',
      ...NEW_KEY[kind],
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
    );
  }
  const sign = (name: string, section: string, signer: readonly string[]) =>
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-days',
      '90',
      '-extfile',
      'extensions',
      '-extensions',
      section,
      ...signer,
      '-out',
      `${name}.pem`,
    );
  sign('root', 'authority', ['-key', 'root.key']);
  sign('intermediate', 'authority', ['-CA', 'root.pem', '-CAkey', 'root.key']);
  sign('leaf', 'leaf', ['-CA', 'intermediate.pem', '-CAkey', 'intermediate.key']);
  const [leaf, intermediate] = await Promise.all(
    ['leaf.pem', 'intermediate.pem'].map((name) => readFile(path(name), 'utf8')),
  );
  await writeFile(path('chain.pem'), `${leaf}${intermediate}`);
  return { chain: path('chain.pem'), key: path('leaf.key'), root: path('root.pem') };
}
