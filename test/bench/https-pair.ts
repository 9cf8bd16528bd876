/**
 * Compares the CPU time of the HTTPS probe of another checkout with that of this checkout's
 * probe, and with a bare `tls.connect` that has one shared context. All of them run in this
 * process and take turns with a slice of checks each, so that other work of the machine
 * affects all alike. Each check makes a full handshake, with chains of ECDSA P-256 and of
 * RSA 2048. Prints medians, least values, and medians of the ratios within a round.
 *
 *     node test/bench/https-pair.ts OTHER_CHECKOUT [rounds]
 *
 * The other checkout needs a `node_modules` of its own.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connect, createSecureContext, getCACertificates } from 'node:tls';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { httpCheck } from '../support/http-check.ts';
import { ROOT } from '../support/process.ts';
import { CHAIN_KINDS, makeChain } from './certificate-chain.ts';
import { Children } from './children.ts';
import { machine } from './machine.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

/** Number of checks in one slice. `AT_ONCE`: number of them that run at once. */
const CHECKS = 60;
const AT_ONCE = 4;
/** Rounds before the first one that counts, which warm up the JIT and caches. */
const WARM_UP_ROUNDS = 3;
const BARE = 'bare tls.connect';
const BEFORE = 'probe of before';

const [other, rounds = '21'] = process.argv.slice(2);
if (other === undefined) throw new Error('give the folder of the other checkout');

const children = new Children();
const rows: string[][] = [];
try {
  for (const kind of CHAIN_KINDS) {
    const chain = await makeChain(kind);
    const { line: port } = await children.node('test/bench/target-process.ts', ['0', chain.key, chain.chain]);
    const ca = readFileSync(chain.root, 'utf8');
    const check = httpCheck({ url: `https://127.0.0.1:${port}/` });
    const contenders = new Map<string, () => Promise<void>>([
      [BARE, bareRequester(Number(port), ca)],
      [BEFORE, await probeOf(resolve(other), check, ca)],
      ['probe', await probeOf(ROOT, check, ca)],
    ]);
    for (const groups of ['X25519:P-256:P-384', 'X25519:X25519MLKEM768:P-256'])
      contenders.set(`probe, ${groups}`, await probeOf(ROOT, check, ca, groups));
    rows.push(...rowsOf(kind, await measured(contenders)));
  }
} finally {
  await children.endAll();
}
console.log(`${machine()}\n`);
const head = ['', '', 'CPU µs per check', 'least', `× ${BARE}`, `× ${BEFORE}`];
console.log(formatTable(head, rows));

function bareRequester(port: number, ca: string): () => Promise<void> {
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), ca] });
  const options = {
    host: '127.0.0.1',
    port,
    autoSelectFamily: false,
    secureContext,
    ALPNProtocols: ['http/1.1'],
  };
  return () =>
    new Promise((done, failed) => {
      const socket = connect(options);
      socket.once('secureConnect', () => socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'));
      socket.on('error', failed);
      socket.once('data', () => {
        socket.destroy();
        done();
      });
    });
}

/** The probe of a checkout. */
async function probeOf(
  root: string,
  check: HttpCheck,
  ca: string,
  groups?: string,
): Promise<() => Promise<void>> {
  const { createHttpProbe }: typeof import('@svc/agent/probes/http/probe.ts') = await import(
    join(root, 'packages/agent/src/probes/http/probe.ts')
  );
  const { createEgressGuard }: typeof import('@svc/shared/egress.ts') = await import(
    join(root, 'packages/shared/src/egress.ts')
  );
  const probe = createHttpProbe({
    resolver: { resolve: () => [], isSilentSince: () => false, close: async () => {} },
    egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
    tlsOptions: { ca: [ca], groups },
  });
  const context = { timeoutMs: 45_000, signal: new AbortController().signal };
  return async () => {
    const { outcome, errorMessage } = await probe.run(check, context);
    if (outcome !== 'passed') throw new Error(errorMessage);
  };
}

/** CPU µs per check of each contender in each round. */
async function measured(
  contenders: ReadonlyMap<string, () => Promise<void>>,
): Promise<Map<string, number[]>> {
  const figures = new Map([...contenders.keys()].map((name): [string, number[]] => [name, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + Number(rounds); round += 1) {
    // The order changes from round to round, so that no contender always follows the same one.
    const inTurn = round % 2 === 0 ? [...contenders] : [...contenders].toReversed();
    for (const [name, run] of inTurn) {
      const figure = await slice(run);
      if (round >= WARM_UP_ROUNDS) figures.get(name)?.push(figure);
    }
  }
  return figures;
}

async function slice(run: () => Promise<void>): Promise<number> {
  let left = CHECKS;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left > 0) {
        left -= 1;
        await run();
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CHECKS;
}

function rowsOf(kind: string, figures: ReadonlyMap<string, readonly number[]>): string[][] {
  return [...figures].map(([name, values]) => [
    kind,
    name,
    median(values).toFixed(0),
    Math.min(...values).toFixed(0),
    ...[BARE, BEFORE].map((peer) =>
      median(values.map((value, round) => value / (figures.get(peer)?.[round] ?? Number.NaN))).toFixed(2),
    ),
  ]);
}
