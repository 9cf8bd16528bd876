// This file has no static imports of svc's own modules, so that an old
// Node can run the built program as far as the check of the version.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `svc needs Node.js 24 or newer, but this is ${process.version}. In a clone, "npm run svc" uses the Node.js that "npm install" installed.\n`,
  );
  process.exit(1);
}

// A command whose output cannot be written goes on, because its other work must not stop half-way.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return; // The reader may close the pipe early (`| head`).
  process.stderr.write(`svc: cannot write the output: ${error.message}\n`);
  process.exitCode = 1;
});
process.stderr.on('error', () => {}); // There is no other place for messages. The exit code still tells the result.

const { runCommandLine } = await import('./command-line.ts');
const exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  out: process.stdout,
  err: process.stderr,
  input: process.stdin,
});
process.exitCode ??= exitCode;

export {};
