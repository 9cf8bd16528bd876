import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TemporaryStore, temporaryStore } from '../../../../test/support/configured-store.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { errorCodeOf } from '../../../../test/support/transactions.ts';
import { addLatency, emptyHistogram, encodeHistogram } from '../verdict/latency-histogram.ts';
import { jsonFlag, jsonMember } from './dialect.ts';
import type { SqlStep, Store, Transaction } from './store.ts';

let temporary: TemporaryStore;
let store: Store;

beforeEach(async () => {
  temporary = await temporaryStore();
  store = temporary.store;
});
afterEach(() => temporary.dispose());

const INSERT = 'INSERT INTO facts (key, value) VALUES (?, ?)';
const facts = (...keys: string[]): SqlStep => ({ sql: INSERT, rows: keys.map((key) => [key, '']) });
const add = (tx: Transaction, ...keys: string[]) => tx.runEach(INSERT, facts(...keys).rows);

const keys = async () => {
  const rows = await store.read.selectFrom('facts').select('key').orderBy('key').execute();
  return rows.map(({ key }) => key);
};

describe('statements of a transaction', () => {
  test('one statement for many rows answers an outcome for each row', async () => {
    const written = await store.transaction(async (tx) => {
      await add(tx, 'a', 'b', 'c');
      return tx.runEach("UPDATE facts SET value = 'x' WHERE key >= ?", [['b'], ['c'], ['d']]);
    });
    expect(written.map(({ changes }) => changes)).toEqual([2, 1, 0]);
  });

  test('the outcome of an inserted row has its id', async () => {
    const sql = 'INSERT INTO workspaces (name, created_at) VALUES (?, 0) RETURNING id';
    const written = await store.transaction((tx) => tx.runEach(sql, [['a'], ['b']]));
    expect(written).toEqual([
      { changes: 1, id: 1 },
      { changes: 1, id: 2 },
    ]);
  });

  test('every kind of value crosses and comes back', async () => {
    const values = ['text', 1.5, 2 ** 40, null, new Uint8Array([0, 255]), 9_007_199_254_740_991n];
    const rows = await store.transaction((tx) =>
      tx.query(
        'SELECT ? AS a, ?::float8 AS b, ?::bigint AS c, ? AS d, ?::bytea AS e, ?::bigint AS f',
        values,
      ),
    );
    const bytes = new Uint8Array([0, 255]);
    expect(rows).toEqual([{ a: 'text', b: 1.5, c: 2 ** 40, d: null, e: bytes, f: 9_007_199_254_740_991 }]);
  });

  test('counts and sums are numbers, and truth is 0 or 1', async () => {
    const rows = await store.transaction(async (tx) => {
      await add(tx, 'a', 'b');
      return tx.query(
        "SELECT count(*) AS count, sum(length(key)) AS sum, EXISTS (SELECT 1) AS is_true FROM facts WHERE key < 'c'",
      );
    });
    expect(rows).toEqual([{ count: 2, sum: 2, is_true: 1 }]);
  });

  test('texts are in the order of their bytes', async () => {
    await store.commit([facts('b', 'B', 'a', 'ä', '_')]);
    expect(await keys()).toEqual(['B', '_', 'a', 'b', 'ä']);
  });

  test.runIf(IS_POSTGRES)('a character that PostgreSQL cannot store is replaced', async () => {
    await store.commit([{ sql: INSERT, rows: [['a\0b', '']] }]);
    expect(await keys()).toEqual(['a\uFFFDb']);
  });

  // The columns of SQLite's tables accept values of any type.
  test.runIf(IS_POSTGRES)(
    'a value that its column cannot hold violates a constraint, which no later try avoids',
    async () => {
      const wrong = { sql: "INSERT INTO workspaces (name, created_at) VALUES ('a', ?)", rows: [[1.5]] };
      expect(await errorCodeOf(store.commit([wrong]))).toBe('store-constraint');
    },
  );

  test('members of JSON are read beside a text with NUL', async () => {
    const attributes = JSON.stringify({ target: '\0\\u0000', name: 'Shop', public: true });
    await store.commit([{ sql: INSERT, rows: [['a', attributes]] }]);
    const [name, isPublic] = [jsonMember(sql`value`, 'name'), jsonFlag(sql`value`, 'public')];
    const { rows } = await sql`SELECT ${name} AS name, ${isPublic} AS is_public FROM facts`.execute(
      store.read,
    );
    expect(rows).toEqual([{ name: 'Shop', is_public: 1 }]);
  });

  test('stored histograms are added up', async () => {
    const histogram = (...latencies: number[]) => {
      const made = emptyHistogram();
      for (const latency of latencies) addLatency(made, latency);
      return encodeHistogram(made);
    };
    const many = Array.from({ length: 300 }, () => 7);
    const at = (hour: number, latency: Uint8Array | null) => [hour, latency];
    await store.commit([
      {
        sql: `INSERT INTO rollup_hours (monitor_id, at, region, passed, degraded, failed, not_run, latency)
          VALUES (1, ?, 'hosta-fra', 1, 0, 0, 0, ?)`,
        rows: [at(1, histogram(...many, 900)), at(2, null), at(3, histogram(...many, 0.01)), at(4, null)],
      },
    ]);
    const sum = async (from: number) =>
      store.transaction((tx) =>
        tx.query('SELECT merged_histogram(latency) AS sum FROM rollup_hours WHERE at >= ?', [from]),
      );
    expect(await sum(1)).toEqual([{ sum: histogram(...many, ...many, 900, 0.01) }]);
    expect(await sum(4)).toEqual([{ sum: null }]);
  });

  test('a failed statement fails the transaction, even if its error is caught or not awaited', async () => {
    const caught = store.transaction(async (tx) => {
      await add(tx, 'a');
      expect(await errorCodeOf(add(tx, 'b', 'a'))).toBe('store-constraint');
      expect(await errorCodeOf(add(tx, 'c'))).toBe('store-constraint');
    });
    expect(await errorCodeOf(caught)).toBe('store-constraint');
    const ignored = store.transaction((tx) => {
      add(tx, 'a', 'a').catch(() => {});
    });
    expect(await errorCodeOf(ignored)).toBe('store-constraint');
    expect(await keys()).toEqual([]);
    await store.transaction((tx) => add(tx, 'next'));
    expect(await keys()).toEqual(['next']);
  });

  test('they are refused after the end of the transaction, even inside another transaction', async () => {
    const kept = await store.transaction((tx) => tx);
    await store.transaction(async () => {
      expect(await errorCodeOf(add(kept, 'a'))).toBe('store-error');
      expect(await errorCodeOf(kept.db.selectFrom('facts').selectAll().execute())).toBe('store-error');
    });
    expect(await keys()).toEqual([]);
  });
});

