import { proxyLocalActivities, upsertSearchAttributes } from '@temporalio/workflow';
import type { Planned, PlanRequest, IncompleteInput } from '../../activities/owners/plan-request.ts';
import type { PoolActivities } from '../../activities/pool/pool.ts';
import type { RefusedEvacuation } from '../../decisions/drain/refusals.ts';
import type { Act } from '../../decisions/history/act.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import { summary } from '../../decisions/lib/summary.ts';
import type { MembersReport } from '../../decisions/membership/change.ts';
import {
  CONTENDED,
  isContended,
  NO_CONTENTION,
  sawForeign,
  planAside,
  yieldsToOthers,
  type Contention,
} from '../../decisions/pool/contention.ts';
import { progressSentences } from '../../decisions/pool/in-progress.ts';
import { actOfRequest } from '../../decisions/pool/request-events.ts';
import { Evacuations } from '../drain/evacuations.ts';
import { Healings, type HealingsState } from '../healing/healings.ts';
import { childLost, progress, type PoolProgress, type PoolRef } from '../lib/messages.ts';
import { onQuery, onSignal } from '../lib/on-signal.ts';
import { DroverRevision } from '../lib/search-attributes.ts';
import { OWNER_PROGRESS, type CarriedOwner, type OwnerRequest } from '../owners/owner-plan.ts';
import { OwnerRun } from '../owners/owner-run.ts';
import { Rollouts, type RolloutsState } from '../rollout/rollouts.ts';
import { poolDetails } from './details.ts';
import { begin, type StepContext } from './steps.ts';

interface PoolInput extends PoolRef {
  /** What a run hands to the next when its history has grown long. */
  carried?: CarriedOwner & {
    rollouts: RolloutsState;
    healings: HealingsState;
    refusals: RefusedEvacuation[];
    contention: Contention;
  };
}

/**
 * Failures that last longer than a few tries are waited for by a timer: users can't read a workflow task that never
 * ends.
 */
const { plan } = proxyLocalActivities<PoolActivities>({
  startToCloseTimeout: '60s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 3 },
});
type PlannedPool = Extract<Planned, { gone: false }>;

/** Keeps one pool as its spec says, for as long as the pool exists. */
export const pool = ({ carried, ...ref }: PoolInput): Promise<{ acts: Act[] }> =>
  new PoolRun(ref, carried).runUntilDeleted();

class PoolRun extends OwnerRun<PlannedPool> {
  readonly #rollouts: Rollouts;
  readonly #healings: Healings;
  readonly #evacuations: Evacuations;
  /** What has become of the newest request about its members. Lost, it is found again: nothing is moved twice. */
  #members: MembersReport | undefined;
  #target: string | undefined;
  #contention: Contention;
  #starting: number | undefined;

