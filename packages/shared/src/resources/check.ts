import { domainToASCII } from 'node:url';
import { LIMITS } from '../limits.ts';
import type { Check } from '../messages/check.ts';
import type { Monitor } from './registry.ts';
import { splitHostAndPort } from './texts.ts';

/**
 * What probes need of a monitor, as it travels in jobs: the time-out's default resolved, international
 * names in their ASCII form. Carries header values in clear.
 */
export function toCheck(monitor: Monitor): Check {
  const attempts = {
    timeout: monitor.timeout === 0 ? LIMITS.defaultTimeoutMs : monitor.timeout,
    retry: monitor.retry,
    degraded_at: monitor.degraded_at,
  };
  switch (monitor.type) {
    case 'http':
      return {
        type: 'http',
        url: monitor.url,
        method: monitor.method,
        headers: monitor.headers,
        body: monitor.body,
        follow_redirects: monitor.follow_redirects,
        status_code_assertions: monitor.status_code_assertions,
        body_assertions: monitor.body_assertions,
        header_assertions: monitor.header_assertions,
        // Left out where it is off: a monitor that never had it is probed as before, and keeps its votes.
        ...(monitor.certificate_expiry_days === 0
          ? {}
          : { certificate_expiry_days: monitor.certificate_expiry_days }),
        ...attempts,
      };
    case 'tcp':
      return { type: 'tcp', uri: asciiHostAndPort(monitor.uri), ...attempts };
    case 'dns':
      return {
        type: 'dns',
        uri: asciiName(monitor.uri),
        record_assertions: monitor.record_assertions,
        ...attempts,
      };
    default:
      return monitor satisfies never;
  }
}

/**
 * Exactly what is probed and how it is judged, as text: when it changes, the monitor's version grows
 * and earlier votes end. Name, description, visibility, export and whether it runs are no part of it;
 * periodicity and regions decide when and where, not what. Contains header values in clear.
 */
export function probeFingerprint(monitor: Monitor): string {
  return JSON.stringify(toCheck(monitor));
}

function asciiHostAndPort(uri: string): string {
  const parts = splitHostAndPort(uri);
  if (parts === null || parts.isBracketed) return uri;
  return `${asciiName(parts.host)}:${parts.port}`;
}

/** Only names with other characters are converted: `domainToASCII` would also lower the case of the rest. */
function asciiName(name: string): string {
  return /^[\u0000-\u007f]*$/.test(name) ? name : domainToASCII(name);
}
