/**
 * A failure of the agents' own network never counts against a target. Three agents run on one machine, in a
 * network that the test made, whose link, routes, resolver, IPv6 and gateway fail and recover. Only real
 * outages are announced.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OwnNetwork, type Told, whyNoOwnNetwork } from '../support/network/own-network.ts';

const reason = whyNoOwnNetwork();
if (reason !== null) process.stdout.write(`skipped: a network that goes away: ${reason}\n`);

const NAMED = ['a1.test', 'a2.test', 'a3.test'];
const BY_ADDRESS = ['203.0.113.4', '203.0.113.5', '203.0.113.6', '203.0.113.7'];
const DOWN = BY_ADDRESS.slice(0, 2);
const UP = BY_ADDRESS.slice(2);
const BY_IPV6 = ['2001:db8::2', '2001:db8::3', '2001:db8::4'];
const ALL = [...NAMED, 'six.test', ...BY_ADDRESS, ...BY_IPV6];
/**
 * Reasons for which a check may be not run. On a machine short of CPU, a time-out gets `agent-starved` before
 * other reasons are considered.
 */
const NOT_RUN = ['agent-starved', 'network-down', 'no-ipv6'];

describe.skipIf(reason !== null && process.env.CI !== 'true')('while our network', () => {
  let story: OwnNetwork;

  beforeAll(async () => {
    story = new OwnNetwork(fileURLToPath(new URL('../support/network/story.ts', import.meta.url)));
    await story.end();
  });
  afterAll(() => story.kill());

  function told(step: string): Told {
    const found = story.told.find((line) => line.step === step);
    if (found === undefined) throw new Error(`the story has no step "${step}"`);
    return found;
  }

  function expectPassed(step: string, names: readonly string[]): void {
    // A check that began before the network was back is reported in this step. It says nothing about its
    // target.
    const untold = ['agent-starved', ...(/back/.test(step) ? ['network-down'] : [])];
    for (const name of names) {
      const found = (told(step).outcomes[name] ?? []).filter((outcome) => !untold.includes(outcome));
      expect([name, found]).toEqual([name, ['passed']]);
    }
  }

  /** Expects these alerts and these faults of the network in heartbeats. A lack of CPU is ignored. */
  function expectTold(step: string, alerts: readonly string[], sick: readonly string[] = []): void {
    const found = told(step);
    expect(found.alerts).toEqual(alerts);
    expect(found.sick.filter((each) => each !== 'starved')).toEqual(sick);
  }

  function expectNotRun(step: string, names: readonly string[]): void {
    for (const name of names) {
      const found = told(step).outcomes[name] ?? [];
      expect(found.length, name).toBeGreaterThan(0);
      for (const outcome of found) expect(NOT_RUN, `${name} is ${outcome}`).toContain(outcome);
    }
  }

  test('works, everything passes and there is no alert', () => {
    expectPassed('calm', ALL);
    expectTold('calm', []);
  });

  test.each(['link down', 'default route gone'])('has its %s, nothing counts against a target', (step) => {
    expectNotRun(step, ALL);
    expectTold(step, [], ['network-down']);
  });

  test('has a dead resolver, names do not count as failed, and real outages are announced', () => {
    const step = 'resolver dead and half of the targets down';
    expectNotRun(step, [...NAMED, 'six.test']);
    expectPassed(step, [...UP, ...BY_IPV6]);
    expect(told(step).alerts).toEqual(DOWN.map((name) => `error ${name}`));
  });

  test('has a silent resolver, names do not count as failed, and addresses pass', () => {
    expectNotRun('resolver silent', [...NAMED, 'six.test']);
    expectPassed('resolver silent', [...BY_ADDRESS, ...BY_IPV6]);
    expect(told('resolver silent').alerts).toEqual([]);
  });

  test.each(['IPv6 gone', 'IPv6 gone, its route left'])(
    'has its %s, that is said of a target that has nothing else',
    (step) => {
      for (const name of ['six.test', ...BY_IPV6]) {
        const found = told(step).outcomes[name]?.filter((outcome) => outcome !== 'agent-starved');
        expect([name, found]).toEqual([name, ['no-ipv6']]);
      }
      expectPassed(step, [...NAMED, ...BY_ADDRESS]);
      expectTold(step, []);
    },
  );

  test('has lost only its IPv6 gateway, targets with IPv6 only do not count as failed, and the rest passes', () => {
    const step = 'IPv6 gateway gone';
    expectNotRun(step, ['six.test', ...BY_IPV6]);
    expectPassed(step, [...NAMED, ...BY_ADDRESS]);
    expectTold(step, [], ['network-down']);
  });

  test('has lost only its IPv4 gateway, targets that need it do not count as failed, and IPv6 addresses pass', () => {
    const step = 'IPv4 gateway gone';
    expectNotRun(step, [...NAMED, 'six.test', ...BY_ADDRESS]);
    expectPassed(step, BY_IPV6);
    expectTold(step, [], ['network-down']);
  });

  test('has lost its gateway, real outages are announced when it is back, and nothing before', () => {
    const gone = 'gateway gone and half of the targets down';
    expectNotRun(gone, ALL);
    expectTold(gone, [], ['network-down']);
    const back = 'gateway back, half of the targets still down';
    expectPassed(back, [...NAMED, 'six.test', ...UP, ...BY_IPV6]);
    expectTold(
      back,
      DOWN.map((name) => `error ${name}`),
    );
  });

  test.each(['default route gone', 'gateway gone'])(
    'has its %s behind a DNS forwarder of this machine, SERVFAIL does not count as failed',
    (what) => {
      const step = `${what} behind a forwarder`;
      expectNotRun(step, ALL);
      expectTold(step, [], ['network-down']);
    },
  );

  test.each([
    'link down',
    'default route gone',
    'resolver dead',
    'resolver silent',
    'IPv6 gone',
    'IPv6 gateway gone',
    'IPv4 gateway gone',
  ])('works again after %s, everything passes', (step) => {
    expectPassed(`back after ${step}`, ALL);
    const recovered = step === 'resolver dead' ? DOWN.map((name) => `recovered ${name}`) : [];
    expectTold(`back after ${step}`, recovered);
  });

  test('works again, targets that were down recover', () => {
    expectPassed('back', ALL);
    expect(told('back').alerts).toEqual(DOWN.map((name) => `recovered ${name}`));
  });
});
