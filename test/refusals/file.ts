import { isMap, isSeq, LineCounter, type Node, parseDocument, stringify, type YAMLMap } from 'yaml';

/** A declared file with one resource, `one`. */
export function fileOf(kind: string, body: Readonly<Record<string, unknown>>): string {
  return stringify({ [kind]: { one: body } }, { lineWidth: 0 });
}

/**
 * The place to which an error about a member must point: its value; its key, when the member as such is wrong or
 * has no value; the mapping around it, when the member is missing. Lines and columns count from 1.
 */
export function placeIn(
  text: string,
  path: readonly string[],
  { atKey = false } = {},
): { line: number; column: number } {
  const lines = new LineCounter();
  let node = parseDocument(text, { lineCounter: lines }).contents as Node;
  let offset = 0;
  for (const [index, step] of path.entries()) {
    const found = memberOf(node, step);
    if (found === null) break;
    // What lacks in the entry is told at its name.
    const isEntry = index === 1 && path.length > 2;
    const isKeyMeant = isEntry || (atKey && index === path.length - 1);
    offset = isKeyMeant ? found.key : (found.value.range?.[0] ?? 0);
    node = found.value;
  }
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

function memberOf(node: Node, step: string): { key: number; value: Node } | null {
  if (isSeq(node)) {
    const item = node.items[Number(step)] as Node | undefined;
    return item === undefined ? null : { key: item.range?.[0] ?? 0, value: item };
  }
  if (!isMap(node)) return null;
  const pair = (node as YAMLMap<Node, Node>).items.find(({ key }) => String(key) === step);
  return pair === undefined || pair.value === null
    ? null
    : { key: pair.key.range?.[0] ?? 0, value: pair.value };
}
