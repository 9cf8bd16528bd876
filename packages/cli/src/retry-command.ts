import { describeSettings } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import { asking, openApi } from './api.ts';
import { CLI_SETTINGS } from './cli-settings.ts';
import type { Command } from './command.ts';
import { parseOptions, requireId } from './options.ts';

export const retryCommand: Command = {
  help: `Usage: npm run svc -- retry CHANNEL

CHANNEL is the id of a notification. Its dead deliveries are pending again, the oldest first, with a fresh schedule.
Needs a token of scope write.

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  async run([given, ...args], surroundings) {
    const id = requireId(given, 'channel', 'use retry 3');
    parseOptions(args, {});
    const api = openApi(surroundings);
    const { body } = await asking(api, () => api.client.request('POST', `/v1/notifications/${id}/retry`));
    const { retried } = answer.parse(body);
    surroundings.out.write(`${retried} ${retried === 1 ? 'alert is' : 'alerts are'} sent again\n`);
  },
};

const answer = z.object({ retried: z.number() });
