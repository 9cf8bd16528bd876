import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LiveResource } from './declared-resources.ts';
import { identifier, localNames } from './names.ts';

test.each([
  ['API', 'api'],
  ['  Web site (Düsseldorf) – Straße 1 ', 'web_site_dusseldorf_strasse_1'],
  ['24/7', 'monitor_24_7'],
  ['検査', 'monitor'],
  ['', 'monitor'],
  [`${'a'.repeat(59)} b`, 'a'.repeat(59)],
])('%j becomes %s', (text, name) => {
  expect(identifier(text, 'monitor')).toBe(name);
});

const monitor = (id: number, name: string): LiveResource => ({
  kind: 'svc_tcp_monitor',
  id: String(id),
  answered: { name },
});

describe('names', () => {
  test('of the same name are numbered in the order of ids, around names that are taken', () => {
    const live = ['api', 'API', 'api 2', 'api'].map((name, index) => monitor(index + 1, name));
    const nameOf = localNames(live);
    const names = live.map(({ kind, id }) => nameOf(kind, id));
    expect(names).toEqual(['api', 'api_2', 'api_2_2', 'api_3']);
  });

  test('of components say their page, and their monitor where they have no name', () => {
    const nameOf = localNames([
      monitor(1, 'Database'),
      { kind: 'svc_notification', id: '1', answered: { name: null, provider_type: 'chat_a' } },
      { kind: 'svc_status_page', id: '1', answered: { slug: 'for-staff' } },
      { kind: 'svc_status_page_component_group', id: '1', answered: { page_id: '1', name: 'All' } },
      { kind: 'svc_status_page_component', id: '1', answered: { page_id: '1', monitor_id: '1', name: null } },
      { kind: 'svc_status_page_component', id: '2', answered: { page_id: '1', monitor_id: null, name: '' } },
    ]);
    expect(nameOf('svc_notification', '1')).toBe('chat_a');
    expect(nameOf('svc_status_page_component_group', '1')).toBe('for_staff_all');
    expect(nameOf('svc_status_page_component', '1')).toBe('for_staff_database');
    expect(nameOf('svc_status_page_component', '2')).toBe('for_staff_static');
    expect(nameOf('svc_http_monitor', '1')).toBeNull();
  });

  test('are valid and unique, whatever people call things', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('a', '_', ' ', '2', 'é') }));
    fc.assert(
      fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
        const nameOf = localNames(texts.map((name, index) => monitor(index, name)));
        const names = texts.map((_name, index) => nameOf('svc_tcp_monitor', String(index)));
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]{0,99}$/);
      }),
    );
  });
});
