import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from './messages.ts';

test('an index of 0 in a path is written; otherwise Terraform would see no step', () => {
  const bytes = encodeMessage('AttributePath', { steps: [{ attribute_name: 'a' }, { element_key_int: 0 }] });

  expect(bytes.toString('hex')).toBe('0a030a01610a021800');
  expect(decodeMessage('AttributePath', bytes)).toEqual({
    steps: [{ attribute_name: 'a' }, { element_key_int: 0 }],
  });
});

test('elsewhere, zero and empty values are left out', () => {
  expect(encodeMessage('Diagnostic', { severity: 0, summary: '', detail: '' })).toHaveLength(0);
});

test('maps by name, and whole numbers as numbers', () => {
  const bytes = encodeMessage('SchemaResponse', { resource_schemas: { svc_a: { version: 2 ** 40 } } });

  expect(decodeMessage('SchemaResponse', bytes)).toEqual({
    resource_schemas: { svc_a: { version: 2 ** 40 } },
  });
});

test('fields of a newer protocol are skipped', () => {
  // Field 1 is "svc_a"; field 9 is a message that the table lacks.
  const bytes = Buffer.from('0a057376635f614a020801', 'hex');

  expect(decodeMessage('ValidateRequest', bytes)).toMatchObject({ type_name: 'svc_a' });
});

test('bytes that are no message are refused', () => {
  expect(() => decodeMessage('ValidateRequest', Buffer.from('ffffff', 'hex'))).toThrow();
});
