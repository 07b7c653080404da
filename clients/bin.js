#!/usr/bin/env node
// Plain JavaScript that any Node reads: finds a Node that runs TypeScript natively, and starts drover.ts with it.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST = [22, 19];
const root = fileURLToPath(new URL('..', import.meta.url));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) {
  keepCompiled();
  await import('./drover.ts');
} else {
  await runWithNewerNode();
}

/**
 * Keeps the code that Node compiles for the next command, which then starts in half of the time. The folder is that of
 * `dev/paths.ts`.
 */
function keepCompiled() {
  const folder = process.env.DROVER_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'drover');
  if (existsSync(dirname(folder))) module.enableCompileCache(join(folder, 'compiled'));
}

async function runWithNewerNode() {
  const node = `${root}node_modules/.bin/node`;
  if (!existsSync(node)) {
    process.stderr.write(
      `error: drover needs Node ${OLDEST.join('.')} or newer and this is ${process.version}: ` +
        `start drover with a newer Node; in a clone on Linux, \`npm ci\` brings one\n`,
    );
    process.exit(1);
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both processes; passing it on would send it twice.
  const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
    process.on(signal, () => {
      if (!(signal === 'SIGINT' && terminal)) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`error: ${node} does not start: ${error.message}; run \`npm ci\` in ${root} again\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
