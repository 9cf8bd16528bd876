import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { runPlugin } from '@svc/terraform-provider/plugin/command.ts';
import { type TerraformObject, UNKNOWN } from '@svc/terraform-provider/value.ts';
import { outcome, scriptedProvider } from './scripted-provider.ts';

/**
 * A plug-in whose `svc_thing` behaves as its name says: `slow` is created when SIGUSR2 comes, even after a
 * stop; `crash` and `reject` end the process while their own call is open; `print` writes to standard output,
 * which belongs to the handshake. It appends events to the file SVC_TEST_EVENTS.
 */
const events = process.env.SVC_TEST_EVENTS;
const happens = (event: string): void => {
  if (events !== undefined) appendFileSync(events, `${event}\n`);
};

const continued = once(process, 'SIGUSR2');
const never = new Promise<never>(() => {});

const BEHAVIOURS: Readonly<Record<string, () => Promise<unknown>>> = {
  slow: () => continued,
  crash: () => {
    setImmediate(() => {
      throw new Error('thrown where nobody catches');
    });
    return never;
  },
  reject: () => {
    void Promise.reject(new Error('rejected where nobody looks'));
    return never;
  },
  print: async () => console.log('printed by a library'),
};

async function create(planned: TerraformObject) {
  const name = String(planned.name);
  happens(`creating ${name}`);
  await BEHAVIOURS[name]?.();
  happens(`created ${name}`);
  return outcome({ ...planned, id: `id of ${name}` });
}

void runPlugin({
  args: process.argv.slice(2),
  environment: process.env,
  name: 'terraform-provider-scripted',
  version: '1.2.3',
  address: 'registry.terraform.io/svc/svc',
  loadProvider: async () => {
    happens('loaded');
    return scriptedProvider(
      {
        plan: ({ prior, proposed }) => ({
          planned: prior === null ? { ...proposed, id: UNKNOWN } : proposed,
          replaces: [],
          diagnostics: [],
        }),
        create,
        read: async (state) => outcome(state),
        update: async (_prior, planned) => outcome(planned),
        remove: async () => outcome(null),
      },
      { stop: () => happens('stopped') },
    );
  },
});
