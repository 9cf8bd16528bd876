/**
 * Prints the file with which an agent of a region is started, ready to be copied; `--all` writes the example
 * files of the repository. See the README in this folder.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { FORMS, type Form, formOf, generatedFiles } from './forms.ts';
import { givenSettings } from './given-settings.ts';

const USAGE = `npx node deploy/hosts/main.ts --settings FILE [options]

Prints what a host needs to run an agent of a region, as one file. It holds the key of the region.

  --settings FILE       settings of the agent, as "svc region add REGION --settings FILE" writes them
  --ca FILE             authority of the NATS server, where the system of the agent does not know it
  --form FORM           vm (user data for cloud-init), compose or kubernetes; the default is that of the region's host
  --image NAME          container image; for compose and kubernetes
  --executable-url URL  where the machine finds svc-agent; for vm
  --executable FILE     svc-agent itself, for its checksum; for vm (default dist/svc-agent)
  --all                 write the examples for all regions into deploy/ instead
`;

const { values } = parseArgs({
  options: {
    settings: { type: 'string' },
    ca: { type: 'string' },
    form: { type: 'string' },
    image: { type: 'string' },
    'executable-url': { type: 'string' },
    executable: { type: 'string', default: join(import.meta.dirname, '../../dist/svc-agent') },
    all: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

function main(): void {
  if (values.all === true) {
    writeAll();
    return;
  }
  const envFile = values.settings;
  if (values.help === true || envFile === undefined) {
    process.stdout.write(USAGE);
    process.exitCode = values.help === true ? 0 : 1;
    return;
  }
  const settings = givenSettings(readFileSync(envFile, 'utf8'), {
    ca: values.ca === undefined ? null : readFileSync(values.ca, 'utf8'),
    image: values.image ?? null,
    executableUrl: values['executable-url'] ?? null,
    readExecutable: () => readFileSync(values.executable),
    form: formGiven(),
  });
  process.stdout.write(FORMS[formGiven() ?? formOf(settings.region)](settings));
}

function formGiven(): Form | null {
  const { form } = values;
  if (form === undefined) return null;
  if (form === 'vm' || form === 'compose' || form === 'kubernetes') return form;
  throw new SvcError('usage', `--form is one of ${Object.keys(FORMS).join(', ')}`);
}

function writeAll(): void {
  for (const [name, text] of generatedFiles()) {
    const path = join(import.meta.dirname, '..', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}

try {
  main();
} catch (error) {
  process.stderr.write(`hosts: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
