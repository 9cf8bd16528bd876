import type { Region } from '@svc/shared/regions.ts';
import { REFERENCE } from '@svc/shared/resources/texts.ts';

/** Where `${env.NAME}` and `${file.PATH}` take their texts from. */
export type Sources = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with the name of each inserted environment variable. */
  readonly onVariable?: (name: string) => void;
  /**
   * Returns the text of a file. The path is passed as it is written in the declaration.
   *
   * @throws Error whose message says why the file cannot be read
   */
  readonly readFile: (path: string) => string;
  /** The regions of the installation; absent: the 28. */
  readonly regions?: readonly Region[] | undefined;
};

export type Interpolated = { ok: true; text: string } | { ok: false; message: string };

/**
 * Replaces `${env.NAME}` and `${file.PATH}` in a string of the declared file, and `$${` by `${`.
 * Returns the text or an error message. An inserted text is not searched for `${…}`. A string that is
 * exactly one reference (`${svc_http_monitor.api.id}`) stays unchanged until the declaration is applied.
 */
export function interpolate(text: string, sources: Sources): Interpolated {
  if (!text.includes('${')) return { ok: true, text };
  if (/^\$\{svc_[^}]*\}$/.test(text)) return reference(text);
  let replaced = '';
  let problem: string | null = null;
  let from = 0;
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', from)) {
    const isLiteral = at > from && text[at - 1] === '$';
    const end = isLiteral ? at + 1 : text.indexOf('}', at);
    // The rest of the text has no `}`, so no later insertion in it is complete either.
    if (end === -1) return { ok: false, message: problem ?? MISSING_END };
    const inserted = isLiteral ? LITERAL : insertion(text.slice(at + 2, end), sources);
    if (inserted.ok) replaced += text.slice(from, isLiteral ? at - 1 : at) + inserted.text;
    else problem ??= inserted.message;
    from = end + 1;
  }
  return problem === null ? { ok: true, text: replaced + text.slice(from) } : { ok: false, message: problem };
}

const LITERAL = { ok: true, text: '${' } as const satisfies Interpolated;
const MISSING_END = `"\${" has no closing "}": add it, or write "$\${" for a literal "\${"`;

function reference(text: string): Interpolated {
  if (REFERENCE.test(text)) return { ok: true, text };
  return { ok: false, message: `"${text}" is not a reference: write it like "\${svc_http_monitor.api.id}"` };
}

function insertion(inner: string, sources: Sources): Interpolated {
  const dot = inner.indexOf('.');
  const [source, name] = dot === -1 ? ['', ''] : [inner.slice(0, dot), inner.slice(dot + 1)];
  if (source === 'env') return environment(name, sources);
  if (source === 'file') return fileText(name, sources);
  if (inner.startsWith('svc_')) {
    return {
      ok: false,
      message: `the reference "\${${inner}}" must be the whole string, without other text around it`,
    };
  }
  return {
    ok: false,
    message: `"\${${inner}}" is unknown: use \${env.NAME}, \${file.PATH} or \${svc_http_monitor.name.id}, or write "$\${" for a literal "\${"`,
  };
}

function environment(name: string, { env, onVariable }: Sources): Interpolated {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value === undefined) return { ok: false, message: `the environment variable ${name} is not set` };
  onVariable?.(name);
  return { ok: true, text: value };
}

function fileText(path: string, { readFile }: Sources): Interpolated {
  try {
    // Editors and `echo` write a line break at the end of a
    // file. That line break is no part of the inserted text.
    return { ok: true, text: readFile(path).replace(/\r?\n$/, '') };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}
