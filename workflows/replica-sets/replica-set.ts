import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Done } from '../../activities/owners/done.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { PlannedSet } from '../../activities/replica-sets/replica-set-request.ts';
import type { ReplicaSetActivities } from '../../activities/replica-sets/replica-sets.ts';
import type { SetKind } from '../../api/owner-kinds.ts';
import type { Act } from '../../decisions/history/act.ts';
import { summary } from '../../decisions/lib/summary.ts';
import { failureOf } from '../../decisions/owners/failures.ts';
import { progressSentences } from '../../decisions/pool/in-progress.ts';
import type { ReplicaSetStep } from '../../decisions/replica-sets/plan.ts';
import type { FailedStarts } from '../../decisions/replica-sets/start-backoff.ts';
import { replicaSetProgress, type PoolRef, type ReplicaSetProgress } from '../lib/messages.ts';
import { onQuery } from '../lib/on-signal.ts';
import { OWNER_PROGRESS, type CarriedOwner, type OwnerRequest } from '../owners/owner-plan.ts';
import { OwnerRun } from '../owners/owner-run.ts';
import { beginRemoval, chunks, runInParts, runOperation, tidy, FEW_WRITES, ON_VMS } from '../owners/steps.ts';
import { replicaSetDetails } from './details.ts';

export interface ReplicaSetInput extends PoolRef {
  /** What a run hands to the next when its history has grown long. */
  carried?: CarriedOwner & { uncertain: string[]; starts: FailedStarts | null };
}

const { planReplicaSet } = proxyLocalActivities<ReplicaSetActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 3 },
});
const { createReplicas, adoptVms } = proxyActivities<ReplicaSetActivities>(ON_VMS);
const { keepReplicas } = proxyActivities<PoolActivities>(FEW_WRITES);

const WAITS: Record<SetKind, string> = {
  VirtualMachineReplicaSet: 'VMs become available by the clock',
  VirtualMachineInstanceReplicaSet: 'VMIs become available, or another is tried, by the clock',
};

type Planned = Extract<PlannedSet, { gone: false }>;

/** Keeps the VMs of one replica set at its number, and never above that, for as long as the set exists. */
export const replicaSet = ({ carried, ...ref }: ReplicaSetInput): Promise<{ acts: Act[] }> =>
  new ReplicaSetRun(ref, carried, 'VirtualMachineReplicaSet').runUntilDeleted();

/**
 * Keeps the VMIs of one replica set at its number, and replaces each that ends at once, for as long as the set exists.
 */
export const vmiReplicaSet = ({ carried, ...ref }: ReplicaSetInput): Promise<{ acts: Act[] }> =>
  new ReplicaSetRun(ref, carried, 'VirtualMachineInstanceReplicaSet').runUntilDeleted();

class ReplicaSetRun extends OwnerRun<Planned> {
  readonly #kind: SetKind;
  /** Names whose creates were given up: they may still be carried out, so they hold places until a member has them. */
  #uncertain: Set<string>;
  /** What the plan in progress knows about them. */
  #sentUncertain: readonly string[] = [];
  #starting: number | undefined;
  /** VMIs that failed to start, since one came up; times are the API server's. */
  #starts: FailedStarts | null;
  #clockAheadMs = 0;

