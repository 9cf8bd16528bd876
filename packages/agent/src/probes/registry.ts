import type { Check, CheckKind } from '@svc/shared/messages/check.ts';
import type { Probe, ProbeContext, ProbeOutcome } from './probe.ts';

/** One probe for every kind of check. */
export type Probes = { readonly [K in CheckKind]: Probe<Extract<Check, { type: K }>> };

/** Runs one attempt with the probe of the check's kind. `async`, so that even a probe that throws at once only rejects. */
export async function runProbe(probes: Probes, check: Check, context: ProbeContext): Promise<ProbeOutcome> {
  switch (check.type) {
    case 'http':
      return probes.http.run(check, context);
    case 'tcp':
      return probes.tcp.run(check, context);
    case 'dns':
      return probes.dns.run(check, context);
    default:
      return check satisfies never;
  }
}

/** Closes all of them; no attempt is in progress any more. */
export async function closeProbes(probes: Probes): Promise<void> {
  await Promise.all(Object.values(probes).map((probe) => probe.close()));
}
