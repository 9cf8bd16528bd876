import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { silentLog, temporaryFolder } from '../../../../test/support/configured-store.ts';
import { openStore } from './open.ts';

const WRITER = fileURLToPath(new URL('../../../../test/support/store-writer.ts', import.meta.url));

/**
 * Lets a process write until it has acknowledged `count` transactions, and kills it. Returns the numbers of
 * all transactions that it has acknowledged.
 */
async function writeAndKill(path: string, first: number, count: number): Promise<number[]> {
  const child = spawn(process.execPath, [WRITER, path, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const acknowledged: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(Number(line));
    if (acknowledged.length !== count) continue;
    // The other process continues to write while this process tries to open the file.
    await expect(openStore({ path, log: silentLog })).rejects.toMatchObject({ code: 'store-in-use' });
    child.kill('SIGKILL');
  }
  expect(await exited).toEqual([null, 'SIGKILL']);
  return acknowledged;
}

test('transactions that were acknowledged before a kill are stored, and none is stored in part', async () => {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'svc.db');
  const acknowledged: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const count = 1 + Math.floor(Math.random() * 150);
    // A transaction that was not acknowledged may be stored too, so each round uses numbers of its own.
    acknowledged.push(...(await writeAndKill(path, round * 100_000, count)));

    const store = await openStore({ path, log: silentLog });
    const facts = await store.read.selectFrom('facts').select('key').execute();
    const keys = new Set(facts.map(({ key }) => key));
    const half = (side: string) =>
      [...keys].filter((key) => key.startsWith(side)).map((key) => Number(key.split(':')[1]));
    expect(acknowledged.filter((number) => !keys.has(`left:${number}`))).toEqual([]);
    expect(new Set(half('left'))).toEqual(new Set(half('right')));
    const { rows } = await sql`PRAGMA integrity_check`.execute(store.read);
    expect(rows).toEqual([{ integrity_check: 'ok' }]);
    await store.close();
  }
  await folder.remove();
});
