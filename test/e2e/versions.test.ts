/**
 * Agents and coordinators may be upgraded in any order: processes of the newest released version run beside
 * processes of this version, with the NATS accounts of this version.
 */
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { MixedSystem } from '../support/mixed-system.ts';
import { openedIn, receiverIn, targetIn } from '../support/opened.ts';
import { RELEASED } from '../support/released-version.ts';

const REGION: Region = 'hosta-fra';

function declaration(names: readonly string[], target: string, hook: string) {
  const monitor = (name: string) => [
    name,
    { name, url: `${target}/${name}`, periodicity: '30s', active: true, retry: 0, regions: [REGION] },
  ];
  return {
    svc_http_monitor: Object.fromEntries(names.map(monitor)),
    svc_notification: {
      hook: {
        name: 'hook',
        provider_type: 'webhook',
        webhook: { endpoint: hook },
        monitor_ids: names.map((name) => `\${svc_http_monitor.${name}.id}`),
      },
    },
  };
}

test.skipIf(RELEASED === null).for([
  { coordinator: 'released', agent: 'today' },
  { coordinator: 'today', agent: 'released' },
] as const)(
  `the coordinator $coordinator and the agent $agent (${RELEASED ?? 'no version is released yet'}) check, judge and alert, also after the coordinator is upgraded`,
  async (versions, context) => {
    const opened = openedIn(context);
    const target = await targetIn(opened);
    target.answerWith((response, path) => {
      response.statusCode = path.startsWith('/down') ? 503 : 200;
      response.end('ok');
    });
    const receiver = await receiverIn(opened);
    const system = await MixedSystem.start(opened, REGION);
    const names: string[] = [];
    /**
     * Declares one more monitor that is up and one that is down, and waits until all are judged and the
     * alerts have been sent.
     */
    const judgeMore = async (): Promise<void> => {
      names.push(`up-${names.length}`, `down-${names.length}`);
      await system.declare(declaration(names, target.url, receiver.url));
      const count = names.length / 2;
      const sql = 'SELECT status, count(*) AS count FROM monitor_states GROUP BY status ORDER BY status';
      await expect
        .poll(() => system.query(sql), { interval: 100 })
        .toEqual([
          { status: 'active', count },
          { status: 'error', count },
        ]);
      await receiver.received(count);
      expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(count);
    };
    await system.declare(declaration([], target.url, receiver.url));
    await system.agent(versions.agent, 'one');
    const before = await system.coordinator(versions.coordinator);
    await judgeMore();
    await before.end('SIGKILL');
    await system.coordinator('today');
    await judgeMore();
  },
);
