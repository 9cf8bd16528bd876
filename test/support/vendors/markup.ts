/** A tag, or a character that must be escaped. */
const PART = /<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")*)>|&(?:amp|lt|gt|quot);|[<>&]/g;
const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' };

/**
 * The text that a subset of HTML shows, how much of it is not within `code`, and the links. Null when the
 * markup is not well formed: an unknown tag, a tag that is not closed, or a character that is not escaped.
 */
export function shownOf(
  html: string,
  tags: ReadonlySet<string>,
): { text: string; outsideCode: string; links: string[] } | null {
  const open: string[] = [];
  let text = '';
  let outsideCode = '';
  const links: string[] = [];
  let at = 0;
  const show = (some: string) => {
    text += some;
    if (!open.includes('code')) outsideCode += some;
  };
  for (const { 0: part, 1: slash, 2: tag, 3: attributes, index } of html.matchAll(PART)) {
    show(html.slice(at, index));
    at = index + part.length;
    const entity = ENTITIES[part];
    if (entity !== undefined) show(entity);
    else if (tag === undefined || !tags.has(tag)) return null;
    else if (slash === '') {
      open.push(tag);
      const href = /^ href="(.*)"$/.exec(attributes ?? '')?.[1];
      if (tag === 'a') links.push((href ?? '').replaceAll('&amp;', '&'));
    } else if (open.pop() !== tag) return null;
  }
  show(html.slice(at));
  return open.length === 0 ? { text, outsideCode, links } : null;
}
