// This file is plain JavaScript without static imports of svc's own modules,
// so that an old Node can run the built program as far as the check of the version.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `svc needs Node.js 24 or newer, but this is ${process.version}. In a clone, "npm run agent" uses the Node.js that "npm install" installed.\n`,
  );
  process.exit(1);
}

const { runAgent } = await import('./process.ts');
await runAgent(process.argv.slice(2));

export {};
