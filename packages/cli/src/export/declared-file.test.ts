import { parseDeclaration } from '@svc/coordinator/declare/parse.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { declaredJson, declaredYaml } from './declared-file.ts';
import { exportDocument } from './document.ts';

const text = fc.oneof(
  anyText(),
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('$', '{', '}', '\n', ' ', '\t', '#', ':', '-', '"', "'", '\\', '|', '>', 'a'),
  }),
  fc.constantFrom(
    '',
    'null',
    'true',
    '~',
    '0x1',
    '1e3',
    '.inf',
    '2026-01-01',
    '!!str a',
    '&a',
    '*a',
    '<<',
    '---',
    '...',
  ),
);

/** As the API answers it; a description may be any text. */
function page(description: string) {
  return { kind: 'svc_status_page' as const, id: '1', answered: { title: 'a', slug: 'a', description } };
}

test.each([
  { format: 'yaml', written: declaredYaml },
  { format: 'json', written: declaredJson },
])('every text is read back from $format as it was', ({ written }) => {
  fc.assert(
    fc.property(
      text.filter((each) => each.isWellFormed()),
      (description) => {
        const file = written(exportDocument([page(description)]), 'inline', 'Exported');
        const sources = { env: {}, readFile: () => '' };
        const { entries, errors } = parseDeclaration(file, 'svc.yaml', sources);
        expect(errors).toEqual([]);
        expect(entries).toMatchObject([{ name: 'a', attributes: { title: 'a', description } }]);
      },
    ),
    { numRuns: 1_000, examples: [[' \n'], ['a\n \nb']] },
  );
});
