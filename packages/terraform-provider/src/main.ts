// This file imports none of svc's modules statically, so that an old Node reaches the check below. It has no
// top-level await, because the bundle is CommonJS.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  say(
    `The svc provider needs Node.js 24 or newer, and ${process.execPath} is ${process.version}. Install a newer one, name its path in SVC_TERRAFORM_NODE, or use the standalone provider, which needs none.`,
  );
  process.exitCode = 1;
} else {
  import('./app.ts')
    .then(({ runProvider }) => runProvider(process.argv.slice(2), process.env))
    .catch((error: unknown) => {
      say(`The svc provider cannot start: ${error instanceof Error ? error.message : error}`);
      process.exit(1);
    });
}

/**
 * Shows a text to the user. Terraform shows the first line of standard output if that line is not a
 * handshake. Without Terraform, the text goes to standard error.
 */
function say(text: string): void {
  (process.env.TF_PLUGIN_MAGIC_COOKIE === undefined ? process.stderr : process.stdout).write(`${text}\n`);
}

export {};
