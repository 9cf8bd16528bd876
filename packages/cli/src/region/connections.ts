import { NatsTrial, type TrialParts } from '@svc/shared/nats/trial.ts';
import { z } from 'zod';

const SUBJECT = '$SYS.REQ.SERVER.PING.CONNZ';
/** More than all agents of a coordinator, and more than the server lists by itself. */
const LIMIT = 4_096;

const answer = z.object({
  data: z
    .object({
      connections: z
        .array(z.object({ name: z.string().optional(), authorized_user: z.string().optional() }))
        .optional(),
    })
    .optional(),
});

/**
 * Number of connections of each public key, at all servers of the cluster; null where no server can be asked. This
 * command itself does not count.
 *
 * @param parts with the key of the system account
 */
export async function connectionsByKey(parts: TrialParts): Promise<ReadonlyMap<string, number> | null> {
  let trial: NatsTrial;
  try {
    trial = await NatsTrial.open(parts);
  } catch {
    return null;
  }
  try {
    const counts = new Map<string, number>();
    const answers = await trial.askAll(SUBJECT, { auth: true, limit: LIMIT });
    for (const text of answers) {
      const { data } = answer.parse(JSON.parse(text));
      for (const { name, authorized_user: user = '' } of data?.connections ?? [])
        if (name !== parts.name) counts.set(user, (counts.get(user) ?? 0) + 1);
    }
    return answers.length === 0 ? null : counts;
  } finally {
    await trial.close();
  }
}
