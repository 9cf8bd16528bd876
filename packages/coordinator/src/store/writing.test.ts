import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { errorCodeOf } from '../../../../test/support/transactions.ts';
import { openStore } from './open.ts';
import { MAX_WAITING_TRANSACTIONS } from './serial-store.ts';
import type { StoreWorker, StoreWorkers } from './sqlite/store-thread.ts';
import { STORE_THREADS } from './sqlite/store-threads.ts';
import type { SqlStep, Store, Transaction } from './store.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let path: string;
let store: Store;
/** The writing thread that was started last. */
let writingThread: Worker | undefined;

const remember = (thread: Worker) => {
  if (thread.threadName === 'store-writer') writingThread = thread;
};

beforeEach(async () => {
  process.on('worker', remember);
  folder = await temporaryFolder();
  path = join(folder.path, 'svc.db');
  store = await openStore({ path, log: silentLog });
});

afterEach(async () => {
  await store.close();
  process.off('worker', remember);
  await folder.remove();
});

const INSERT = 'INSERT INTO facts (key, value) VALUES (?, ?)';
const facts = (...keys: string[]): SqlStep => ({ sql: INSERT, rows: keys.map((key) => [key, '']) });
const add = (tx: Transaction, ...keys: string[]) => tx.runEach(INSERT, facts(...keys).rows);

const keys = async () => {
  const rows = await store.read.selectFrom('facts').select('key').orderBy('key').execute();
  return rows.map(({ key }) => key);
};

/** Takes the write lock as another program would. */
function otherProgram(): { release(): void } {
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  const release = () => other.isOpen && other.close();
  onTestFinished(() => {
    release();
  });
  return { release };
}

/**
 * Writing threads that can end in the turn in which an answer arrives. Node hands over a thread's last
 * messages and its end in one turn, and runs no reactions of promises between them.
 */
class EndingWriters implements StoreWorkers {
  readonly reader = STORE_THREADS.reader;
  #isToEnd = false;

  /** Makes the thread end together with its next answer. */
  endWithNextAnswer(): void {
    this.#isToEnd = true;
  }

  readonly writer: StoreWorkers['writer'] = (data) => {
    const thread = STORE_THREADS.writer(data);
    let onExit = () => {};
    const on: StoreWorker['on'] = (event, listener: (value?: unknown) => void) => {
      if (event === 'exit') onExit = listener;
      else if (event === 'error') thread.on('error', listener);
      else
        thread.on('message', (message) => {
          listener(message);
          if (!this.#isToEnd) return;
          this.#isToEnd = false;
          onExit();
          void thread.terminate();
        });
    };
    return {
      on,
      postMessage: (message) => thread.postMessage(message),
      ref: () => thread.ref(),
      unref: () => thread.unref(),
      terminate: () => thread.terminate(),
    };
  };
}

describe('while the writing thread is held', () => {
  test('reads and the caller continue, and no task runs before the commit', async () => {
    await store.commit([facts('before')]);
    const steps: string[] = [];
    const other = otherProgram();
    const writing = store
      .transaction((tx) => {
        tx.onCommit(() => steps.push('told'));
        return add(tx, 'after');
      })
      .then(() => steps.push('answered'));
    // There are only a few rounds, because the other program must release
    // its lock before the wait for the lock ends.
    for (let round = 0; round < 5; round += 1) {
      expect(await keys()).toEqual(['before']);
      await setImmediate();
    }
    expect(steps).toEqual([]);
    other.release();
    await writing;
    expect(steps).toEqual(['told', 'answered']);
    expect(await keys()).toEqual(['after', 'before']);
  });

  test('a transaction that waits too long fails with a retryable error', async () => {
    const other = otherProgram();
    let hasBegun = false;
    const writing = store.transaction(() => {
      hasBegun = true;
    });
    await expect(writing).rejects.toMatchObject({
      code: 'store-busy',
      retryable: true,
      message: 'database: database is locked: end the program that locks it',
    });
    expect(hasBegun).toBe(false);
    other.release();
    await store.commit([facts('a')]);
  });

  test('the number of waiting transactions is limited; commit() is not refused, and overtakes them', async () => {
    const other = otherProgram();
    const ends: string[] = [];
    const waiting = Array.from({ length: MAX_WAITING_TRANSACTIONS + 1 }, (_, index) =>
      store.transaction((tx) => add(tx, `${index}`)).then(() => ends.push('waiting')),
    );
    expect(await errorCodeOf(store.transaction(() => {}))).toBe('store-overloaded');
    const whole = store.commit([facts('whole')]).then(() => ends.push('whole'));
    other.release();
    await whole;
    // One of the waiting transactions was already in progress.
    expect(ends).toEqual(['waiting', 'whole']);
    await Promise.all(waiting);
    expect(await keys()).toHaveLength(MAX_WAITING_TRANSACTIONS + 2);
  });

  test('closing waits for the transaction in progress', async () => {
    const other = otherProgram();
    const writing = store.commit([facts('a')]);
    const closing = store.close();
    await setImmediate();
    other.release();
    await Promise.all([writing, closing]);
    store = await openStore({ path, log: silentLog });
    expect(await keys()).toEqual(['a']);
  });
});

describe('a writing thread that dies', () => {
  const kill = () => writingThread?.terminate();

  test('its transaction leaves nothing, and the next transaction starts another thread', async () => {
    const told: string[] = [];
    const dying = store.transaction(async (tx) => {
      tx.onCommit(() => told.push('committed'));
      await add(tx, 'a');
      await kill();
      expect(await errorCodeOf(add(tx, 'b'))).toBe('store-writer-lost');
    });
    const next = store.transaction((tx) => add(tx, 'next'));
    await expect(dying).rejects.toMatchObject({ code: 'store-writer-lost', retryable: true });
    await next;
    expect(told).toEqual([]);
    expect(await keys()).toEqual(['next']);
  });

  test('a transaction leaves nothing if the thread ends in the turn that answers its begin', async () => {
    await store.close();
    const writers = new EndingWriters();
    store = await openStore({ path, log: silentLog, workers: writers });
    await store.commit([]);
    writers.endWithNextAnswer();
    expect(await errorCodeOf(store.transaction((tx) => add(tx, 'left', 'right')))).toBe('store-writer-lost');
    expect(await keys()).toEqual([]);
    await store.transaction((tx) => add(tx, 'next'));
    expect(await keys()).toEqual(['next']);
  });

  test('whenever it dies, a transaction is stored completely or not at all, and completely if it was answered', async () => {
    for (let round = 0; round < 12; round += 1) {
      // With this commit, the thread runs before each round begins.
      await store.commit([]);
      const both = [`left:${round}`, `right:${round}`];
      const answering = errorCodeOf(store.transaction((tx) => add(tx, ...both)));
      const killAt = performance.now() + Math.random() * 4;
      while (performance.now() < killAt) await setImmediate();
      await kill();
      const answer = await answering;
      const there = (await keys()).filter((key) => key.endsWith(`:${round}`));
      expect([answer, there]).toBeOneOf([
        ['none', both],
        ['store-writer-lost', []],
        // The thread was killed inside COMMIT.
        ['store-writer-lost', both],
      ]);
    }
  });

  test('does not keep the store from closing', async () => {
    await store.commit([facts('a')]);
    await kill();
    await store.close();
    store = await openStore({ path, log: silentLog });
    expect(await keys()).toEqual(['a']);
  });
});
