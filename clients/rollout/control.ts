import type { Asking } from '../../workflows/messages.ts';
import type { Stored } from '../../kubernetes/objects.ts';
import { askedBy } from '../asked-by.ts';
import { Failure, sentenceOf } from '../failure.ts';
import type { Pool } from '../fleet.ts';
import { missingWorkers } from '../missing-workers.ts';
import { ageOf } from '../output.ts';
import type { Session } from '../session.ts';
import { GrpcCode, grpcCodeOf } from '../temporal.ts';
import type { DryRun } from '../values.ts';
import { followPools } from './follow-pools.ts';
import { rolloutView, type RolloutView } from './view.ts';

/** How long the pool's status may take to show that a signal was taken. */
const TAKEN_MS = 10_000;

/** What a person asks of a rollout that is under way. */
export interface Control {
  signal: 'pause' | 'resume' | 'abort' | 'promote';
  /** `paused`, as the answer says it. */
  done: string;
  /** Throws `Failure` where it makes no sense for the pool as it is. */
  check: (pool: Stored<Pool>, view: RolloutView) => void;
  /** Whether the pool's status shows it, seen from how it was. */
  isTaken: (now: RolloutView, before: RolloutView) => boolean;
}

export const pause: Control = {
  signal: 'pause',
  done: 'paused',
  check: ({ status }, { pool, paused }) => {
    if (status?.rollout?.paused === undefined) return;
    throw new Failure(`pool ${pool} is already paused, by ${since(paused!)}`);
  },
  isTaken: ({ paused }) => paused !== null && paused.at !== null,
};

export const resume: Control = {
  signal: 'resume',
  done: 'resumed',
  check: ({ spec, status }, { pool, halted }) => {
    if (status?.rollout?.paused !== undefined || halted !== null) return;
    if (spec.paused === true) throw new Failure(heldBySpec(pool));
    throw new Failure(`pool ${pool} is not paused, and nothing of its rollout has failed or was aborted: nothing to resume`);
  },
  isTaken: ({ paused, halted }) => (paused === null || paused.at === null) && halted === null,
};

export const abort: Control = {
  signal: 'abort',
  done: 'aborted',
  check: (_pool, { pool, end, phase, halted }) => {
    if (halted?.kind === 'Aborted') throw new Failure(`the rollout of pool ${pool} was already aborted, by ${since(halted)}`);
    if (end === 'Complete' || end === 'LeftToOthers') throw new Failure(`nothing of pool ${pool} is rolled out now: nothing to abort`);
    if (end === 'Failed') throw new Failure(`the rollout of pool ${pool} is over, ${phase}: nothing to abort; \`drover rollout undo\` goes back`);
  },
  isTaken: ({ halted }) => halted?.kind === 'Aborted',
};

/** With `full`, past all steps. */
export const promote = (full: boolean): Control => ({
  signal: 'promote',
  done: full ? 'promoted past all its steps' : 'promoted',
  check: ({ spec }, { pool, step, end, phase }) => {
    if ((spec.rollout?.steps ?? []).length === 0) throw new Failure(`pool ${pool} has no spec.rollout.steps: nothing to promote`);
    if (end !== null) throw new Failure(`the rollout of pool ${pool} is over, ${phase}: nothing to promote`);
    if (step === null) throw new Failure(`nothing of pool ${pool} is rolled out yet: nothing to promote`);
    if (step.passed >= step.of) throw new Failure(`the rollout of pool ${pool} is past all its ${step.of} steps: nothing to promote`);
    // Two people who promote at once would otherwise pass two steps.
    if (step.reachedAt !== null || full) return;
    throw new Failure(`the rollout of pool ${pool} has not reached step ${step.passed + 1} of ${step.of} yet; --full goes past all of them`);
  },
  isTaken: (now, before) => {
    // Where the rollout is over, or another's, no step is left to see.
    if (now.step === null || now.target.hash !== before.target.hash || now.end === 'Complete') return true;
    return now.step.passed >= (full ? now.step.of : before.step!.passed + 1);
  },
});

/**
 * Sends the signal to the pool's workflow, and returns the pool as it is once its status shows that it was taken.
 * Throws `Failure` where it makes no sense, no workflow leads the pool, or nothing shows in time.
 */
export async function controlRollout(
  session: Session,
  pool: Stored<Pool>,
  control: Control,
  { reason, dryRun }: { reason?: string | undefined; dryRun: DryRun },
): Promise<Stored<Pool>> {
  const before = rolloutView(pool);
  if (pool.metadata.deletionTimestamp !== undefined) throw new Failure(`pool ${before.pool} is being deleted`);
  control.check(pool, before);
  if (dryRun === 'client') return pool;
  await send(session, before, control, { by: askedBy(), ...(reason === undefined ? {} : { why: reason }) }, dryRun === 'server');
  if (dryRun === 'server') return pool;
  const timeout = AbortSignal.timeout(TAKEN_MS);
  let last = pool;
  try {
    await followPools({ kube: await session.kube(), pools: [pool], signal: timeout }, ([now]) => {
      last = now!;
      return control.isTaken(rolloutView(last), before);
    });
  } catch (error) {
    if (!timeout.aborted) throw error;
    const missing = await missingWorkers(session);
    const why = missing ?? `its workflow has it, and its status shows nothing of it after ${TAKEN_MS / 1000} s`;
    throw new Failure(`pool ${before.pool} was asked to ${control.signal}, and it is not known whether it has: ${why}`, { cause: error });
  }
  return last;
}

/** Throws `Failure` where what was asked for was done, and something else goes on holding the pool. */
export function checkAfter({ signal }: Control, { metadata: { name }, spec }: Stored<Pool>): void {
  if (signal === 'resume' && spec.paused === true) throw new Failure(heldBySpec(name));
}

async function send(session: Session, { namespace, pool }: RolloutView, control: Control, asking: Asking, isDry: boolean): Promise<void> {
  const { client } = await session.temporal();
  const messages = await import('../../workflows/messages.ts');
  const id = messages.poolIdOf({ cluster: session.cluster, namespace, name: pool });
  const handle = client.workflow.getHandle(id);
  try {
    if (isDry) {
      const { status } = await handle.describe();
      if (status.name !== 'RUNNING') throw new Failure(noWorkflow(pool, id));
    } else await handle.signal(messages[control.signal], asking);
  } catch (error) {
    const isUnknown = grpcCodeOf(error) === GrpcCode.NOT_FOUND || (error as Error).name === 'WorkflowNotFoundError';
    if (!isUnknown) throw error instanceof Failure ? error : new Failure(`pool ${pool} could not be asked: ${sentenceOf(error)}`, { cause: error });
    throw new Failure(noWorkflow(pool, id), { cause: error });
  }
}

const noWorkflow = (pool: string, id: string): string =>
  `no workflow ${id} runs, so that nobody leads pool ${pool}: does a \`drover worker\` run for this cluster?`;

const heldBySpec = (pool: string): string =>
  `spec.paused of pool ${pool} is true, and holds it: set it to false in its manifest, and apply that`;

const since = ({ by, at, why }: { by: string; at: string | null; why: string | null }): string =>
  `${by}${at === null ? '' : ` ${ageOf(at)} ago`}${why === null ? '' : `: ${why}`}`;
