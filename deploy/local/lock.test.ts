import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockDataFolder } from './lock.ts';

test('a data folder serves one start at a time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  const unlock = lockDataFolder(folder);
  expect(() => lockDataFolder(folder)).toThrow(`svc runs already with the data folder ${folder}`);
  unlock();
  lockDataFolder(folder)();
});
