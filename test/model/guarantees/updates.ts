import {
  DO_NOT_DISRUPT_ANNOTATION,
  REVISION_LABEL,
  ROLLOUT_REQUEST_ANNOTATION,
  CORRECT_DRIFT_ANNOTATION,
} from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { field } from '../../../decisions/lib/json.ts';
import type { BatchVm } from '../../../decisions/owners/batch.ts';
import { answerTo, digestOf } from '../../../decisions/owners/request.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { UpdateBatchInput } from '../../../workflows/rollout/update-batch.ts';
import { activityNow, coresOf, isByWorker, isDeletion, runNow, runStrategyOf, type Pool } from '../facts.ts';
import { CALL_MS } from '../readings.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import { PoolCheck } from './check.ts';

/** Milliseconds that an act may take from its last look at the pool to its end. */
const ACT_MS = 15_000;
const RESTART = /\/virtualmachines\/([^/]+)\/restart$/;

/** Checks each act of a batch on a VM: what users want of the VM and of the rollout comes first. */
export class UpdateGuarantees extends PoolCheck {
  /** Revisions whose template stops VMs. */
  readonly #halting = new Set<string>();
  /** Since when the rollout of each pool has been paused, by the pool's UID. */
  readonly #pausedSince = new Map<string, number>();
  /** When VMs were last stopped, by UID. */
  readonly #stoppedAt = new Map<string, number>();
  /** Names of VMs that a batch has deleted after users had stopped them, each after the id of its workflow. */
  readonly #stayStopped = new Set<string>();

  onCall(call: Call): void {
    const { verb, key } = call;
    const [, name] = (verb === 'request' && RESTART.exec(key.name ?? '')) || [];
    if (name === undefined || activityNow() !== 'updateVms' || !isByWorker(call)) return;
    const vm = this.world.vm(name);
    if (vm !== undefined && runStrategyOf(vm) === 'Halted') this.broken('G10', `${name} is restarted, and was stopped`);
  }

  onWrite({ resource, before, after }: Write, call: Call | null): void {
    const isWorker = isByWorker(call);
    if (resource === VirtualMachinePools && after !== undefined) this.#poolWritten(after as Pool);
    if (resource === VirtualMachines) this.#vmWritten(before, after, isWorker);
    if (resource === VirtualMachineInstances && isWorker && before !== undefined && isDeletion(before, after))
      this.#vmiDeleted(before);
  }

  /** A batch may begin as soon as its pool's workflow has heard of the end of a pause: the status tells later. */
  onAsked(id: string, name: string): void {
    const pool = id.startsWith('pool/') ? this.world.pool(id.split('/').at(-1)!) : undefined;
    if (name === 'resume' && pool !== undefined && pool.spec.paused !== true)
      this.#pausedSince.delete(pool.metadata.uid);
  }

