import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Client, Observation } from './client.ts';

const run = promisify(execFile);
/** Follows redirects and keeps cookies. Decodes bodies in the families that test decoding. */
export async function startCurl(): Promise<Client> {
  const { stdout } = await run('curl', ['--version']);
  return {
    version: stdout.split(' ', 2).join(' '),
    async ask(url, { family, method }): Promise<Observation> {
      const options = ['-q', '-sS', '--http1.1', '-L', '--max-redirs', '10', '--max-time', '5', '-b', ''];
      if (family === 'Content-Encoding') options.push('--compressed');
      if (method === 'HEAD') options.push('--head', '-o', '/dev/null');
      const format = '\\n%{stderr}status %{http_code}';
      try {
        const { stdout: body, stderr } = await run('curl', [...options, '-w', format, url], {
          encoding: 'latin1',
        });
        const status = Number(/status (\d+)$/.exec(stderr)?.[1]);
        const text = method === 'HEAD' ? '' : body.slice(0, -1);
        return { status, bytes: text.length, body: text };
      } catch (error) {
        const { stderr = '' } = error as { stderr?: string };
        return { refused: stderr.replace(/\s*status \d+$/, '').trim() };
      }
    },
    async close() {},
  };
}
