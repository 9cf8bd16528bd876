import { expect, test } from 'vitest';
import { decodeMessage, encodeMessage } from './messages.ts';
import { schemaMessage } from './wire-schema.ts';

test('a schema as Terraform receives it', () => {
  const about = { sensitive: false, description: '' };
  const message = schemaMessage({
    version: 2,
    description: 'A **thing**.',
    attributes: {
      id: { ...about, type: 'string', setting: 'computed' },
      headers: { ...about, type: ['list', ['object', { key: 'string' }]], setting: 'optional' },
      token: { type: 'string', setting: 'required', sensitive: true, description: 'Of the *service*.' },
      retry: { ...about, type: 'number', setting: 'optional-computed' },
    },
    blocks: {
      assertion: {
        maximumItems: 10,
        description: 'What must hold.',
        attributes: { target: { ...about, type: 'string', setting: 'required' } },
      },
    },
  });

  const written = decodeMessage('Schema', encodeMessage('Schema', message));
  const type = (text: string) => Buffer.from(text);
  expect(written).toEqual({
    version: 2,
    block: {
      version: 2,
      description: 'A **thing**.',
      description_kind: 1,
      attributes: [
        { name: 'id', type: type('"string"'), computed: true, description_kind: 1 },
        {
          name: 'headers',
          type: type('["list",["object",{"key":"string"}]]'),
          optional: true,
          description_kind: 1,
        },
        {
          name: 'token',
          type: type('"string"'),
          required: true,
          sensitive: true,
          description: 'Of the *service*.',
          description_kind: 1,
        },
        { name: 'retry', type: type('"number"'), optional: true, computed: true, description_kind: 1 },
      ],
      block_types: [
        {
          type_name: 'assertion',
          nesting: 2,
          max_items: 10,
          block: {
            description: 'What must hold.',
            description_kind: 1,
            attributes: [{ name: 'target', type: type('"string"'), required: true, description_kind: 1 }],
          },
        },
      ],
    },
  });
});
