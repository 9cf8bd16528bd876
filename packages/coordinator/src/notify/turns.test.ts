import { expect, test } from 'vitest';
import { silentLog } from '../../../../test/support/configured-store.ts';
import { FakeClock, settle } from '../../../../test/support/fake-clock.ts';
import type { FoundChannel } from './channel-queue.ts';
import { Turns } from './turns.ts';

const HANGING = Array.from({ length: 400 }, (_, index) => index + 1);
const GOOD = 1_000;

const CHANNEL: FoundChannel = {
  workspaceId: 1,
  kind: 'webhook',
  stoppedFor: null,
  groupsAlerts: false,
  kept: null,
  open: () => {
    throw new TypeError('nothing is sent here');
  },
};

test('hundreds of channels that hang leave places for one of their workspace that answers', async () => {
  const clock = new FakeClock();
  let hanging: (() => void)[] = [];
  let answered = 0;
  const turns: Turns = new Turns({
    clock,
    log: silentLog,
    source: { find: async () => CHANNEL },
    onOwnFailure: () => {},
    async send(queue, _found, lane) {
      if (queue.notificationId === GOOD) {
        answered += 1;
        return;
      }
      await new Promise<void>((resolve) => hanging.push(resolve));
      // It is tried again at once, so that all of them hang all the time.
      turns.makeReady(queue, lane, null);
    },
  });
  turns.start(() => 0);
  const alert = (channel: number, monitor: number) => {
    const queue = turns.queueOf(channel);
    const lane = queue.lane(monitor);
    lane.headId = channel * 2 + monitor;
    turns.makeReady(queue, lane, null);
  };
  for (const channel of HANGING) for (const monitor of [1, 2]) alert(channel, monitor);
  await settle();
  for (let round = 1; round <= 3; round += 1) {
    for (let second = 1; second <= 3; second += 1) await clock.advanceSettling(1_000);
    for (const end of hanging.splice(0)) end();
    await settle();
  }
  expect(HANGING.every((channel) => turns.queueOf(channel).isSlow)).toBe(true);
  alert(GOOD, 1);
  await settle();
  expect(answered).toBe(1);
  turns.stop();
  const idle = turns.idle();
  for (const end of hanging.splice(0)) end();
  hanging = [];
  await idle;
});
