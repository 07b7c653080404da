import { expect, onTestFinished, test } from 'vitest';
import { VirtualMachineDisruptionBudget } from '../../../api/budgets/budget.ts';
import type { KubeObject, Stored } from '../../../api/objects.ts';
import {
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstances,
  VirtualMachineOperations,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import type { StoredBudget } from '../../../decisions/disruption-budget/stored-budget.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import { budgetManifest } from '../../api/budgets/budgets.ts';
import { nowhere } from '../../clients/drover.ts';
import { droverHere } from '../../clients/in-process.ts';
import { TestDrain } from '../drain/drains.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { aSecondLater, TestOperation } from '../operations/operations.ts';
import { each } from '../power/vms.ts';
import { untilSeen } from '../until-seen.ts';

const fleet = aFleet();

const LIMIT = 2;
const EACH = 4;
const WEB = namesUpTo('web', EACH);
const DB = namesUpTo('db', EACH);
/** VMs that only drains concern. */
const PETS = namesUpTo('pet', EACH);
const ALL = [...WEB, ...DB, ...PETS];

const labels = { app: 'shop' };
const annotations = {
  'sim.drover.dev/boot-time': '300ms',
  'sim.drover.dev/stop-time': '100ms',
  'sim.drover.dev/migration-time': '300ms',
};
const specOf = (cores: number) => ({
  runStrategy: 'Always' as const,
  template: {
    metadata: { annotations },
    spec: { domain: { devices: {}, cpu: { cores }, memory: { guest: '64Mi' } }, evictionStrategy: 'LiveMigrate' },
  },
});

/** What the API server has of the VMIs and the budget of a namespace, in the order of its writes. */
class Eye {
  readonly #namespace: string;
  readonly #changes: { version: bigint; object: StoredBudget | Stored<VirtualMachineInstance> }[] = [];

  private constructor(namespace: string) {
    this.#namespace = namespace;
  }

  static async in(namespace: string): Promise<Eye> {
    const eye = new Eye(namespace);
    await Promise.all([VirtualMachineInstances, VirtualMachineDisruptionBudgets].map((kind) => eye.#follow(kind)));
    return eye;
  }

  async #follow(resource: Resource): Promise<void> {
    const view = (object: Stored): void => {
      this.#changes.push({ version: BigInt(object.metadata.resourceVersion), object: object as StoredBudget });
    };
    const watch = new ListWatch<KubeObject, void>({ client: fleet().kube, resource, namespace: this.#namespace, view });
    onTestFinished(() => watch.stop());
    await watch.start().ready();
  }

  /** How many VMIs each VM has had. */
  vmis(): Record<string, number> {
    const uids = new Set<string>();
    const counts: Record<string, number> = {};
    for (const { object } of this.#changes) {
      const { name, uid } = object.metadata;
      if ('selector' in object.spec || uids.has(uid)) continue;
      uids.add(uid);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  /** The most VMs that were down, migrated, or were claimed and not disrupted yet, and on how many nodes, at once. */
  most(): { vms: string[]; nodes: string[] } {
    const [down, nodes] = [new Set<string>(), new Map<string, string>()];
    /** By VM: when it was claimed. */
    let claimed = new Map<string, string>();
    /** Claims of VMs that are back. */
    const over = new Map<string, string | undefined>();
    const most = { vms: [] as string[], nodes: [] as string[] };
    for (const { object } of this.#changes.toSorted((a, b) => Number(a.version - b.version))) {
      const { name } = object.metadata;
      if ('selector' in object.spec)
        claimed = new Map((object as StoredBudget).status?.claims?.map(({ vm, at }) => [vm, at]));
      else if (isUp(object as Stored<VirtualMachineInstance>)) {
        if (down.delete(name)) over.set(name, claimed.get(name));
        nodes.set(name, (object as Stored<VirtualMachineInstance>).status!.nodeName!);
        // A VM counts once it was up.
      } else if (nodes.has(name)) down.add(name);
      const vms = [...new Set([...down, ...[...claimed].filter(([vm, at]) => over.get(vm) !== at).map(([vm]) => vm)])];
      if (vms.length > most.vms.length) most.vms = vms;
      const of = [...new Set(vms.map((vm) => nodes.get(vm)!))];
      if (of.length > most.nodes.length) most.nodes = of;
    }
    return most;
  }
}

function isUp({ metadata, status }: Stored<VirtualMachineInstance>): boolean {
  const state = status?.migrationState;
  const isMoving = state !== undefined && state.endTimestamp == null;
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  return isReady && !isMoving && metadata.deletionTimestamp === undefined;
}

/** Makes a pool and as many VMs of no owner under one budget, and waits until the budget counts all of them. */
async function aShop(namespace: string): Promise<void> {
  const { kube } = fleet();
  const metadata = { name: 'shop', namespace };
  const topology = { key: 'kubernetes.io/hostname', maxDomains: 1 };
  const spec = { selector: { matchLabels: labels }, maxUnavailable: LIMIT, topology };
  const manifest = VirtualMachineDisruptionBudget.parse({ ...budgetManifest(spec), metadata });
  await kube.create(VirtualMachineDisruptionBudgets, manifest);
  const template = { metadata: { labels }, spec: specOf(1) };
  await fleet().createPool(namespace, 'web', { replicas: EACH, maxUnavailable: '100%', template });
  for (const name of [...DB, ...PETS])
    await kube.create(VirtualMachines, { metadata: { namespace, name, labels }, spec: specOf(1) });
  await seen(namespace, ({ status }) => expect(status).toMatchObject({ expected: ALL.length, available: ALL.length }));
  await until(async () =>
    expect((await fleet().pool(namespace, 'web'))?.status).toMatchObject({ readyReplicas: EACH }),
  );
}

const seen = (namespace: string, assertions: (budget: StoredBudget) => void): Promise<unknown> =>
  untilSeen<KubeObject>(fleet().kube, VirtualMachineDisruptionBudgets, { namespace, name: 'shop' }, (budget) =>
    assertions(budget as StoredBudget),
  );

test('a rollout, a restart and two drains at once keep within one budget, though the worker is killed twice', async () => {
  const worker = await fleet().worker();
  const drain = await TestDrain.in(fleet());
  const { namespace } = drain;
  await aShop(namespace);
  await aSecondLater();
  const eye = await Eye.in(namespace);
  const [first, second, third] = await drain.nodes();
  for (const node of [first, second]) onTestFinished(() => drain.uncordon(node));

  let claimedAt: string | undefined;
  const claimed = seen(namespace, ({ status }) => {
    claimedAt = status?.claims?.[0]?.at;
    expect(claimedAt).toBeDefined();
  });
  const env = { ...nowhere, KUBECONFIG: fleet().stack.kubeconfig };
  const drains = Promise.all([first, second].map((node) => droverHere(['drain', 'start', node], env)));
  const restart = await TestOperation.make(fleet().kube, namespace, { vms: { names: DB }, atOnce: '100%' });
  await fleet().patchPool(namespace, 'web', { template: { metadata: { labels }, spec: specOf(2) } });
  await claimed;
  await worker.kill();
  const another = await fleet().startWorker();
  await seen(namespace, ({ status }) => {
    const later = status?.claims?.filter(({ at, migration }) => at !== claimedAt && migration !== undefined);
    expect(later ?? []).not.toEqual([]);
  });
  await another.kill();
  await fleet().startWorker();

  expect((await drains).map(({ code }) => code)).toEqual([0, 0]);
  await restart.stands('Complete');
  await until(async () => {
    const { status } = (await fleet().pool(namespace, 'web'))!;
    expect(status).toMatchObject({ updatedReplicas: EACH, readyReplicas: EACH });
    expect(status?.currentRevision).toBe(status?.updateRevision);
    const { items } = await fleet().kube.list<StoredOperation>(VirtualMachineOperations, { namespace });
    const stand = items.map(({ status: { conditions = [] } = {} }) =>
      conditions.find(({ type }) => type === 'Complete'),
    );
    expect(stand.map((condition) => condition?.status)).toEqual(items.map(() => 'True'));
  });
  await seen(namespace, ({ status }) => expect(status).toMatchObject({ claims: [], available: ALL.length }));
  expect(eye.vmis()).toEqual({ ...each([...WEB, ...DB], 2), ...each(PETS, 1) });
  expect((await drain.vmis('')).filter(({ status }) => status?.nodeName !== third)).toEqual([]);
  const { vms, nodes } = eye.most();
  expect(vms.length <= LIMIT ? [] : vms).toEqual([]);
  expect(nodes.length <= 1 ? [] : nodes).toEqual([]);
});
