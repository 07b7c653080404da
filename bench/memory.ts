import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { KubeObject, Stored } from '../api/objects.ts';
import type { PoolStatus } from '../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../api/resources.ts';
import { imageEnvironment, lastOf } from '../test/deploy/dockerfile.ts';
import { cpuOf, each, memoryOf } from './lib/measure.ts';
import { runningVmi, runningVmStatus, template } from './lib/running-vm.ts';
import { onStack, type Bench } from './lib/stack.ts';

/**
 * Measures how much memory a worker takes for many running VMs: `node bench/memory.ts [VMS] [POOLS] [CHANGES]`. The
 * simulator would take many minutes to boot them, so this program writes what KubeVirt would report, in realistic size.
 *
 * The worker is the image's, with the image's V8 and malloc settings, and with the heap that Node takes in a container
 * of `deploy/worker.yaml`. NODE_OPTIONS and drover's variables apply to it, too.
 */
const [VMS = 10_000, POOLS = 20, CHANGES = 3] = process.argv.slice(2).map(Number);
const NAMESPACE = 'default';
const MIB = 2 ** 20;
const HAND = 'virt-controller';
/** Half of 1Gi, the container's memory. */
const HEAP = '--max-old-space-size=512';

/** A list of hundreds of pools takes the API server a tenth of a second. */
const POLL_MS = Math.max(500, POOLS * 10);

const names = Array.from({ length: POOLS }, (_, index) => `pool-${index + 1}`);

async function untilAllPools({ kube }: Bench, holds: (pool: KubeObject, status: PoolStatus) => boolean): Promise<void> {
  for (;;) {
    const { items } = await kube.list(VirtualMachinePools, { namespace: NAMESPACE });
    if (items.every((pool) => holds(pool, (pool['status'] ?? {}) as PoolStatus))) return;
    await sleep(POLL_MS);
  }
}

async function make(bench: Bench): Promise<void> {
  const spec = { replicas: VMS / POOLS, template: template('0') };
  const pools = names.map((name) => ({ metadata: { name, namespace: NAMESPACE }, spec }));
  await each(pools, (pool) => bench.kube.create(VirtualMachinePools, pool));
  await untilAllPools(bench, (_pool, { replicas }) => replicas === VMS / POOLS);
}

const sizeOf = (object: KubeObject): number => JSON.stringify(object).length;

/** Starts all VMs as KubeVirt would. Returns the mean sizes of a VM and its VMI, in bytes. */
async function run({ kube }: Bench): Promise<{ vm: number; vmi: number }> {
  const { items } = await kube.list(VirtualMachines, { namespace: NAMESPACE });
  const sizes = { vm: 0, vmi: 0 };
  await each(items, async (vm: Stored) => {
    const key = { namespace: NAMESPACE, name: vm.metadata.name };
    const vmi = await kube.create(VirtualMachineInstances, runningVmi(vm), { fieldManager: HAND });
    const status = runningVmStatus();
    const options = { subresource: 'status', fieldManager: HAND };
    const shown = await kube.patch(VirtualMachines, key, 'merge', { status }, options);
    sizes.vm += sizeOf(shown) / items.length;
    sizes.vmi += sizeOf(vmi) / items.length;
  });
  return sizes;
}

/** Changes labels, which writes every VM and every VMI but restarts none. */
async function change(bench: Bench, version: string): Promise<void> {
  const patch = { spec: { template: template(version) } };
  await each(names, (name) => bench.kube.patch(VirtualMachinePools, { namespace: NAMESPACE, name }, 'merge', patch));
  await untilAllPools(bench, (pool, status) => {
    const { observedGeneration, currentRevision, updateRevision, updatedReplicas, readyReplicas } = status;
    const isRolledOut = observedGeneration === pool.metadata.generation && currentRevision === updateRevision;
    return isRolledOut && updatedReplicas === VMS / POOLS && readyReplicas === VMS / POOLS;
  });
}

/** After much work, a worker cleans up for some seconds. */
const CALM_MS = 20_000;

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

async function report(bench: Bench, when: string, empty = 0): Promise<number> {
  await sleep(CALM_MS);
  const { now, most } = memoryOf(bench);
  const perVm = (mib: number): string => kib(((mib - empty) * MIB) / VMS);
  const above = empty === 0 ? '' : `; above the empty worker ${perVm(now)} a VM, ${perVm(most)} at most`;
  const cpu = `${cpuOf(bench).toFixed(0)} s of CPU since its start`;
  console.log(`${when}: ${now.toFixed(0)} MiB, ${most.toFixed(0)} at most${above}; ${cpu}`);
  return now;
}

async function measure(bench: Bench): Promise<void> {
  const empty = await report(bench, 'empty');
  await make(bench);
  await report(bench, `${VMS} VMs made`, empty);
  const { vm, vmi } = await run(bench);
  await untilAllPools(bench, (_pool, { readyReplicas }) => readyReplicas === VMS / POOLS);
  await report(bench, 'all of them running', empty);
  const all = `${(((vm + vmi) * VMS) / MIB).toFixed(0)} MiB`;
  console.log(`a VM has ${kib(vm)} as the API server sends it, its VMI ${kib(vmi)}: ${all} in all`);

  await bench.restartWorker();
  await report(bench, 'another worker, started with them', empty);
  for (let version = 1; version <= CHANGES; version++) {
    await change(bench, String(version));
    await report(bench, `after change ${version} of all templates`, empty);
  }
}

const entrypoint = JSON.parse(lastOf('ENTRYPOINT')) as string[];
const malloc = Object.entries(imageEnvironment()).filter(([name]) => name.startsWith('MALLOC_'));
const nodeArgs = [HEAP, ...entrypoint.filter((arg) => arg.startsWith('--'))];

const folder = mkdtempSync(join(tmpdir(), 'drover-programs-'));
try {
  // In its own process: the bundlers take more memory than everything else here.
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../deploy/build.ts'), folder]);
  console.log(`${VMS} running VMs in ${POOLS} pools; node ${nodeArgs.join(' ')}`);
  console.log(`the worker's resident memory, after ${CALM_MS / 1000} s of calm, and at most so far`);
  const workerEnv = { ...Object.fromEntries(malloc), DROVER_WORKFLOW_BUNDLE: join(folder, 'workflows.js') };
  await onStack(measure, { workerCommand: [...nodeArgs, join(folder, 'drover.mjs'), 'worker'], workerEnv });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
