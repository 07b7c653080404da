import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Pools } from '../cli/kinds.ts';
import { namedOrAll } from '../cli/owner.ts';
import { namedTargetsOf, oneTargetOf, targetsOf } from '../cli/targets.ts';
import type { Session } from '../session/session.ts';

/** Reads the named pools, in that order. Throws `UsageError`, or a `KubeError` (404) for a missing pool. */
export const namedPools = async (session: Session, args: string[]): Promise<Stored<Pool>[]> =>
  readPools(session, namedTargetsOf(args, [Pools]).names);

/** As `namedPools`; all pools of the namespace if none is named. */
export const poolsOf = async (session: Session, args: string[]): Promise<Stored<Pool>[]> =>
  readPools(session, targetsOf(args, [Pools]).names);

/** As `namedPools`, for commands that take exactly one pool. */
export const onePool = async (session: Session, args: string[]): Promise<Stored<Pool>> =>
  (await readPools(session, [oneTargetOf(args, [Pools]).name]))[0]!;

const readPools = async (session: Session, names: string[]): Promise<Stored<Pool>[]> =>
  namedOrAll<Pool>(await session.kube(), Pools.resource, { namespace: await session.namespace(), names });
