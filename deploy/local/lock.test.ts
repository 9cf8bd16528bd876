import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lockDataFolder } from './lock.ts';

function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a data folder serves one start at a time', () => {
  const folder = dataFolder();
  const unlock = lockDataFolder(folder);
  expect(() => lockDataFolder(folder)).toThrow(
    `svc is already running with the data folder ${folder} (process ${process.pid})`,
  );
  unlock();
  lockDataFolder(folder)();
});

test('a path that is not a folder is reported as unusable', () => {
  const file = join(dataFolder(), 'file');
  writeFileSync(file, '');
  expect(() => lockDataFolder(file)).toThrow(`cannot use the data folder ${file}`);
});
