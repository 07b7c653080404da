import { REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { countOf } from '../../../api/lib/int-or-percent.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { withDefaults } from '../../../api/rules/pool-defaults.ts';
import { ACT_WITHIN_MS } from '../../../decisions/disruption-budget/claims.ts';
import { vmView } from '../../../decisions/from-object/vm.ts';
import { attemptKey } from '../../../decisions/healing/state.ts';
import { roleIn } from '../../../decisions/membership/roles.ts';
import type { BatchVm, UpdateOutcome } from '../../../decisions/owners/batch.ts';
import { onRecord, type GivenInput } from '../../../decisions/pool/on-record.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import type { HealVmInput } from '../../../workflows/healing/heal-vm.ts';
import { attemptEnded, batchEnded } from '../../../workflows/lib/messages.ts';
import type { BatchEnd } from '../../../workflows/lib/payloads.ts';
import type { UpdateBatchInput } from '../../../workflows/rollout/update-batch.ts';
import { activityNow, isActive, isByWorker, runNow, type Pool } from '../facts.ts';
import type { Write } from '../world/api-server.ts';
import type { Call } from '../world/model-client.ts';
import type { Run } from '../world/temporal/run.ts';
import type { Seen } from '../world/worker.ts';
import { Check } from './check.ts';

type RolloutPlan = Extract<Seen, { gone: false }>['rollout'];

/** Milliseconds for which users' acts may be unknown to whoever planned a batch. */
const KNOWN_AFTER_MS = 5_000;

interface BegunVm {
  uid: string;
  /** When, in milliseconds of the world. */
  at: number;
}

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
  /** Workflows that have told their pool of their end. */
  readonly #ended = new WeakSet<Run>();
  /** VMs that were begun with, and whose outcome is still to come: by name, of each workflow, by its ID. */
  readonly #held = new Map<string, Map<string, BegunVm>>();
  readonly #failed: Failed[] = [];
  /** When a status last named a batch, by the pool's UID and the batch's number. */
  readonly #inFlight = new Map<string, number>();
  /** Since when a status has named a batch, as above, or an attempt to heal a VM. */
  readonly #namedAt = new Map<string, number>();
  #peopleAt = 0;

  onCall({ process, verb }: Call): void {
    if (process.name === 'people' && verb !== 'get' && verb !== 'list') this.#peopleAt = this.now;
  }

  onPlan(planned: Seen, inputOf: () => GivenInput | undefined): void {
    if (planned.gone) return;
    const input = inputOf();
    if (input === undefined) return;
    this.#plans.set(planned.key.uid, { rollout: planned.rollout, pool: input.pool });
    this.#checkRegressions(planned.rollout, input);
    this.#checkCount(planned.rollout, input);
  }

  /** A batch acts on a VM, or a plan says which batches may. */
  onWrite({ resource, before, after }: Write, call: Call | null): void {
    if (resource === VirtualMachinePools) this.#poolWritten(before as Pool | undefined, after as Pool | undefined);
    const isVm = resource === VirtualMachines || resource === VirtualMachineInstances;
    if (!isVm || !isByWorker(call) || activityNow() !== 'updateVms') return;
    const written = (after ?? before)!;
    const { name, uid } = resource === VirtualMachines ? written.metadata : (controllerOf(written) ?? written.metadata);
    const own = runNow()!;
    this.#checkInFlight(own, name);
    this.#checkNotHealed(own, name, uid);
    for (const [id, held] of this.#held) {
      const isOpen = this.world.temporal.runs.get(id)?.isOpen === true;
      if (id !== own && isOpen && held.get(name)?.uid === uid)
        this.broken('G9', `${name} is written by ${own}, and ${id} has begun with it`);
    }
    const held = this.#held.get(own) ?? new Map<string, BegunVm>();
    this.#held.set(own, held);
    if (held.get(name)?.uid !== uid) held.set(name, { uid, at: this.now });
  }

  onBegin(run: Run): void {
    if (run.type === 'updateBatch') this.#checkBatch(run, run.args[0] as UpdateBatchInput);
    if (run.type === 'healVm') this.#checkHealed(run.args[0] as HealVmInput);
  }

  onSignal(from: Run, name: string, [payload]: unknown[]): void {
    if (name === attemptEnded.name) this.#ended.add(from);
    if (name !== batchEnded.name) return;
    const { outcomes, goesOn = false } = payload as BatchEnd;
    if (!goesOn) this.#ended.add(from);
    const held = this.#held.get(from.id);
    this.#batchTold(from.args[0] as UpdateBatchInput, outcomes, held);
    for (const { vm } of outcomes) held?.delete(vm);
  }

  #poolWritten(before: Pool | undefined, after: Pool | undefined): void {
    if (before !== undefined) this.#sawInFlight(before);
    const known = new Set(namedIn(before));
    for (const one of namedIn(after)) if (!known.has(one)) this.#namedAt.set(one, this.now);
  }

  #sawInFlight({ metadata: { uid }, status }: Pool): void {
    for (const n of status?.rollout?.inFlight ?? []) this.#inFlight.set(`${uid} ${n}`, this.now);
  }

  /** Checks that the status of the pool names the batch that acts, or did until a moment ago. */
  #checkInFlight(id: string, vm: string): void {
    const { key, batch } = this.world.temporal.runs.get(id)!.args[0] as UpdateBatchInput;
    const pool = this.world.pool(key.name);
    if (pool?.metadata.uid === key.uid) this.#sawInFlight(pool);
    const last = this.#inFlight.get(`${key.uid} ${batch.n}`) ?? -Infinity;
    if (last < this.now - ACT_WITHIN_MS)
      this.broken('G8', `${vm} is written by batch ${batch.n} of ${key.name}, which is not on record`);
  }

  /** Checks that the VM was not being healed, by the status of the pool, when the batch claimed its place. */
  #checkNotHealed(id: string, name: string, uid: string): void {
    const { key, batch } = this.world.temporal.runs.get(id)!.args[0] as UpdateBatchInput;
    const { disruptedVMs = [], healing } = this.world.pool(key.name)?.status ?? {};
    const claim = disruptedVMs.find(({ vm, by }) => vm === name && by === id);
    const cycle = healing?.cycles.find((one) => one.uid === uid);
    if (claim === undefined || cycle === undefined) return;
    if (this.#namedAt.get(attemptKey(cycle))! < Date.parse(claim.at))
      this.broken('G5', `${name} is written by batch ${batch.n} of ${key.name}, and is being healed`);
  }

  /** Whether the batch has begun with the VM. */
  #holds(run: Run, { name, uid, act }: BatchVm): boolean {
    return act === 'replace' || this.#held.get(run.id)?.get(name)?.uid === uid;
  }

  #open(type: string): Run[] {
    return [...this.world.temporal.runs.values()].filter(
      (run) => run.type === type && run.isOpen && !this.#ended.has(run),
    );
  }

  // What holds a VM.

  #checkBatch(run: Run, input: UpdateBatchInput): void {
    const { key, batch } = input;
    const others = this.#open('updateBatch').filter((other) => other !== run);
    const uids = new Set(batch.vms.map(({ uid }) => uid));
    for (const other of others) {
      const { batch: held } = other.args[0] as UpdateBatchInput;
      const twice = held.vms.find((vm) => uids.has(vm.uid) && this.#holds(other, vm));
      if (twice !== undefined)
        this.broken('G9', `${twice.name} is in batch ${held.n} of ${key.name} and in batch ${batch.n}`);
    }
    const plannedAt = this.#namedAt.get(`${key.uid} ${batch.n}`) ?? Infinity;
    for (const { args } of this.#open('healVm')) {
      const { unhealthyVm: sick, startedAt } = (args[0] as HealVmInput).attempt;
      const attempt = attemptKey({ ...sick, vm: sick.name, startedAt });
      // A later plan may heal a VM of a batch that has not begun with it.
      if (uids.has(sick.uid) && (this.#namedAt.get(attempt) ?? 0) <= plannedAt)
        this.broken('G5', `${sick.name} is in batch ${batch.n} of ${key.name}, and is being healed`);
    }
    this.#checkStep(
      input,
      others
        .map(({ args }) => args[0] as UpdateBatchInput)
        .filter((other) => other.key.uid === key.uid && other.batch.revision === batch.revision),
    );
  }

  #checkHealed({ attempt: { unhealthyVm: sick } }: HealVmInput): void {
    for (const run of this.#open('updateBatch')) {
      const { key, batch } = run.args[0] as UpdateBatchInput;
      if (batch.vms.some((vm) => vm.uid === sick.uid && this.#holds(run, vm)))
        this.broken('G5', `${sick.name} is healed, and batch ${batch.n} of ${key.name} works on it`);
    }
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

  #batchTold(
    { key, batch, deadlineMs }: UpdateBatchInput,
    outcomes: readonly UpdateOutcome[],
    held: ReadonlyMap<string, BegunVm> | undefined,
  ): void {
    const late = outcomes.filter(
      ({ end, message: why = '' }) => end === 'Failed' && why.startsWith('not ready in time'),
    );
    for (const { vm } of late) {
      const tookMs = this.now - (held?.get(vm)?.at ?? batch.startedAt);
      if (tookMs < deadlineMs)
        this.broken('G12', `${vm} of ${key.name} is called failed after ${tookMs} ms, and has ${deadlineMs} ms`);
    }
    const isSuperseded = outcomes.some(({ end }) => end === 'Superseded');
    if (batch.revision !== batch.rollout || isSuperseded) return;
    const rollout = rolloutOf(key.uid, this.#plans.get(key.uid)?.rollout);
    for (const { vm, wasDown } of late) if (wasDown !== true) this.#failed.push({ rollout, vm, n: batch.n });
  }

  /** Checks that VMs which no batch called failed have been down for the deadline. */
  #checkRegressions({ state }: RolloutPlan, given: GivenInput): void {
    const { pool, vms, now } = given;
    const { progressDeadlineSeconds } = withDefaults(pool.spec).rollout;
    const at = new Date(now).toISOString();
    const known = new Set(onRecord(given).input.rollout?.failures.map((failure) => `${failure.vm} ${failure.at}`));
    for (const failure of state.failures) {
      if (failure.at !== at || known.has(`${failure.vm} ${at}`)) continue;
      const vm = vms.find(({ name }) => name === failure.vm);
      const since = vm?.notReadySince ?? (vm?.role === 'Surge' ? vm.createdAt : null);
      if (since === null || since > now - progressDeadlineSeconds * 1000)
        this.broken('G12', `${failure.vm} is called failed, and was not down for ${progressDeadlineSeconds} s`);
    }
  }

  /** Checks that a rollout is stopped after more failures than it may have. */
  #checkCount(rollout: RolloutPlan, { pool, batches }: GivenInput): void {
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

/** The batches and attempts that the status of a pool names. */
const namedIn = (pool: Pool | undefined): string[] => [
  ...(pool?.status?.rollout?.inFlight ?? []).map((n) => `${pool!.metadata.uid} ${n}`),
  ...(pool?.status?.healing?.cycles ?? []).map(attemptKey),
];

/** Identifies a rollout from when it has begun, or was resumed, on. */
const rolloutOf = (uid: string, plan: RolloutPlan | undefined): string =>
  `${uid} ${plan?.state.revision} ${plan?.state.startedAt} ${plan?.state.resumedAt}`;
