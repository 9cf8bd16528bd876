import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { ExportThread } from './export-thread.ts';
import type { ExportEntry, FromExportThread, SavedTotals } from './protocol.ts';

const HOUR_MS = 3_600_000;

function entryOf(id: number, target: Partial<ExportEntry['target']> = {}): ExportEntry {
  return {
    monitor: {
      id,
      name: `Web ${id}`,
      kind: 'http',
      target: 'https://example.com/',
      isActive: true,
      regions: null,
      freshForMs: 90_000,
    },
    target: {
      key: 'one',
      url: 'https://otlp.example.com/v1/metrics',
      headers: [],
      workspaceId: 1,
      encoding: 'json',
      isEncodingOpen: true,
      isCompressed: true,
      ...target,
    },
    history: [],
    totals: null,
  };
}

/** A thread that has begun, whose endpoints never answer. */
function begun(...entries: ExportEntry[]) {
  const clock = new FakeClock();
  const told: FromExportThread[] = [];
  const asked: [post: string, url: string][] = [];
  const never =
    (post: string) =>
    ({ url }: { url: string }) => {
      asked.push([post, url]);
      return new Promise<never>(() => {});
    };
  const thread = new ExportThread({
    data: {
      intervalMs: HOUR_MS,
      saveEveryMs: HOUR_MS,
      histograms: 'exponential',
      resource: [],
      version: '1',
    },
    clock,
    post: { guarded: never('guarded'), free: never('free') },
    tell: (message) => told.push(message),
  });
  onTestFinished(() => thread.stop());
  thread.take({ kind: 'entries', entries, lastNote: 0 });
  thread.take({ kind: 'begin' });
  const saves = (): SavedTotals[] =>
    told.flatMap((message) => (message.kind === 'save' ? [message.totals] : []));
  return { thread, clock, told, asked, saves };
}

test('what begins anew and could not be stored is stored ten seconds later', async () => {
  const { thread, clock, saves } = begun(entryOf(1));
  await clock.advanceSettling(1_000);
  expect(saves()).toMatchObject([{ rows: [{ monitorId: 1 }] }]);
  thread.take({ kind: 'saved', isSaved: false });
  await clock.advanceSettling(9_000);
  expect(saves()).toHaveLength(1);
  await clock.advanceSettling(2_000);
  expect(saves().slice(1)).toMatchObject([{ rows: [{ monitorId: 1 }] }]);
  thread.take({ kind: 'saved', isSaved: true });
  await clock.advanceSettling(1_000);
  expect(saves().at(-1)).toMatchObject({ rows: [], notesUntil: 0 });
});

test('only endpoints that have changed are told of, and those that are gone', () => {
  const { thread, clock, told } = begun(entryOf(1), entryOf(2));
  const states = () => {
    told.length = 0;
    clock.advance(1_000);
    return told.flatMap((message) =>
      message.kind === 'state'
        ? [{ gone: message.gone, endpoints: message.endpoints.map(({ key, monitors }) => [key, monitors]) }]
        : [],
    );
  };
  clock.advance(5_000);
  expect(states()).toEqual([{ gone: [], endpoints: [] }]);
  thread.take({ kind: 'monitor', id: 2, entry: null });
  expect(states()).toEqual([{ gone: [], endpoints: [['one', 1]] }]);
  thread.take({ kind: 'monitor', id: 1, entry: null });
  expect(states()).toEqual([{ gone: ['one'], endpoints: [] }]);
  thread.take({ kind: 'monitor', id: 1, entry: entryOf(1) });
  expect(states()).toEqual([{ gone: [], endpoints: [['one', 1]] }]);
});

test('the guard judges the endpoint of a monitor, and lets that of the operator pass', async () => {
  const url = 'http://127.0.0.1:4318/v1/metrics';
  const { clock, asked } = begun(entryOf(1), entryOf(2, { key: 'operator', url, workspaceId: null }));
  await clock.advanceSettling(5_000);
  expect(asked.sort()).toEqual([
    ['free', url],
    ['guarded', 'https://otlp.example.com/v1/metrics'],
  ]);
});
