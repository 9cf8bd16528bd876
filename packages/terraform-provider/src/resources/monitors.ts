import { dnsMonitor } from '@svc/shared/resources/dns-monitor.ts';
import { httpMonitor } from '@svc/shared/resources/http-monitor.ts';
import { MONITOR_KINDS } from '@svc/shared/resources/registry.ts';
import { tcpMonitor } from '@svc/shared/resources/tcp-monitor.ts';
import { type Answered, type ResourceAtApi, warningsOf } from './resource-at-api.ts';

type MonitorDefinition = typeof httpMonitor | typeof tcpMonitor | typeof dnsMonitor;

function monitor(definition: MonitorDefinition): ResourceAtApi {
  return {
    definition,
    noun: 'monitor',
    collection: () => '/v1/monitors',
    idAttributes: ['id'],
    importShape: '<monitor_id>',
    warnings: warningsOf,
    mismatch: (answered) => otherType(answered, definition.constants.type),
    // Terraform removes a replaced monitor before it lets the component show the new one.
    removal: { components: 'keep' },
  };
}

/** Follows "The monitor". */
function otherType({ id, type }: Answered, expected: keyof typeof MONITOR_KINDS): string | null {
  if (type === expected) return null;
  const known = Object.keys(MONITOR_KINDS).find((candidate) => candidate === type);
  if (known === undefined) return `${id} is of a type that this version of the provider does not know`;
  const kind = MONITOR_KINDS[known as keyof typeof MONITOR_KINDS];
  return `${id} is ${known === 'http' ? 'an' : 'a'} ${known.toUpperCase()} monitor: import it as ${kind}`;
}

export const httpMonitorAtApi = monitor(httpMonitor);
export const tcpMonitorAtApi = monitor(tcpMonitor);
export const dnsMonitorAtApi = monitor(dnsMonitor);
