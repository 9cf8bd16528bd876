import { SvcError } from '@svc/shared/errors.ts';
import { isFixedRegion, type RegionText, regionId, regionTexts } from '@svc/shared/regions.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { z } from 'zod';
import { asking, type OpenApi, openApi } from '../api.ts';
import { CLI_SETTINGS } from '../cli-settings.ts';
import { type Command, type Surroundings, UsageError } from '../command.ts';
import { describeOptions, parseOptions } from '../options.ts';
import { regionsAnswer, regionTextOf } from '../status/answers.ts';
import { table } from '../table.ts';
import { draftOf, TARGET_OPTIONS, type TargetOptions } from './target.ts';

const OPTIONS = {
  region: {
    value: 'REGION',
    repeats: true,
    description: 'ask only this region; may be given several times (the default: all with an agent)',
  },
  here: { description: 'probe from this machine instead, with the settings of the agent' },
  ...TARGET_OPTIONS,
} as const;

/** Time that the API's answer may take in addition to the time-out of the check, ms. */
const ANSWER_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 45_000;

export const checkCommand: Command = {
  help: `Usage: npm run svc -- check TARGET [options]

TARGET is a URL (https://www.example.com/), tcp://host:port or host:port, dns://name or name. Each region makes one attempt now; nothing is
created or recorded, and no alert is sent. Needs a token of scope write. With --here the attempt is made from this machine,
with the probe and the settings of the agent (svc doctor agent --help lists them), and no token is needed.

Exit code: 0 the target passed wherever it was checked; 1 it failed in a region, or no region could check it; 2 the command or its settings
are wrong.

Options:
${describeOptions(OPTIONS)}

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  async run([target, ...args], surroundings) {
    if (target === undefined || target.startsWith('-'))
      throw new UsageError(
        'the target is missing: use check https://www.example.com/, tcp://host:port or dns://name',
      );
    const { here, region, ...given } = parseOptions(args, OPTIONS);
    if (here !== true) return checkFromRegions(target, given, region, surroundings);
    if (region !== undefined) throw new UsageError('--here and --region: use one of both');
    const { checkFromHere } = await import('../machine/check/command.ts');
    return checkFromHere(target, given, surroundings);
  },
};

async function checkFromRegions(
  target: string,
  given: TargetOptions,
  regions: readonly string[] | undefined,
  surroundings: Surroundings,
): Promise<void> {
  const { timeout, json } = given;
  const draft = draftOf(target, { timeout, followsRedirects: given['follow-redirects'] === true });
  const attemptMs = (timeout === undefined ? DEFAULT_TIMEOUT_MS : Number(timeout)) + ANSWER_MS;
  const api = openApi(surroundings, { attemptMs });
  const { body } = await asking(api, () =>
    api.client.request('POST', '/v1/monitors/dry-run', {
      body: { ...draft, ...(regions === undefined ? {} : { regions }) },
    }),
  );
  const { data } = answered.parse(body);
  surroundings.out.write(
    json ? `${JSON.stringify(data, null, 2)}\n` : shown(data, await regionTextFor(data, api)),
  );
  judge(target, data);
}

/** The members of the API's answer that are shown to people. The JSON output has all members. */
const answered = z.object({
  data: z.array(
    z.looseObject({
      region: regionId,
      result: z
        .looseObject({
          outcome: z.enum(['passed', 'degraded', 'failed', 'not_run']),
          reason: z.string().nullable(),
          latency: z.number().nullable(),
          phases: z.record(z.string(), z.number()).nullable(),
          status_code: z.number().nullable(),
          error_message: z.string().nullable(),
          assertions: z.array(z.object({ assertion: z.string(), failure: z.string().nullable() })).nullish(),
        })
        .nullable(),
    }),
  ),
});
type Answer = z.infer<typeof answered>['data'][number];

/** What people see of the regions that answered. The API is asked for names only if it may have some. */
async function regionTextFor(answers: readonly Answer[], api: OpenApi): Promise<RegionText> {
  if (answers.every(({ region }) => isFixedRegion(region))) return regionTexts([]);
  const { body } = await asking(api, () => api.client.request('GET', '/v1/regions'));
  return regionTextOf(regionsAnswer.parse(body).data);
}

function shown(answers: readonly Answer[], regionText: RegionText): string {
  const named = answers.map((answer) => ({ ...answer, region: regionText(answer.region) }));
  return `${table(named.map(rowOf))}${named.map(assertionsOf).join('')}`;
}

function rowOf({ region, result }: Answer): string[] {
  if (result === null) return [region, 'no answer', '', '', ''];
  const { outcome, reason, latency, phases, status_code: status, error_message: message } = result;
  return [
    region,
    reason === null ? outcome : `${outcome} (${reason})`,
    latency === null ? '' : `${latency} ms`,
    Object.entries(phases ?? {})
      .map(([phase, ms]) => `${phase} ${ms}`)
      .join(', '),
    message ?? (status === null ? '' : `status code ${status}`),
  ];
}

function assertionsOf({ region, result }: Answer): string {
  const assertions = result?.assertions ?? [];
  if (assertions.length === 0) return '';
  const rows = assertions.map(({ assertion, failure }) => [
    `  ${failure === null ? 'holds' : 'fails'}`,
    assertion,
  ]);
  return `\n${region}\n${table(rows)}`;
}

/**
 * Judges the answers of the regions.
 *
 * @throws SvcError when a region reports a failure, or when no region could check the target
 */
function judge(target: string, answers: readonly Answer[]): void {
  const found = answers.flatMap(({ result }) =>
    result === null || result.outcome === 'not_run' ? [] : [result],
  );
  if (found.length === 0) throw new SvcError('not-healthy', `${target}: no region could check it`);
  const failed = found.filter(({ outcome }) => outcome === 'failed').length;
  if (failed > 0)
    throw new SvcError('not-healthy', `${target}: failed in ${failed} of ${found.length} regions`);
}
