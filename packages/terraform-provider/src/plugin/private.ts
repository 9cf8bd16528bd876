import { z } from 'zod';

/** Data that Terraform keeps beside a state and does not show: the workspace that the object belongs to. */
const kept = z.object({ workspace: z.string().min(1) });

export function privateOf(workspace: string): Buffer {
  return Buffer.from(JSON.stringify({ workspace } satisfies z.infer<typeof kept>));
}

/** Null when nothing was kept, as after an import. */
export function workspaceIn(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined || bytes.length === 0) return null;
  try {
    return kept.parse(JSON.parse(Buffer.from(bytes).toString())).workspace;
  } catch {
    // The bytes are not ours: treat them as absent.
    return null;
  }
}
