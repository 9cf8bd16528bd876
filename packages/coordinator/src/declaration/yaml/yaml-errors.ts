import type { ErrorCode } from 'yaml';

/** What is wrong, in our words, by the code of the YAML library. */
const WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias takes no anchor and no tag',
  BAD_ALIAS: 'the name of an anchor or alias is empty or ends with a colon',
  BAD_COLLECTION_TYPE: 'the tag does not fit its value: remove it',
  BAD_DIRECTIVE:
    'a line that begins with % is an instruction to YAML, and this one is unknown: put the text in quotes',
  BAD_DQ_ESCAPE: 'unknown escape after a backslash in double quotes: write \\\\, or use single quotes',
  BAD_INDENT:
    'the indentation does not fit: the entries of a mapping or list begin in the same column, and what belongs to a key is indented more',
  BAD_PROP_ORDER: 'anchors and tags stand after the dash or the colon',
  BAD_SCALAR_START: 'a text cannot begin with this character: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a mapping begins within a line: put the text in quotes, or begin the mapping in the next line',
  BLOCK_IN_FLOW: 'a mapping or list within brackets needs brackets too',
  DUPLICATE_KEY: 'a key is given twice',
  IMPOSSIBLE: 'the text cannot be read',
  KEY_OVER_1024_CHARS: 'a key has more than 1,024 characters',
  MISSING_CHAR: 'a character is missing',
  MULTILINE_IMPLICIT_KEY: 'a key is longer than its line: a colon may be missing before it',
  MULTIPLE_ANCHORS: 'a value takes one anchor',
  MULTIPLE_DOCS: 'a second document begins here: remove the line ---',
  MULTIPLE_TAGS: 'a value takes one tag',
  NON_STRING_KEY: 'a key must be a string: put it in quotes',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAB_AS_INDENT: 'tabs cannot indent: use blanks',
  TAG_RESOLVE_FAILED: 'the tag is unknown, or does not fit its value: remove it',
  UNEXPECTED_TOKEN: 'this does not belong here: remove it, or put the text in quotes',
};

/** Which character is missing, by what the library says of it. */
const MISSING: readonly (readonly [RegExp, string])[] = [
  [/^Missing closing (['"])/, 'a quote has no end'],
  [/end with a ([\]}])/, 'a bracket has no end, or its end is indented too little'],
  [/white space|space after/i, 'a blank is missing'],
  [/^Missing ,/, 'a comma is missing'],
  [/^Missing newline/, 'a line break is missing after an anchor or a tag'],
  [/^Block collection cannot start/, 'the line of --- cannot begin a mapping or list'],
  [/^Implicit map keys/, 'a key needs a colon and a value'],
  [/^Sequence item/, 'an entry of a list needs a dash'],
  [/directives-end/, 'the line --- is missing after the lines that begin with %'],
];

/** @param said the library's message, which tells apart what has one code */
export function yamlProblem(code: ErrorCode, said: string): string {
  const missing = MISSING.find(([pattern]) => pattern.test(said));
  return `invalid YAML: ${missing?.[1] ?? WORDS[code]}`;
}
