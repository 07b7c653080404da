import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { Pools } from '../cli/kinds.ts';
import { byName } from '../cli/owner.ts';
import { namedTargetsOf, oneTargetOf, targetsOf } from '../cli/targets.ts';
import type { Session } from '../session/session.ts';

/** Reads the named pools, in that order. Throws `UsageError`, or a `KubeError` (404) for a missing pool. */
export async function namedPools(session: Session, words: string[]): Promise<Stored<Pool>[]> {
  return readPools(session, namedTargetsOf(words, [Pools]).names);
}

/** As `namedPools`; all pools of the namespace if none is named. */
export async function poolsOf(session: Session, words: string[]): Promise<Stored<Pool>[]> {
  const { names } = targetsOf(words, [Pools]);
  if (names.length > 0) return readPools(session, names);
  const kube = await session.kube();
  return (await kube.list<Pool>(Pools.resource, { namespace: await session.namespace() })).items.sort(byName);
}

/** As `namedPools`, for commands that take exactly one pool. */
export async function onePool(session: Session, words: string[]): Promise<Stored<Pool>> {
  return (await readPools(session, [oneTargetOf(words, [Pools]).name]))[0]!;
}

async function readPools(session: Session, names: string[]): Promise<Stored<Pool>[]> {
  const kube = await session.kube();
  const namespace = await session.namespace();
  const distinct = [...new Set(names)];
  return Promise.all(distinct.map((name) => kube.get<Pool>(Pools.resource, { namespace, name })));
}
