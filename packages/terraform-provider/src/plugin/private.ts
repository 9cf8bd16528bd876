import { z } from 'zod';

/** Data that Terraform stores beside a state and does not show: the workspace to which the object belongs. */
const kept = z.object({ workspace: z.string().min(1) });

export function privateOf(workspace: string): Buffer {
  return Buffer.from(JSON.stringify({ workspace } satisfies z.infer<typeof kept>));
}

/** The workspace in the stored data; null: no data was stored, as after an import. */
export function workspaceIn(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined || bytes.length === 0) return null;
  try {
    return kept.parse(JSON.parse(Buffer.from(bytes).toString())).workspace;
  } catch {
    // The provider did not write these bytes: treat them as absent.
    return null;
  }
}
