import { createHash } from 'node:crypto';

export type NamedContent = { readonly name: string; readonly content: Buffer };

function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The format that `sha256sum` writes and `sha256sum --check` reads. */
export function sha256Sums(files: readonly NamedContent[]): string {
  return sorted(files)
    .map(({ name, content }) => `${sha256(content)}  ${name}\n`)
    .join('');
}

/**
 * Terraform's checksum of a package, as in `.terraform.lock.hcl`. It covers the names and contents of the
 * files, not the zip (Go's `dirhash.Hash1`).
 */
export function h1(files: readonly NamedContent[]): string {
  const digest = createHash('sha256').update(sha256Sums(files)).digest('base64');
  return `h1:${digest}`;
}

/** Sorts by the bytes of the names. */
function sorted(files: readonly NamedContent[]): NamedContent[] {
  return files.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}
