import { setTimeout as sleep } from 'node:timers/promises';
import type { VirtualMachinePool } from '../api/pool/pool.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  VirtualMachineOperations,
  VirtualMachinePools,
  VirtualMachines,
} from '../api/resources.ts';
import { operationOf } from '../clients/operations/make.ts';
import type { StoredOperation } from '../decisions/views/stored-operation.ts';
import { freePort } from '../test/integration/free-port.ts';
import { CpuUse, each, formatRequests, median, requestsOf } from './lib/measure.ts';
import { onStack, type Bench } from './lib/stack.ts';

/**
 * Measures what disruption budgets cost: `node bench/budgets.ts [BUDGETS] [VMS] [LONE] [ROUNDS] [BOOT]`.
 *
 * A template is rolled through a pool of VMS, 25 % at a time, and LONE VMs of no owner are restarted by an operation,
 * as many at a time: in turn without budgets, and with so many that select all VMs and always have room.
 */
const [BUDGETS = 3, VMS = 1_000, LONE = 600, ROUNDS = 3] = process.argv.slice(2, 6).map(Number);
const BOOT = process.argv[6] ?? '1s';
const AT_ONCE = '25%';
const NAMESPACE = 'default';
const AGAIN_MS = 250;
const PORT = await freePort();
const LABELS = { lone: 'true' };
const POOL = { namespace: NAMESPACE, name: 'web' };

/** Each round has another grace period: a change that requires a restart. */
const templateOf = (round: number): VirtualMachinePool['spec']['template'] => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': BOOT } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } }, terminationGracePeriodSeconds: 30 + round },
    },
  },
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(AGAIN_MS);
}

/** Whether drover has brought all VMs to the newest revision, and the status says so. */
async function isRolledOut({ kube }: Bench): Promise<boolean> {
  const { metadata, status } = await kube.get<VirtualMachinePool>(VirtualMachinePools, POOL);
  const { observedGeneration, readyReplicas, currentRevision, updateRevision } = status ?? {};
  return observedGeneration === metadata.generation && readyReplicas === VMS && currentRevision === updateRevision;
}

async function rollOut(bench: Bench, round: number): Promise<void> {
  await bench.kube.patch(VirtualMachinePools, POOL, 'merge', { spec: { template: templateOf(round) } });
  await until(() => isRolledOut(bench));
}

async function restart({ kube }: Bench): Promise<void> {
  // Times have whole seconds: a VMI of the same one would count as newer.
  await sleep(1_000);
  const spec = { action: 'Restart', vms: { selector: { matchLabels: LABELS } }, atOnce: AT_ONCE } as const;
  const { metadata } = await kube.create<StoredOperation>(VirtualMachineOperations, operationOf(NAMESPACE, spec));
  const read = (): Promise<StoredOperation> => kube.get<StoredOperation>(VirtualMachineOperations, metadata);
  await until(async () => (await read()).status?.completionTime !== undefined);
  const { status } = await read();
  if (status?.vms?.done !== LONE) throw new Error(`the restart has not come through: ${JSON.stringify(status)}`);
}

const budgetsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    metadata: { name: `budget-${index + 1}` },
    spec: { selector: {}, maxUnavailable: '100%', maxMigrating: VMS },
  }));

/** Has all VMs under so many budgets meanwhile. */
async function under<T>({ kube }: Bench, count: number, act: () => Promise<T>): Promise<T> {
  const budgets = budgetsOf(count);
  await each(budgets, async (budget) => {
    const { metadata } = await kube.create(ClusterVirtualMachineDisruptionBudgets, budget);
    const read = (): Promise<StoredOperation> => kube.get(ClusterVirtualMachineDisruptionBudgets, metadata);
    await until(async () => (await read()).status !== undefined);
  });
  const result = await act();
  await each(budgets, ({ metadata }) => kube.delete(ClusterVirtualMachineDisruptionBudgets, metadata));
  return result;
}

/** Returns milliseconds of the API server's CPU for each of these VMs. */
async function measured(bench: Bench, what: string, vms: number, act: () => Promise<void>): Promise<number> {
  const [use, asked, start] = [new CpuUse(bench), await requestsOf(PORT), performance.now()];
  await act();
  const [took, cpu] = [performance.now() - start, use.each(vms)];
  console.log(`${what}: ${(took / 1_000).toFixed(1)} s; CPU for each VM in milliseconds: ${use.format(vms)}`);
  console.log(`  requests of the worker for each VM: ${formatRequests(asked, await requestsOf(PORT), vms)}`);
  return cpu.get('kube-apiserver') ?? 0;
}

await onStack(
  async (bench) => {
    const { kube } = bench;
    const lone = Array.from({ length: LONE }, (_, index) => ({ namespace: NAMESPACE, name: `lone-${index + 1}` }));
    await kube.create(VirtualMachinePools, {
      metadata: POOL,
      spec: { replicas: VMS, maxUnavailable: AT_ONCE, template: templateOf(0) },
    });
    await each(lone, (key) => kube.create(VirtualMachines, { metadata: { ...key, labels: LABELS }, ...templateOf(0) }));
    await until(() => isRolledOut(bench));
    await until(async () => {
      const { items } = await kube.list(VirtualMachines, { namespace: NAMESPACE, labelSelector: 'lone' });
      return items.every((vm) => (vm['status'] as { ready?: boolean } | undefined)?.ready === true);
    });
    console.log(`${VMS} VMs of a pool and ${LONE} of no owner, ${AT_ONCE} at once, boot time ${BOOT}`);
    const rounds: { count: number; rollout: number; restart: number }[] = [];
    for (let round = 1; round <= 2 * ROUNDS; round++) {
      const count = round % 2 === 1 ? 0 : BUDGETS;
      await under(bench, count, async () => {
        const rollout = await measured(bench, `rollout, ${count} budgets`, VMS, () => rollOut(bench, round));
        const restarted = await measured(bench, `restart, ${count} budgets`, LONE, () => restart(bench));
        rounds.push({ count, rollout, restart: restarted });
      });
    }
    for (const what of ['rollout', 'restart'] as const) {
      const [without, with_] = [0, BUDGETS].map((budgets) =>
        median(rounds.filter(({ count }) => count === budgets).map((round) => round[what])),
      ) as [number, number];
      const ratio = (with_ / without).toFixed(3);
      console.log(`${what}: the API server's CPU with ${BUDGETS} budgets is ${ratio} of that without (aim: 1.08)`);
    }
  },
  { simulator: true, workerEnv: { DROVER_HEALTH_PORT: String(PORT) } },
);
