import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { CHANGES_ANNOTATION, MACHINE_TYPE_RESTART_LABEL } from '../api/labels-and-annotations.ts';
import type { KubeObject, Stored } from '../api/objects.ts';
import type { OperationAction, OperationSpec, OperationStatus } from '../api/operations/operation.ts';
import {
  ClusterVirtualMachineOperations,
  Namespaces,
  VirtualMachineInstances,
  VirtualMachines,
} from '../api/resources.ts';
import { operationOf } from '../clients/operations/make.ts';
import { withChange } from '../decisions/changes/change-record.ts';
import type { VirtualMachine } from '../decisions/from-object/vm.ts';
import { typePatch } from '../decisions/machine-types/type-patch.ts';
import type { TransitionRecord } from '../decisions/views/annotations/transition-record.ts';
import type { StoredOperation } from '../decisions/views/stored-operation.ts';
import { KubeClient, type PatchType } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/config.ts';
import { vmOwner } from '../simulator/objects/vm-owner.ts';
import { freePort } from '../test/integration/free-port.ts';
import { operationIdOf } from '../workflows/lib/messages.ts';
import { CONNECTIONS, cpuOf, each, formatRequests, median, memoryOf, requestsOf } from './lib/measure.ts';
import { onStack, type Bench } from './lib/stack.ts';

/**
 * Measures an operation over many VMs: `node bench/operations.ts ACTION [VMS] [NAMESPACES] [ROUNDS] [SECONDS]`, with
 * the action MachineType or Patch.
 *
 * Compares the rate of its patches with that of the same patches over 64 plain connections in the same run: a ratio of
 * 1 would mean that drover costs nothing. Also measures its history, the worker's memory and, of MachineType, the
 * worker's CPU while as many running VMs only wait for their owners.
 */
const [ACTION = 'MachineType', ...numbers] = process.argv.slice(2);
const [VMS = 10_000, NAMESPACES = 100, ROUNDS = 3, SECONDS = 60] = numbers.map(Number);
const PORT = await freePort();
const OLD = 'pc-q35-rhel8.6.0';
const NEW = 'pc-q35-rhel9.6.0';

/** What is set on all VMs, in turn. */
type Value = typeof OLD | typeof NEW;

interface Measured {
  patchType: PatchType;
  /** What drover sends for this VM. */
  patchOf: (vm: VirtualMachine & KubeObject, from: Value, to: Value) => unknown;
  specOf: (from: Value, to: Value) => Omit<OperationSpec, 'vms' | 'namespaces'>;
}

const at = (): string => new Date().toISOString();
/** A label has the value of a type. */
const LABEL = 'example.com/type';

const MEASURED: Partial<Record<OperationAction, Measured>> = {
  MachineType: {
    patchType: 'merge',
    patchOf: ({ metadata }, from, to) =>
      typePatch(metadata as Stored['metadata'], {
        machineType: to,
        record: { id: '00000000', from, to, vmiType: null, at: at() } satisfies TransitionRecord,
      }),
    specOf: (from, to) => ({ action: 'MachineType', machineType: { from, to } }),
  },
  Patch: {
    patchType: 'merge',
    patchOf: ({ metadata: { annotations } }, was, is) => {
      const change = { id: '00000000-0000-0000-0000-000000000000', operation: 'patch-00000', at: at(), by: 'bench' };
      const edits = [{ path: ['metadata', 'labels', LABEL], was, is }];
      const note = withChange(annotations, { ...change, need: 'Nothing', edits })!;
      return { metadata: { labels: { [LABEL]: is }, annotations: { [CHANGES_ANNOTATION]: note } } };
    },
    specOf: (_from, to) => ({
      action: 'Patch',
      patch: { merge: JSON.stringify({ metadata: { labels: { [LABEL]: to } } }) },
      atOnce: '100%',
    }),
  },
};

const measured = MEASURED[ACTION as OperationAction];
if (measured === undefined) throw new TypeError(`no measurement of ${ACTION}`);
const { patchType, patchOf, specOf } = measured;

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
  const labels = { [LABEL]: OLD };
  await each(keys, (key) =>
    kube.create(VirtualMachines, { metadata: { ...key, labels }, spec: { runStrategy: 'Halted', template } }),
  );
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
async function patchBare({ kube, stack }: Bench, from: Value, to: Value): Promise<number> {
  const patches = new Map<string, unknown>();
  for (const namespace of namespacesOf(bare)) {
    const { items } = await kube.list<VirtualMachine & KubeObject>(VirtualMachines, { namespace });
    for (const vm of items) patches.set(vm.metadata.name, patchOf(vm, from, to));
  }
  const client = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }), {
    connections: CONNECTIONS,
    fieldManager: 'bare',
  });
  const start = performance.now();
  await each(bare, (key) => client.patch(VirtualMachines, key, patchType, patches.get(key.name)));
  const took = performance.now() - start;
  await client.close();
  return took;
}

interface Run {
  operation: StoredOperation;
  handle: WorkflowHandle;
  startedAt: number;
}

