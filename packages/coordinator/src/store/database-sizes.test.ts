import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { MeasuredSizes } from './database-sizes.ts';
import { fileSizes } from './sqlite/database-files.ts';

test('the sizes come from the last measurement, and stay when the files are gone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sizes-'));
  const path = join(folder, 'svc.db');
  const sizes = new MeasuredSizes(() => fileSizes(path), new FakeClock());
  await sizes.measure();
  expect(sizes.sizes).toBeNull();

  await writeFile(path, 'four');
  await sizes.measure();
  expect(sizes.sizes).toMatchObject({ file: 4, journal: 0 });
  expect(sizes.sizes?.free).toBeGreaterThan(0);

  await writeFile(`${path}-wal`, 'journal');
  expect(sizes.sizes).toMatchObject({ journal: 0 });
  await Promise.all([sizes.measure(), sizes.measure()]);
  expect(sizes.sizes).toMatchObject({ file: 4, journal: 7 });

  await rm(folder, { recursive: true });
  await sizes.measure();
  expect(sizes.sizes).toMatchObject({ file: 4, journal: 7 });
});

test('the sizes are measured again every 15 s until the stop', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sizes-'));
  const path = join(folder, 'svc.db');
  await writeFile(path, '1');
  const clock = new FakeClock();
  const sizes = new MeasuredSizes(() => fileSizes(path), clock);
  sizes.start();
  await sizes.measure();
  await writeFile(path, '22');
  clock.advance(15_000);
  await sizes.measure();
  expect(sizes.sizes?.file).toBe(2);
  sizes.stop();
  expect(clock.pendingTimers).toBe(0);
  await rm(folder, { recursive: true });
});