describe('a whole transaction at once', () => {
  test('it answers an outcome for each step and row', async () => {
    const written = await store.commit([
      facts('a', 'b'),
      { sql: 'DELETE FROM facts WHERE key < ?', rows: [['b'], ['z']] },
      { sql: 'DELETE FROM facts', rows: [] },
    ]);
    expect(written.map((step) => Array.from(step, ({ changes }) => changes))).toEqual([[1, 1], [1, 1], []]);
    expect(await keys()).toEqual([]);
  });

  test.each([
    ['a row that is refused', facts('b', 'a'), 'store-constraint'],
    ['a statement that is wrong', { sql: 'INSERT INTO nowhere VALUES (1)', rows: [[]] }, 'store-error'],
  ])('with %s in its middle leaves nothing', async (_, wrong, code) => {
    expect(await errorCodeOf(store.commit([facts('a'), wrong, facts('c')]))).toBe(code);
    expect(await keys()).toEqual([]);
    await store.commit([facts('a')]);
    expect(await keys()).toEqual(['a']);
  });

  test.skipIf(IS_POSTGRES)(
    'a full disk is a retryable error, and the same steps succeed once there is room',
    async () => {
      const limit = (pages: number) =>
        store.transaction((tx) => tx.query(`PRAGMA max_page_count = ${pages}`));
      await limit(1);
      const big: SqlStep = { sql: INSERT, rows: [['big', 'x'.repeat(1_000_000)]] };
      await expect(store.commit([facts('a'), big])).rejects.toMatchObject({
        code: 'store-full',
        retryable: true,
      });
      await limit(1_000_000);
      await store.commit([facts('a'), big]);
      expect(await keys()).toEqual(['a', 'big']);
    },
  );

  test('it waits for the transaction in progress, and overtakes one that waits', async () => {
    const seen: string[][] = [];
    const first = store.transaction(async (tx) => {
      await add(tx, 'a');
      await setImmediate();
      await add(tx, 'b');
    });
    const second = store.transaction(async (tx) => {
      const rows = await tx.query<{ key: string }>('SELECT key FROM facts ORDER BY key');
      seen.push(rows.map(({ key }) => key));
    });
    const third = store.commit([facts('c')]);
    await Promise.all([first, second, third]);
    expect(seen).toEqual([['a', 'b', 'c']]);
  });

  test('a waiting transaction has its turn although two callers commit again and again', async () => {
    let isDone = false;
    const commitAgainAndAgain = async (key: string) => {
      for (let index = 0; index < 20 && !isDone; index += 1) await store.commit([facts(`${key}${index}`)]);
      return isDone;
    };
    const committing = Promise.all([commitAgainAndAgain('a'), commitAgainAndAgain('b')]);
    await store.transaction((tx) => add(tx, 'waited'));
    isDone = true;
    expect(await committing).toEqual([true, true]);
  });
});
