import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@svc/shared/clock.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
  temporaryFolder,
} from '../../../test/support/configured-store.ts';
import { OperatorTokens, operatorTokens } from './operator-tokens.ts';
import { Tokens } from './store/access/tokens.ts';

const [OLD, NEW] = ['old-token-'.repeat(4), 'new-token-'.repeat(4)];

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let parts: ConfiguredStore;
let tokens: Tokens;
let running: OperatorTokens | null = null;
const works = (secret: string) => tokens.lookup(secret)?.isOperator === true;

beforeEach(async () => {
  folder = await temporaryFolder();
  parts = await configuredStore();
  tokens = await Tokens.load(parts.store);
});
afterEach(async () => {
  await running?.stop();
  running = null;
  await parts.dispose();
  await folder.remove();
});

test('a file with another token replaces the token by way of two lines, without a restart', async () => {
  const path = join(folder.path, 'api-token');
  await writeFile(path, `${OLD}\n`);
  const errors = vi.fn();
  const log = Object.assign(Object.create(silentLog), { error: errors });
  const { workspaceId } = parts;
  running = new OperatorTokens({
    tokens,
    workspaceId,
    secrets: new Secret([OLD]),
    path,
    clock: systemClock,
    log,
  });
  await running.start();
  expect([works(OLD), works(NEW)]).toEqual([true, false]);

  await writeFile(`${path}.new`, `${NEW}\n${OLD}\n`);
  await rename(`${path}.new`, path);
  await expect.poll(() => [works(OLD), works(NEW)]).toEqual([true, true]);

  await writeFile(path, '\n');
  await expect.poll(() => errors.mock.calls.length).toBeGreaterThan(0);
  expect([works(OLD), works(NEW)]).toEqual([true, true]);

  await writeFile(path, NEW);
  await expect.poll(() => [works(OLD), works(NEW)]).toEqual([false, true]);
  expect(JSON.stringify(errors.mock.calls)).not.toContain(OLD);
});

test.each([
  ['x'.repeat(32), ['x'.repeat(32)]],
  [`${OLD}\r\n${NEW}\r\n`, [OLD, NEW]],
  ['x'.repeat(31), null],
  ['', null],
  [`${OLD}\n${NEW}\n${OLD}x`, null],
  [`${OLD} ${NEW}`, null],
])('%j is read as %j', (text, expected) => {
  expect(operatorTokens.safeParse(text).data ?? null).toEqual(expected);
});
