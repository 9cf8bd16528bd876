import { AGENT_SETTINGS } from '@svc/agent/config.ts';
import type { ProbeOutcome } from '@svc/agent/probes/probe.ts';
import { createProbeSet, runProbe } from '@svc/agent/probes/registry.ts';
import { SvcError } from '@svc/shared/errors.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import { toCheck } from '@svc/shared/resources/check.ts';
import { inputSchema } from '@svc/shared/resources/input.ts';
import { kindOfType } from '@svc/shared/resources/monitors.ts';
import { DEFINITIONS, type Monitor } from '@svc/shared/resources/registry.ts';
import { describeSettings, readEnvironment } from '@svc/shared/settings.ts';
import { VERSION } from '@svc/shared/version.ts';
import type { CommandBody } from '../../command.ts';
import { describeOptions, parseOptions } from '../../options.ts';
import { table } from '../../table.ts';
import { UsageError } from '../../usage-error.ts';

const OPTIONS = {
  timeout: { value: 'MS', description: 'bound on the attempt, ms (the default: that of monitors)' },
  'follow-redirects': { description: 'follow redirects' },
  json: { description: 'write JSON' },
} as const;

/** The settings of an agent that decide how it probes. */
const { dnsServers, probeCa, probeProxy, noProxy, egressDeny, egressAllow } = AGENT_SETTINGS;
const SETTINGS = { dnsServers, probeCa, probeProxy, noProxy, egressDeny, egressAllow };

export const checkCommand: CommandBody = {
  help: `Usage: npm run svc -- check TARGET [options]

TARGET is a URL (https://www.example.com/), tcp://host:port, or dns://name. One attempt is made from this machine, with the probe of
the agent and the agent's settings; nothing is recorded and nobody is alerted.

Exit code: 0 the target passed; 1 it failed, or the check could not be run; 2 the command or its settings are wrong.

Options:
${describeOptions(OPTIONS)}

Settings, from the environment:
${describeSettings(SETTINGS)}
`,
  async run([target, ...args], { environment, out }) {
    if (target === undefined || target.startsWith('-'))
      throw new UsageError(
        'the target is missing: use check https://www.example.com/, tcp://host:port or dns://name',
      );
    const given = parseOptions(args, OPTIONS);
    const check = checkOf(target, given.timeout, given['follow-redirects'] === true);
    const { values } = readEnvironment(SETTINGS, environment);
    const probeSet = createProbeSet({
      ...values,
      userAgent: `svc/${VERSION}`,
      proxyFor: proxyFor(values.probeProxy?.reveal(), values.noProxy),
    });
    const found = await runProbe(probeSet.probes, check, {
      timeoutMs: check.timeout,
      signal: new AbortController().signal,
    }).finally(() => probeSet.close());
    out.write(given.json ? `${JSON.stringify(documentOf(target, found), null, 2)}\n` : shown(target, found));
    if (found.outcome !== 'passed')
      throw new SvcError('not-healthy', `${target}: ${found.errorMessage ?? found.reason ?? found.outcome}`);
  },
};

/** The check of a monitor with this target and no other attribute. @throws UsageError */
function checkOf(target: string, timeout: string | undefined, followsRedirects: boolean): Check {
  const [, scheme = '', rest = ''] = /^(https?|tcp|dns):\/\/(.+)$/i.exec(target) ?? [];
  const type = /^(?:tcp|dns)$/i.test(scheme) ? (scheme.toLowerCase() as 'tcp' | 'dns') : 'http';
  if (scheme === '') {
    const meant = /^[\w.-]+(?::\d+)?(?:\/\S*)?$/.test(target) ? target : 'www.example.com/';
    throw new UsageError(`"${target}" is no target: write https://${meant}, tcp://host:port or dns://name`);
  }
  if (timeout !== undefined && !/^[1-9]\d{0,5}$/.test(timeout))
    throw new UsageError(`--timeout must be a number of milliseconds, not "${timeout}"`);
  const written = {
    name: 'check',
    periodicity: '30s',
    active: false,
    ...(timeout === undefined ? {} : { timeout: Number(timeout) }),
    ...(type === 'http'
      ? { url: target, follow_redirects: followsRedirects }
      : { uri: rest.replace(/\/$/, '') }),
  };
  const definition = DEFINITIONS[kindOfType(type)];
  const parsed = inputSchema<Monitor>(definition, 'api').safeParse(written);
  if (!parsed.success) {
    throw new UsageError(
      parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
    );
  }
  return toCheck(parsed.data);
}

function documentOf(target: string, found: ProbeOutcome): object {
  const { outcome, reason, latency, phases, statusCode, errorMessage, certificateExpiresAt } = found;
  return {
    target,
    outcome,
    reason: reason ?? null,
    latency: rounded(latency),
    phases: Object.fromEntries(Object.entries(phases).map(([name, ms]) => [name, rounded(ms ?? 0)])),
    status_code: statusCode ?? null,
    error_message: errorMessage ?? null,
    certificate_expires_at:
      certificateExpiresAt === undefined ? null : new Date(certificateExpiresAt).toISOString(),
  };
}

function shown(target: string, found: ProbeOutcome): string {
  const { outcome, reason, latency, phases, statusCode, errorMessage, certificateExpiresAt } = found;
  const rows = [
    [target, reason === undefined ? outcome : `${outcome} (${reason})`],
    ...(statusCode === undefined ? [] : [['status code', String(statusCode)]]),
    ...(errorMessage === undefined ? [] : [['error', errorMessage]]),
    ['latency', `${rounded(latency)} ms`],
    ...Object.entries(phases).map(([name, ms]) => [`  ${name}`, `${rounded(ms ?? 0)} ms`]),
    ...(certificateExpiresAt === undefined
      ? []
      : [['certificate until', new Date(certificateExpiresAt).toISOString()]]),
  ];
  return table(rows);
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10;
