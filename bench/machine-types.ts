import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { MACHINE_TYPE_RESTART_LABEL } from '../api/names.ts';
import type { KubeObject, PatchOperation } from '../api/objects.ts';
import type { OperationSpec, OperationStatus } from '../api/operations/operation.ts';
import {
  ClusterVirtualMachineOperations,
  Namespaces,
  VirtualMachineInstances,
  VirtualMachines,
} from '../api/resources.ts';
import { operationOf } from '../clients/operations/make.ts';
import type { TransitionRecord } from '../decisions/annotations/transition-record.ts';
import { beforeOf, typePatch } from '../decisions/machine-types/type-patch.ts';
import type { VirtualMachine } from '../decisions/views/from-object/vm.ts';
import type { StoredOperation } from '../decisions/views/stored-operation.ts';
import { KubeClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { vmOwner } from '../simulator/objects/vm-owner.ts';
import { operationRunIdOf } from '../workflows/lib/messages.ts';
import { CONNECTIONS, cpuOf, each, median, memoryOf } from './measure.ts';
import { onStack, type Bench } from './stack.ts';

/**
 * Measures a machine type transition of many VMs: `node bench/machine-types.ts [VMS] [NAMESPACES] [ROUNDS] [SECONDS]`.
 *
 * Compares the rate of its patches with that of the same JSON patches over 64 plain connections in the same run: a
 * ratio of 1 would mean that drover costs nothing. Also measures its history, the worker's memory, and the worker's CPU
 * while as many running VMs only wait for their owners.
 */
const [VMS = 10_000, NAMESPACES = 100, ROUNDS = 3, SECONDS = 60] = process.argv.slice(2).map(Number);
const OLD = 'pc-q35-rhel8.6.0';
const NEW = 'pc-q35-rhel9.6.0';

interface Key {
  namespace: string;
  name: string;
}
const keysOf = (prefix: string): Key[] =>
  Array.from({ length: VMS }, (_, index) => ({ namespace: `${prefix}-${index % NAMESPACES}`, name: `vm-${index}` }));
const bare = keysOf('bare');
const ours = keysOf('ours');
const namespacesOf = (keys: Key[]): string[] => [...new Set(keys.map(({ namespace }) => namespace))];

async function make({ kube }: Bench, keys: Key[]): Promise<void> {
  for (const name of namespacesOf(keys)) await kube.create(Namespaces, { metadata: { name } });
  const template = { spec: { domain: { devices: {}, memory: { guest: '64Mi' }, machine: { type: OLD } } } };
  await each(keys, (metadata) => kube.create(VirtualMachines, { metadata, spec: { runStrategy: 'Halted', template } }));
}

/** Creates VMIs with the old type, as KubeVirt reports running ones. */
async function run({ kube }: Bench, keys: Key[]): Promise<void> {
  const ready = { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null };
  const status = { phase: 'Running', machine: { type: OLD }, conditions: [ready] };
  const domain = { devices: {}, machine: { type: OLD } };
  await each(keys, async (key) => {
    const vm = await kube.get(VirtualMachines, key);
    await kube.create(VirtualMachineInstances, {
      metadata: { ...key, ownerReferences: [vmOwner(vm.metadata)] },
      spec: { domain },
      status,
    });
  });
}

/**
 * Applies drover's patches by hand, with a field manager other than the one that created the VMs. Returns milliseconds
 * for all.
 */
async function patchBare({ kube, stack }: Bench, from: string, to: string): Promise<number> {
  const record: TransitionRecord = { id: '00000000', from, to, vmiType: null, at: new Date().toISOString() };
  const patches = new Map<string, PatchOperation[]>();
  for (const namespace of namespacesOf(bare)) {
    const { items } = await kube.list<VirtualMachine>(VirtualMachines, { namespace });
    for (const vm of items) patches.set(vm.metadata.name, typePatch(beforeOf(vm), { machineType: to, record }));
  }
  const client = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), {
    connections: CONNECTIONS,
    fieldManager: 'bare',
  });
  const start = performance.now();
  await each(bare, (key) => client.patch(VirtualMachines, key, 'json', patches.get(key.name)));
  const took = performance.now() - start;
  await client.close();
  return took;
}

interface Run {
  operation: StoredOperation;
  handle: WorkflowHandle;
  startedAt: number;
}

/** Begins as `drover machine-types update --to` does, once it has made its plan. */
async function begin({ kube, temporal }: Bench, from: string, to: string): Promise<Run> {
  const spec: OperationSpec = {
    action: 'MachineType',
    vms: { selector: {} },
    namespaces: namespacesOf(ours),
    machineType: { from, to },
  };
  const startedAt = performance.now();
  const made = await kube.create(ClusterVirtualMachineOperations, operationOf(undefined, spec) as KubeObject);
  const { name, uid } = made.metadata;
  const handle = temporal.client.workflow.getHandle(operationRunIdOf({ cluster: 'default', name, uid }));
  return { operation: made as StoredOperation, handle, startedAt };
}

