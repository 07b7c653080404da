import { isDeepStrictEqual } from 'node:util';
import type { RolloutStatus } from '../../../api/pool/pool.ts';
import { withDefaults } from '../../../api/rules/pool-defaults.ts';
import { runOf } from '../../../decisions/healing/state.ts';
import { windowAt } from '../../../decisions/lib/maintenance-windows.ts';
import type { PoolStep } from '../../../decisions/owners/steps.ts';
import { containedPlan } from '../../../decisions/pool/contained-plan.ts';
import { onRecord, type GivenInput } from '../../../decisions/pool/on-record.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate } from '../../../decisions/template/template.ts';
import type { Seen } from '../world/worker.ts';
import { Check } from './check.ts';

type PoolPlanned = Extract<Seen, { gone: false }>;

/** Of how many plans one is made again: each costs as much as a plan. */
const EVERY = 8;

/** A pool that plans the same steps so often in so many milliseconds goes round in circles. */
const CIRCLES = 12;
const CIRCLES_MS = 3_000;

/**
 * Checks each plan of a pool: it begins no batch while the rollout is held, it says what it waits for, and it depends
 * neither on the order of what it reads nor on what it has written itself.
 */
export class PlanGuarantees extends Check {
  #plans = 0;
  /** By the UIDs of pools: the steps of their last plan, and when it has planned the same in a row. */
  readonly #last = new Map<string, { steps: string; times: number[] }>();

  onPlan(planned: Seen, inputOf: () => GivenInput | undefined): void {
    if (planned.gone) return;
    this.#checkCircles(planned);
    const given = inputOf();
    // The pool may have changed since the plan was made.
    if (given === undefined || (given.pool.metadata.generation ?? 0) !== planned.generation) return;
    const { input } = onRecord(given);
    this.#checkHolds(planned, input);
    this.#checkWaits(planned, input);
    if (++this.#plans % EVERY !== 0) return;
    this.#checkOrder(given);
    this.#checkStatus(given);
  }

  /** Checks that no steps are planned again and again without a wait. */
  #checkCircles({ key: { name, uid }, steps }: PoolPlanned): void {
    const now = JSON.stringify(steps);
    const last = this.#last.get(uid);
    const times = last?.steps === now ? [...last.times, this.now].slice(-CIRCLES) : [this.now];
    this.#last.set(uid, { steps: now, times });
    if (steps.length > 0 && times.length === CIRCLES && times.at(-1)! - times[0]! < CIRCLES_MS)
      this.broken('G12', `${name} plans the same ${CIRCLES} times in ${CIRCLES_MS} ms: ${steps[0]!.reason}`);
  }

  /** Checks that no batch begins in a pause, after the rollout has been stopped, or outside of its windows. */
  #checkHolds({ steps, rollout: { state, phase } }: PoolPlanned, { pool, rollout, now }: PoolPlanInput): void {
    const update = steps.find((step) => step.kind === 'update');
    if (update === undefined) return;
    const words = `batch ${update.batch.n} of ${pool.metadata.name} begins`;
    // What a request has ended in this plan holds nothing any more.
    const known = isResumed(state, now) ? undefined : (rollout ?? undefined);
    if (pool.spec.paused === true || state.paused !== undefined || known?.paused !== undefined)
      this.broken('G10', `${words} in a pause`);
    const halted = state.halted ?? (known?.revision === state.revision ? known.halted : undefined);
    if (halted !== undefined && halted.kind !== 'Undoing')
      this.broken('G10', `${words} after its rollout was stopped: ${halted.kind}, ${phase}`);
    if (!windowAt(withDefaults(pool.spec).rollout.windows, now).open)
      this.broken('G10', `${words} outside of the maintenance windows`);
    const wanted = halted?.kind === 'Undoing' ? pool.status?.currentRevision : revisionOf(poolTemplate(pool.spec));
    if (wanted !== undefined && update.batch.revision !== wanted)
      this.broken('G8', `${words} to ${update.batch.revision}, and VMs are to have ${wanted}`);
    if (update.batch.vms.length === 0) this.broken('G12', `${words} without VMs`);
  }

  /** Checks that a rollout which does nothing, and will not by itself, says why. */
  #checkWaits(
    { steps, rollout, requeueAt: wakeAt, healing }: PoolPlanned,
    { pool, batches, inProgress }: PoolPlanInput,
  ): void {
    const { phase, waits } = rollout;
    const isOpen = phase === 'RollingOut' || phase === 'Waiting' || phase === 'Undoing';
    const isBusy = steps.length > 0 || batches.length > 0 || healing.state.cycles.length > 0;
    if (!isOpen || isBusy || wakeAt !== null || Object.values(inProgress).some((names) => names.length > 0)) return;
    if (waits.length === 0) this.broken('G12', `${pool.metadata.name} stands still as ${phase}, and says not why`);
  }

  /** Checks that another order of the same objects makes no other plan. */
  #checkOrder(input: GivenInput): void {
    const { plan } = containedPlan(input);
    const { plan: other } = containedPlan({
      ...input,
      vms: input.vms.toReversed(),
      revisions: input.revisions.toReversed(),
      ...(input.uncontrolled && { uncontrolled: input.uncontrolled.toReversed() }),
      ...(input.keptClaims && { keptClaims: input.keptClaims.toReversed() }),
    });
    const [one, two] = [plan, other].map((each) => ({ ...each, steps: each.steps.map(inOrder) }));
    if (isDeepStrictEqual(one, two)) return;
    const fields = (Object.keys(plan) as (keyof typeof plan)[]).filter(
      (field) => !isDeepStrictEqual(one![field], two![field]),
    );
    const told = JSON.stringify(fields.map((field) => [field, plan[field], other[field]]));
    this.broken('G12', `another order of the VMs of ${input.pool.metadata.name} makes another plan: ${told}`);
  }

  /** Checks that the status which a plan writes leaves nothing to be written at the same moment. */
  #checkStatus(input: GivenInput): void {
    const { plan } = containedPlan(input);
    const { pool, now } = input;
    // Claims of places are written by others, and may change what is told.
    if ((pool.status?.disruptedVMs ?? []).length > 0) return;
    // A plan that is due again at once may have more to tell.
    if (plan.status === null || plan.requeueAt === now || plan.steps.some(({ kind }) => kind === 'update')) return;
    // The turn after a batch that is given up follows at once, and may begin another.
    if (plan.rollout.lost.length > 0) return;
    const { status, healing } = plan;
    const again = containedPlan({
      ...input,
      // Others write the check of a step.
      pool: { ...pool, status: { ...status, ...(pool.status?.check && { check: pool.status.check }) } },
      writes: status.writes ?? 0,
      told: { rollout: [], healing: [] },
      healing: runOf(healing.state),
    });
    if (again.plan.status !== null)
      this.broken(
        'G12',
        `what was just written of ${pool.metadata.name} is not all: ${JSON.stringify([status, again.plan.status])}`,
      );
  }
}

/** The same step with the objects that it is about in order: it acts on all of them at once. */
const inOrder = (step: PoolStep): object =>
  Object.fromEntries(
    Object.entries(step).map(([field, value]) => [
      field,
      Array.isArray(value) ? value.toSorted((a, b) => compare(JSON.stringify(a), JSON.stringify(b))) : value,
    ]),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Whether this plan answers a request to resume the rollout. `now`: milliseconds since the epoch. */
function isResumed({ handledRequests = [] }: RolloutStatus, now: number): boolean {
  const last = handledRequests.at(-1);
  return last?.action === 'resume' && last.outcome === 'Done' && last.at === new Date(now).toISOString();
}
