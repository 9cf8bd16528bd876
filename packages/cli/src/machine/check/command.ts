import { AGENT_SETTINGS } from '@svc/agent/config.ts';
import type { ProbeOutcome } from '@svc/agent/probes/probe.ts';
import { createProbeSet, runProbe } from '@svc/agent/probes/registry.ts';
import { SvcError } from '@svc/shared/errors.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import { proxyFor } from '@svc/shared/proxy/proxy.ts';
import { inputSchema } from '@svc/shared/resources/input.ts';
import { kindOfType, toCheck } from '@svc/shared/resources/monitors.ts';
import { DEFINITIONS, type Monitor } from '@svc/shared/resources/registry.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { VERSION } from '@svc/shared/version.ts';
import { draftOf, type TargetOptions } from '../../check/target.ts';
import { type Surroundings, UsageError } from '../../command.ts';
import { table } from '../../table.ts';

/** The settings that decide how an agent probes. */
const { dnsServers, probeCa, probeTlsGroups, probeProxy, noProxy, egressDeny, egressAllow } = AGENT_SETTINGS;
const SETTINGS = { dnsServers, probeCa, probeTlsGroups, probeProxy, noProxy, egressDeny, egressAllow };

/**
 * Makes one attempt from this machine, with the agent's probes and settings.
 *
 * @throws UsageError when the target or an option is not valid
 * @throws SvcError `not-healthy` when the attempt does not pass
 */
export async function checkFromHere(
  target: string,
  given: TargetOptions,
  { environment, out }: Surroundings,
): Promise<void> {
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
}

/**
 * Makes the check of a target.
 *
 * @throws UsageError when the target or an option is not valid
 */
function checkOf(target: string, timeout: string | undefined, followsRedirects: boolean): Check {
  const { type, ...written } = draftOf(target, { timeout, followsRedirects });
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
