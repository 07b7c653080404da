import { setTimeout as sleep } from 'node:timers/promises';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { DataVolumes, VirtualMachineInstances, type Resource } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { isConflict, isNotFound, ignoreNotFound } from '../../../kubernetes/errors.ts';
import { ListWatch } from '../../../kubernetes/list-watch.ts';
import { parseDuration } from '../../../simulator/objects/annotations.ts';
import type { VirtualMachineInstance } from '../../../simulator/objects/kubevirt.ts';
import type { GivenCluster } from './given.ts';

type Vmi = Stored<VirtualMachineInstance & KubeObject>;
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
  readonly #watch: ListWatch<Vmi, Vmi>;
  readonly #met = new Set<string>();
  readonly #failedStarts = new Map<string, number>();

  constructor(kube: KubeClient, given: GivenCluster, isOwn: (namespace: string) => boolean) {
    this.#kube = kube;
    this.#given = given;
    this.#isOwn = isOwn;
    this.#watch = new ListWatch<Vmi, Vmi>({
      client: kube,
      resource: VirtualMachineInstances,
      view: (vmi) => vmi,
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

  async #meet(vmi: Vmi): Promise<void> {
    const { namespace = '', uid, deletionTimestamp } = vmi.metadata;
    const phase = vmi.status?.phase;
    if (!this.#isOwn(namespace) || deletionTimestamp !== undefined || phase === 'Failed' || phase === 'Succeeded')
      return;
    if (phase === 'Scheduling' || phase === 'Scheduled') {
      if (!this.#met.has(uid) && (await this.#isToFail(vmi))) {
        this.#met.add(uid);
        await this.#deletePods(vmi);
      }
    } else if (phase === 'Running') {
      await this.#endWhenDue(vmi);
      if (this.#given.hasStandIn) await this.#setReady(vmi);
    }
  }

  async #isToFail(vmi: Vmi): Promise<boolean> {
    if (await this.#hasCorruptDisk(vmi)) return true;
    const asked = annotation(vmi, 'fail-starts');
    if (asked === undefined || asked === '0') return false;
    if (asked === 'always') return true;
    const owner = `${controllerOf(vmi)?.uid}/${asked}`;
    const count = this.#failedStarts.get(owner) ?? 0;
    this.#failedStarts.set(owner, count + 1);
    return count < Number(asked);
  }

  async #hasCorruptDisk({ metadata: { namespace }, spec }: Vmi): Promise<boolean> {
    for (const { dataVolume } of spec.volumes ?? []) {
      if (dataVolume === undefined) continue;
      const disk = await ignoreNotFound(this.#kube.get(DataVolumes, { namespace, name: dataVolume.name }));
      if (disk?.metadata.annotations?.[`${PREFIX}corrupt`] === 'true') return true;
    }
    return false;
  }

  async #endWhenDue(vmi: Vmi): Promise<void> {
    const { uid } = vmi.metadata;
    const runTime = annotation(vmi, 'run-time');
    if (runTime === undefined || this.#met.has(uid)) return;
    this.#met.add(uid);
    await sleep(parseDuration(runTime) ?? 0);
    await this.#deletePods(vmi);
  }

  async #setReady(vmi: Vmi): Promise<void> {
    const ready = vmi.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    const wanted = annotation(vmi, 'never-ready') === 'true' ? 'False' : 'True';
    if (ready === wanted) return;
    for (const pod of await this.#podsOf(vmi)) {
      const conditions = pod.status?.conditions?.map((condition) =>
        condition.type.endsWith('Ready') ? { ...condition, status: wanted } : condition,
      );
      if (conditions === undefined) continue;
      await tolerating(
        this.#kube.patch(Pods, pod.metadata, 'merge', { status: { conditions } }, { subresource: 'status' }),
      );
    }
  }

  async #deletePods(vmi: Vmi): Promise<void> {
    for (const { metadata } of await this.#podsOf(vmi))
      await tolerating(this.#kube.delete(Pods, metadata, { gracePeriodSeconds: 0, uid: metadata.uid }));
  }

  async #podsOf({ metadata: { namespace, uid } }: Vmi): Promise<Pod[]> {
    return (await this.#kube.list<Pod>(Pods, { namespace, labelSelector: `kubevirt.io/created-by=${uid}` })).items;
  }
}

const annotation = ({ metadata }: Vmi, name: string): string | undefined => metadata.annotations?.[PREFIX + name];

async function tolerating(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
