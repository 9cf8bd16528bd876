import { z } from 'zod';
import { DEFINITIONS, RESOURCE_KINDS, resourceSchema } from '../resources/registry.ts';

/**
 * JSON Schema (2020-12) of the declared file, for completion and checks in editors. What it cannot say
 * (forms of texts, rules over several attributes, references) is checked when the file is read.
 */
export function declaredFileSchema(): object {
  const kinds = RESOURCE_KINDS.map((kind) => {
    const { $schema: _, ...resource } = z.toJSONSchema(resourceSchema(kind, 'file'), { io: 'input' });
    const entries = { type: ['object', 'null'], additionalProperties: resource };
    return [kind, { description: DEFINITIONS[kind].description, ...entries }];
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Declared file of svc: resources by type and local name',
    type: 'object',
    properties: Object.fromEntries(kinds),
    additionalProperties: false,
  };
}

/** As the repository's formatter writes it: lists of plain values stand in one line where they fit. */
export function formattedJson(value: object): string {
  const text = JSON.stringify(value, null, 2).replace(
    /^(.*)\[\n((?:\s+(?:"[^"\n]*"|\d+),?\n)+)\s+\](,?)$/gm,
    (block: string, before: string, members: string, after: string) => {
      const list = members
        .trim()
        .split('\n')
        .map((line) => line.trim())
        .join(' ');
      const line = `${before}[${list}]${after}`;
      return line.length <= LINE_WIDTH ? line : block;
    },
  );
  return `${text}\n`;
}

const LINE_WIDTH = 110;
