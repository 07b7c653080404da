import type { WorkflowHandle } from '@temporalio/client';
import { beforeAll, expect, onTestFinished } from 'vitest';
import type { KubeObject } from '../../../api/objects.ts';
import type { HealingStatus, PoolSpec } from '../../../api/pool/pool.ts';
import {
  DataVolumes,
  KubeVirts,
  Nodes,
  PersistentVolumeClaims,
  VirtualMachineInstances,
  VirtualMachines,
  type Resource,
} from '../../../api/resources.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import type { DataVolume } from '../../../simulator/objects/kubevirt.ts';
import type { healVm } from '../../../workflows/healing/heal-vm.ts';
import { healVmIdOf, type poolIdOf } from '../../../workflows/lib/messages.ts';
import { givenCluster } from '../../cluster/given/given.ts';
import { until, type TestFleet } from '../fleet.ts';
import { templateOf, TestPool } from '../rollout/rollouts.ts';

/**
 * Cuts KubeVirt's delays between starts to a hundredth for every test of the file; a real KubeVirt keeps its delays.
 */
export function withFastStarts(fleet: () => TestFleet): void {
  beforeAll(async () => {
    if (givenCluster() !== undefined) return;
    const metadata = { annotations: { 'sim.drover.dev/backoff-factor': '0.01' } };
    await until(
      async () =>
        void (await fleet().kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', { metadata })),
    );
  });
}

type Shape = NonNullable<Parameters<typeof templateOf>[0]> & {
  /** Time that its disk takes to be provisioned; no VMI starts before. */
  provisionTime?: string;
};

/** A template of VMs with one disk each: `disk-1`, `disk-2`, … */
export const withDisk = ({ provisionTime = '50ms', ...shape }: Shape = {}): PoolSpec['template'] =>
  templateOf({
    ...shape,
    vm: {
      ...shape.vm,
      dataVolumeTemplates: [
        {
          metadata: { name: 'disk', annotations: { 'sim.drover.dev/provision-time': provisionTime } },
          spec: { storage: { resources: { requests: { storage: '1Gi' } } }, source: { blank: {} } },
        },
      ],
    },
    vmi: { ...shape.vmi, volumes: [{ name: 'root', dataVolume: { name: 'disk' } }] },
  });

/** Heals after two failed starts, deletes disks, and backs off briefly. */
export const QUICK: NonNullable<PoolSpec['autohealing']> = {
  startupFailureThreshold: 2,
  preserveStorage: false,
  backoff: { initial: '300ms', jitter: 0 },
};

/** A pool named `web` of VMs with disks, with faults to inject into its VMs. */
export class HealedPool {
  readonly pool: TestPool;
  readonly #fleet: TestFleet;

  private constructor(pool: TestPool) {
    this.pool = pool;
    this.#fleet = pool.fleet;
  }

  /** Resolves when all VMs of the pool run and drover has noted that. */
  static async ready(
    fleet: TestFleet,
    { autohealing = QUICK, template = withDisk(), ...spec }: Partial<PoolSpec> = {},
  ): Promise<HealedPool> {
    const healed = new HealedPool(await TestPool.ready(fleet, { autohealing, template, ...spec }));
    await until(async () => {
      for (const vm of (await healed.pool.vms()).values())
        expect(vm.metadata.annotations?.['drover.dev/never-ran']).toBeUndefined();
    });
    return healed;
  }

  /** Creates a pool whose VMs need not come up. */
  static async made(fleet: TestFleet, spec: Partial<PoolSpec>): Promise<HealedPool> {
    const namespace = await fleet.namespace();
    await fleet.createPool(namespace, 'web', { autohealing: QUICK, template: withDisk(), ...spec });
    return new HealedPool(new TestPool(fleet, namespace));
  }

  /** Makes the VM's next and all later starts fail as long as it has this disk. */
  async corrupt(number: number): Promise<void> {
    const disk = { namespace: this.pool.namespace, name: `disk-${number}` };
    await this.#fleet.kube.patch<DataVolume>(DataVolumes, disk, 'merge', {
      metadata: { annotations: { 'sim.drover.dev/corrupt': 'true' } },
    });
    await this.endVmi(number);
  }

  /** Makes every start of this VM fail, with any disk; a replacement is not affected. */
  async break(number: number): Promise<void> {
    const metadata = { annotations: { 'sim.drover.dev/fail-starts': 'always' } };
    await this.pool.patchVm(`web-${number}`, { spec: { template: { metadata } } });
    await this.endVmi(number);
  }

  /** Deletes the VM's VMI; the next one uses the VM's current spec. */
  async endVmi(number: number): Promise<void> {
    // KubeVirt may start the old spec until it has observed the new one.
    await until(async () => {
      const vm = await this.pool.vm(`web-${number}`);
      expect(vm.status?.['desiredGeneration']).toBe(vm.metadata.generation);
    });
    await ignoreNotFound(
      this.#fleet.kube.delete(VirtualMachineInstances, { namespace: this.pool.namespace, name: `web-${number}` }),
    );
  }

  async setNodeLost(node: string, lost: boolean): Promise<void> {
    await this.#fleet.kube.patch(Nodes, { name: node }, 'merge', {
      metadata: { annotations: { 'sim.drover.dev/lost': lost ? 'true' : null } },
    });
  }

  /** Adds a finalizer, so that the VM keeps terminating once deleted; the returned function removes it. */
  async holdBack(number: number): Promise<() => Promise<void>> {
    const name = `web-${number}`;
    const { metadata } = await this.pool.vm(name);
    const finalizers = [...(metadata.finalizers ?? []), 'test/hold'];
    await this.pool.patchVm(name, { metadata: { resourceVersion: metadata.resourceVersion, finalizers } });
    return () =>
      until(async () => {
        const held = await this.pool.vm(name);
        const others = held.metadata.finalizers?.filter((finalizer) => finalizer !== 'test/hold') ?? [];
        await this.pool.patchVm(name, {
          metadata: { resourceVersion: held.metadata.resourceVersion, finalizers: others },
        });
      });
  }

  async uid(number: number): Promise<string> {
    return (await this.pool.vm(`web-${number}`)).metadata.uid;
  }

  /** Waits until the VM of this number is ready with a UID other than `before`; returns that UID. */
  async replaced(number: number, before: string): Promise<string> {
    let uid = before;
    await until(async () => {
      const vm = await ignoreNotFound(this.pool.vm(`web-${number}`));
      expect(vm?.status?.ready).toBe(true);
      expect(vm?.metadata.uid).not.toBe(before);
      uid = vm!.metadata.uid;
    });
    return uid;
  }

  async healing(): Promise<HealingStatus> {
    return (await this.pool.status()).healing ?? { cycles: [], finished: [] };
  }

  /** Waits for a cycle of the VM that matches this, however soon the cycle continues. */
  async untilCycle(number: number, wanted: Partial<HealingStatus['cycles'][number]>): Promise<void> {
    await this.pool.seen(({ healing }) =>
      expect(healing?.cycles).toContainEqual(expect.objectContaining({ vm: `web-${number}`, ...wanted })),
    );
  }

  /** Waits until the VM has no cycle any more and a spent cycle of it matches this. */
  untilFinished(number: number, wanted: Partial<HealingStatus['finished'][number]>): Promise<void> {
    return until(async () => {
      const { cycles, finished } = await this.healing();
      expect(cycles.filter(({ vm }) => vm === `web-${number}`)).toEqual([]);
      expect(finished).toContainEqual(expect.objectContaining({ vm: `web-${number}`, ...wanted }));
    });
  }

  attempt(number: number, attempt = 1): WorkflowHandle<typeof healVm> {
    return this.#fleet.temporal.client.workflow.getHandle(
      healVmIdOf(this.pool.ref satisfies Parameters<typeof poolIdOf>[0], `web-${number}`, attempt),
    );
  }

  /** Starts to record every VM, disk and claim, present and future. */
  async lives(): Promise<Lives> {
    const lives = await Lives.start(this.#fleet, this.pool.namespace);
    onTestFinished(() => lives.stop());
    return lives;
  }
}

