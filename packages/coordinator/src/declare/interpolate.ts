import { REFERENCE } from '@svc/shared/resources/texts.ts';

/** The sources that `${env.NAME}` and `${file.PATH}` insert. */
export type Sources = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with the name of each inserted variable. */
  readonly onVariable?: (name: string) => void;
  /**
   * Returns the text of a file by its path as written. It throws an Error whose message says why the file
   * cannot be read.
   */
  readonly readFile: (path: string) => string;
};

export type Interpolated = { ok: true; text: string } | { ok: false; message: string };

/** Matches a literal `${`, an insertion, or `${` without an end. */
const TOKEN = /\$\$\{|\$\{([^}]*)\}|\$\{/g;

/**
 * Inserts settings and files into a string of the declared file. A string that is exactly one reference
 * (`${svc_http_monitor.api.id}`) stays as it is until the declaration is applied. Inserted text is not
 * interpolated again.
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
  message: `"\${" has no closing "}": add it, or write "$\${" for a literal "\${"`,
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
    // Editors and `echo` end files with a line break that is not part of the secret.
    return { ok: true, text: readFile(path).replace(/\r?\n$/, '') };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}
