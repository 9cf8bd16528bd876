import { dnsMonitor } from '@svc/shared/resources/dns-monitor.ts';
import { httpMonitor } from '@svc/shared/resources/http-monitor.ts';
import { MONITOR_KINDS } from '@svc/shared/resources/registry.ts';
import { tcpMonitor } from '@svc/shared/resources/tcp-monitor.ts';
import type { Answered, ResourceAtApi } from './resource-at-api.ts';

type MonitorDefinition = typeof httpMonitor | typeof tcpMonitor | typeof dnsMonitor;

function monitor(definition: MonitorDefinition): ResourceAtApi {
  return {
    definition,
    noun: 'monitor',
    collection: () => '/v1/monitors',
    idAttributes: ['id'],
    importShape: '<monitor_id>',
    mismatch: (answered) => otherType(answered, definition.constants.type),
    removalRefused: stillShown,
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

/** Terraform changes what depended on an object after the object's removal, unless its state says otherwise. */
const ORDER =
  'Remove the component first, or let it show another monitor in an apply of its own (terraform apply -target=svc_status_page_component.NAME): Terraform removes the monitor before it changes the component. Where the monitor was applied with lifecycle { create_before_destroy = true }, the component is changed first.';

function stillShown(message: string): string | null {
  const shown = /monitor \d+ is shown by component \d+ of status page \d+[^:]*/.exec(message)?.[0];
  if (shown === undefined) return null;
  return `The ${shown}. ${ORDER}`;
}

export const httpMonitorAtApi = monitor(httpMonitor);
export const tcpMonitorAtApi = monitor(tcpMonitor);
export const dnsMonitorAtApi = monitor(dnsMonitor);