  constructor(ref: PoolRef, carried: PoolInput['carried']) {
    super(ref, carried, { kind: 'VirtualMachinePool', wait: 'wait until the pool must be planned again' });
    const { inProgress, journal } = this;
    const onChange = (newer?: ResourceVersions): void => this.requestTurn(newer);
    this.#rollouts = new Rollouts({
      ref,
      state: carried?.rollouts,
      inProgress,
      journal,
      onChange,
      onProblem: (message) => this.failureBackoff.recordError('BatchNotBegun', message),
    });
    this.#healings = new Healings({
      ref,
      state: carried?.healings,
      inProgress,
      journal,
      onChange,
    });
    this.#contention = carried?.contention ?? NO_CONTENTION;
    this.#evacuations = new Evacuations({ refusals: carried?.refusals, inProgress, journal, onChange });
    onSignal(childLost, 'Internal: a batch or an attempt was ended from outside.', (child) => {
      this.#rollouts.lost(child);
      this.#healings.lost(child);
    });
    onQuery(progress, OWNER_PROGRESS, () => this.#progress());
  }

  #progress(): PoolProgress {
    const { failureBackoff, inProgress } = this;
    const { batches } = this.#rollouts.state;
    return {
      creating: inProgress.names('creating'),
      deleting: inProgress.names('deleting'),
      doing: progressSentences({
        doing: inProgress.reasons(),
        batches,
        cycles: this.#healings.cycles,
        starting: this.#starting,
      }),
      recentErrors: failureBackoff.state.recentErrors,
      retryAt: failureBackoff.retryAt === null ? null : new Date(failureBackoff.retryAt).toISOString(),
      updating: batches.map(({ n, revision, vms }) => ({ n, revision, vms: vms.map((vm) => vm.name) })),
    };
  }

  protected override async plan(ownerRequest: OwnerRequest, sendsAll: boolean): Promise<Planned | IncompleteInput> {
    const request: PlanRequest = {
      ...ownerRequest,
      inProgress: {
        ...ownerRequest.inProgress,
        cancelled: this.inProgress.names('cancelled'),
        evacuating: this.inProgress.names('evacuating'),
        standby: this.inProgress.names('standby'),
      },
      ...this.#rollouts.request(sendsAll),
      ...this.#healings.request(),
      told: { rollout: this.#rollouts.told(), healing: this.#healings.told() },
      ...this.#evacuations.request(),
      ...(this.#members === undefined ? {} : { membership: this.#members }),
      ...(isContended(this.#contention, Date.now()) && { isContended: true }),
      ...(yieldsToOthers(this.#contention, Date.now()) && { yieldsToOthers: true }),
    };
    const planned = await plan.executeWithOptions({ summary: summary(this.planSummary) }, [request]);
    return 'incomplete' in planned || planned.gone ? planned : this.#unlessAside(planned);
  }

  #unlessAside(planned: PlannedPool): PlannedPool {
    if (planned.isForeign === true) {
      this.#contention = sawForeign(this.#contention, Date.now(), Math.random());
      if (isContended(this.#contention, Date.now())) this.failureBackoff.recordError('Contended', CONTENDED);
    }
    const isAside = this.#contention.asideUntil > Date.now();
    return isAside ? { ...planned, ...planAside(planned.healing, this.#contention) } : planned;
  }

  protected override reset(uid: string): void {
    this.#rollouts.reset(uid);
    this.#healings.reset();
    this.#evacuations.reset();
    this.#members = undefined;
    this.#contention = NO_CONTENTION;
  }

  protected override onPlanned({ phase, counts, events = [] }: PlannedPool): void {
    for (const { request } of events) {
      if (request !== undefined) this.journal.done(...actOfRequest(request));
    }
    this.#rollouts.sent();
    this.#starting = phase === 'Starting' ? counts.present - counts.ready : 0;
  }

  /** What a user asks of its members changes the number, too. */
  protected override hasOwnRecord({ events = [] }: PlannedPool): boolean {
    return this.inProgress.has('changeMembers') || events.some(({ request }) => request?.what === 'membership');
  }

  protected override beginSteps(planned: PlannedPool): void {
    const { key, steps } = planned;
    // If a user has asked for something meanwhile, that comes first.
    const isCurrent = this.#rollouts.applyPlan(planned);
    const leaving = steps.flatMap((step) =>
      step.kind === 'delete' || step.kind === 'halt' ? step.vms.map((vm) => vm.name) : [],
    );
    const context: StepContext = {
      ...this.stepContext(planned, leaving),
      rollouts: this.#rollouts,
      evacuations: this.#evacuations,
      onMembersReport: (report) => void (this.#members = report),
    };
    for (const step of steps) if (isCurrent || step.kind !== 'update') begin(step, context);
    this.#healings.applyPlan(key, planned);
    if (!isCurrent) this.requestTurn();
  }

  protected override get holdsStatus(): Pick<OwnerRequest, 'holdsStatus'> {
    return this.#contention.asideUntil > Date.now() ? { holdsStatus: 'All' } : super.holdsStatus;
  }

  protected override announce({ rollout }: PlannedPool): void {
    if (rollout.target !== this.#target)
      upsertSearchAttributes([{ key: DroverRevision, value: (this.#target = rollout.target) }]);
  }

  protected override details(planned: Planned): string {
    return poolDetails(planned, this.inProgress.reasons(), this.failureBackoff, this.#rollouts.state);
  }

  protected override get hasChildren(): boolean {
    return this.#rollouts.state.batches.length > 0 || this.#healings.cycles.some(({ run }) => run.state === 'Running');
  }

  protected override continueAsNew(carried: CarriedOwner): Promise<never> {
    const own = {
      rollouts: this.#rollouts.carried,
      healings: this.#healings.carried,
      refusals: this.#evacuations.refusals,
      contention: this.#contention,
    };
    return this.home.continueAsNew<typeof pool>({ ...this.ref, carried: { ...carried, ...own } });
  }
}
