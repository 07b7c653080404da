import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { VirtualMachinePools, VirtualMachines } from '../api/resources.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../decisions/template/vm-from-template.ts';
import { ListWatch } from '../kubernetes/list-watch.ts';
import { onStack, type Bench } from './stack.ts';

/**
 * Measures how long drover takes to create and delete 1,000 halted VMs, compared with the same number of plain requests
 * over 64 connections in the same run: `node bench/scale.ts [ROUNDS]`. A ratio of 1 would mean that drover costs
 * nothing.
 */
const VMS = 1_000;
const CONNECTIONS = 64;
const ROUNDS = Number(process.argv[2] ?? 5);
const NAMESPACE = 'default';

const spec = { runStrategy: 'Halted', template: { spec: { domain: { devices: {} } } } };

/** The same object as drover creates, but with an owner that drover ignores. */
function asDroverMakesIt(name: string): NewVirtualMachine {
  const pool = {
    apiVersion: 'drover.dev/v1alpha1' as const,
    kind: 'VirtualMachinePool' as const,
    spec: { replicas: VMS, template: { spec } },
  };
  const vm = vmFromTemplate(
    { ...pool, metadata: { name: 'bare', namespace: NAMESPACE, uid: randomUUID() } },
    pool.spec.template,
    1,
  );
  return {
    ...vm,
    metadata: {
      ...vm.metadata,
      name,
      ownerReferences: vm.metadata.ownerReferences.map((owner) => ({ ...owner, kind: 'Nothing' })),
    },
  };
}

/** Returns milliseconds. */
async function each(call: (name: string) => Promise<unknown>): Promise<number> {
  let next = 0;
  const start = performance.now();
  const lane = async (): Promise<void> => {
    while (next < VMS) await call(`bare-${next++}`);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  return performance.now() - start;
}

async function bare({ kube }: Bench): Promise<{ create: number; remove: number }> {
  const create = await each((name) => kube.create(VirtualMachines, asDroverMakesIt(name)));
  const remove = await each((name) => kube.delete(VirtualMachines, { name, namespace: NAMESPACE }));
  return { create, remove };
}

/** Milliseconds from the call that scales the pool until the API server has exactly that many of its VMs. */
async function scale({ kube }: Bench, replicas: number): Promise<number> {
  const stop = new AbortController();
  const vms = new ListWatch({
    client: kube,
    resource: VirtualMachines,
    view: () => true,
    onChange: () => {
      if (vms.size === replicas) stop.abort();
    },
  });
  await vms.start().ready();
  const start = performance.now();
  await kube.patch(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' }, 'merge', { spec: { replicas } });
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  const took = performance.now() - start;
  await vms.stop();
  return took;
}

/** Resolves when the pool's status shows that drover is done, so that the next measurement starts undisturbed. */
async function settled({ kube }: Bench, replicas: number): Promise<void> {
  for (;;) {
    const pool = await kube.get(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' });
    if ((pool['status'] as { replicas?: number } | undefined)?.replicas === replicas) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const median = (values: number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;

await onStack(async (bench) => {
  await bench.kube.create(VirtualMachinePools, {
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { replicas: 1, template: { spec } },
  });
  await settled(bench, 1);
  await scale(bench, 0);
  const ratios: { out: number[]; in: number[] } = { out: [], in: [] };
  console.log(`${VMS} halted VMs; bare: ${CONNECTIONS} connections; milliseconds`);
  for (let round = 1; round <= ROUNDS; round++) {
    await settled(bench, 0);
    const { create, remove } = await bare(bench);
    const out = await scale(bench, VMS);
    await settled(bench, VMS);
    const back = await scale(bench, 0);
    ratios.out.push(create / out);
    ratios.in.push(remove / back);
    const words = [
      `bare create ${create.toFixed(0)}`,
      `scale-out ${out.toFixed(0)}`,
      `bare delete ${remove.toFixed(0)}`,
      `scale-in ${back.toFixed(0)}`,
    ];
    console.log(
      `round ${round}: ${words.join(', ')}; ratios ${(create / out).toFixed(2)} out, ${(remove / back).toFixed(2)} in`,
    );
  }
  console.log(
    `median ratio: ${median(ratios.out).toFixed(2)} out, ${median(ratios.in).toFixed(2)} in (aim: 0.8 or better)`,
  );
});
