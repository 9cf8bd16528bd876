// This file is plain JavaScript without static imports of svc's
// modules, so that an old Node can run the version check.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `svc needs Node.js 24 or newer, but this is ${process.version}. In a clone, "npm run coordinator" uses the Node.js that "npm install" installed.\n`,
  );
  process.exit(1);
}

const { runCoordinator } = await import('./process.ts');
await runCoordinator(process.argv.slice(2));

export {};