  #poolWritten({ metadata, spec, status }: Pool): void {
    if (spec.template.spec.runStrategy === 'Halted') this.#halting.add(revisionOf(poolTemplate(spec)));
    // A batch may begin as soon as a plan has seen the request that ends a pause: the status tells later.
    const isPaused =
      spec.paused === true || (status?.rollout?.paused !== undefined && !isToResume({ metadata, status }));
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
    const [from, to] = [before, after].map(revisionOfSpec);
    if (from === to) return this.#checkEdits(before, after);
    if (to !== undefined) this.#checkAge(after, from, to);
    if (activityNow() === 'updateVms') this.#checkAllowed(before, `is brought from ${from} to ${to}`);
  }

  /** Checks that no VM is brought to a template that is older than its own, except by an undo. */
  #checkAge(after: Stored, from: string | undefined, to: string): void {
    const pool = this.record.poolOf(after);
    if (pool === undefined) return;
    const { status } = pool;
    const halted = status?.rollout?.halted?.kind;
    const isTold = (halted === 'Undoing' || halted === 'UndoFailed') && to === status?.currentRevision;
    const isUndo = isTold || this.#isUndone(pool, from, to);
    const revisions = this.record.limitsOf(pool);
    const lastOf = (known: typeof revisions, revision: string): number =>
      known.findLastIndex((one) => one.revision === revision);
    // The writer may have read the pool just before its template went back to an earlier one.
    const known = revisions.filter(({ at }) => at <= this.now - CALL_MS);
    const isOlder = from !== undefined && lastOf(revisions, to) < lastOf(known, from);
    if (!isUndo && isOlder)
      this.broken(
        'G8',
        `${after.metadata.name} is written from ${from} to ${to}, which is older; the pool's template is ${revisionOf(poolTemplate(pool.spec))}`,
      );
  }

  /**
   * Reports whether the batch that writes this undoes the rollout of the pool's template. The pool's status tells of an
   * undo once a worker has written it, which may be after the batch has begun.
   */
  #isUndone(pool: Pool, from: string | undefined, to: string): boolean {
    const batch = this.#batch()?.batch;
    const lately = this.record.limitsSince(pool, this.now - CALL_MS).map(({ revision }) => revision);
    return (
      batch !== undefined &&
      batch.rollout !== batch.revision &&
      batch.revision === to &&
      batch.rollout === from &&
      to === pool.status?.currentRevision &&
      lately.includes(batch.rollout)
    );
  }

  /** Checks that what a user has changed in a VM stays, unless users have asked for another thing. */
  #checkEdits(before: Stored, after: Stored): void {
    const [was, is] = [before, after].map(coresOf);
    const isOrdered = before.metadata.annotations?.[CORRECT_DRIFT_ANNOTATION] !== undefined;
    const pool = this.record.poolOf(before);
    const corrects =
      pool !== undefined &&
      (pool.spec.updateStrategy?.proactive?.drift === 'Correct' ||
        this.record.changedAt(pool.metadata.uid) >= this.now - CALL_MS);
    if (was !== is && !isOrdered && !corrects)
      this.broken(
        'G10',
        `${after.metadata.name} has ${String(was)} cores, and is written with ${String(is)}, which nobody asked for`,
      );
  }

  /** Checks that a batch does nothing to a VM that is to be left alone, nor anything long after a pause has begun. */
  #checkAllowed(vm: Stored, what: string): void {
    const { name, annotations } = vm.metadata;
    if (annotations?.[DO_NOT_DISRUPT_ANNOTATION] !== undefined)
      this.broken('G10', `${name} ${what}, and its owner asked not to`);
    const since = this.#pausedSince.get(controllerOf(vm)?.uid ?? '');
    if (since !== undefined && since < this.now - ACT_MS)
      this.broken('G10', `${name} ${what}, and the rollout has been paused for ${this.now - since} ms`);
  }

  /** Checks that nobody starts a VM that users have stopped, unless users ask for it. */
  #checkStop(before: Stored, after: Stored): void {
    if (runStrategyOf(before) !== 'Halted' || runStrategyOf(after) === 'Halted') return;
    const isMade = this.#halting.has(before.metadata.labels?.[REVISION_LABEL] ?? '');
    if (activityNow() === 'changePower' || !this.record.wasRegular || isMade) return;
    this.broken('G10', `${after.metadata.name} is started by ${activityNow()}, and was stopped`);
  }

  /** Checks that a VMI restarts for a revision only if it is not of it already, and that its VM is one that may. */
  #vmiDeleted(vmi: Stored): void {
    const { metadata } = vmi;
    if (activityNow() !== 'updateVms') return;
    const { name, uid, labels } = metadata;
    const held = this.#held(name);
    const input = this.#batch();
    if (held === undefined || input === undefined) return this.broken('G10', `${name} restarts, and is in no batch`);
    const vm = this.world.vm(name);
    if (vm !== undefined && held.vmi !== uid && isStartedFrom(vm, vmi))
      this.broken(
        'G10',
        `${name} restarts for ${input.batch.revision}, and its VMI was started from the spec that it has`,
      );
    const isNeeded = labels?.[REVISION_LABEL] !== input.batch.revision || held.vmi === uid;
    if (!isNeeded) this.broken('G10', `${name} restarts for ${input.batch.revision}, which its VMI is of already`);
    if (vm !== undefined) this.#checkAllowed(vm, 'restarts');
  }

  #deleted(vm: Stored): void {
    const { name, uid } = vm.metadata;
    const held = activityNow() === 'removeVms' ? this.#held(name) : undefined;
    if (held === undefined || runStrategyOf(vm) !== 'Halted' || !this.record.isRegular(vm)) return;
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

/** What the spec of a VM was made from: a restore puts that back, and leaves the VM's own labels. */
const revisionOfSpec = (vm: Stored): string | undefined =>
  (field(vm['spec'], 'template', 'metadata', 'labels', REVISION_LABEL) ?? vm.metadata.labels?.[REVISION_LABEL]) as
    | string
    | undefined;

/** Whether KubeVirt has started the VMI from the spec that its VM has now. */
const isStartedFrom = ({ metadata: { uid, generation } }: Stored, vmi: Stored): boolean =>
  field(vmi['status'], 'virtualMachineRevisionName') === `revision-start-vm-${uid}-${generation}`;

/** Whether a request to resume stands on the pool, and is not answered yet. */
function isToResume({ metadata, status }: Pick<Pool, 'metadata' | 'status'>): boolean {
  const text = metadata.annotations?.[ROLLOUT_REQUEST_ANNOTATION] ?? '';
  return text.includes('"resume"') && answerTo(digestOf(text), status?.rollout?.handledRequests) === undefined;
}
