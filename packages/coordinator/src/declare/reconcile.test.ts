import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  DECLARED_FILE,
} from '../../../../test/support/configured-store.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { STORE_IN_PROCESS } from '../../../../test/support/store-in-process.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import type { ResourceKind } from '../configuration/kinds/kinds.ts';
import { ownedByFile } from '../configuration/owned-by-file.ts';
import { StoredConfiguration } from '../configuration/transactions.ts';
import type { StoreWorkers } from '../store/store-workers.ts';
import type { Numbered } from '../store/thread-protocol.ts';
import type { WriterRequest } from '../store/write-protocol.ts';
import { DeclarationError } from './located-error.ts';
import { parseDeclaration } from './parse.ts';
import { prepare } from './prepare.ts';
import { type Reconciled, reconcile } from './reconcile.ts';

type Declared = { [K in ResourceKind]?: Readonly<Record<string, object>> };

/** Statements that the writing thread was asked for. */
let asked: string[];

const counting: StoreWorkers = {
  ...STORE_IN_PROCESS,
  writer(data) {
    const worker = STORE_IN_PROCESS.writer(data);
    const post = worker.postMessage.bind(worker);
    return Object.assign(worker, {
      postMessage(message: Numbered<WriterRequest>) {
        const { request } = message;
        asked.push('sql' in request ? request.sql : request.kind);
        post(message);
      },
    });
  },
};

let open: ConfiguredStore[];

beforeEach(() => {
  [asked, open] = [[], []];
});
afterEach(async () => {
  for (const parts of open) await parts.dispose();
});

async function opened(): Promise<ConfiguredStore> {
  const parts = await configuredStore(counting);
  open.push(parts);
  return parts;
}

type Ways = {
  /** Runs between reading and the transaction. */
  readonly meanwhile?: () => Promise<void>;
};

/** Applies a declaration. Effects are left in the log of changes. */
async function apply(
  { store, secrets, workspaceId, guard, clock }: ConfiguredStore,
  declared: Declared,
  { meanwhile = async () => {} }: Ways = {},
): Promise<Reconciled> {
  const text = JSON.stringify(declared);
  const { entries, errors } = parseDeclaration(text, DECLARED_FILE, { env: {}, readFile: () => '' });
  if (errors.length > 0) throw new DeclarationError(errors);
  const configuration = new StoredConfiguration({
    store,
    secrets,
    effects: { applied: async () => {} },
    guard,
    clock,
  });
  const prepared = await prepare(store, { secrets, workspaceId, entries });
  await meanwhile();
  const sources = { digest: 'd', files: [], variables: [], fingerprint: 'f', warnings: [] };
  const options = { secrets, allowsDelete: true, signal: new AbortController().signal, at: clock.wall() };
  return configuration.transaction({ workspaceId, actor: 'file' }, (change) =>
    reconcile(change, { file: DECLARED_FILE, sources, entries }, prepared, {
      ...options,
      channelProblem: () => null,
      resetsChannels: false,
    }),
  );
}

/** What the writing thread was asked during this. */
async function askedDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
  asked = [];
  await work();
  return [...asked];
}

const named = <T>(prefix: string, count: number, of: (index: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, of(index)]));

const monitors = (count: number, more: (index: number) => object = () => ({})) =>
  named('m', count, (index) => ({ ...VALID.svc_tcp_monitor, name: `Monitor ${index}`, ...more(index) }));

describe('a large declaration', () => {
  const MANY = 600;
  test('is read and compared before the transaction, which asks the same for few and for many', async () => {
    const statementsOf = async (count: number) => {
      const parts = await opened();
      await apply(parts, { svc_tcp_monitor: monitors(count) });
      const declared = { svc_tcp_monitor: monitors(count, (index) => ({ active: index === 7 })) };
      return askedDuring(() => apply(parts, declared));
    };
    expect(await statementsOf(MANY)).toEqual(await statementsOf(10));
  });

  test('is compared again where somebody has written between the reading and the transaction', async () => {
    const parts = await opened();
    await apply(parts, { svc_tcp_monitor: monitors(4) });
    const owned = () => ownedByFile(parts.store, parts.secrets, parts.workspaceId);
    const [first, , third] = await owned();
    const change = { svc_tcp_monitor: monitors(4, (index) => ({ active: index === 0 })) };
    const reconciled = await apply(parts, change, {
      // Another process applies another file.
      meanwhile: async () => {
        const { m1, m2 } = monitors(3, () => ({ description: 'of another file' }));
        await apply(parts, { svc_tcp_monitor: { m1: m1 ?? {}, m2: m2 ?? {} } });
      },
    });
    expect(reconciled).toEqual({ created: 2, updated: 2, deleted: 0, unchanged: 0 });
    const now = await owned();
    expect(now.map(({ localName, attributes }) => [localName, attributes])).toMatchObject([
      ['m1', { description: null, active: false }],
      ['m2', { description: null, active: false }],
      ['m0', { description: null, active: true }],
      ['m3', { description: null, active: false }],
    ]);
    expect(now[1]?.id).toBe(third?.id);
    expect(now.map(({ id }) => id)).not.toContain(first?.id);
  });

  test('a release in between is noticed too', async () => {
    const parts = await opened();
    await apply(parts, { svc_tcp_monitor: monitors(2) });
    const declared = { svc_tcp_monitor: monitors(2) };
    const meanwhile = async () => void (await parts.configuration.releaseFileOwnership());
    expect(await apply(parts, declared, { meanwhile })).toMatchObject({ updated: 2 });
    expect(await rowsOf(parts.store, 'monitors')).toMatchObject([{ owner: 'file' }, { owner: 'file' }]);
  });
});
