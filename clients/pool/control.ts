import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { print, dryRunSuffix, labelOf } from '../cli/print.ts';
import type { Session, Work } from '../session/session.ts';
import { namedPools } from './named-pools.ts';
import { requestOfPool, unanswered, type RequestOptions, type RequestChannel } from './request.ts';

/** A part of a pool that users control: its rollout, or its healing. */
export interface Controlled<View> extends RequestChannel {
  viewOf: (pool: Stored<Pool>) => View;
  /** Throws `Failure` if nothing can be asked of this part of the pool. */
  check?: (pool: Stored<Pool>) => void;
  /** Describes it, for the answer. */
  linesOf: (pool: Stored<Pool>, kube: KubeClient) => Promise<string[]>;
}

/** A user's request to such a part. */
export interface Control<View> {
  /** What it is asked to do, as a verb. */
  what: string;
  /** Its outcome in words, such as `paused`. */
  done: string;
  /** What stands in the request, for the pool as it is. */
  body: (view: View) => object;
  /** Throws `Failure` if the request makes no sense for the pool as it is. */
  check: (view: View, pool: Stored<Pool>) => void;
  /** Throws `Failure` if something else keeps the pool from what was asked for. */
  checkAfter?: (pool: Stored<Pool>) => void;
}

/**
 * Asks the pool, and returns it once its status answers. Throws `Failure` if the request makes no sense or is refused,
 * or if no worker answers in time.
 */
export async function controlPool<View>(
  session: Session,
  pool: Stored<Pool>,
  { viewOf, check, ...channel }: Controlled<View>,
  control: Control<View>,
  options: RequestOptions,
): Promise<Stored<Pool>> {
  const { name, deletionTimestamp } = pool.metadata;
  if (deletionTimestamp !== undefined) throw new Failure(`pool ${name} is being deleted`);
  check?.(pool);
  const before = viewOf(pool);
  // A request that is not answered yet may change what makes sense, as a pause does for a resume: the worker judges
  // that.
  if (unanswered(pool, channel) === undefined) control.check(before, pool);
  const { names, handledIn } = channel;
  const request = { names, handledIn, body: control.body(before), what: control.what };
  return (await requestOfPool(session, pool, request, options)).pool;
}

interface ControlFlags extends RequestOptions {
  full?: boolean;
}

/** Returns what a command does: it asks this of named pools, and says what each answers. */
export const controlsPools =
  <View>(controlled: Controlled<View>, controlFor: (flags: ControlFlags) => Control<View>): Work<ControlFlags> =>
  async (session, flags, ...args) => {
    const control = controlFor(flags);
    for (const pool of await namedPools(session, args)) {
      const after = await controlPool(session, pool, controlled, control, flags);
      print(`${labelOf(Pools.resource, pool.metadata.name)} ${control.done}${dryRunSuffix(flags.dryRun)}`);
      if (flags.dryRun !== 'none') continue;
      for (const line of await controlled.linesOf(after, await session.kube())) print(`  ${line}`);
      control.checkAfter?.(after);
    }
  };
