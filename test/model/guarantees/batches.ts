import type { Planned } from '../../../activities/owners/types.ts';
import { countOf } from '../../../api/lib/int-or-percent.ts';
import { REVISION_LABEL } from '../../../api/names.ts';
import type { Stored } from '../../../api/objects.ts';
import { withDefaults } from '../../../api/pool-defaults.ts';
import { roleIn } from '../../../decisions/membership/roles.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import type { UpdateOutcome } from '../../../decisions/rollout/batch.ts';
import { vmView } from '../../../decisions/views/from-object/vm.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { HealVmInput } from '../../../workflows/healing/heal-vm.ts';
import { attemptEnded, batchEnded } from '../../../workflows/messages.ts';
import type { BatchEnd } from '../../../workflows/payloads.ts';
import type { UpdateBatchInput } from '../../../workflows/rollout/update-batch.ts';
import { isActive } from '../facts.ts';
import type { Call } from '../world/model-client.ts';
import type { Run } from '../world/temporal/run.ts';
import { Check } from './check.ts';

type RolloutPlan = Extract<Planned, { gone: false }>['rollout'];

/** Milliseconds for which people's acts may be unknown to whoever planned a batch. */
const KNOWN_AFTER_MS = 5_000;

/** Signals of workflows that have done with their VMs. */
const ENDS: string[] = [batchEnded.name, attemptEnded.name];

/** A VM that was down when a batch gave up on it, though it had been well. */
interface Failed {
  rollout: string;
  vm: string;
  /** Number of the batch. */
  n: number;
}

/**
 * Checks each batch as its workflow begins and ends: no other workflow holds its VMs, its step allows it, failures are
 * counted, and none is called failed before its deadline.
 */
export class BatchGuarantees extends Check {
  /** The last plan of each pool, by its UID. */
  readonly #plans = new Map<string, { rollout: RolloutPlan; pool: StoredPool }>();
  readonly #begun = new WeakMap<Run, number>();
  /** Workflows that have told their pool of their end. */
  readonly #ended = new WeakSet<Run>();
  readonly #failed: Failed[] = [];
  #peopleAt = 0;

  onCall({ process, verb }: Call): void {
    if (process.name === 'people' && verb !== 'get' && verb !== 'list') this.#peopleAt = this.now;
  }

  onPlan(planned: Planned, inputOf: () => PoolPlanInput | undefined): void {
    if (planned.gone) return;
    const input = inputOf();
    if (input === undefined) return;
    this.#plans.set(planned.key.uid, { rollout: planned.rollout, pool: input.pool });
    this.#checkRegressions(planned.rollout, input);
    this.#checkCount(planned.rollout, input);
  }

  onBegin(run: Run): void {
    this.#begun.set(run, this.now);
    if (run.type === 'updateBatch') this.#checkBatch(run, run.args[0] as UpdateBatchInput);
    if (run.type === 'healVm') this.#checkHealed(run.args[0] as HealVmInput);
  }

  onSignal(from: Run, name: string, [payload]: unknown[]): void {
    if (!ENDS.includes(name)) return;
    this.#ended.add(from);
    if (name === batchEnded.name)
      this.#batchEnded(from, from.args[0] as UpdateBatchInput, (payload as BatchEnd).outcomes);
  }

  #open<T>(type: string): T[] {
    return [...this.world.temporal.runs.values()]
      .filter((run) => run.type === type && run.isOpen && !this.#ended.has(run))
      .map(({ args }) => args[0] as T);
  }

  // What holds a VM.

