/** A connection that the agent's own routes or addresses forbid does not count against the target. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OwnNetwork, whyNoOwnNetwork } from '../support/network/own-network.ts';

const reason = whyNoOwnNetwork();
if (reason !== null) process.stdout.write(`skipped: routes of this machine: ${reason}\n`);

describe.skipIf(reason !== null && process.env.CI !== 'true')('no check counts against its target', () => {
  let story: OwnNetwork;

  beforeAll(async () => {
    story = new OwnNetwork(fileURLToPath(new URL('../support/network/local-rules.ts', import.meta.url)));
    await story.end();
  });
  afterAll(() => story.kill());

  const outcomesOf = (step: string) =>
    Object.entries(story.told.find((each) => each.step === step)?.outcomes ?? {});

  test.each([
    ['blackhole', /^network-down: the agent's machine refuses to send to \S+.* \(EINVAL: a blackhole route/],
    ['prohibit', /^network-down: the agent's machine refuses to send to \S+.* \(EACCES: a prohibit route/],
    ['unreachable', /^network-down: the agent's machine has no route to /],
  ])('behind a route of the kind %s', (kind, expected) => {
    const outcomes = outcomesOf(kind);
    expect(outcomes).toHaveLength(9);
    for (const [name, [said]] of outcomes)
      expect([name, said]).toEqual([name, expect.stringMatching(expected)]);
  });

  test('while the only IPv6 address is tentative', () => {
    const outcomes = outcomesOf('tentative');
    expect(outcomes).toHaveLength(3);
    for (const [name, [said]] of outcomes)
      expect([name, said]).toEqual([name, expect.stringMatching(/^no-ipv6: /)]);
  });

  test.each([
    ['silent', 'failed', 9],
    ['own addresses replaced under way', 'network-down', 9],
    ['route gone under way', 'network-down', 6],
    ['route left for IPv6 without an address', 'network-down', 3],
  ])('while nothing answers (%s): %s', (step, expected, count) => {
    const outcomes = outcomesOf(step);
    expect(outcomes).toHaveLength(count);
    const silence = new RegExp(`^${expected}: (no connection|timed out)`);
    for (const [name, [said]] of outcomes)
      expect([name, said]).toEqual([name, expect.stringMatching(silence)]);
  });

  test.each(['tentative, names', 'route gone after a truncated answer'])(
    'nor against a name, when such a machine asks its name server (%s)',
    (step) => {
      expect(outcomesOf(step)).toEqual([['dns', [expect.stringMatching(/^network-down: /)]]]);
    },
  );
});
