import { setTimeout as sleep } from 'node:timers/promises';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { DataVolumes, VirtualMachineInstances, type Resource } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { isConflict, isNotFound, ignoreNotFound } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import { parseDuration } from '../../../simulator/knobs.ts';
import type { VirtualMachineInstance } from '../../../simulator/types.ts';
import type { GivenCluster } from './given.ts';

type Instance = Stored<VirtualMachineInstance & KubeObject>;
type Pod = Stored<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }>;

const Pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const PREFIX = 'sim.drover.dev/';

/**
 * Reproduces on real KubeVirt what the simulator's annotations ask for, by faults that occur in practice: deletes a
 * VMI's launcher pod before or while the VMI runs. If pods have no kubelet, also sets their readiness.
 */
export class Faults {
  readonly #kube: KubeClient;
  readonly #given: GivenCluster;
  readonly #isOwn: (namespace: string) => boolean;
  readonly #watch: ListWatch<Instance, Instance>;
  readonly #met = new Set<string>();
  readonly #failedStarts = new Map<string, number>();

  constructor(kube: KubeClient, given: GivenCluster, isOwn: (namespace: string) => boolean) {
    this.#kube = kube;
    this.#given = given;
    this.#isOwn = isOwn;
    this.#watch = new ListWatch<Instance, Instance>({
      client: kube,
      resource: VirtualMachineInstances,
      view: (instance) => instance,
      onChange: (_key, _before, after) => {
        if (after !== undefined)
          void this.#meet(after).catch((error: Error) => process.stderr.write(`faults: ${error.message}\n`));
      },
    });
  }

  async start(): Promise<void> {
    await this.#watch.start().ready();
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }

  async #meet(instance: Instance): Promise<void> {
    const { namespace = '', uid, deletionTimestamp } = instance.metadata;
    const phase = instance.status?.phase;
    if (!this.#isOwn(namespace) || deletionTimestamp !== undefined || phase === 'Failed' || phase === 'Succeeded')
      return;
    if (phase === 'Scheduling' || phase === 'Scheduled') {
      if (!this.#met.has(uid) && (await this.#isToFail(instance))) {
        this.#met.add(uid);
        await this.#deletePods(instance);
      }
    } else if (phase === 'Running') {
      await this.#endWhenDue(instance);
      if (this.#given.hasStandIn) await this.#setReady(instance);
    }
  }

  async #isToFail(instance: Instance): Promise<boolean> {
    if (await this.#hasCorruptDisk(instance)) return true;
    const asked = knob(instance, 'fail-starts');
    if (asked === undefined || asked === '0') return false;
    if (asked === 'always') return true;
    const owner = `${controllerOf(instance)?.uid}/${asked}`;
    const count = this.#failedStarts.get(owner) ?? 0;
    this.#failedStarts.set(owner, count + 1);
    return count < Number(asked);
  }

  async #hasCorruptDisk({ metadata: { namespace }, spec }: Instance): Promise<boolean> {
    for (const { dataVolume } of spec.volumes ?? []) {
      if (dataVolume === undefined) continue;
      const disk = await ignoreNotFound(this.#kube.get(DataVolumes, { namespace, name: dataVolume.name }));
      if (disk?.metadata.annotations?.[`${PREFIX}corrupt`] === 'true') return true;
    }
    return false;
  }

  async #endWhenDue(instance: Instance): Promise<void> {
    const { uid } = instance.metadata;
    const runTime = knob(instance, 'run-time');
    if (runTime === undefined || this.#met.has(uid)) return;
    this.#met.add(uid);
    await sleep(parseDuration(runTime) ?? 0);
    await this.#deletePods(instance);
  }

  async #setReady(instance: Instance): Promise<void> {
    const ready = instance.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    const wanted = knob(instance, 'never-ready') === 'true' ? 'False' : 'True';
    if (ready === wanted) return;
    for (const pod of await this.#podsOf(instance)) {
      const conditions = pod.status?.conditions?.map((condition) =>
        condition.type.endsWith('Ready') ? { ...condition, status: wanted } : condition,
      );
      if (conditions === undefined) continue;
      await tolerating(
        this.#kube.patch(Pods, pod.metadata, 'merge', { status: { conditions } }, { subresource: 'status' }),
      );
    }
  }

  async #deletePods(instance: Instance): Promise<void> {
    for (const { metadata } of await this.#podsOf(instance))
      await tolerating(this.#kube.delete(Pods, metadata, { gracePeriodSeconds: 0, uid: metadata.uid }));
  }

  async #podsOf({ metadata: { namespace, uid } }: Instance): Promise<Pod[]> {
    return (await this.#kube.list<Pod>(Pods, { namespace, labelSelector: `kubevirt.io/created-by=${uid}` })).items;
  }
}

const knob = ({ metadata }: Instance, name: string): string | undefined => metadata.annotations?.[PREFIX + name];

async function tolerating(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
