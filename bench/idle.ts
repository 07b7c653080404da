import { VirtualMachinePools } from '../api/resources.ts';
import { poolIdOf } from '../workflows/lib/messages.ts';
import { cpuOf } from './lib/measure.ts';
import { onStack } from './lib/stack.ts';

/** Measures the cost of 100 pools in their desired state over a minute: the worker's CPU, and new history events. */
const POOLS = 100;
const VMS = 5;
const SECONDS = Number(process.argv[2] ?? 60);
/** After much work, a worker cleans up for some seconds. */
const CALM_MS = 20_000;

const spec = {
  replicas: VMS,
  template: { spec: { runStrategy: 'Halted', template: { spec: { domain: { devices: {} } } } } },
};
const names = Array.from({ length: POOLS }, (_, index) => `pool-${index}`);
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

await onStack(async (bench) => {
  const { kube, temporal } = bench;
  await Promise.all(
    names.map((name) => kube.create(VirtualMachinePools, { metadata: { name, namespace: 'default' }, spec })),
  );
  const settled = async (): Promise<boolean> => {
    const { items } = await kube.list(VirtualMachinePools, { namespace: 'default' });
    return items.every((pool) => (pool['status'] as { replicas?: number } | undefined)?.replicas === VMS);
  };
  while (!(await settled())) await wait(200);
  await wait(CALM_MS);

  const events = async (): Promise<number> => {
    const lengths = names.map(async (name) => {
      const handle = temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace: 'default', name }));
      return (await handle.describe()).historyLength;
    });
    return (await Promise.all(lengths)).reduce((sum, length) => sum + length, 0);
  };
  const before = { events: await events(), cpu: cpuOf(bench) };
  await wait(SECONDS * 1000);
  const used = cpuOf(bench) - before.cpu;
  const grown = (await events()) - before.events;
  console.log(
    `${POOLS} idle pools of ${VMS} VMs, ${SECONDS} s: ${((used / SECONDS) * 100).toFixed(1)} % of one core, ${grown} events of history`,
  );
});
