import { isDeepStrictEqual } from 'node:util';
import { controllerOf, type Stored } from '../../api/objects.ts';
import { CoreEvents } from '../../api/resources.ts';
import { namespacedName } from '../../kubernetes/versioned-store.ts';
import { FAIL_STARTS_DONE, failingStarts, isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import type { Node, VirtualMachine, VirtualMachineInstance, Vmi } from '../objects/kubevirt.ts';
import { isDeleting, phaseOf } from '../objects/vmi.ts';
import { claimsOf, sourcesOf } from '../objects/volumes.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { defaultMachineType, resolveMachineType } from '../vm/machine-type.ts';
import { crashEvent } from '../vmi/crash-event.ts';
import { nextMove, type Surroundings } from '../vmi/next-move.ts';
import { fits, isLost, nextNode } from '../vmi/scheduling.ts';
import { StageClock } from '../vmi/stage-clock.ts';
import { isStateClaim, settleStateClaim } from '../vmi/state-claim.ts';

/** Moves each VMI through its phases: simulates the scheduler, the pod, virt-handler and the VMI. */
export class VmiController extends Controller {
  readonly #clock = new StageClock();
  readonly #withoutClaim = new Set<string>();
  /** Keys of the claims with the state of a TPM or of UEFI variables. */
  readonly #stateClaims = new Set<string>();
  readonly #withoutSource = new Set<string>();
  /** UIDs of VMIs without finalizers left, until the watch shows their deletion. */
  readonly #gone = new Set<string>();
  #lastNode: string | undefined;

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'VirtualMachineInstance', concurrency);
    cluster.vmis.subscribe((key, before, after) => {
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid) {
        this.#clock.forget(before.metadata.uid);
        this.#gone.delete(before.metadata.uid);
      }
      this.queue.add(key);
    });
    cluster.nodes.subscribe((_key, before, after) => {
      if (isDeepStrictEqual(traits(before), traits(after))) return;
      for (const vmi of cluster.vmis.values()) this.queue.add(namespacedName(vmi));
    });
    cluster.claims.subscribe((key, before, after) => {
      if (after === undefined) this.#stateClaims.delete(key);
      else if (isStateClaim(after)) this.#stateClaims.add(key);
      if (before === undefined && after !== undefined) for (const key of this.#withoutClaim) this.queue.add(key);
    });
    for (const store of [cluster.secrets, cluster.configMaps]) {
      store.subscribe((_key, before, after) => {
        if (before === undefined && after !== undefined) for (const key of this.#withoutSource) this.queue.add(key);
      });
    }
  }

  protected async reconcile(key: string): Promise<number | undefined> {
    const { client, vmis, log } = this.cluster;
    const vmi = vmis.get(key);
    this.#withoutClaim.delete(key);
    this.#withoutSource.delete(key);
    if (vmi === undefined || this.#gone.has(vmi.metadata.uid)) return undefined;
    const now = Date.now();
    if (phaseOf(vmi) === 'Pending' && !isDeleting(vmi)) await settleStateClaim(this.cluster, vmi, this.#stateClaims);
    const around = this.#surroundings(vmi, now);
    if (around.missingClaim !== undefined && phaseOf(vmi) === 'Pending') this.#withoutClaim.add(key);
    if (around.lacksSource) this.#withoutSource.add(key);
    const move = nextMove(vmi, around);
    if (move.vmi !== vmi) {
      // Noted before the write, because others are scheduled during the write, and go to other nodes.
      if (move.vmi.status?.nodeName !== vmi.status?.nodeName) this.#lastNode = move.vmi.status?.nodeName;
      const written = await client.update<VirtualMachineInstance>(vmis.resource, move.vmi);
      if (isDeleting(written) && (written.metadata.finalizers ?? []).length === 0) {
        this.#gone.add(written.metadata.uid);
        return undefined;
      }
      vmis.remember(written);
      const crash = crashEvent(vmi, written, now);
      if (crash !== null)
        await client
          .create(CoreEvents, crash)
          .catch((error: unknown) => log.warn(`the crash of ${key} is not told: ${(error as Error).message}`));
      return 0;
    }
    return move.nextMoveAt === undefined ? undefined : move.nextMoveAt - now;
  }

  #surroundings(vmi: Vmi, now: number): Surroundings {
    const { vms, claims, nodes, kubevirt } = this.cluster;
    const { namespace, name } = vmi.metadata;
    const vm = vms.get(`${namespace}/${name}`);
    const owned = vm !== undefined && controllerOf(vmi)?.uid === vm.metadata.uid;
    const requestedType = vmi.spec.domain.machine?.type || defaultMachineType(kubevirt, vmi.spec.architecture);
    const machineType = resolveMachineType(requestedType, kubevirt);
    const nodeName = vmi.status?.nodeName;
    const node = nodeName === undefined ? undefined : nodes.get(nodeName);
    return {
      now,
      since: this.#since(vmi, now),
      missingClaim: claimsOf(vmi.spec).find((claim) => claims.get(`${namespace}/${claim}`) === undefined),
      lacksSource: this.#lacksSource(vmi),
      node:
        nodeName === undefined
          ? nextNode(nodes.values(), this.#lastNode, (candidate) => fits(candidate, vmi.spec, requestedType))
          : undefined,
      nodeGone: nodeName !== undefined && node === undefined,
      nodeLost: nodeName !== undefined && (node === undefined || isLost(node)),
      failing: startFails(vmi, owned ? vm : undefined) || this.#isCorrupt(vmi),
      hasVm: owned,
      machineType,
      migratable: claimsOf(vmi.spec).every((claim) => {
        const modes = claims.get(`${namespace}/${claim}`)?.spec.accessModes;
        return modes === undefined || modes.includes('ReadWriteMany');
      }),
    };
  }

  #lacksSource({ metadata: { namespace }, spec }: Vmi): boolean {
    const { secrets, configMaps } = this.cluster;
    const isThere = (store: typeof secrets, name: string): boolean => store.get(`${namespace}/${name}`) !== undefined;
    return sourcesOf(spec).some(({ kind, name }) => !isThere(kind === 'Secret' ? secrets : configMaps, name));
  }

  #isCorrupt({ metadata: { namespace }, spec }: Vmi): boolean {
    const { claims, dataVolumes } = this.cluster;
    const disks = claimsOf(spec).map(
      (name) => dataVolumes.get(`${namespace}/${name}`) ?? claims.get(`${namespace}/${name}`),
    );
    return disks.some((disk) => disk !== undefined && isOn(disk.metadata, SimulatorAnnotation.corrupt));
  }

  #since(vmi: Vmi, now: number): number {
    const { uid, deletionTimestamp } = vmi.metadata;
    const stage = isDeleting(vmi) ? 'deleting' : (phaseOf(vmi) ?? '');
    const transition = vmi.status?.phaseTransitionTimestamps?.findLast(({ phase }) => phase === stage);
    const recorded = Date.parse(
      deletionTimestamp ?? transition?.phaseTransitionTimestamp ?? vmi.metadata.creationTimestamp,
    );
    return this.#clock.since(uid, stage, recorded, now);
  }
}

/** Reports whether this start fails. A VM's first `fail-starts` starts do; without a VM, only `always` counts. */
export function startFails(vmi: VirtualMachineInstance, vm: VirtualMachine | undefined): boolean {
  const failing = failingStarts(vmi.metadata);
  if (failing === Infinity) return true;
  if (vm === undefined || vm.metadata.annotations?.[FAIL_STARTS_DONE] === String(failing)) return false;
  return (vm.status?.startFailure?.consecutiveFailCount ?? 0) < failing;
}

const traits = (node: Stored<Node> | undefined): unknown => [
  node?.metadata.labels,
  node?.metadata.annotations?.[SimulatorAnnotation.lost],
  node?.spec,
  node && isLost(node),
];
