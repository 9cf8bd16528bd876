import { z } from 'zod';
import { DEFINITIONS, RESOURCE_KINDS, resourceSchema } from '../resources/registry.ts';

/**
 * The JSON Schema (2020-12) of the declared file, for completion and checks in editors. It cannot express
 * forms of texts, rules over several attributes and references; those are checked when the file is read.
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
    patternProperties: { '^x-': { description: 'A place for anchors. svc reads nothing of it.' } },
    additionalProperties: false,
  };
}

/** Writes JSON as the repository's formatter does: a list of plain values is on one line where it fits. */
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
