/**
 * Writes the files for a NATS server of svc: a configuration with one account per region, and a key file per
 * part. See the README in this folder.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { isRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { nkeys } from 'nats';
import { type ServerOptions, serverConfiguration } from './configuration.ts';

const USAGE = `node deploy/nats/accounts.ts --regions hosta-fra,hostb-par [options]

  --regions  the regions, separated by commas, or "all"
  --out      folder for nats.conf and the keys (default deploy/nats/generated); existing keys stay
  --listen   address of the server (default 127.0.0.1:4222)
  --store    the server's folder for results (default ./jetstream)
  --cert     PEM file of its certificate; required unless it listens on loopback
  --key      PEM file of the certificate's key
`;

function main(): void {
  const { values } = parseArgs({
    options: {
      regions: { type: 'string' },
      out: { type: 'string', default: join(import.meta.dirname, 'generated') },
      listen: { type: 'string', default: '127.0.0.1:4222' },
      store: { type: 'string', default: './jetstream' },
      cert: { type: 'string' },
      key: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true || values.regions === undefined) {
    process.stdout.write(USAGE);
    process.exitCode = values.help === true ? 0 : 1;
    return;
  }
  const server = { listen: values.listen, store: values.store, tls: tlsOf(values) };
  const regions = regionsOf(values.regions);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true, mode: 0o700 });
  const configuration = serverConfiguration(server, {
    coordinator: publicKeyIn(join(out, 'coordinator.nk')),
    system: publicKeyIn(join(out, 'system.nk')),
    agents: new Map(regions.map((region) => [region, publicKeyIn(join(out, `agent-${region}.nk`))])),
  });
  writeFileSync(join(out, 'nats.conf'), configuration, { mode: 0o600 });
  process.stdout.write(`${join(out, 'nats.conf')} and ${regions.length + 2} keys (*.nk) written\n`);
}

function tlsOf(values: { listen: string; cert?: string; key?: string }): ServerOptions['tls'] {
  const { listen, cert, key } = values;
  if (cert !== undefined && key !== undefined) return { certificate: resolve(cert), key: resolve(key) };
  if (cert !== undefined || key !== undefined)
    throw new SvcError('usage', '--cert and --key must be given together');
  const host = listen.slice(0, listen.lastIndexOf(':'));
  if (host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))) return null;
  throw new SvcError(
    'usage',
    `--cert and --key are required to listen on ${listen}: keys and jobs must not travel in clear`,
  );
}

function regionsOf(text: string): Region[] {
  if (text === 'all') return [...REGIONS];
  const names = new Set(text.split(',').map((name) => name.trim()));
  return [...names].map((name) => {
    if (!isRegion(name))
      throw new SvcError('usage', `${name} is not a region; the regions are ${REGIONS.join(', ')}`);
    return name;
  });
}

/** Public key of the seed in the file; the file is made when it is missing. */
function publicKeyIn(file: string): string {
  if (!existsSync(file))
    writeFileSync(file, `${Buffer.from(nkeys.createUser().getSeed())}\n`, { mode: 0o600 });
  const seed = readFileSync(file, 'utf8').trim();
  try {
    return nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey();
  } catch (error) {
    throw new SvcError('usage', `${file} does not contain an nkey seed`, { cause: error });
  }
}

try {
  main();
} catch (error) {
  process.stderr.write(`accounts: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