/** Begins as a command does, once it has made its plan. */
async function begin({ kube, temporal }: Bench, from: Value, to: Value): Promise<Run> {
  const spec: OperationSpec = { vms: { selector: {} }, namespaces: namespacesOf(ours), ...specOf(from, to) };
  const startedAt = performance.now();
  const made = await kube.create<StoredOperation>(ClusterVirtualMachineOperations, operationOf(undefined, spec));
  const { name, uid } = made.metadata;
  const handle = temporal.client.workflow.getHandle(operationIdOf({ cluster: 'default', name, uid }));
  return { operation: made, handle, startedAt };
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

/** How much of a core the worker takes meanwhile. */
async function shareOfACore(bench: Bench, meanwhile: () => Promise<void>): Promise<number> {
  const [cpu, start] = [cpuOf(bench), performance.now()];
  await meanwhile();
  return (cpuOf(bench) - cpu) / ((performance.now() - start) / 1000);
}

const isWaiting = ({ conditions }: OperationStatus): boolean =>
  conditions?.some(({ type, reason }) => type === 'Progressing' && reason === 'Waiting') === true;
const quiet = (): Promise<void> => sleep(SECONDS * 1000);
const rate = (ms: number): string => `${((VMS / ms) * 1000).toFixed(0)}/s`;

/** How often a second a VMI of theirs changes while all VMs wait. */
const CHANGES_A_SECOND = 20;
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Measures what it costs that running VMs wait for their owners: nothing but what changes, however many there are. */
async function measureWaiting(bench: Bench): Promise<void> {
  const { kube } = bench;
  const [from, to]: [Value, Value] = ROUNDS % 2 === 1 ? [NEW, OLD] : [OLD, NEW];
  if (from !== OLD) await until(bench, await begin(bench, from, to), isOver);
  await run(bench, ours);
  await sleep(5_000);
  const idle = await shareOfACore(bench, quiet);
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
  const still = await shareOfACore(bench, quiet);
  let n = 0;
  const affected = await shareOfACore(bench, async () => {
    for (const end = performance.now() + SECONDS * 1000; performance.now() < end; n++) {
      await kube.patch(VirtualMachineInstances, ours[n % VMS]!, 'merge', {
        metadata: { labels: { affected: String(n) } },
      });
      await sleep(1000 / CHANGES_A_SECOND);
    }
  });
  const grown = (await historyOf(waiting)).events - before;
  console.log(
    `the worker's CPU: ${percent(idle)} of one core without a transition, ${percent(still)} while ${VMS} VMs wait, ` +
      `${percent(affected)} while VMIs of them change, ${(((affected - still) * SECONDS * 1000) / n).toFixed(2)} ms for each change; ${grown} events of history in ${2 * SECONDS} s; ${formatMemory(bench)}`,
  );
  const ended = performance.now();
  await kube.patch(ClusterVirtualMachineOperations, waiting.operation.metadata, 'merge', { spec: { aborted: true } });
  await until(bench, waiting, isOver);
  console.log(`aborted, and ${VMS} marks cleared: ${rate(performance.now() - ended)}`);
}

async function measure(bench: Bench): Promise<void> {
  console.log(
    `${ACTION} of ${VMS} VMs in ${NAMESPACES} namespaces, and as many that are patched bare over ${CONNECTIONS} connections`,
  );
  console.log(`worker before: ${formatMemory(bench)}`);
  await make(bench, bare);
  await make(bench, ours);
  await sleep(5_000);
  console.log(`worker with ${2 * VMS} VMs in its cache: ${formatMemory(bench)}`);

  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const [from, to]: [Value, Value] = round % 2 === 1 ? [OLD, NEW] : [NEW, OLD];
    const before = await patchBare(bench, OLD, NEW);
    const [cpu, asked] = [cpuOf(bench), await requestsOf(PORT)];
    const run = await begin(bench, from, to);
    await until(bench, run, isOver);
    const whole = performance.now() - run.startedAt;
    const used = cpuOf(bench) - cpu;
    const requests = formatRequests(asked, await requestsOf(PORT), VMS);
    // Measured before and after, as a shared machine's speed varies.
    const after = await patchBare(bench, NEW, OLD);
    const took = (before + after) / 2;
    ratios.push(took / whole);
    console.log(
      `round ${round}: bare ${rate(before)} and ${rate(after)}, operation ${rate(whole)} from its start to its end; ratio ${(took / whole).toFixed(2)}; ` +
        `${(await historyOf(run)).words}; ${used.toFixed(1)} s of the worker's CPU; ${formatMemory(bench)}`,
    );
    console.log(`  requests of the worker for each VM: ${requests}`);
  }
  console.log(`median ratio: ${median(ratios).toFixed(2)} (aim: 0.95 or more)`);

  if (ACTION === 'MachineType') await measureWaiting(bench);
}

await onStack(measure, { workerEnv: { DROVER_HEALTH_PORT: String(PORT) } });
