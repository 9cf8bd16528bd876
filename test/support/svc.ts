import { runCommandLine } from '@svc/cli/command-line.ts';

export type Said = { code: number; out: string; err: string };

/**
 * Runs a command of `svc` in this process.
 *
 * @param input text of the standard input
 */
export async function svc(
  args: readonly string[],
  environment: Record<string, string>,
  input?: string,
): Promise<Said> {
  const said = { out: '', err: '' };
  const code = await runCommandLine(args, {
    environment: { PATH: process.env.PATH, SVC_NATS_SERVER: process.env.SVC_NATS_SERVER, ...environment },
    out: { write: (text) => (said.out += text) },
    err: { write: (text) => (said.err += text) },
    ...(input === undefined ? {} : { input: linesOf(input) }),
  });
  return { code, ...said };
}

async function* linesOf(text: string): AsyncGenerator<string> {
  yield text;
}
