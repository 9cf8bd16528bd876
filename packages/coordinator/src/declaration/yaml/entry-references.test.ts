import { DEFINITIONS, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { expect, test } from 'vitest';
import { referencesOf, resolveReferences } from './entry-references.ts';

test.each(RESOURCE_KINDS)('%s refers only to kinds before it, so there are no cycles', (kind) => {
  const before: readonly string[] = RESOURCE_KINDS.slice(0, RESOURCE_KINDS.indexOf(kind));
  const referred = Object.values(DEFINITIONS[kind].attributes).flatMap(({ value }) => value.references ?? []);
  expect(referred.filter((target) => !before.includes(target))).toEqual([]);
});

test('references are found and resolved, and ids are sorted', () => {
  const attributes = {
    name: 'a',
    monitor_ids: ['7', `\${svc_tcp_monitor.b.id}`, `\${svc_http_monitor.a-1.id}`, `\${svc_tcp_monitor.c.id}`],
  };
  expect(referencesOf('svc_notification', attributes)).toEqual([
    { path: ['monitor_ids', 1], to: 'svc_tcp_monitor.b' },
    { path: ['monitor_ids', 2], to: 'svc_http_monitor.a-1' },
    { path: ['monitor_ids', 3], to: 'svc_tcp_monitor.c' },
  ]);
  const ids = { 'svc_tcp_monitor.b': '12', 'svc_http_monitor.a-1': '3', 'svc_tcp_monitor.c': '7' };
  expect(resolveReferences('svc_notification', attributes, (to) => ids[to as keyof typeof ids])).toEqual({
    name: 'a',
    monitor_ids: ['3', '7', '12'],
  });
});

test('an attribute that is not set stays null', () => {
  const attributes = { page_id: `\${svc_status_page.a.id}`, monitor_id: null, group_id: null };
  expect(resolveReferences('svc_status_page_component', attributes, () => '5')).toEqual({
    page_id: '5',
    monitor_id: null,
    group_id: null,
  });
});
