import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { Board, printViews } from '../cli/live.ts';
import { printNote, shortDuration, type DataFormat } from '../cli/print.ts';
import { followOwners, inTime } from '../cli/watch-until.ts';
import { poolsOf } from '../pool/named-pools.ts';
import { knownRevisions } from '../pool/revisions.ts';
import { rolloutView, type RolloutView } from '../pool/view.ts';
import { runLines } from '../runs/run-lines.ts';
import type { Work } from '../session/session.ts';
import { KnownRevisions } from './known-revisions.ts';
import { shownRollout } from './lines.ts';

interface StatusFlags {
  watch?: boolean;
  /** Milliseconds; no limit if undefined or 0. */
  timeout?: number;
  output?: DataFormat;
}

/** Shows the rollouts of pools, once or until all are over. Throws `UsageError`. */
export const rolloutStatus: Work<StatusFlags> = async (session, flags, ...args) => {
  if (flags.timeout !== undefined && flags.watch !== true)
    throw new UsageError('--timeout is how long --watch waits: give both, or neither');
  const pools = await poolsOf(session, args);
  if (pools.length === 0) return printNote(`No resources found in ${await session.namespace()} namespace.`);
  const kube = await session.kube();
  await (flags.watch === true ? followRollouts(kube, pools, flags) : printRollouts(kube, pools, flags.output));
};

async function printRollouts(kube: KubeClient, pools: Stored<Pool>[], output?: DataFormat): Promise<void> {
  const views = await Promise.all(pools.map(async (pool) => rolloutView(pool, await knownRevisions(kube, pool))));
  await printViews(views, { output, blockOf });
}

/** Shows rollouts until all are over. Throws if any of them did not complete, or still continues after `timeoutMs`. */
async function followRollouts(
  kube: KubeClient,
  pools: Stored<Pool>[],
  { output, timeout: timeoutMs = 0 }: StatusFlags,
): Promise<void> {
  const revisions = new KnownRevisions(kube);
  await Promise.all(pools.map((pool) => revisions.learn(pool)));
  await using board = new Board<RolloutView>('pool', { output, blockOf });
  let newest = pools;
  const views = (): RolloutView[] => newest.map((pool) => rolloutView(pool, revisions.of(pool)));
  const show = (): void => board.show(views());
  const isInTime = await inTime(timeoutMs, (signal) =>
    followOwners({ kube, kind: Pools, owners: pools, signal }, (now) => {
      newest = now;
      for (const pool of now) void revisions.catchUp(pool).then((shouldReport) => shouldReport && show());
      show();
      return views().every(({ end }) => end !== null);
    }),
  );
  const open = views().filter(({ end }) => end === null);
  if (!isInTime) throw new AggregateError(open.map((view) => new Failure(formatStill(view, timeoutMs))));
  const failed = views().filter(({ end }) => end !== 'Complete');
  if (failed.length > 0) throw new AggregateError(failed.map((view) => new Failure(formatEnd(view))));
}

const formatStill = ({ pool, phase, updatedReplicas, replicas }: RolloutView, timeoutMs: number): string =>
  `pool ${pool} is still ${phase} after ${shortDuration(timeoutMs)}, ${updatedReplicas} of ${replicas} VMs are updated; drover continues with it`;

const formatEnd = (view: RolloutView): string => `pool ${view.pool}: ${shownRollout(view).outline.end}`;

const blockOf = (view: RolloutView, now: number): string[] =>
  runLines(`${view.namespace}/${view.pool}`, shownRollout(view, now), now);
