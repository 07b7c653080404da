import { isDeepStrictEqual } from 'node:util';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { keyOf } from '../../kubernetes/list-watch.ts';
import { FAIL_STARTS_DONE, failingStarts, isOn, Knob } from '../knobs.ts';
import type { Cluster } from '../store/cluster.ts';
import { WorkQueue } from '../store/work-queue.ts';
import type { Node, VirtualMachine, VirtualMachineInstance } from '../types.ts';
import { defaultMachineType, resolveMachineType } from '../vm/machine-type.ts';
import { claimsOf, sourcesOf } from '../vm/volumes.ts';
import { nextMove, type Surroundings } from '../vmi/lifecycle.ts';
import { fits, isLost, nextNode } from '../vmi/scheduling.ts';
import { StageClock } from '../vmi/stage-clock.ts';
import { isDeleting, phaseOf } from '../vmi/vmi.ts';

type Instance = Stored<VirtualMachineInstance>;

/** Moves each VMI through its phases: simulates the scheduler, the pod, virt-handler and the guest. */
export class InstanceController {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;
  readonly #clock = new StageClock();
  readonly #withoutClaim = new Set<string>();
  readonly #withoutSource = new Set<string>();
  /** UIDs of VMIs without finalizers left, until the watch shows their deletion. */
  readonly #gone = new Set<string>();
  #lastNode: string | undefined;

  constructor(cluster: Cluster, concurrency: number) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue({
      concurrency,
      work: (key) => this.#reconcile(key),
      onError: (key, error) => cluster.log.warn(`VirtualMachineInstance ${key}: ${error.message}`),
    });
    cluster.instances.subscribe((key, before, after) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) {
        this.#clock.forget(before.metadata.uid);
        this.#gone.delete(before.metadata.uid);
      }
      this.#queue.add(key);
    });
    cluster.nodes.subscribe((_key, before, after) => {
      if (isDeepStrictEqual(traits(before), traits(after))) return;
      for (const instance of cluster.instances.values()) this.#queue.add(keyOf(instance));
    });
    cluster.claims.subscribe((_key, before, after) => {
      if (before === undefined && after !== undefined) for (const key of this.#withoutClaim) this.#queue.add(key);
    });
    for (const store of [cluster.secrets, cluster.configMaps]) {
      store.subscribe((_key, before, after) => {
        if (before === undefined && after !== undefined) for (const key of this.#withoutSource) this.#queue.add(key);
      });
    }
  }

  start(): void {
    this.#queue.start();
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reconcile(key: string): Promise<number | undefined> {
    const { client, instances } = this.#cluster;
    const instance = instances.get(key);
    this.#withoutClaim.delete(key);
    this.#withoutSource.delete(key);
    if (instance === undefined || this.#gone.has(instance.metadata.uid)) return undefined;
    const now = Date.now();
    const around = this.#surroundings(instance, now);
    if (around.missingClaim !== undefined && phaseOf(instance) === 'Pending') this.#withoutClaim.add(key);
    if (around.lacksSource) this.#withoutSource.add(key);
    const move = nextMove(instance, around);
    if (move.instance !== instance) {
      const written = await client.update<VirtualMachineInstance>(instances.resource, move.instance);
      if (written.status?.nodeName !== instance.status?.nodeName) this.#lastNode = written.status?.nodeName;
      if (isDeleting(written) && (written.metadata.finalizers ?? []).length === 0) {
        this.#gone.add(written.metadata.uid);
        return undefined;
      }
      instances.remember(written);
      return 0;
    }
    return move.wakeAt === undefined ? undefined : move.wakeAt - now;
  }

  #surroundings(instance: Instance, now: number): Surroundings {
    const { machines, claims, nodes, kubevirt } = this.#cluster;
    const { namespace, name } = instance.metadata;
    const machine = machines.get(`${namespace}/${name}`);
    const owned = machine !== undefined && controllerOf(instance)?.uid === machine.metadata.uid;
    const asked = instance.spec.domain.machine?.type || defaultMachineType(kubevirt, instance.spec.architecture);
    const machineType = resolveMachineType(asked, kubevirt);
    const nodeName = instance.status?.nodeName;
    const node = nodeName === undefined ? undefined : nodes.get(nodeName);
    return {
      now,
      since: this.#since(instance, now),
      missingClaim: claimsOf(instance.spec).find((claim) => claims.get(`${namespace}/${claim}`) === undefined),
      lacksSource: this.#lacksSource(instance),
      node:
        nodeName === undefined
          ? nextNode(nodes.values(), this.#lastNode, (candidate) => fits(candidate, instance.spec, asked))
          : undefined,
      nodeLost: nodeName !== undefined && (node === undefined || isLost(node)),
      failing: startFails(instance, owned ? machine : undefined) || this.#isCorrupt(instance),
      hasMachine: owned,
      machineType,
      migratable: claimsOf(instance.spec).every((claim) => {
        const modes = claims.get(`${namespace}/${claim}`)?.spec.accessModes;
        return modes === undefined || modes.includes('ReadWriteMany');
      }),
    };
  }

  #lacksSource({ metadata: { namespace }, spec }: Instance): boolean {
    const { secrets, configMaps } = this.#cluster;
    const isThere = (store: typeof secrets, name: string): boolean => store.get(`${namespace}/${name}`) !== undefined;
    return sourcesOf(spec).some(({ kind, name }) => !isThere(kind === 'Secret' ? secrets : configMaps, name));
  }

  #isCorrupt({ metadata: { namespace }, spec }: Instance): boolean {
    const { claims, dataVolumes } = this.#cluster;
    const disks = claimsOf(spec).map(
      (name) => dataVolumes.get(`${namespace}/${name}`) ?? claims.get(`${namespace}/${name}`),
    );
    return disks.some((disk) => disk !== undefined && isOn(disk.metadata, Knob.corrupt));
  }

  #since(instance: Instance, now: number): number {
    const { uid, deletionTimestamp } = instance.metadata;
    const stage = isDeleting(instance) ? 'deleting' : (phaseOf(instance) ?? '');
    const transition = instance.status?.phaseTransitionTimestamps?.findLast(({ phase }) => phase === stage);
    const told = Date.parse(
      deletionTimestamp ?? transition?.phaseTransitionTimestamp ?? instance.metadata.creationTimestamp,
    );
    return this.#clock.since(uid, stage, told, now);
  }
}

/** Reports whether this start fails. A VM's first `fail-starts` starts do; without a VM, only `always` counts. */
export function startFails(instance: VirtualMachineInstance, machine: VirtualMachine | undefined): boolean {
  const failing = failingStarts(instance.metadata);
  if (failing === Infinity) return true;
  if (machine === undefined || machine.metadata.annotations?.[FAIL_STARTS_DONE] === String(failing)) return false;
  return (machine.status?.startFailure?.consecutiveFailCount ?? 0) < failing;
}

const traits = (node: Stored<Node> | undefined): unknown => [
  node?.metadata.labels,
  node?.metadata.annotations?.[Knob.lost],
  node?.spec,
  node && isLost(node),
];
