import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The exports of a file; paths start at the root. */
export type Export = { readonly file: string; readonly line: number; readonly name: string };

/** Files of tests and their support. Their imports do not count as uses by production. */
const OF_TESTS = /\.test\.ts$|^test\//;

const DECLARED = /^export (?:abstract )?(?:async )?(function\*?|class|const|let|type|interface) ([\w$]+)/gm;
const LISTED = /^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?;$/gm;
const IMPORTED = /^import (?:type )?(?:[\w$]+, )?(?:\{([^}]*)\}|(\*) as [\w$]+) from '([^']+)';$/gm;
/**
 * `const { a } = await import('./b.ts')`, `(await
 * import('./b.ts')).a`, `import('./b.ts').then(({ a }) => …)`.
 */
const LATER =
  /(?:const \{([^}]*)\} = )?\(?(?:await )?import\('([^']+)'\)\)?(?:\s*\.then\(\(\{([^}]*)\}\)|\.([\w$]+))?/g;

/**
 * Finds unused exports: values that no other file imports, types that nothing names (a type
 * in the signature of an export is used), and exports of production that only tests use.
 *
 * @param files from the root, all that import each other
 */
export function unusedExports(root: string, files: readonly string[]): Export[] {
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const users = new Map<string, Set<'tests' | 'production'>>();
  for (const [file, text] of texts) {
    for (const { target, names } of importsIn(text)) {
      for (const name of names) {
        const key = `${resolved(file, target)} ${name}`;
        users.set(key, (users.get(key) ?? new Set()).add(OF_TESTS.test(file) ? 'tests' : 'production'));
      }
    }
  }
  return [...texts].flatMap(([file, text]) => {
    if (users.has(`${file} *`)) return [];
    return exportsIn(text).flatMap(({ name, line, isType }) => {
      const by = users.get(`${file} ${name}`) ?? new Set();
      const isOfProduction = !OF_TESTS.test(file);
      const isIdle = by.size === 0 || (isOfProduction && !isType && !by.has('production'));
      const needsAnImport = by.size === 0 && !isType;
      return isIdle && (needsAnImport || !isNamedAgain(text, name)) ? [{ file, line, name }] : [];
    });
  });
}

function exportsIn(text: string): { line: number; name: string; isType: boolean }[] {
  const lineOf = (index: number) => text.slice(0, index).split('\n').length;
  const declared = [...text.matchAll(DECLARED)].map(({ index, 1: word = '', 2: name = '' }) => ({
    line: lineOf(index),
    name,
    isType: word === 'type' || word === 'interface',
  }));
  const listed = [...text.matchAll(LISTED)].flatMap(({ index, 0: whole, 1: names = '' }) =>
    namesIn(names).map(({ after }) => ({
      line: lineOf(index),
      name: after,
      isType: whole.startsWith('export type'),
    })),
  );
  return [...declared, ...listed];
}

function isNamedAgain(text: string, name: string): boolean {
  const code = text.replace(/(?<!\w)\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  return code.split(new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`)).length > 2;
}

function importsIn(text: string): { target: string; names: string[] }[] {
  const names = (list = '') => namesIn(list).map(({ before }) => before);
  return [
    ...[...text.matchAll(IMPORTED)].map(([, list, all, target = '']) => ({
      target,
      names: all === undefined ? names(list) : [all],
    })),
    ...[...text.matchAll(LISTED)].flatMap(([, list, target]) =>
      target === undefined ? [] : [{ target, names: names(list) }],
    ),
    ...[...text.matchAll(LATER)].map(([, list, target = '', then, member]) => ({
      target,
      names: [...names(list), ...names(then), ...names(member)],
    })),
  ];
}

/** `a`, `type b`, `c as d`, `e: f`. */
function namesIn(list: string): { before: string; after: string }[] {
  return list
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => {
      const [before = '', after = before] = part.split(/ as |: /);
      return { before, after };
    });
}

function resolved(file: string, target: string): string {
  if (target.startsWith('.')) return normalize(join(dirname(file), target));
  return target.replace(/^@svc\/([\w-]+)\//, 'packages/$1/src/');
}
