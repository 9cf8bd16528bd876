import { ApiError } from '@svc/shared/api/api-error.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { asking, openApi } from '../api.ts';
import type { Command } from '../command.ts';
import { describeOptions, parseOptions } from '../options.ts';
import { CLI_SETTINGS } from '../settings.ts';
import { regionsAnswer, type Status, systemAnswer } from './answers.ts';
import { findingsIn } from './judge.ts';
import { shownStatus } from './shown.ts';

/** A coordinator that hangs is a finding, and somebody waits for it: one try, ms. */
const ANSWER_MS = 8_000;

const OPTIONS = { json: { description: 'write JSON' } } as const;

export const statusCommand: Command = {
  help: `Usage: npm run svc -- status [--json]

Shows what the coordinator knows about itself and its agents, what is wrong, and what to do. It needs a token. Only the operator's token
sees the last errors of the log and the default endpoint of the export.

Exit code: 0 the service is healthy; 1 something does not work, or the coordinator does not answer; 2 the command or its settings are
wrong.

Options:
${describeOptions(OPTIONS)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  async run(args, surroundings) {
    const { json } = parseOptions(args, OPTIONS);
    const api = openApi(surroundings, { attemptMs: ANSWER_MS, deadlineMs: ANSWER_MS });
    const [system, regions] = await asking(api, () =>
      Promise.all([api.client.request('GET', '/v1/system'), api.client.request('GET', '/v1/regions')]),
    ).catch((error: unknown) => {
      throw error instanceof ApiError && error.status === 404 ? toldNothing(api.baseUrl, error) : error;
    });
    const parsed = systemAnswer.safeParse(system.body);
    if (!parsed.success) throw toldNothing(api.baseUrl, parsed.error);
    const all = regionsAnswer.parse(regions.body).data;
    const status: Status = {
      system: parsed.data,
      regions: all.filter(({ agents, last_seen_at: at }) => agents.length > 0 || at !== null),
    };
    const now = Date.now();
    const findings = findingsIn(status, now);
    const document = { healthy: findings.length === 0, findings, ...status };
    surroundings.out.write(
      json ? `${JSON.stringify(document, null, 2)}\n` : shownStatus(api.baseUrl, status, findings, now),
    );
    if (findings.length > 0) {
      throw new SvcError(
        'not-healthy',
        `${findings.length} findings: ${findings.map(({ what }) => what).join('; ')}`,
      );
    }
  },
};

function toldNothing(baseUrl: string, cause: unknown): SvcError {
  return new SvcError(
    'not-healthy',
    `${baseUrl} does not report its state: it is not a coordinator, or an older one, which needs an update`,
    { cause },
  );
}
