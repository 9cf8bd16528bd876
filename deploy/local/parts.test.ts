import { expect, test } from 'vitest';
import { paintFor } from './output.ts';
import { Parts } from './parts.ts';

test('a part that would be started during the stop is not started, because nothing would end it', async () => {
  const lines: string[] = [];
  const parts = new Parts({
    project: '/nowhere',
    environment: {},
    paint: paintFor({}, {}),
    print: (line) => lines.push(line),
  });
  const late = parts.server({
    name: 'late',
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1_000)'],
    isReadyLine: () => false,
    isError: () => true,
    stopWithinMs: 5_000,
  });
  try {
    await parts.stop(() => []);
    await Promise.race([parts.start(late), new Promise((resolve) => setImmediate(resolve))]);
    expect(late.pid).toBeUndefined();
    expect(lines).toEqual(['stopping …', 'stopped']);
  } finally {
    await late.stop();
  }
});
