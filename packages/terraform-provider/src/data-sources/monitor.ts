import { computed } from '@svc/shared/resources/definition.ts';
import { dnsMonitor } from '@svc/shared/resources/dns-monitor.ts';
import { httpMonitor } from '@svc/shared/resources/http-monitor.ts';
import { MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { tcpMonitor } from '@svc/shared/resources/tcp-monitor.ts';
import { choice, text } from '@svc/shared/resources/values.ts';
import type { ObjectKind } from './object-data-source.ts';

const {
  name,
  url,
  periodicity,
  method,
  active,
  public: isPublic,
  description,
  timeout,
  status,
} = httpMonitor.attributes;

const type = computed(choice(MONITOR_TYPES), 'Type of the monitor.');

export const monitorDataSource: ObjectKind = {
  name: 'svc_monitor',
  noun: 'monitor',
  description: 'A monitor of any type.',
  collection: '/v1/monitors',
  shown: {
    type,
    name,
    url: { ...url, description: `${url.description} HTTP only.` },
    uri: computed(
      text(),
      `TCP: ${tcpMonitor.attributes.uri.description} DNS: ${dnsMonitor.attributes.uri.description} Null for HTTP monitors.`,
    ),
    periodicity,
    method: { ...method, description: `${method.description} HTTP only.` },
    active,
    public: isPublic,
    description,
    timeout,
    status,
  },
};