  constructor(ref: PoolRef, carried: ReplicaSetInput['carried'], kind: SetKind) {
    super(ref, carried, { kind, wait: WAITS[kind] });
    this.#kind = kind;
    this.#starts = carried?.starts ?? null;
    this.#uncertain = new Set(carried?.uncertain);
    onQuery(replicaSetProgress, OWNER_PROGRESS, () => this.#progress());
  }

  #progress(): ReplicaSetProgress {
    const { failureBackoff, inProgress } = this;
    return {
      creating: inProgress.names('creating'),
      deleting: inProgress.names('deleting'),
      doing: progressSentences({ doing: inProgress.reasons(), batches: [], cycles: [], starting: this.#starting }),
      recentErrors: failureBackoff.state.recentErrors,
      retryAt: this.#retryAt(),
    };
  }

  /** When the next try after a failure is due; RFC 3339. */
  #retryAt(): string | null {
    const startAt = this.#starts === null ? null : this.#starts.retryAt - this.#clockAheadMs;
    const time = this.failureBackoff.retryAt ?? startAt;
    return time === null || time <= Date.now() ? null : new Date(time).toISOString();
  }

  protected override plan(ownerRequest: OwnerRequest): Promise<PlannedSet> {
    this.#sentUncertain = [...this.#uncertain];
    const own = {
      kind: this.#kind,
      uncertain: [...this.#sentUncertain],
      starts: this.#starts,
      now: Date.now(),
    };
    return planReplicaSet.executeWithOptions({ summary: summary(this.planSummary) }, [{ ...ownerRequest, ...own }]);
  }

  protected override reset(): void {
    this.#uncertain.clear();
    this.#starts = null;
  }

  protected override onPlanned({ phase, counts, uncertain, starts, clockAheadMs }: Planned): void {
    this.#starts = starts;
    this.#clockAheadMs = clockAheadMs;
    this.#starting = phase === 'Starting' ? counts.present - counts.ready : 0;
    const remaining = new Set(uncertain);
    for (const name of this.#sentUncertain) if (!remaining.has(name)) this.#uncertain.delete(name);
  }

  protected override beginSteps(planned: Planned): void {
    const leaving = planned.steps.flatMap((step) => (step.kind === 'delete' ? step.vms.map(({ name }) => name) : []));
    for (const step of planned.steps) this.#begin(step, planned, leaving);
  }

  #begin(step: ReplicaSetStep, planned: Planned, leaving: readonly string[]): void {
    const { key, generation } = planned;
    const context = this.stepContext(planned, leaving);
    const options = { summary: summary(step.reason) };
    const { reason } = step;
    switch (step.kind) {
      case 'createReplicas':
        for (const names of chunks(step.names)) {
          const onDone = (done: Done | null): void => this.#resolve(names, done);
          const how = { generation, skipSlowStart: this.failureBackoff.hasSucceeded };
          runOperation(
            { kind: 'creating', names, reason, onDone, act: { action: 'create' } },
            context,
            failureOf(step)!,
            () => createReplicas.executeWithOptions(options, [key, names, context.minVersions, how]),
          );
        }
        return;
      case 'adopt':
        return runInParts(
          step.vms,
          { kind: 'creating', reason, act: { action: 'adopt' } },
          context,
          failureOf(step)!,
          (vms) => adoptVms.executeWithOptions(options, [key, vms]),
        );
      case 'addFinalizer':
      case 'removeFinalizer':
      case 'recordUid':
      case 'delete':
      case 'halt':
      case 'release':
        return beginRemoval(step, context);
      case 'keepReplicas':
        return tidy(context, step.kind, reason, () => keepReplicas.executeWithOptions(options, [key]));
    }
  }

  /**
   * Notes which names are uncertain after an operation: all, if its result is unknown; if one was refused, all but the
   * refused ones, because the call for another may have been given up before.
   */
  #resolve(names: readonly string[], done: Done | null): void {
    const refused = done?.refused?.names ?? [];
    for (const name of names) {
      // Of a name that was refused, or not tried, nothing new is known.
      if (refused.includes(name) || done?.notWanted.includes(name) === true) continue;
      if (done === null || done.refused !== null) this.#uncertain.add(name);
      else this.#uncertain.delete(name);
    }
  }

  protected override details(planned: PlannedSet): string {
    return replicaSetDetails(planned, this.inProgress.reasons(), this.failureBackoff);
  }

  protected override continueAsNew(carried: CarriedOwner): Promise<never> {
    // Nobody will tell this run or the next what becomes of those in flight.
    const uncertain = new Set([...this.#uncertain, ...this.inProgress.names('creating')]);
    const own = { uncertain: [...uncertain], starts: this.#starts };
    return this.home.continueAsNew<typeof replicaSet>({ ...this.ref, carried: { ...carried, ...own } });
  }
}
