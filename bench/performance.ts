import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { catalog } from '../dev/tools/catalog.ts';

/**
 * Makes all measurements in one run, or only those that begin so, and writes what they print to `docs/performance.md`,
 * which keeps what was measured before: `node bench/performance.ts ["rollout.ts 3" scale.ts ...]`. All take about 90
 * minutes, and say something only on a machine that does nothing else.
 */

interface Measurement {
  title: string;
  /** What is measured, and against what. */
  what: string;
  /** A program of this folder, and its arguments. */
  command: [program: string, ...args: string[]];
}

const MEASUREMENTS: Measurement[] = [
  {
    title: 'A rollout of 40 VMs',
    what: 'A changed template restarts 40 running VMs, 25 % at a time. Compared with one VM that restarts alone, and with ten bare restarts at once, four times.',
    command: ['rollout.ts', '3', '40'],
  },
  {
    title: 'A rollout of 200 VMs',
    what: 'The same with 200 VMs. Here the restarts alone keep both cores busy with the API server and the simulator.',
    command: ['rollout.ts', '3', '200'],
  },
  {
    title: 'A rollout of 2,000 VMs',
    what: 'The same with 2,000 VMs that take 10 seconds to boot.',
    command: ['rollout.ts', '1', '2000', '10s'],
  },
  {
    title: 'Disruption budgets',
    what: 'A rollout of 1,000 VMs, 25 % at a time, and a restart of 600 others, without budgets and with three that select all VMs and always have room.',
    command: ['budgets.ts', '3', '1000', '600', '2'],
  },
  {
    title: 'Creation and deletion of a pool',
    what: '1,000 halted VMs of a pool are created and deleted. Compared with the same requests made bare.',
    command: ['scale.ts', 'pool', '5'],
  },
  {
    title: 'Creation and deletion of a VirtualMachineReplicaSet',
    what: 'The same; its VMs are deleted in the foreground.',
    command: ['scale.ts', 'vmrs', '3'],
  },
  {
    title: 'Creation and deletion of a VirtualMachineInstanceReplicaSet',
    what: 'The same with VMIs.',
    command: ['scale.ts', 'dvmirs', '3'],
  },
  {
    title: 'Idle pools',
    what: '100 pools that match their spec.',
    command: ['idle.ts'],
  },
  {
    title: 'A machine type transition',
    what: 'The machine types of 10,000 stopped VMs in 100 namespaces are changed. Compared with the same JSON patches made bare. Then 10,000 running VMs wait for their owners to restart them.',
    command: ['operations.ts', 'MachineType'],
  },
  {
    title: 'A change of many VMs',
    what: 'A label of the same VMs is changed by an operation with the action `Patch`. Compared with the same merge patches made bare.',
    command: ['operations.ts', 'Patch'],
  },
  {
    title: 'Memory',
    what: 'A worker that follows 10,000 running VMs in 20 pools, with the settings of the image and of `deploy/worker.yaml`.',
    command: ['memory.ts', '10000', '20', '1'],
  },
  {
    title: 'Memory with small pools',
    what: 'The same VMs in 500 pools of 20.',
    command: ['memory.ts', '10000', '500', '1'],
  },
  {
    title: 'Memory of 30,000 VMs',
    what: 'The same with 30,000 VMs in 20 pools.',
    command: ['memory.ts', '30000', '20', '1'],
  },
  {
    title: 'The cache of 200,000 VMs',
    what: "A worker's caches, planner and metrics, without Temporal, read running VMs that a program makes up.",
    command: ['cache.ts', '200000', '1000', '100'],
  },
  {
    title: 'The cache of one of eight shards',
    what: 'The same VMs; the worker keeps those of one shard.',
    command: ['cache.ts', '200000', '1000', '100', '8'],
  },
];

/** Runs a program, shows what it prints, and returns it. Throws if the program fails. */
async function measure([program, ...args]: Measurement['command']): Promise<string> {
  const path = join(import.meta.dirname, program);
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (data: Buffer) => {
    process.stdout.write(data);
    printed += data.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with exit code ${code}`);
  return printed.trim();
}

const chosen = process.argv.slice(2);
const load = (): string => loadavg()[0]!.toFixed(1);
const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim();
const { temporal, 'kube-apiserver': kubeApiserver, etcd } = catalog();
const machine = `${availableParallelism()} cores and ${Math.round(totalmem() / 2 ** 30)} GiB of memory`;
const path = join(import.meta.dirname, '../docs/performance.md');

/** By title. */
const sections = new Map(
  readFileSync(path, 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), `## ${section.trim()}`] as const),
);

function write(): void {
  const text = `# Performance

Written by \`node bench/performance.ts\`, all at once or some at a time: each measurement names its commit.

One machine with ${machine} ran everything: the worker, Temporal (CLI ${temporal.version}), kube-apiserver ${kubeApiserver.version}, etcd ${etcd.version}, and
if it says so, the simulator. So times depend on all of them, and ratios of one run say more than times. "CPU" is the
time in milliseconds that each process has computed for one VM. "Bare" are the same requests over 64 connections,
without a controller.

${MEASUREMENTS.flatMap(({ title }) => sections.get(title) ?? []).join('\n\n')}
`;
  writeFileSync(path, text);
}

for (const { title, what, command } of MEASUREMENTS) {
  if (chosen.length > 0 && !chosen.some((start) => command.join(' ').startsWith(start))) continue;
  const shown = `node bench/${command.join(' ')}`;
  const before = `Commit ${commit}, ${new Date().toISOString().slice(0, 10)}; load before it: ${load()}.`;
  console.log(`\n${title}: ${shown}`);
  const printed = await measure(command);
  sections.set(title, `## ${title}\n\n${what}\n\n\`\`\`console\n$ ${shown}\n${printed}\n\`\`\`\n\n${before}`);
  write();
}
