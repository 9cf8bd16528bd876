import { cp } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes the provider's pages to the places where a registry looks for them: `docs/index.md`, `docs/guides/`,
 * `docs/resources/`, `docs/data-sources/`.
 */
export async function writeRegistryDocs(folder: string, root: string): Promise<void> {
  await cp(join(root, 'docs', 'terraform'), folder, { recursive: true });
}