  #checkBatch(run: Run, input: UpdateBatchInput): void {
    const { key, batch } = input;
    const others = this.#open<UpdateBatchInput>('updateBatch').filter((other) => other !== run.args[0]);
    const uids = new Set(batch.vms.map(({ uid }) => uid));
    for (const other of others) {
      const twice = other.batch.vms.find(({ uid }) => uids.has(uid));
      if (twice !== undefined)
        this.broken('G9', `${twice.name} is in batch ${other.batch.n} of ${key.name} and in batch ${batch.n}`);
    }
    for (const { attempt } of this.#open<HealVmInput>('healVm'))
      if (uids.has(attempt.sick.uid))
        this.broken('G5', `${attempt.sick.name} is in batch ${batch.n} of ${key.name}, and is being healed`);
    this.#checkStep(
      input,
      others.filter((other) => other.key.uid === key.uid && other.batch.revision === batch.revision),
    );
  }

  #checkHealed({ attempt: { sick } }: HealVmInput): void {
    const holder = this.#open<UpdateBatchInput>('updateBatch').find(({ batch }) =>
      batch.vms.some(({ uid }) => uid === sick.uid),
    );
    if (holder !== undefined)
      this.broken('G5', `${sick.name} is healed, and batch ${holder.batch.n} of ${holder.key.name} works on it`);
  }

  // Steps.

  /** Checks that no more VMs run the new revision, or will, than the next step of the rollout lets them. */
  #checkStep({ key, batch }: UpdateBatchInput, others: readonly UpdateBatchInput[]): void {
    const plan = this.#plans.get(key.uid);
    if (plan === undefined || this.#peopleAt > this.now - KNOWN_AFTER_MS) return;
    const { state, current } = plan.rollout;
    const { rollout, update } = withDefaults(plan.pool.spec);
    const step = rollout.steps[state.step];
    if (step === undefined || update.kind !== 'proactive' || batch.revision !== state.revision) return;
    // Steps don't hold back an undo: all VMs had this revision last.
    if (batch.revision === current) return;
    const most = countOf(step.to, plan.pool.spec.replicas, 1);
    const failed = new Set(state.failures.map(({ vm }) => vm));
    // A VM that was stopped at the step has taken the revision all the same.
    const vms = this.world.vmsOf(key.uid).filter((vm) => roleIn(plan.pool, vmView(vm)) === null && isActive(vm));
    const held = new Set(others.flatMap((other) => other.batch.vms).map(({ uid }) => uid));
    const at = new Set(batch.vms.filter(({ role }) => role === undefined).map(({ name }) => name));
    // Standby VMs are updated before the first step, and may have been promoted since.
    if (at.size === 0) return;
    for (const vm of vms) {
      const { name, uid } = vm.metadata;
      if (held.has(uid) || (this.#isOf(vm, batch.revision) && !failed.has(name))) at.add(name);
    }
    if (at.size > most)
      this.broken(
        'G10',
        `${[...at].toSorted().join(', ')} of ${key.name} run ${batch.revision} or will (${at.size}), before a step to ${most}`,
      );
  }

  /** Reports whether the VM's spec and its VMI are of this revision. */
  #isOf({ metadata }: Stored, revision: string): boolean {
    const vmi = this.world.vmi(metadata.name)?.metadata.labels?.[REVISION_LABEL] ?? revision;
    return metadata.labels?.[REVISION_LABEL] === revision && vmi === revision;
  }

  // Failures.

  #batchEnded(run: Run, { key, batch, deadlineMs }: UpdateBatchInput, outcomes: readonly UpdateOutcome[]): void {
    const tookMs = this.now - (this.#begun.get(run) ?? 0);
    const late = outcomes.filter(({ end, why = '' }) => end === 'Failed' && why.startsWith('not ready in time'));
    for (const { vm } of late)
      if (tookMs < deadlineMs)
        this.broken('G12', `${vm} of ${key.name} is called failed after ${tookMs} ms, and has ${deadlineMs} ms`);
    const wereDown = new Set(batch.vms.filter(({ wasDown }) => wasDown).map(({ name }) => name));
    const isSuperseded = outcomes.some(({ end }) => end === 'Superseded');
    if (batch.revision !== batch.rollout || isSuperseded) return;
    const rollout = rolloutOf(key.uid, this.#plans.get(key.uid)?.rollout);
    for (const { vm } of late) if (!wereDown.has(vm)) this.#failed.push({ rollout, vm, n: batch.n });
  }

  /** Checks that VMs which no batch called failed have been down for the deadline. */
  #checkRegressions({ state }: RolloutPlan, { pool, vms, rollout, now }: PoolPlanInput): void {
    const { progressDeadlineSeconds } = withDefaults(pool.spec).rollout;
    const at = new Date(now).toISOString();
    const known = new Set((rollout ?? pool.status?.rollout)?.failures.map((failure) => `${failure.vm} ${failure.at}`));
    for (const failure of state.failures) {
      if (failure.at !== at || known.has(`${failure.vm} ${at}`)) continue;
      const vm = vms.find(({ name }) => name === failure.vm);
      const since = vm?.notReadySince ?? (vm?.role === 'Surge' ? vm.createdAt : null);
      if (since === null || since > now - progressDeadlineSeconds * 1000)
        this.broken('G12', `${failure.vm} is called failed, and was not down for ${progressDeadlineSeconds} s`);
    }
  }

  /** Checks that a rollout is stopped after more failures than it may have. */
  #checkCount(rollout: RolloutPlan, { pool, batches }: PoolPlanInput): void {
    const { onFailure, maxFailures } = withDefaults(pool.spec).rollout;
    const { halted, completedAt } = rollout.state;
    if (onFailure === 'Continue' || halted !== undefined || completedAt !== undefined) return;
    const id = rolloutOf(pool.metadata.uid, rollout);
    const known = this.#failed.filter((failed) => failed.rollout === id && batches.every(({ n }) => n !== failed.n));
    const names = new Set(known.map(({ vm }) => vm));
    if (names.size > maxFailures)
      this.broken(
        'G10',
        `the rollout of ${pool.metadata.name} goes on, and ${[...names].join(', ')} have failed (${names.size}), of at most ${maxFailures}`,
      );
  }
}

/** Identifies a rollout from when it has begun, or was resumed, on. */
const rolloutOf = (uid: string, plan: RolloutPlan | undefined): string =>
  `${uid} ${plan?.state.revision} ${plan?.state.startedAt} ${plan?.state.resumedAt}`;