/** Resolves when the status tells this. */
async function until(
  { kube }: Bench,
  { operation: { metadata } }: Run,
  holds: (operation: StoredOperation) => boolean,
): Promise<void> {
  while (!holds(await kube.get<StoredOperation>(ClusterVirtualMachineOperations, metadata))) await sleep(100);
}

const isOver = ({ status }: StoredOperation): boolean => status?.completionTime !== undefined;

/** Events and size of the run's history. */
async function historyOf({ handle }: Run): Promise<{ events: number; words: string }> {
  const { historyLength: events, historySize: bytes = 0 } = await handle.describe();
  return { events, words: `${events} events, ${(bytes / 1024).toFixed(0)} KiB of history` };
}

function formatMemory(bench: Bench): string {
  const { now, most } = memoryOf(bench);
  return `${now.toFixed(0)} MiB, ${most.toFixed(0)} at most`;
}

async function percentOfACore(bench: Bench, meanwhile: () => Promise<void>): Promise<string> {
  const [cpu, start] = [cpuOf(bench), performance.now()];
  await meanwhile();
  return `${((cpuOf(bench) - cpu) / ((performance.now() - start) / 100_000)).toFixed(1)} %`;
}

const isWaiting = ({ conditions }: OperationStatus): boolean =>
  conditions?.some(({ type, reason }) => type === 'Progressing' && reason === 'Waiting') === true;
const quiet = (): Promise<void> => sleep(SECONDS * 1000);
const rate = (ms: number): string => `${((VMS / ms) * 1000).toFixed(0)}/s`;

await onStack(async (bench) => {
  const { kube } = bench;
  console.log(
    `${VMS} VMs in ${NAMESPACES} namespaces, and as many that are patched bare over ${CONNECTIONS} connections`,
  );
  console.log(`worker before: ${formatMemory(bench)}`);
  await make(bench, bare);
  await make(bench, ours);
  await sleep(5_000);
  console.log(`worker with ${2 * VMS} VMs in its cache: ${formatMemory(bench)}`);

  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const [from, to] = round % 2 === 1 ? [OLD, NEW] : [NEW, OLD];
    const before = await patchBare(bench, OLD, NEW);
    const cpu = cpuOf(bench);
    const transition = await begin(bench, from, to);
    await until(bench, transition, isOver);
    const whole = performance.now() - transition.startedAt;
    const used = cpuOf(bench) - cpu;
    // Measured before and after, as a shared machine's speed varies.
    const after = await patchBare(bench, NEW, OLD);
    const took = (before + after) / 2;
    ratios.push(took / whole);
    console.log(
      `round ${round}: bare ${rate(before)} and ${rate(after)}, transition ${rate(whole)} from its start to its end; ratio ${(took / whole).toFixed(2)}; ` +
        `${(await historyOf(transition)).words}; ${used.toFixed(1)} s of the worker's CPU; ${formatMemory(bench)}`,
    );
  }
  console.log(`median ratio: ${median(ratios).toFixed(2)} (aim: 0.95 or more)`);

  const [from, to] = ROUNDS % 2 === 1 ? [NEW, OLD] : [OLD, NEW];
  if (from !== OLD) await until(bench, await begin(bench, from, to), isOver);
  await run(bench, ours);
  await sleep(5_000);
  const idle = await percentOfACore(bench, quiet);
  const waiting = await begin(bench, OLD, NEW);
  await until(
    bench,
    waiting,
    ({ status }) => status?.machineType?.waiting === status?.vms?.chosen && isWaiting(status ?? {}),
  );
  const patchedIn = performance.now() - waiting.startedAt;
  const { items } = await kube.list(VirtualMachines, { namespace: ours[0]!.namespace });
  const marked = items.filter(({ metadata }) => metadata.labels?.[MACHINE_TYPE_RESTART_LABEL] !== undefined).length;
  console.log(
    `${VMS} running VMs: ${rate(patchedIn)} until all wait; ${marked} of ${items.length} marked in a namespace; ${(await historyOf(waiting)).words}`,
  );
  await sleep(5_000);
  const { events: before } = await historyOf(waiting);
  const still = await percentOfACore(bench, quiet);
  let n = 0;
  const affected = await percentOfACore(bench, async () => {
    for (const end = performance.now() + SECONDS * 1000; performance.now() < end; n++) {
      await kube.patch(VirtualMachineInstances, ours[n % VMS]!, 'merge', {
        metadata: { labels: { affected: String(n) } },
      });
      await sleep(1000);
    }
  });
  const grown = (await historyOf(waiting)).events - before;
  console.log(
    `the worker's CPU: ${idle} of one core without a transition, ${still} while ${VMS} VMs wait, ${affected} if a VMI of them ` +
      `changes each second; ${grown} events of history in ${2 * SECONDS} s; ${formatMemory(bench)}`,
  );
  const ended = performance.now();
  await kube.patch(ClusterVirtualMachineOperations, waiting.operation.metadata, 'merge', { spec: { aborted: true } });
  await until(bench, waiting, isOver);
  console.log(`aborted, and ${VMS} marks cleared: ${rate(performance.now() - ended)}`);
});
