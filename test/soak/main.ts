import './real-servers.ts';
import { mkdirSync, mkdtempSync, rmSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectTemporal } from '../../clients/session/temporal.ts';
import { setup } from '../../clients/setup/setup.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { Servers } from './servers.ts';
import { Soak } from './soak.ts';
import { traceRequests } from './trace.ts';

/** `npm run test:soak`: see `test/README.md`. Exits with 1 if a guarantee was broken. */

const USAGE = `npm run test:soak -- --kills N [--seed N] [--minutes M] [--gap MS] [--shards N] [--evidence FOLDER]

  --kills N          how many processes are killed, one after another, at random instants
  --seed N           of all that is random; a new one by default
  --minutes M        ends the kills after so many minutes at most
  --gap MS           milliseconds between two kills, on average: 6000 by default
  --shards N         into how many the cluster is divided: 1 by default; both workers take all
  --evidence FOLDER  keeps the logs of all processes there, and all that was seen
`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    minutes: { type: 'string', default: 'Infinity' },
    gap: { type: 'string', default: '6000' },
    shards: { type: 'string', default: '1' },
    evidence: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);

async function main(kills: number): Promise<number> {
  const [seed, minutes, gapMs] = [values.seed, values.minutes, values.gap].map(Number) as [number, number, number];
  say(`seed ${seed}: ${kills} kills`);
  const folder = mkdtempSync(join(tmpdir(), 'drover-soak-'));
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort(new Error(`ended by ${signal}`)));
  const ends: (() => Promise<unknown>)[] = [];
  const { evidence } = values;
  if (evidence !== undefined) mkdirSync(evidence, { recursive: true });
  const journal = evidence && join(evidence, 'journal.log');
  let soak: Soak | undefined;
  try {
    const servers = await Servers.start(folder, (line) => soak?.note(line));
    ends.push(() => servers.stop());
    servers.shards = values.shards;
    traceRequests(servers.trace, 'people');
    const kube = new KubeClient(loadKubeConfig({ kubeconfig: servers.stack.kubeconfig }), { fieldManager: 'soak' });
    ends.push(() => kube.close());
    const temporal = await connectTemporal({ address: servers.stack.temporalAddress, configured: false });
    ends.push(() => temporal.connection.close());
    await setup({ kube, temporal, cluster: 'default', shards: Number(values.shards), say: () => {} });
    soak = new Soak({ servers, kube, temporal, seed, say, signal: interrupted.signal, journal });
    await soak.run({ kills, gapMs, untilMs: Date.now() + minutes * 60_000 });
    return soak.findings.length === 0 ? 0 : 1;
  } catch (error) {
    say(`the soak has failed: ${(error as Error).stack ?? String(error)}`);
    return 2;
  } finally {
    for (const line of soak?.report() ?? []) say(line);
    for (const end of ends.toReversed()) await end().catch((error: unknown) => say(String(error)));
    if (evidence !== undefined) cpSync(join(folder, 's', 'logs'), join(evidence, 'logs'), { recursive: true });
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

if (values.help || values.kills === undefined) {
  process.stdout.write(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else {
  // What was interrupted may still wait for servers that are gone.
  process.exit(await main(Number(values.kills)));
}