interface Life {
  uid: string;
  /** Resource versions of the creation and of the deletion; null while it exists. */
  bornAt: bigint;
  goneAt: bigint | null;
  /** When it was first seen, in milliseconds since the epoch. */
  seenAt: number;
}

/** All objects that ever existed in one namespace, so that a double creation can't hide. */
export class Lives {
  readonly #byName = new Map<string, Life[]>();
  readonly #abort = new AbortController();

  static async start(fleet: TestFleet, namespace: string): Promise<Lives> {
    const lives = new Lives();
    // Disks come after their VMs: a disk that is listed has a VM that is listed.
    for (const resource of [PersistentVolumeClaims, DataVolumes, VirtualMachines])
      await lives.#follow(fleet, namespace, resource);
    return lives;
  }

  /** Returns the lives of the object, oldest first. */
  of(kind: 'vm' | 'disk' | 'claim', name: string): Life[] {
    const resource = { vm: VirtualMachines, disk: DataVolumes, claim: PersistentVolumeClaims }[kind];
    return this.#byName.get(`${resource.plural}/${name}`) ?? [];
  }

  /** Throws unless the VM of this number was `count` VMs one after another, each with a disk of its own. */
  expectFresh(number: number, count: number): void {
    const vms = this.of('vm', `web-${number}`);
    const disks = this.of('disk', `disk-${number}`);
    const claims = this.of('claim', `disk-${number}`);
    expect([vms.length, disks.length, claims.length]).toEqual([count, count, count]);
    for (const [index, { bornAt, goneAt }] of vms.entries()) {
      for (const own of [disks[index]!, claims[index]!]) {
        expect(own.bornAt).toBeGreaterThan(bornAt);
        if (goneAt === null) expect(own.goneAt).toBeNull();
        else expect(own.goneAt).toBeLessThan(goneAt);
      }
      expect(goneAt === null).toBe(index === count - 1);
      if (index > 0) expect(bornAt).toBeGreaterThan(vms[index - 1]!.goneAt!);
    }
  }

