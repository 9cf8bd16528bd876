import { REFERENCE } from '@svc/shared/resources/texts.ts';

/** What `${env.NAME}` and `${file.PATH}` insert. */
export type Sources = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told the name of each variable whose value is inserted. */
  readonly onVariable?: (name: string) => void;
  /** The text of a file, by its path as written. Throws an Error whose message says why it cannot be read. */
  readonly readFile: (path: string) => string;
};

export type Interpolated = { ok: true; text: string } | { ok: false; message: string };

/** A literal `${`, an insertion, or `${` without an end. */
const TOKEN = /\$\$\{|\$\{([^}]*)\}|\$\{/g;

/**
 * Inserts settings and files into a text of the declared file. A text that is one reference and
 * nothing else (`${svc_http_monitor.api.id}`) is left as it is, to be resolved when the declaration
 * is applied. What is inserted is not looked at again.
 */
export function interpolate(text: string, sources: Sources): Interpolated {
  if (!text.includes('${')) return { ok: true, text };
  if (/^\$\{svc_[^}]*\}$/.test(text)) return reference(text);
  let problem: string | null = null;
  const replaced = text.replace(TOKEN, (token, inner: string | undefined) => {
    if (token === '$${') return '${';
    const inserted = inner === undefined ? missingEnd : insertion(inner, sources);
    if (inserted.ok) return inserted.text;
    problem ??= inserted.message;
    return '';
  });
  return problem === null ? { ok: true, text: replaced } : { ok: false, message: problem };
}

const missingEnd: Interpolated = {
  ok: false,
  message: `"\${" has no closing "}": write "$\${" for a literal "\${"`,
};

function reference(text: string): Interpolated {
  if (REFERENCE.test(text)) return { ok: true, text };
  return { ok: false, message: `"${text}" is not a reference: write it like "\${svc_http_monitor.api.id}"` };
}

function insertion(inner: string, sources: Sources): Interpolated {
  const dot = inner.indexOf('.');
  const [source, name] = [inner.slice(0, dot), inner.slice(dot + 1)];
  if (source === 'env') return environment(name, sources);
  if (source === 'file') return fileText(name, sources);
  if (source.startsWith('svc_')) {
    return {
      ok: false,
      message: `the reference "\${${inner}}" must be the whole text, without anything around it`,
    };
  }
  return {
    ok: false,
    message: `"\${${inner}}" is not known: there are \${env.NAME}, \${file.PATH} and \${svc_http_monitor.name.id}; write "$\${" for a literal "\${"`,
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
    // Editors and `echo` end files with a line end that nobody means to be part of a secret.
    return { ok: true, text: readFile(path).replace(/\r?\n$/, '') };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}
