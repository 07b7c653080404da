import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { startSimulator } from './simulator.ts';
import { stderrLog } from './store/log.ts';

/**
 * Runs the simulator as a process on the cluster of `KUBECONFIG`. Prints `ready` once it serves,
 * and exits on SIGTERM or SIGINT.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    concurrency: { type: 'string', default: '32' },
    nodes: { type: 'string', default: '3' },
  },
});

const fail = (message: string): never => {
  stderrLog.warn(message);
  process.exit(1);
};

const numeric = (flag: 'port' | 'concurrency' | 'nodes'): number => {
  const number = Number(values[flag]);
  return Number.isFinite(number) && number >= 0
    ? number
    : fail(`--${flag} ${values[flag]}: must be a number of at least 0`);
};

const fileOf = (flag: 'tls-cert' | 'tls-key'): Buffer => {
  const path = values[flag] ?? fail(`--${flag} is missing: it names a PEM file`);
  try {
    return readFileSync(path);
  } catch (error) {
    return fail(`--${flag} ${path}: ${(error as Error).message}`);
  }
};

const start = (): Promise<{ stop: () => Promise<void> }> =>
  startSimulator(loadKubeConfig(), {
    log: stderrLog,
    concurrency: numeric('concurrency'),
    port: numeric('port'),
    cert: fileOf('tls-cert'),
    key: fileOf('tls-key'),
    nodes: numeric('nodes'),
  });
const ended = new Promise<void>((resolve) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
});

try {
  const simulator = await Promise.race([start(), ended]);
  if (simulator === undefined) process.exit(0);
  process.stdout.write('ready\n');
  await ended;
  await simulator.stop();
} catch (error) {
  fail((error as Error).message);
}
