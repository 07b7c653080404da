import { DO_NOT_DISRUPT_ANNOTATION, REVISION_LABEL } from '../../../api/names.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import type { PoolSpec, PoolStatus } from '../../../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import type { BatchVm } from '../../../decisions/rollout/batch.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { UpdateBatchInput } from '../../../workflows/rollout/update-batch.ts';
import { activityNow, isGoing, isRegular, runNow, runStrategyOf } from '../facts.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { Check } from './check.ts';

/** Milliseconds that an act may take from its last look at the pool to its end. */
const ACT_MS = 15_000;
const RESTART = /\/virtualmachines\/([^/]+)\/restart$/;

type Pool = Stored & { spec: PoolSpec; status?: PoolStatus };

/** Checks each act of a batch on a VM: what people want of the VM and of the rollout comes first. */
export class UpdateGuarantees extends Check {
  /** Revisions whose template stops VMs. */
  readonly #halting = new Set<string>();
  /** Since when the rollout of each pool has been paused, by the pool's UID. */
  readonly #pausedSince = new Map<string, number>();
  /** When VMs were last stopped, by UID. */
  readonly #stoppedAt = new Map<string, number>();
  /** Names of VMs that a batch has deleted after people had stopped them, each after the id of its workflow. */
  readonly #stayStopped = new Set<string>();

  onCall({ verb, key, process }: Call): void {
    const [, name] = (verb === 'request' && RESTART.exec(key.name ?? '')) || [];
    if (name === undefined || activityNow() !== 'updateVms' || !process.name.startsWith('worker')) return;
    const vm = this.world.vm(name);
    if (vm !== undefined && runStrategyOf(vm) === 'Halted') this.broken('G10', `${name} is restarted, and was stopped`);
  }

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    const isWorker = call?.process.name.startsWith('worker') === true;
    if (resource === VirtualMachinePools && after !== undefined) this.#poolWritten(after as Pool);
    if (resource === VirtualMachines) this.#vmWritten(before, after, isWorker);
    if (resource === VirtualMachineInstances && isWorker && before !== undefined && isDeletion(before, after))
      this.#vmiDeleted(before);
  }

  #poolWritten({ metadata, spec, status }: Pool): void {
    if (spec.template.spec.runStrategy === 'Halted') this.#halting.add(revisionOf(poolTemplate(spec)));
    const isPaused = spec.paused === true || status?.rollout?.paused !== undefined;
    if (!isPaused) this.#pausedSince.delete(metadata.uid);
    else if (!this.#pausedSince.has(metadata.uid)) this.#pausedSince.set(metadata.uid, this.now);
  }

  #vmWritten(before: Stored | undefined, after: Stored | undefined, isWorker: boolean): void {
    if (after !== undefined && runStrategyOf(after) === 'Halted' && (!before || runStrategyOf(before) !== 'Halted'))
      this.#stoppedAt.set(after.metadata.uid, this.now);
    if (!isWorker) return;
    if (before === undefined) return this.#created(after!);
    if (isDeletion(before, after)) return this.#deleted(before);
    if (after === undefined) return;
    this.#checkStop(before, after);
    const from = before.metadata.labels?.[REVISION_LABEL];
    const to = after.metadata.labels?.[REVISION_LABEL];
    if (activityNow() !== 'updateVms' || from === to) return;
    this.#checkAllowed(before, `is brought from ${from} to ${to}`);
  }

  /** Checks that a batch does nothing to a VM that is to be left alone, nor anything long after a pause has begun. */
  #checkAllowed(vm: Stored, what: string): void {
    const { name, annotations } = vm.metadata;
    if (annotations?.[DO_NOT_DISRUPT_ANNOTATION] === 'true')
      this.broken('G10', `${name} ${what}, and its owner asked not to`);
    const since = this.#pausedSince.get(controllerOf(vm)?.uid ?? '');
    if (since !== undefined && since < this.now - ACT_MS)
      this.broken('G10', `${name} ${what}, and the rollout has been paused for ${this.now - since} ms`);
  }

  /** Checks that nobody starts a VM that people have stopped, unless people ask for it. */
  #checkStop(before: Stored, after: Stored): void {
    if (runStrategyOf(before) !== 'Halted' || runStrategyOf(after) === 'Halted') return;
    const isMade = this.#halting.has(before.metadata.labels?.[REVISION_LABEL] ?? '');
    if (activityNow() === 'changePower' || !isRegular(before) || isMade) return;
    this.broken('G10', `${after.metadata.name} is started by ${activityNow()}, and was stopped`);
  }

  /** Checks that a VMI restarts for a revision only if it is not of it already, and that its VM is one that may. */
  #vmiDeleted({ metadata }: Stored): void {
    if (activityNow() !== 'updateVms') return;
    const { name, uid, labels } = metadata;
    const held = this.#held(name);
    const input = this.#batch();
    if (held === undefined || input === undefined) return this.broken('G10', `${name} restarts, and is in no batch`);
    const isNeeded = labels?.[REVISION_LABEL] !== input.batch.revision || held.vmi === uid;
    if (!isNeeded) this.broken('G10', `${name} restarts for ${input.batch.revision}, which its VMI is of already`);
    const vm = this.world.vm(name);
    if (vm !== undefined) this.#checkAllowed(vm, 'restarts');
  }

  #deleted(vm: Stored): void {
    const { name, uid } = vm.metadata;
    const held = activityNow() === 'removeVms' ? this.#held(name) : undefined;
    if (held === undefined || runStrategyOf(vm) !== 'Halted' || !isRegular(vm)) return;
    const isMade = this.#halting.has(vm.metadata.labels?.[REVISION_LABEL] ?? '');
    const wasStopped = (this.#stoppedAt.get(uid) ?? Infinity) < (this.#batch()?.batch.startedAt ?? 0);
    if (!isMade && wasStopped) this.#stayStopped.add(`${runNow()} ${name}`);
  }

  #created(vm: Stored): void {
    const { name } = vm.metadata;
    if (this.#stayStopped.has(`${runNow()} ${name}`) && runStrategyOf(vm) !== 'Halted')
      this.broken('G10', `${name} was stopped by a person, and the VM in its place would run`);
  }

  #batch(): UpdateBatchInput | undefined {
    const run = this.world.temporal.runs.get(runNow() ?? '');
    return run?.type === 'updateBatch' ? (run.args[0] as UpdateBatchInput) : undefined;
  }

  #held(vm: string): BatchVm | undefined {
    return this.#batch()?.batch.vms.find(({ name }) => name === vm);
  }
}

const isDeletion = (before: Stored, after: Stored | undefined): boolean =>
  !isGoing(before) && (after === undefined || isGoing(after));
