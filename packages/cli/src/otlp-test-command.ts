import { SvcError } from '@svc/shared/errors.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { forTerminal } from '@svc/shared/text/terminal.ts';
import { z } from 'zod';
import { asking, openApi } from './api.ts';
import { CLI_SETTINGS } from './cli-settings.ts';
import type { Command } from './command.ts';
import { parseOptions, requireId } from './options.ts';

/**
 * Maximum time for an answer of the API, ms. The coordinator waits for the
 * endpoint for up to 60 s for each of the two encodings, and takes up to 5 s
 * more. The coordinator's answer says more than a time-out of this command.
 */
const ANSWER_MS = 140_000;

export const otlpTestCommand: Command = {
  help: `Usage: npm run svc -- otlp-test MONITOR

MONITOR is the id of a monitor. Its present metrics are sent once, as exports send them. The exit code is 1 where the
endpoint did not take all of them. A hanging endpoint is reported after twice OTEL_EXPORTER_OTLP_TIMEOUT at the latest. Needs
a token of scope write.

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  async run([given, ...args], surroundings) {
    const id = requireId(given, 'monitor', 'use otlp-test 12');
    parseOptions(args, {});
    const api = openApi(surroundings, { attemptMs: ANSWER_MS });
    const { body } = await asking(api, () => api.client.request('POST', `/v1/monitors/${id}/otlp-test`));
    const { endpoint, points, answers, delivered, duration, warnings } = tested.parse(body);
    const said = answers.map(
      ({ encoding, error }) => `  ${encoding}: ${error === null ? 'taken' : forTerminal(error)}\n`,
    );
    for (const warning of warnings) surroundings.err.write(`warning: ${forTerminal(warning)}\n`);
    surroundings.out.write(
      `${points} points to ${forTerminal(endpoint)} in ${duration} ms\n${said.join('')}`,
    );
    if (!delivered) throw new SvcError('not-taken', 'the endpoint did not take the metrics');
  },
};

const tested = z.object({
  delivered: z.boolean(),
  endpoint: z.string(),
  points: z.number(),
  answers: z.array(z.object({ encoding: z.string(), error: z.string().nullable() })),
  duration: z.number(),
  warnings: z.array(z.string()).default([]),
});
