import type { Attribute, Attributes, Block, ResourceDefinition, Value } from './definition.ts';

/*
 * Whether a value has the form of stored attributes. It makes no copy; the parser that `stored-form.ts` uses
 * otherwise does, and takes five times as long (decision 0010). It answers true only for values that the parser
 * would answer unchanged.
 */

type Test = (value: unknown) => boolean;

export function isFormed({ attributes, blocks, constants }: ResourceDefinition): Test {
  return objectTest([
    ...testsOf(attributes),
    ...Object.entries(blocks).map(([name, block]): [string, Test] => [name, blockTest(block)]),
    ...Object.entries(constants).map(([name, constant]): [string, Test] => [
      name,
      (value) => value === constant,
    ]),
  ]);
}

/** Exactly these members. */
function objectTest(members: readonly (readonly [name: string, is: Test])[]): Test {
  const tests = new Map(members);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    let count = 0;
    for (const [name, member] of Object.entries(value)) {
      if (tests.get(name)?.(member) !== true) return false;
      count += 1;
    }
    return count === tests.size;
  };
}

function testsOf(attributes: Attributes): (readonly [string, Test])[] {
  const stored = Object.entries(attributes).filter(([, { presence }]) => presence !== 'computed');
  return stored.map(([name, attribute]) => [name, attributeTest(attribute)]);
}

function attributeTest({ value, presence }: Attribute): Test {
  const is = valueTest(value);
  return presence === 'optional' ? (given) => given === null || is(given) : is;
}

function blockTest({ nesting, attributes }: Block): Test {
  const is = objectTest(testsOf(attributes));
  return nesting === 'list' ? listTest(is) : (value) => value === null || is(value);
}

function valueTest({ type, oneOf, attributes = {} }: Value): Test {
  switch (type) {
    case 'string':
      return textTest(oneOf);
    case 'number':
      return Number.isFinite;
    case 'bool':
      return (value) => typeof value === 'boolean';
    case 'set':
    case 'list':
      return listTest(textTest(oneOf));
    case 'map':
      // Rare, and its keys are anybody's: left to the parser.
      return () => false;
    case 'objects':
      return listTest(objectTest(testsOf(attributes)));
  }
}

function textTest(oneOf: readonly string[] | undefined): Test {
  if (oneOf === undefined) return (value) => typeof value === 'string';
  const allowed = new Set<unknown>(oneOf);
  return (value) => allowed.has(value);
}

function listTest(is: Test): Test {
  return (value) => Array.isArray(value) && value.every(is);
}