  stop(): void {
    this.#abort.abort();
  }

  async #follow({ kube }: TestFleet, namespace: string, resource: Resource): Promise<void> {
    const { items, metadata } = await kube.list(resource, { namespace });
    const note = (
      object: KubeObject & { metadata: { uid: string; resourceVersion: string } },
      isGone: boolean,
    ): void => {
      const key = `${resource.plural}/${object.metadata.name}`;
      const known = this.#byName.get(key) ?? [];
      const life = known.find(({ uid }) => uid === object.metadata.uid);
      const version = BigInt(object.metadata.resourceVersion);
      if (life === undefined)
        this.#byName.set(key, [
          ...known,
          { uid: object.metadata.uid, bornAt: version, goneAt: isGone ? version : null, seenAt: Date.now() },
        ]);
      else if (isGone) life.goneAt = version;
    };
    // Objects that exist already are older than all newly created ones.
    for (const item of items)
      this.#byName.set(`${resource.plural}/${item.metadata.name}`, [
        { uid: item.metadata.uid, bornAt: resource === VirtualMachines ? 0n : 1n, goneAt: null, seenAt: Date.now() },
      ]);
    const follow = async (): Promise<void> => {
      const query = { resourceVersion: metadata.resourceVersion };
      for await (const event of kube.watch(resource, { namespace, query, signal: this.#abort.signal })) {
        if (event.type === 'ADDED' || event.type === 'DELETED') note(event.object, event.type === 'DELETED');
      }
    };
    follow().catch((error: unknown) => {
      if (!this.#abort.signal.aborted) throw error;
    });
  }
}
